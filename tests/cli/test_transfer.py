"""``import`` and ``export``: files, pipes, compression, reports, interruption."""

from __future__ import annotations

import gzip
import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import zstandard

from convostore.schemas.conversations import Conversation
from convostore.store import ALL_USERS, ConversationStore
from support.command_line import COMMAND, Command
from support.shared import SHARED

HI = {"role": "user", "content": "hi"}
HELLO = {"role": "assistant", "content": "hello"}


def chat(id: str, *messages: Any) -> str:
    return json.dumps({"id": id, "messages": list(messages)}) + "\n"


def test_import_says_what_it_did_and_a_repeat_that_nothing_was_to_do(convostore: Command) -> None:
    (convostore.folder / "f.jsonl").write_text(chat("a", HI, HELLO) + chat("b", HI))
    first = convostore.fine("import", "f.jsonl", "--user", "alice")
    assert first.out == "read 2 conversations with 3 messages; 2 imported\n"
    again = convostore.fine("import", "f.jsonl", "--user", "alice")
    assert again.out == "read 2 conversations with 3 messages; 2 unchanged\n"
    tried = convostore.fine("import", "--user", "bob", "--dry-run", stdin=chat("a", HI))
    assert tried.out == "read 1 conversations with 1 messages; would be: 1 imported\n"
    assert len(convostore.fine("list", "--json").json) == 2


def test_import_reports_what_failed_by_line_and_ends_with_1(convostore: Command) -> None:
    text = "\ufeff" + chat("a", HI) + "\r\n{oops\r\n" + chat("b", HI) + '{"id":"cut'
    report = convostore.folder / "report.json"
    found = convostore("import", "-", "--user", "alice", "--report", "report.json", stdin=text)
    assert found.code == 1
    assert found.lines[0] == "read 4 conversations with 2 messages; 2 imported, 2 failed"
    assert "failed at 3: no JSON" in found.lines[1] and "failed at 5: the input ends" in found.lines[2]
    told = json.loads(report.read_text())
    assert (told["imported"], told["failed"], told["files"][0]["file"]) == (2, 2, "-")
    assert [problem["position"] for problem in told["files"][0]["problems"]] == [3, 5]
    as_json = convostore("import", "--user", "alice", "--json", stdin=text)
    assert as_json.code == 1
    assert (as_json.json["unchanged"], as_json.json["failed"]) == (2, 2)


def test_folder_of_files_is_read_file_by_file_and_what_is_no_conversation_is_named(
    convostore: Command,
) -> None:
    folder = convostore.folder / "in"
    (folder / "below").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / "a.jsonl").write_text(chat("a", HI))
    (folder / "below" / "b.json.gz").write_bytes(gzip.compress(chat("b", HI, HELLO).encode()))
    (folder / "READ.me").write_text("not a conversation")
    (folder / ".hidden" / "c.jsonl").write_text(chat("c", HI))
    found = convostore.fine("import", "in", "--user", "alice")
    assert found.lines[0] == "read 2 conversations with 3 messages; 2 imported"
    assert "1 other files of the folders were not taken, such as in/READ.me" in found.lines[1]
    assert "2 unchanged" in convostore.fine("import", "in", "--user", "alice").lines[0]
    as_named = convostore("import", "in", "--user", "alice", "--format", "openai", "--json")
    assert as_named.code == 1 and as_named.json["unchanged"] == 2
    assert {file["file"] for file in as_named.json["files"]} == {
        "in/READ.me",
        "in/a.jsonl",
        "in/below/b.json.gz",
    }


def test_exported_files_come_back_from_their_folder(convostore: Command) -> None:
    convostore.fine("import", "--user", "alice", stdin=chat("a", HI) + chat("b", HI, HELLO))
    convostore.fine("export", "--format", "markdown", "--out", "pages")
    found = convostore.fine("import", "pages", "--user", "bob", "--json").json
    assert (found["imported"], found["messages"]) == (2, 3)


