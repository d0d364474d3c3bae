"""A resource added again while it is collected: the caller has it afterwards, whatever came in between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
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
