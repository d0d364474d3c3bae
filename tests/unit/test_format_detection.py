"""Formats are told apart by content; the input is looked at, not used up."""

from __future__ import annotations

import json
from typing import Any

import cbor2
import pytest

from convostore.schemas.errors import ImportFormatError
from convostore.schemas.formats import FORMATS, ByteInput, Imported, ReadOptions, detect
from convostore.schemas.formats.canonical import CanonicalWriter
from support.shared import SHARED

CHAT = {"messages": [{"role": "user", "content": "hi"}]}
RECORD = {"_id": 1, "user": "a", "status": "idle", "usage": {}, "created_at": 5, **CHAT}


def detected(data: bytes) -> str:
    return detect(ByteInput([data])).name


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (CanonicalWriter().header(), "convostore"),
        (json.dumps(RECORD).encode(), "anda"),
        (json.dumps([RECORD]).encode(), "anda"),
        (json.dumps({"result": [RECORD]}, indent=1).encode(), "anda"),
        (cbor2.dumps(RECORD), "anda"),
        (cbor2.dumps([RECORD]), "anda"),
        (b"\xd9\xd9\xf7" + cbor2.dumps(RECORD), "anda"),
        (cbor2.dumps({"f": {0: 1}}), "anda"),
        (b"\xef\xbb\xbf<documents>\n{}\n</documents>", "anda"),
        (json.dumps(CHAT).encode(), "openai"),
        (json.dumps([CHAT]).encode(), "openai"),
        (json.dumps(CHAT["messages"]).encode(), "openai"),
        (json.dumps(CHAT["messages"][0]).encode(), "openai"),
        (b"\xef\xbb\xbf\r\n\r\n" + json.dumps(CHAT).encode(), "openai"),
        (b"{broken\n\n" + json.dumps(CHAT).encode() + b"\n", "openai"),
    ],
)
def test_format_is_known_by_content(data: bytes, name: str) -> None:
    assert detected(data) == name


def test_every_byte_is_still_there_afterwards() -> None:
    long = {"id": "x", "messages": [{"role": "user", "content": "y" * 300_000}] * 2}
    data = json.dumps(long).encode()
    source = ByteInput([data[start : start + 1000] for start in range(0, len(data), 1000)])
    assert detect(source).name == "openai"
    assert b"".join(source) == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"\xff\xfe{\x00}\x00", "UTF-16"),
        (b"\x89PNG\r\n", "no known format"),
        (b"\x1f\x8b\x08\x00", "no known format"),
        (b"plain text\n", "no known format"),
        (b'{"mapping":{}}', "'mapping'"),
        (b"[1,2]", "begins with a int"),
        (b'{"kind":"header","format":"other"}', "no known format"),
        (b"\xa1", "no known format"),
    ],
)
def test_what_fits_nothing_is_said_to(data: bytes, reason: str) -> None:
    with pytest.raises(ImportFormatError, match=reason):
        detected(data)


def test_input_that_fits_two_formats_names_them() -> None:
    either = {"_id": 5, "user": "a", **CHAT}
    with pytest.raises(ImportFormatError, match="anda and openai"):
        detected(json.dumps(either).encode())


@pytest.mark.parametrize(
    "value",
    [
        {"_id": {"$oid": "65c5"}, "title": "t", "messages": [{"from": "user", "content": "x"}]},
        {"id": "", "history": {"messages": {}}, "messages": [{"role": "user", "content": "x"}]},
        {"role": "assistant", "type": "message", "content": [{"type": "thinking", "thinking": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}]},
        {"conversations": [{"from": "human", "value": "x"}]},
        {"role": "user", "content": [{"type": ["odd"]}, 7], "type": "x"},
    ],
)
def test_other_programs_files_are_not_taken_for_these(value: Any) -> None:
    try:
        name = detected(json.dumps(value).encode())
    except ImportFormatError as error:
        name = str(error).partition(" (")[0]
    assert name not in ("convostore", "anda", "openai")


@pytest.mark.shared
@pytest.mark.parametrize("path", ["drone-tool-calls.jsonl", "llamafactory-reason-tools.jsonl"])
def test_samples_of_fine_tuning_hold_what_their_index_says(path: str) -> None:
    exports = SHARED / "data" / "exports"
    expected = json.loads((exports / "expected.json").read_text())[f"openai-finetune/{path}"]["expected"]
    source = ByteInput([(exports / "openai-finetune" / path).read_bytes()])
    found = detect(source)
    assert found is FORMATS["openai"] and found.read is not None
    items = list(found.read(source, ReadOptions(user="bench")))
    assert len({item.source.id for item in items if isinstance(item, Imported)}) == expected["conversations"]
    counts = [len(item.conversation.messages) for item in items if isinstance(item, Imported)]
    assert counts == [wanted["total"] for wanted in expected["convs"]]