def test_export_to_where_it_cannot_be_names_the_folder(convostore: Command) -> None:
    missing = convostore("export", "--out", "none/all.jsonl")
    assert (missing.code, missing.err.count("\n")) == (1, 1)
    assert missing.err.endswith(": there is no such folder to write into: none\n")
    (convostore.folder / "pages").mkdir()
    taken = convostore("export", "--out", "pages")
    assert (taken.code, taken.err.count("\n")) == (1, 1)
    assert taken.err.endswith(": is a folder; name a file in it: pages\n")
    assert not any((convostore.folder / "pages").iterdir())


def test_several_files_of_several_formats_and_compressions_come_in_at_once(convostore: Command) -> None:
    folder = convostore.folder
    (folder / "a.txt").write_bytes(gzip.compress(chat("a", HI).encode()))
    (folder / "b").write_bytes(zstandard.ZstdCompressor().compress(chat("b", HI).encode()))
    record = {"_id": 9, "user": "x", "status": "idle", "usage": {}, "messages": [HI], "created_at": 5}
    (folder / "c.json").write_text(json.dumps({"result": [record], "next_cursor": "b64:AQ=="}, indent=2))
    told = convostore.fine("import", "a.txt", "b", "c.json", "--user", "alice", "--json").json
    assert (told["imported"], [one["format"] for one in told["files"]]) == (3, ["openai", "openai", "anda"])
    heads = convostore.fine("list", "--json").json
    assert {head["source"]["file"] for head in heads} == {"a.txt", "b", "c.json"}
    assert [head["status"] for head in heads if head["_id"] == 9] == ["idle"]


@pytest.mark.parametrize(
    ("content", "arguments", "code", "reason"),
    [
        (b"", [], 1, "empty"),
        (b"what is this\n", [], 1, "no known format"),
        (gzip.compress(b'{"id":"a","messages":[]}\n' * 9000)[:-20], ["--user", "a"], 1, "broken compression"),
        (b'{"id":"a","messages":[]}', [], 1, "say whose"),
        (b'{"id":"a","messages":[]}', ["--format", "nothing", "--user", "a"], 2, "is none of auto"),
        (b'{"id":"a","messages":[]}', ["--user", ""], 1, "user"),
        (b"", ["--into", "5"], 2, "--messages-offset"),
        (b"", ["--anda-version", "9"], 2, "--anda-version"),
    ],
)
def test_import_that_cannot_begin_is_one_line(
    convostore: Command, content: bytes, arguments: list[str], code: int, reason: str
) -> None:
    (convostore.folder / "f").write_bytes(content)
    found = convostore("import", "f", *arguments)
    assert found.code == code and reason in found.out + found.err
    if not found.out:
        assert found.err.count("\n") == 1


@pytest.mark.parametrize("name", ["missing", "."])
def test_file_that_cannot_be_read_is_named(convostore: Command, name: str) -> None:
    found = convostore("import", name, "--user", "alice")
    assert found.code == 1 and found.err.count("\n") == 1 and name in found.err


def test_file_that_cannot_be_read_does_not_keep_the_others_out(convostore: Command) -> None:
    (convostore.folder / "a").write_text(chat("a", HI))
    (convostore.folder / "b").write_text("what is this")
    found = convostore("import", "missing", "b", "a", "--user", "alice")
    assert found.code == 1
    assert found.lines[0] == "read 1 conversations with 1 messages; 1 imported"
    assert "missing: No such file" in found.lines[1] and "b: no known format" in found.lines[2]


