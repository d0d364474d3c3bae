"""Writes planned on a head that another writer has changed since: each of them changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from bson.objectid import ObjectId
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.store import ConversationStore
from convostore.store.layout import Bounds
from convostore.store.runs import encode_entries
from convostore.store.splicing import Splice
from convostore.store.synchronous._backend import Backend
from convostore.store.synchronous._sealing import merge, seal_messages
from convostore.store.synchronous._splicing import splice
from support.servers import Server

OWNER = {"_id": 1, "user": "alice"}
BOUNDS = Bounds(keep=2, soft_count=6, step=1, merge_width=2)
IDLE = Bounds(keep=2, soft_count=1000, merge_width=2)
"""Bounds at which a store does no housekeeping of its own."""


def said(number: int) -> dict[str, Any]:
    return {"role": "user", "content": f"message {number}"}


class Stage:
    """A conversation of ten messages, all embedded, and what works on it."""

    def __init__(self, database: Any) -> None:
        self.database = database
        self.backend = Backend(database, bounds=BOUNDS)
        self.store = ConversationStore(database, bounds=IDLE)
        self.store.setup()
        self.store.create(Conversation(id=1, user="alice", messages=list(map(said, range(10)))))

    def head(self) -> dict[str, Any]:
        found: dict[str, Any] = self.database["conversations"].find_one(OWNER)
        return found

    def edit(self, head: dict[str, Any], place: int, number: int) -> bool:
        """Whether the edit of one message, planned on that head, was carried out."""
        (entry,) = encode_entries([said(number)], made=None)
        asked = Splice(place, place + 1, (entry,), (place,), ObjectId(), self.backend.now())
        return splice(self.backend, OWNER, head, asked, comment="edit") is not None

    def messages(self) -> list[Any]:
        """What is stored; every segment that lies there is named, too."""
        named = [item["i"] for item in self.head()["segments"]]
        assert sorted(self.database["segments"].distinct("_id")) == sorted(named)
        return self.store.get(1).messages


@pytest.fixture
def stage(server: Server, database_name: str) -> Iterator[Stage]:
    with MongoClient[dict[str, Any]](server.uri()) as client:
        yield Stage(client[database_name])


def test_an_edit_of_a_recent_message_planned_before_an_append(stage: Stage) -> None:
    stale = stage.head()
    stage.store.append(1, said(10))
    assert not stage.edit(stale, 3, 99)
    assert stage.messages() == list(map(said, range(11)))


def test_an_edit_of_a_recent_message_planned_before_another(stage: Stage) -> None:
    stale = stage.head()
    assert stage.edit(stage.head(), 4, 98)
    assert not stage.edit(stale, 3, 99)
    assert stage.messages()[3:5] == [said(3), said(98)]


def test_an_edit_of_a_sealed_message_planned_before_another(stage: Stage) -> None:
    assert seal_messages(stage.backend, OWNER, stage.head()) is not None
    stale = stage.head()
    assert stage.edit(stage.head(), 0, 98)
    assert not stage.edit(stale, 1, 99)
    assert stage.messages()[:2] == [said(98), said(1)]


def test_an_edit_of_a_sealed_message_goes_with_an_append_in_between(stage: Stage) -> None:
    assert seal_messages(stage.backend, OWNER, stage.head()) is not None
    stale = stage.head()
    stage.store.append(1, said(10))
    assert stage.edit(stale, 0, 99)
    assert stage.messages() == [said(99), *map(said, range(1, 11))]


def test_a_seal_planned_before_another(stage: Stage) -> None:
    stale = stage.head()
    assert seal_messages(stage.backend, OWNER, stage.head()) is not None
    assert seal_messages(stage.backend, OWNER, stale) is None
    assert stage.messages() == list(map(said, range(10)))


def test_a_seal_goes_with_an_append_in_between(stage: Stage) -> None:
    stale = stage.head()
    stage.store.append(1, said(10))
    assert seal_messages(stage.backend, OWNER, stale) is not None
    assert stage.head()["embedded_count"] == 3
    assert stage.messages() == list(map(said, range(11)))


def test_a_merge_planned_before_a_seal(stage: Stage) -> None:
    assert seal_messages(stage.backend, OWNER, stage.head()) is not None
    stage.store.append(1, [said(number) for number in range(10, 18)])
    assert seal_messages(stage.backend, OWNER, stage.head()) is not None
    stale = stage.head()
    stage.store.append(1, [said(number) for number in range(18, 26)])
    assert seal_messages(stage.backend, OWNER, stage.head()) is not None
    assert not merge(stage.backend, OWNER, stale)
    assert len(stage.head()["segments"]) == 3
    assert stage.messages() == list(map(said, range(26)))
