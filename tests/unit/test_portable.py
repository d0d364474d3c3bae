"""What lies beside a record in the database, as lines of the canonical format."""

from __future__ import annotations

import io
from typing import Any

import pytest
from bson.objectid import ObjectId

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.schemas.formats.canonical import entry_json
from convostore.schemas.json_values import dump_exact, same_json
from convostore.store.portable import EntriesWithin, entry_to_json, has_whole_history, is_one_document
from convostore.store.runs import to_entry

BLOB = ObjectId()
STORED: list[dict[str, Any]] = [
    {"id": 0, "m": {"role": "user", "content": "hi"}},
    {"id": 1, "made": 5, "dialect": "openai", "unfinished": True, "m": [2**60, None, 0.5]},
    {"id": 2, "made": 0, "author": Author.plugin("btw").titled("t").to_json(), "t": '{"$int":"\\ud800"}'},
    {"id": 3, "blob": {"b": BLOB, "n": 1, "s": 4, "f": "t"}},
]
BLOBS = {BLOB: b"[NaN]"}


@pytest.mark.parametrize("stored", STORED)
def test_a_stored_entry_is_written_as_the_entry_that_it_is(stored: dict[str, Any]) -> None:
    written = entry_to_json(stored, BLOBS)
    assert dump_exact(written) == dump_exact(entry_json(to_entry(stored, BLOBS)))


def test_entries_in_a_file_are_those_written_to_it_as_often_as_they_are_asked_for() -> None:
    held = io.StringIO("".join(f"{dump_exact(entry_to_json(stored, BLOBS))}\n" for stored in STORED))
    entries = EntriesWithin(held)
    expected = [entry_json(to_entry(stored, BLOBS)) for stored in STORED]
    for _ in range(2):
        found = list(entries)
        assert all(isinstance(entry, Entry) for entry in found)
        assert same_json([entry_json(entry) for entry in found], expected)


WHOLE: dict[str, Any] = {
    "segments": [],
    "messages": STORED[:3],
    "resources": [],
    "artifacts": [{"name": "a", "blob": "a resource's own member"}],
    "log_start": 0,
    "log": [{"at": 1, "n": 3}, {"at": 2, "from": 0, "to": 1, "with": [], "rm": STORED[:1]}],
}


def test_a_head_that_holds_everything_is_one_document() -> None:
    assert is_one_document(WHOLE) and has_whole_history(WHOLE)


@pytest.mark.parametrize(
    "apart",
    [
        {"segments": [{"i": ObjectId(), "n": 4}]},
        {"messages": STORED},
        {"resources": [{"_id": 4, "blob": STORED[3]["blob"]}]},
    ],
)
def test_what_lies_apart_is_seen(apart: dict[str, Any]) -> None:
    assert not is_one_document(WHOLE | apart)


@pytest.mark.parametrize(
    "apart",
    [
        {"log_start": 64},
        {"asides_body": ObjectId()},
        {"log": [{"at": 2, "from": 0, "to": 1, "with": [], "body": [ObjectId()]}]},
        {"log": [{"at": 2, "from": 0, "to": 1, "with": [], "rm": STORED[3:]}]},
    ],
)
def test_history_that_lies_apart_is_seen(apart: dict[str, Any]) -> None:
    assert not has_whole_history(WHOLE | apart)