def test_export_and_import_again_is_the_same_file(
    convostore: Command, store: ConversationStore, tmp_path: Path
) -> None:
    one = store.create(Conversation(user="alice", messages=[HI] * 300, extra={"nan": float("nan")}))
    store.edit(one.id, 3, {"n": 2**70, "half": "\ud800"})
    store.steer(one.id, "later")
    plain = convostore.fine("export", "--out", "a.jsonl")
    assert plain.out == "" and plain.err == "exported 1 conversations with 300 messages\n"
    convostore.fine("export", "-o", "a.jsonl.gz")
    convostore.fine("export", "-o", "a.jsonl.zst")
    written = (tmp_path / "a.jsonl").read_bytes()
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == written
    with (tmp_path / "a.jsonl.zst").open("rb") as file:
        assert zstandard.ZstdDecompressor().stream_reader(file).read() == written
    assert convostore.fine("export").out.encode() == written
    assert convostore.uri is not None
    target = Command(convostore.uri.replace("?", "_copy?", 1), tmp_path)
    target.fine("import", "a.jsonl.zst")
    assert target.fine("export").out.encode() == written
    assert target.fine("doctor").out == "checked 1 conversations with 300 messages: fine\n"


def test_export_gives_back_what_openai_lines_brought(convostore: Command) -> None:
    lines = chat("a", HI, HELLO) + chat("b", HI)
    convostore.fine("import", "--user", "alice", stdin=lines)
    back = convostore.fine("export", "--format", "openai", "--user", "alice").lines
    assert [json.loads(line) for line in back] == [json.loads(line) for line in lines.splitlines()]
    assert convostore.fine("export", "--format", "openai", "--user", "bob").out == ""


def test_export_of_an_older_version_says_what_it_lacks_or_refuses(
    convostore: Command, store: ConversationStore
) -> None:
    store.create(Conversation(user="2vxsx-fae", status="idle", label="x"))
    found = convostore.fine("export", "--format", "anda", "--anda-version", "1")
    assert json.loads(found.out)["status"] == "completed"
    assert "idle" in found.err and "label" in found.err
    strict = convostore("export", "--format", "anda", "--anda-version", "1", "--strict", "--out", "f")
    assert strict.code == 1 and strict.err.count("\n") == 1
    assert list(convostore.folder.iterdir()) == []
    told = convostore.fine("export", "--format", "anda", "--out", "f", "--json").json
    assert (told["conversations"], told["file"]) == (1, "f")


