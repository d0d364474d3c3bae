"""A first try that arrives after everything: its repeat, and the seal of the record that the repeat left."""

from __future__ import annotations

from typing import Any

import pytest
from bson.objectid import ObjectId
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.store import ConversationStore, appending, requests
from convostore.store.layout import Bounds
from convostore.store.synchronous._backend import Backend
from support.command_log import CommandLog
from support.servers import Server

BOUNDS = Bounds(log_soft=4, log_keep=2, step=2)


class Clock:
    """A clock that moves by a millisecond whenever it is asked."""

    def __init__(self) -> None:
        self.now = 1_790_848_800_000

    def __call__(self) -> int:
        self.now += 1
        return self.now


def first_try(text: str, now: int) -> tuple[appending.Append, dict[str, Any], dict[str, Any]]:
    asked = requests.append_request(
        {"role": "user", "content": text},
        now=now,
        make_key=ObjectId,
        artifacts=None,
        resources=None,
        usage={},
        status=None,
        author=None,
        dialect=None,
        key=None,
        keys=None,
        took=None,
        expected=None,
        unfinished=False,
        force=False,
    )
    query, update = appending.command(asked, {"_id": 1, "user": "alice"}, BOUNDS)
    return asked, query, update


@pytest.mark.parametrize("behind_ms", [0, 3_600_000])
def test_a_first_try_changes_nothing_once_the_record_of_its_call_was_sealed(
    server: Server, database_name: str, behind_ms: int
) -> None:
    """Also when the clock of its writer is an hour behind that of all others."""
    clock = Clock()
    with MongoClient[dict[str, Any]](server.uri()) as client:
        database = client[database_name]
        store = ConversationStore(database, clock=clock, bounds=BOUNDS)
        store.setup()
        store.create(Conversation(user="alice", id=1))
        backend = Backend(database, bounds=BOUNDS)
        asked, query, update = first_try("once", clock() - behind_ms)
        assert backend.modify("conversations", query, update, comment="append") is not None
        for number in range(8):
            store.append(1, {"role": "user", "content": str(number)})
        head = database["conversations"].find_one({"_id": 1})
        assert head is not None
        assert head["log_start"] > 0
        assert asked.keys[0] not in [record["k"] for record in head["log"]]
        assert backend.modify("conversations", query, update, comment="append") is None
        texts = [message["content"] for message in store.get(1).messages]
    assert texts == ["once", *map(str, range(8))]


def test_append_takes_one_round_trip_after_records_were_sealed(server: Server, database_name: str) -> None:
    log = CommandLog()
    with MongoClient[dict[str, Any]](server.uri(), event_listeners=[log]) as client:
        store = ConversationStore(client[database_name], clock=Clock(), bounds=BOUNDS)
        store.setup()
        store.create(Conversation(user="alice", id=1))
        trips = []
        for number in range(20):
            log.clear()
            store.append(1, {"role": "user", "content": str(number)})
            trips.append(log.round_trips)
        sealed = client[database_name]["changes"].count_documents({})
    assert sealed == 4
    assert trips.count(1) == 20 - sealed
