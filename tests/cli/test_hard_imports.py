"""``import`` of files that are broken, hostile or odd: a line each, a report in any case, exit code 1."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from typing import Any

import pytest
import zstandard

from convostore.store import ALL_USERS, ConversationStore
from support.branched_exports import chatgpt
from support.command_line import Command

HI = {"role": "user", "content": "hi"}
GOOD = json.dumps({"id": "good", "messages": [HI]}).encode() + b"\n"


def zipped(*members: tuple[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return held.getvalue()


TREE = json.dumps([chatgpt()]).encode()
HARD: dict[str, bytes] = {
    "empty.json": b"",
    "noise.png": b"\x89PNG\r\n\x1a\n" + b"\0" * 50,
    "cut.jsonl": GOOD + b'{"id": "b", "mess',
    "cut.jsonl.zst": zstandard.ZstdCompressor().compress(GOOD * 500)[:-5],
    "cut.gz": gzip.compress(GOOD)[:-5],
    "climbing.zip": zipped(("../../up.json", TREE), ("conversations.json", TREE)),
    "bomb.zip": zipped(("conversations.json", b"[" + b" " * (32 << 20))),
    "nested.zip": zipped(("inner.zip", zipped(("conversations.json", TREE)))),
    "bad\x1b[31m.jsonl": b'{"id": "x", "messages": [{"role": "user", "content": "\xff"}]}\n' + GOOD,
    "deep.json": b"[" * 100_000,
}


def test_hard_files_are_told_one_by_one_and_the_good_one_comes_in(
    convostore: Command, store: ConversationStore
) -> None:
    folder = convostore.folder / "in"
    folder.mkdir()
    for name, content in HARD.items():
        (folder / name).write_bytes(content)
    (folder / "good").write_bytes(GOOD.replace(b"good", b"best"))
    names = [f"in/{name}" for name in (*HARD, "missing", "good")]

    found = convostore("import", *names, "--user", "alice", "--report", "report.json")

    assert found.code == 1
    told = json.loads((convostore.folder / "report.json").read_text())
    assert [one["file"] for one in told["files"]] == names
    for one in told["files"]:
        assert one["read"] == sum(one[count] for count in COUNTED)
        named = bool(one["problems"] or one["error"])
        assert named == (one["file"] != "in/good"), one
        assert all(problem["file"] == one["file"] and problem["reason"] for problem in one["problems"])
    assert "\x1b" not in found.out
    table = [line.split() for line in found.lines if line.startswith("in/good")]
    assert table == [["in/good", "openai", "1", "1", "0", "0", "0", "0", "0", "1"]]
    assert {head.source.id for head in store.scan(user=ALL_USERS) if head.source} >= {"good", "best", "g1"}
    kept = {"in", "report.json", *(path.name for path in folder.iterdir())}
    assert {path.name for path in convostore.folder.rglob("*") if "data" not in path.parts} == kept


COUNTED = ("imported", "updated", "unchanged", "skipped", "failed")


@pytest.mark.parametrize("content", [b"", HARD["cut.gz"]], ids=["empty", "cut"])
def test_report_is_written_when_nothing_could_be_read(convostore: Command, content: bytes) -> None:
    (convostore.folder / "f").write_bytes(content)

    found = convostore("import", "f", "--user", "alice", "--report", "report.json")

    assert found.code == 1 and found.err.count("\n") == 1
    (told,) = json.loads((convostore.folder / "report.json").read_text())["files"]
    assert told["error"] and told["error"] in found.err
    assert told["read"] == 0


def test_file_that_names_no_user_keeps_no_other_out(convostore: Command) -> None:
    row: dict[str, Any] = {"_id": 9, "user": "x", "status": "idle", "usage": {}, "messages": [HI]}
    (convostore.folder / "a").write_bytes(GOOD)
    (convostore.folder / "b").write_text(json.dumps(row))

    found = convostore("import", "a", "b", "--json")

    assert found.code == 1
    first, second = found.json["files"]
    assert "--user" in first["error"] or "say whose" in first["error"]
    assert second["imported"] == 1


def test_what_was_done_is_said_where_the_report_cannot_be_written(convostore: Command) -> None:
    line = json.dumps({"messages": [{"role": "user", "content": "hi"}]})
    done = convostore("import", "-", "--user", "alice", "--report", "/dev/full", stdin=line + "\n")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert done.lines[0] == "read 1 conversations with 1 messages; 1 imported"
