"""Saved sessions in one file: logs by themselves, bundles, the format before, and what is broken in them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from convostore.schemas.errors import SessionFormatError
from convostore.schemas.formats.rig_session import read_bundle
from convostore.schemas.session_logs import read_log
from support.importing import detected

PNG = b"\x89PNG\nbytes"
BLOB = f"{hashlib.sha256(PNG).hexdigest()}.png"


def line(seq: int, kind: str, **members: Any) -> str:
    return json.dumps({"seq": seq, "n": seq, "t": 1000 + seq, "type": kind, **members}) + "\n"


def log(name: str = "main", format: str = "rig-session/4") -> str:
    said = {"message": {"role": "user", "content": [{"type": "text", "text": "=== logs/no.jsonl"}]}, "id": 0}
    return line(0, "header", format=format, log=name, lineage=7) + line(1, "push", entries=[said])


def bundle(format: str = "rig-session/4", end: str = "\n") -> bytes:
    text = (
        f"=== logs/main.jsonl\n{log(format=format)}=== logs/session.jsonl\n{log('session', format)}"
        f'=== files/a/meta.json\n{{"title": "T"}}\n=== blobs/{BLOB}\n'
    )
    return text.replace("\n", end).encode() + PNG


def test_log_by_itself_is_a_session_of_one_agent() -> None:
    data = (log() + '{"seq":2,"n"').encode()
    assert detected(data) == "rig-session"
    found = read_bundle(data)
    assert list(found.logs) == ["main"] and found.files == {} and found.notes == []
    assert read_log(found.logs["main"], "main").torn == b'{"seq":2,"n"'


@pytest.mark.parametrize("after", [b"", b"\n", b"\r\n"])
def test_bundle_holds_logs_files_and_blobs(after: bytes) -> None:
    data = b"\xef\xbb\xbf" + bundle() + after
    assert detected(data) == "rig-session"
    found = read_bundle(data)
    assert {name: data.decode() for name, data in found.logs.items()} == {
        "main": log(), "session": log("session"),
    }  # fmt: skip
    assert found.files == {"a/meta.json": b'{"title": "T"}', f"blobs/{BLOB}": PNG} and found.notes == []


def test_lines_may_end_as_on_windows() -> None:
    found = read_bundle(bundle(end="\r\n"))
    assert len(read_log(found.logs["main"], "main").lines) == 1
    assert found.files[f"blobs/{BLOB}"] == PNG


def test_format_before_is_read_and_said() -> None:
    found = read_bundle(bundle("rig-session/3"))
    assert found.logs["main"].decode() == log() and found.notes == [
        "logs of rig-session/3 are read as rig-session/4, which has the same records"
    ]
    later = read_bundle(bundle("rig-session/9"))
    with pytest.raises(SessionFormatError, match="rig-session/9"):
        read_log(later.logs["main"], "main")


def test_bytes_that_are_not_those_of_their_name_are_said() -> None:
    found = read_bundle(bundle() + b"more")
    assert found.files[f"blobs/{BLOB}"] == PNG + b"more" and BLOB in found.notes[0]


def test_what_is_no_session_is_refused() -> None:
    with pytest.raises(SessionFormatError, match="no header"):
        read_bundle(b'{"type": "push"}\n')
    with pytest.raises(SessionFormatError, match="twice"):
        read_bundle(b"=== logs/a.jsonl\n" + log("a").encode() + bundle() + b"\n" + bundle())