def test_export_that_fails_leaves_the_file_as_it_was(convostore: Command, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("before")
    assert convostore("export", "--format", "nothing", "--out", "f").code == 2
    assert (tmp_path / "f").read_text() == "before"
    missing = convostore("export", "--out", "no/such/folder/f")
    assert missing.code == 1 and "no/such/folder" in missing.err and missing.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_export_keeps_links_and_pipes_that_it_is_to_write_to(convostore: Command) -> None:
    folder = convostore.folder
    (folder / "f.jsonl").write_text(chat("a", HI))
    convostore.fine("import", "f.jsonl", "--user", "alice")
    (folder / "old").write_text("old")
    (folder / "link").symlink_to("old")
    os.mkfifo(folder / "pipe")

    convostore.fine("export", "--out", "link", "--format", "openai")
    writer = convostore.start("export", "--out", "pipe", "--format", "openai")
    try:
        piped = (folder / "pipe").read_text()
    finally:
        writer.communicate()
    long = "n" * 240 + ".jsonl"
    convostore.fine("export", "--out", long, "--format", "openai")

    assert writer.returncode == 0 and (folder / "pipe").is_fifo() and (folder / "link").is_symlink()
    assert json.loads(piped)["messages"] == [HI]
    assert piped == (folder / "old").read_text() == (folder / long).read_text()


def test_truncated_canonical_file_is_refused_with_what_was_imported(
    convostore: Command, store: ConversationStore
) -> None:
    for _ in range(2):
        store.create(Conversation(user="alice", messages=[HI]))
    written = convostore.fine("export").out
    assert convostore.uri is not None
    target = Command(convostore.uri.replace("?", "_copy?", 1), convostore.folder)
    cut = target("import", stdin=written[: written.rindex('{"kind":"entries"')])
    assert cut.code == 1
    assert cut.lines[0] == "read 1 conversations with 1 messages; 1 imported"
    assert "cut off after line 6" in cut.out
    assert target.fine("import", stdin=written).lines[0].endswith("1 imported, 1 unchanged")


def test_import_that_is_interrupted_says_how_to_go_on_and_goes_on(
    convostore: Command, store: ConversationStore
) -> None:
    text = "".join(chat(str(number), {"role": "user", "content": "x" * 3_000}) for number in range(5_000))
    (convostore.folder / "f").write_text(text)
    running = convostore.start("import", "f", "--user", "alice")
    deadline = time.monotonic() + 60
    while not store.count(user=ALL_USERS) and time.monotonic() < deadline:
        pass
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130 and b"run the same import again" in err and b"Traceback" not in err
    done = convostore.fine("import", "f", "--user", "alice", "--json").json
    assert done["read"] == 5_000 and done["imported"] + done["unchanged"] == 5_000 and done["unchanged"]
    assert store.count(user=ALL_USERS) == 5_000
    assert not store.check().findings


@pytest.mark.shared
def test_two_hundred_real_runs_on_the_command_line(convostore: Command) -> None:
    path = SHARED / "data" / "airline_agent_runs.openai.jsonl"
    first = convostore.fine("import", path.resolve(), "--user", "bench")
    assert first.out == "read 200 conversations with 5,308 messages; 200 imported\n"
    again = convostore.fine("import", path.resolve(), "--user", "bench")
    assert again.out == "read 200 conversations with 5,308 messages; 200 unchanged\n"


@pytest.mark.shared
def test_sample_exports_of_anda_come_in(convostore: Command) -> None:
    folder = (SHARED / "data" / "exports" / "anda").resolve()
    told = convostore("import", *sorted(folder.iterdir()), "--json")
    assert told.code == 1  # a delta without its offsets is no record
    assert (told.json["imported"], told.json["failed"]) == (3, 1)
    into = told.json["files"]
    assert [one["imported"] for one in into] == [1, 2, 0]


def test_work_over_a_second_shows_progress_on_a_terminal(convostore: Command, tmp_path: Path) -> None:
    fifo = tmp_path / "slow"
    os.mkfifo(fifo)
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [COMMAND, "import", "slow", "--user", "alice"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=convostore.environ(TERM="xterm"),
        cwd=tmp_path,
    )
    os.close(theirs)
    shown = b""
    with fifo.open("w") as slow:
        slow.write(chat("a", HI))
        slow.flush()
        # The file goes on only once something was shown.
        while b"importing slow" not in shown:
            shown += os.read(ours, 1000)
    out, _ = running.communicate(timeout=60)
    os.close(ours)
    assert (running.returncode, out) == (0, b"read 1 conversations with 1 messages; 1 imported\n")


def test_formats_of_a_file_for_each_conversation_go_into_a_folder_and_come_back(convostore: Command) -> None:
    convostore.fine("import", "-", "--user", "alice", stdin=chat("a", HI, HELLO) + chat("b", HI))
    nowhere = convostore("export", "--format", "markdown")
    assert nowhere.code == 2 and "say where with --out" in nowhere.err
    as_file = convostore("export", "--format", "html", "--out", "page.html")
    assert as_file.code == 2 and "name a folder" in as_file.err
    assert not (convostore.folder / "page.html").exists()
    told = convostore.fine("export", "--format", "markdown", "--out", "out/md", "--json").json
    assert (told["file"], told["conversations"], told["messages"]) == ("out/md", 2, 3)
    names = sorted(path.name for path in (convostore.folder / "out" / "md").iterdir())
    assert names == ["1.md", "2.md"]
    back = convostore.fine("import", *(f"out/md/{name}" for name in names), "--user", "bob")
    assert back.lines[0] == ("read 2 conversations with 3 messages; 2 imported, 2 renumbered")
    (convostore.folder / "file").write_text("x")
    assert convostore("export", "--format", "html", "--out", "file").code == 1
