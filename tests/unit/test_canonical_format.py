"""The canonical format: what is written is read back equal, and what was cut or altered is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import pytest

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry, Source
from convostore.schemas.errors import ImportFormatError, SchemaVersionError
from convostore.schemas.formats.canonical import (
    MAX_RUN,
    PART_BYTES,
    CanonicalWriter,
    ChangesLine,
    ConversationLine,
    EndLine,
    EntriesLine,
    Header,
    Line,
    QueuedText,
    ResourceBytesLine,
    ResourceLine,
    Trailer,
    count_parts,
    entry_json,
    entry_text,
)
from convostore.schemas.formats.canonical_reader import read_canonical
from convostore.schemas.formats.items import Refused
from convostore.schemas.json_values import dump_exact, same_json

BYTES = bytes(range(256)) * 8192
LARGE = ResourceLine(4, "alice", {"_id": 4, "tags": [], "name": "b"}, parts=count_parts(len(BYTES)))
RESOURCES = [
    ResourceLine(3, "alice", {"_id": 3, "tags": ["text"], "name": "a"}, b"\x00\xff", more={"marked": 5}),
    LARGE,
]
ENTRIES = [
    Entry(0, {"role": "user", "content": "\ud800 \u00e9"}, made=1_700_000_000_000),
    Entry(2, {"v": [1, 1.0, True, 2**63, math.nan, math.inf, -0.0], "$int": 1}, dialect="openai"),
    Entry(3, {"$int": "5"}, author=Author.plugin("btw").titled("t"), unfinished=True),
    Entry(4, None),
]
CHANGES: list[Any] = [{"at": 1, "n": 3}, {"at": 2, "rm": [{"$float": "NaN"}]}]
HEADS = [
    ConversationLine(
        id=7,
        user="alice",
        record={"_id": 7, "user": "alice", "extra": {"$int": "1"}, "child": 2**64 - 1},
        version=9,
        revision=2,
        lineage=2**62,
        next_entry=5,
        schema_version=1,
        source=Source("openai", "x", "f.jsonl", "00"),
        unknown={"tools": [1]},
        queues={
            "steering_messages": (QueuedText("q1", "stop", 5),),
            "follow_up_messages": (QueuedText("q2", "\ud800", 6), QueuedText("q3", "go", 7)),
        },
        more={"halt": "stopped", "recent": [{"k": "a"}]},
    ),
    ConversationLine(8, "bob", {"_id": 8, "user": "bob"}, 1, 0, 1, 0, 1),
]


def written() -> list[bytes]:
    writer = CanonicalWriter()
    lines = [writer.header()]
    lines.append(writer.resource(RESOURCES[0]))
    lines.append(writer.resource(LARGE))
    for part in range(LARGE.parts):
        data = BYTES[part * PART_BYTES : (part + 1) * PART_BYTES]
        lines.append(writer.resource_bytes(LARGE.id, part, data))
    lines.append(writer.conversation(HEADS[0]))
    lines += writer.entries(map(entry_text, ENTRIES))
    lines += writer.changes(map(dump_exact, CHANGES))
    lines.append(writer.end(7))
    lines.append(writer.conversation(HEADS[1]))
    lines += writer.entries([])
    lines.append(writer.end(8))
    return [*lines, writer.trailer()]


def read(data: Iterable[bytes]) -> list[Line | Refused]:
    return [found for _, found in read_canonical(data)]


def read_until_error(data: Iterable[bytes]) -> tuple[list[Line | Refused], Exception | None]:
    found: list[Line | Refused] = []
    try:
        for _, line in read_canonical(data):
            found.append(line)
    except (ImportFormatError, SchemaVersionError) as error:
        return found, error
    return found, None


def test_everything_comes_back_equal() -> None:
    found = read(written())
    assert found[:2] == [Header(), RESOURCES[0]]
    assert found[2] == LARGE
    parts = [line for line in found if isinstance(line, ResourceBytesLine)]
    assert b"".join(part.data for part in parts) == BYTES
    assert [line for line in found if isinstance(line, ConversationLine)] == HEADS
    (entries,) = [line for line in found if isinstance(line, EntriesLine)]
    assert same_json([entry.message for entry in entries.entries], [entry.message for entry in ENTRIES])
    assert [(e.id, e.made, e.author, e.dialect, e.unfinished) for e in entries.entries] == [
        (e.id, e.made, e.author, e.dialect, e.unfinished) for e in ENTRIES
    ]
    (changes,) = [line for line in found if isinstance(line, ChangesLine)]
    assert same_json(list(changes.changes), CHANGES)
    assert [line for line in found if isinstance(line, EndLine)] == [EndLine(7, 4, 2), EndLine(8, 0, 0)]
    trailer = found[-1]
    assert isinstance(trailer, Trailer)
    assert (trailer.resources, trailer.conversations, trailer.entries, trailer.changes) == (2, 2, 4, 2)
    assert trailer.lines == len(written()) - 1


def test_text_is_ascii_that_strict_parsers_read_and_doubles_survive() -> None:
    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is no JSON")

    for line in written():
        line.decode("ascii")
        value = json.loads(line, parse_constant=refuse)
        # What a reader with doubles only would make of it.
        rounded = json.loads(line, parse_int=lambda text: int(float(text)), parse_constant=refuse)
        assert rounded == value


def test_the_same_data_give_the_same_bytes() -> None:
    assert written() == written()


def test_runs_stay_within_a_mebibyte_and_do_not_depend_on_how_entries_arrive() -> None:
    entries = [Entry(place, {"role": "user", "content": "x" * 300_000}) for place in range(10)]
    entries.insert(5, Entry(5, "y" * 2_000_000))
    entries = [Entry(place, entry.message) for place, entry in enumerate(entries)]
    lines = list(CanonicalWriter().entries(map(entry_text, entries)))
    assert lines == list(CanonicalWriter().entries([entry_text(entry) for entry in entries]))
    over = [line for line in lines if len(line) > MAX_RUN]
    assert len(over) == 1 and len(lines) == 5
    assert len(CanonicalWriter().resource_bytes(4, 0, BYTES[:PART_BYTES])) <= MAX_RUN


@pytest.mark.parametrize("size", [10, 150_000])
def test_entries_written_at_once_are_the_same_lines(size: int) -> None:
    entries = [*ENTRIES, *(Entry(5 + place, "\u00e9" * size) for place in range(3))]
    one_by_one, at_once = CanonicalWriter(), CanonicalWriter()
    lines = [*one_by_one.entries(map(entry_text, entries)), one_by_one.end(7), one_by_one.trailer()]
    together = [*at_once.entries_at_once(list(map(entry_json, entries))), at_once.end(7), at_once.trailer()]
    assert together == lines
    assert list(CanonicalWriter().entries_at_once([])) == []


@pytest.mark.parametrize("kept", range(1, 12))
def test_file_cut_at_a_line_is_refused_at_its_end(kept: int) -> None:
    lines = written()
    assert kept < len(lines)
    found, error = read_until_error(lines[:kept])
    assert isinstance(error, ImportFormatError) and "cut off" in str(error)
    assert len(found) == kept


def test_file_cut_within_a_line_is_refused_and_what_came_before_is_given() -> None:
    data = b"".join(written())
    found, error = read_until_error([data[: data.index(b'"kind":"changes"') + 30]])
    assert isinstance(error, ImportFormatError) and "cut off after line 8" in str(error)
    assert isinstance(found[-1], EntriesLine)
    assert not any(isinstance(line, EndLine) for line in found)


def test_changed_text_is_refused_at_the_end() -> None:
    data = b"".join(written()).replace(b'"stop"', b'"step"')
    found, error = read_until_error([data])
    assert isinstance(error, ImportFormatError) and "altered" in str(error)
    assert sum(isinstance(line, EndLine) for line in found) == 2


def test_removed_line_is_refused() -> None:
    lines = written()
    del lines[7]
    found, error = read_until_error(lines)
    refused = [line for line in found if isinstance(line, Refused)]
    assert len(refused) == 1 and refused[0].id == "7"
    assert isinstance(error, ImportFormatError)
    assert [line.id for line in found if isinstance(line, EndLine)] == [8]


def test_broken_line_refuses_its_conversation_and_no_other() -> None:
    lines = written()
    lines[7] = b'{"kind":"entries","entries":[{"id":0}]}\n'
    found, error = read_until_error(lines)
    refused = [line for line in found if isinstance(line, Refused)]
    assert refused == [Refused(8, "entries[0].message is missing", "7")]
    assert [line.id for line in found if isinstance(line, EndLine)] == [8]
    assert isinstance(error, ImportFormatError)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"kind":"entries","entries":[]}', "outside a conversation"),
        (b'{"kind":"resource-bytes","id":3,"part":0,"data":"AA=="}', "out of place"),
        (b'{"kind":"resource","id":3,"user":"a","resource":{},"blob":"?"}', "blob is no base64"),
        (b'{"kind":"resource","id":-3,"user":"a","resource":{}}', "id is negative"),
        (b'{"kind":"resource","id":true,"user":"a","resource":{}}', "id is no int"),
        (b'{"kind":"resource","id":3.0,"user":"a","resource":{}}', "id is no int"),
        (b'{"kind":"resource","id":3,"user":7,"resource":{}}', "user is no str"),
        (b'{"kind":"header","format":"convostore","version":1}', "second header"),
        (b'{"kind":"strange"}', "unknown kind 'strange'"),
        (b"[]", "no object"),
        (b"{]", "no JSON"),
        (b'{"$int":"x"}', "no JSON"),
    ],
)
def test_line_that_may_not_stand_there_is_named(line: bytes, reason: str) -> None:
    found, error = read_until_error([written()[0], line + b"\n"])
    (refused,) = [item for item in found if isinstance(item, Refused)]
    assert refused.position == 2 and reason in refused.reason
    assert isinstance(error, ImportFormatError)


@pytest.mark.parametrize("ids", [[0, 0], [3, 1, 3], [5]])
def test_entry_ids_must_differ_and_stay_below_the_next(ids: list[int]) -> None:
    writer = CanonicalWriter()
    lines = [
        writer.header(),
        writer.conversation(HEADS[0]),
        *writer.entries(entry_text(Entry(id, 1)) for id in ids),
    ]
    found, _ = read_until_error(lines)
    assert isinstance(found[-1], Refused) and "twice" in found[-1].reason


def test_newer_version_is_refused_with_both_numbers() -> None:
    _, error = read_until_error([b'{"kind":"header","format":"convostore","version":2}\n'])
    assert isinstance(error, SchemaVersionError) and (error.found, error.known) == (2, 1)


@pytest.mark.parametrize("data", [b"", b"{}\n", b'{"kind":"header","format":"x","version":1}\n', b"\x00\n"])
def test_what_is_no_canonical_file_is_refused(data: bytes) -> None:
    found, error = read_until_error([data])
    assert found == [] and isinstance(error, ImportFormatError)


def test_more_after_the_trailer_is_refused() -> None:
    _, error = read_until_error([*written(), b"{}\n"])
    assert isinstance(error, ImportFormatError) and "after the trailer" in str(error)


def test_two_files_joined_are_refused() -> None:
    _, error = read_until_error([*written(), *written()])
    assert isinstance(error, ImportFormatError)
