"""A resource added again while it is collected: the caller has it afterwards, whatever came in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from bson.objectid import ObjectId
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import NotFoundError
from convostore.schemas.resources import Resource
from convostore.store import ConversationStore
from support.meddling import Meddler
from support.servers import Server

LARGE = b"x" * 300_000


@contextmanager
def stage(server: Server, name: str, listener: Meddler, **options: Any) -> Iterator[Any]:
    """A store whose commands are heard, and the database by another client."""
    other = server.client()
    with other, MongoClient[dict[str, Any]](server.uri(), event_listeners=[listener]) as client:
        store = ConversationStore(client[name], **options)
        store.setup()
        yield store, other[name]


@pytest.mark.parametrize("blob", [b"x", LARGE])
@pytest.mark.parametrize("command", ["insert", "find"])
def test_content_that_goes_while_it_is_added_again_is_stored_again(
    replica_set: Server, database_name: str, blob: bytes, command: str
) -> None:
    listener = Meddler()
    with stage(replica_set, database_name, listener) as (store, database):
        first = store.resources.add(Resource(name="r", blob=blob), user="alice")
        listener.meddle(command, "resources", lambda: database.resources.delete_one({"_id": first.id}))
        again = store.resources.add(Resource(name="r", blob=blob), user="alice")
        assert listener.done and again.id != first.id
        assert store.resources.get(again.id, user="alice").blob == blob
        assert database.resources.count_documents({}) == 1


def test_bytes_that_go_while_they_are_read_are_those_of_a_resource_that_is_gone(
    replica_set: Server, database_name: str
) -> None:
    listener = Meddler()
    with stage(replica_set, database_name, listener) as (store, database):
        id = store.resources.add(Resource(name="r", blob=LARGE), user="alice").id

        def collected() -> None:
            database.resources.delete_one({"_id": id})
            database["files.files"].delete_many({})
            database["files.chunks"].delete_many({})

        listener.meddle("find", "resources", collected)
        with pytest.raises(NotFoundError) as refusal:
            store.resources.get(id, user="alice")
        assert listener.done and (refusal.value.kind, refusal.value.id) == ("resource", id)


def test_an_id_that_is_held_is_not_taken_for_the_same_content(
    replica_set: Server, database_name: str
) -> None:
    ids = iter([7, 7, 8])
    with stage(replica_set, database_name, Meddler(), ids=lambda: next(ids)) as (store, _):
        assert store.resources.add(Resource(name="r", uri="https://a.example"), user="alice").id == 7
        assert store.resources.add(Resource(name="r", uri="https://b.example"), user="alice").id == 8


def test_a_conversation_opens_no_resource_of_another_user(replica_set: Server, database_name: str) -> None:
    with stage(replica_set, database_name, Meddler()) as (store, _):
        theirs = store.resources.add(Resource(name="r", blob=b"secret"), user="alice")
        record = store.create(Conversation(user="bob", resources=[theirs.model_copy()]))
        with pytest.raises(NotFoundError):
            store.resources.get(theirs.id, conversation=record.id)


def test_the_doctor_sees_bytes_that_are_missing_and_bytes_that_nothing_names(
    replica_set: Server, database_name: str
) -> None:
    later = {"clock": lambda: time.time_ns() // 1_000_000 + 2 * 86_400_000}
    with stage(replica_set, database_name, Meddler(), **later) as (store, database):
        kept, broken, loose = (
            store.resources.add(Resource(name="r", blob=bytes([number]) * len(LARGE)), user="alice").id
            for number in range(3)
        )
        assert store.check().findings == []
        file = database.resources.find_one({"_id": broken})["file"]
        database["files.chunks"].delete_one({"files_id": file, "n": 1})
        database.resources.delete_one({"_id": loose})  # as a client that is killed leaves it
        database["files.chunks"].insert_one({"files_id": ObjectId(), "n": 0, "data": b"x"})
        found = [(one.severity, one.kind, one.repaired) for one in store.check(repair=True).findings]
        assert found == [("broken", "resource_bytes", False), *[("leftover", "file", True)] * 2]
        assert [(one.kind, one.id) for one in store.check().findings] == [("resource_bytes", broken)]
        assert store.resources.get(kept, user="alice").blob == bytes(len(LARGE))
        with pytest.raises(NotFoundError):
            store.resources.get(broken, user="alice")
        assert database["files.files"].count_documents({}) == 2
