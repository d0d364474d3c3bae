"""Iterating over all entries while others write: each entry that stays is given once, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.store import ConversationStore
from convostore.store.layout import Bounds
from convostore.store.synchronous import _sealing
from convostore.store.synchronous._backend import Backend
from support.command_log import CommandLog
from support.servers import Server

COUNT = 44
BOUNDS = Bounds(keep=2, soft_count=6, step=1, merge_width=1000)
EDITED = {"role": "user", "content": "edited"}
Stored = tuple[ConversationStore, Any]


def said(number: int) -> dict[str, Any]:
    return {"role": "user", "content": f"message {number}"}


@pytest.fixture
def stored(standalone: Server, database_name: str) -> Iterator[Stored]:
    """A conversation with ten segments of four messages."""
    with MongoClient[dict[str, Any]](standalone.uri()) as client:
        store = ConversationStore(client[database_name], bounds=BOUNDS)
        store.setup()
        store.create(Conversation(id=1, user="alice"))
        for number in range(COUNT):
            store.append(1, said(number))
        yield store, client[database_name]


def test_each_segment_is_read_once(standalone: Server, stored: Stored) -> None:
    log = CommandLog()
    with MongoClient[dict[str, Any]](standalone.uri(), event_listeners=[log]) as client:
        store = ConversationStore(client[stored[1].name], bounds=BOUNDS)
        assert [entry.id for entry in store.entries(1)] == list(range(COUNT))
    reads = [sent.command["filter"]["_id"]["$in"] for sent in log.sent if sent.collection == "segments"]
    segments = [item["i"] for item in stored[1]["conversations"].find_one()["segments"]]
    assert [id for ids in reads for id in ids] == segments


def merged(database: Any) -> None:
    """Join all segments, of which one or two were given already."""
    backend = Backend(database, bounds=Bounds(merge_width=10))
    head = database["conversations"].find_one({"_id": 1})
    assert _sealing.merge(backend, {"_id": 1, "user": "alice"}, head)


MEANWHILE: dict[str, tuple[Callable[[ConversationStore, Any], object], list[dict[str, Any]]]] = {
    "an edit of what was given": (
        lambda store, _: store.edit(1, 1, EDITED),
        [said(number) for number in range(COUNT)],
    ),
    "an edit of what is to come": (
        lambda store, _: store.edit(1, 30, EDITED),
        [EDITED if number == 30 else said(number) for number in range(COUNT)],
    ),
    "a merge of what was given with what is to come": (
        lambda _, database: merged(database),
        [said(number) for number in range(COUNT)],
    ),
    "appends and seals": (
        lambda store, _: [store.append(1, said(number)) for number in range(COUNT, COUNT + 20)],
        [said(number) for number in range(COUNT + 20)],
    ),
}


@pytest.mark.parametrize("given", [1, 4, 6])
@pytest.mark.parametrize("change", MEANWHILE)
def test_what_others_do_neither_repeats_nor_hides_an_entry(stored: Stored, change: str, given: int) -> None:
    store, database = stored
    act, expected = MEANWHILE[change]
    entries = iter(store.entries(1))
    found = list(islice(entries, given))
    act(store, database)
    found += entries
    assert [entry.id for entry in found] == list(range(len(expected)))
    assert [entry.message for entry in found] == expected


def test_an_iteration_goes_on_behind_an_entry(stored: Stored) -> None:
    store, _ = stored
    for after in (0, 3, 4, COUNT - 3, COUNT - 1):
        assert [entry.id for entry in store.entries(1, after=after)] == list(range(after + 1, COUNT))
