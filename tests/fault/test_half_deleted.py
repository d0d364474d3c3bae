"""What a delete that died half way leaves, and what a second delete or a repair makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.store import ConversationStore
from convostore.store.synchronous import _removing
from support.servers import Server

pytestmark = pytest.mark.fault

MESSAGES = [{"role": "user", "content": f"message {number}"} for number in range(200)]
Database = Any


class Died(Exception):
    """The process is gone."""


@pytest.fixture
def database(replica_set: Server, database_name: str) -> Iterator[Database]:
    with MongoClient[dict[str, Any]](replica_set.uri()) as client:
        yield client[database_name]


@pytest.fixture
def store(database: Database) -> ConversationStore:
    store = ConversationStore(database)
    store.setup()
    return store


def delete_and_die(store: ConversationStore, id: int, patch: pytest.MonkeyPatch, before: str) -> None:
    """Delete the conversation and die just before this step."""

    def die(*_: Any, **__: Any) -> Any:
        raise Died

    with patch.context() as patched:
        patched.setattr(_removing, before, die)
        with pytest.raises(Died):
            store.delete(id)


def parts(database: Database) -> int:
    names = ("segments", "blobs", "bodies", "changes")
    return sum(int(database[name].count_documents({})) for name in names)


def test_a_second_delete_removes_what_the_first_left(
    store: ConversationStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = store.create(Conversation(user="alice", messages=MESSAGES)).id
    delete_and_die(store, id, monkeypatch, "_remove_parts")
    assert parts(database) and not store.check().broken
    again = store.delete(id)
    assert (again.existed, again.segments) == (False, 1)
    assert parts(database) == 0 and not store.check().findings


def test_a_repair_removes_what_a_delete_left(
    store: ConversationStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = store.create(Conversation(user="alice", messages=MESSAGES)).id
    delete_and_die(store, id, monkeypatch, "_remove_parts")
    assert [found.kind for found in store.check(repair=True).leftovers][:1] == ["deletion"]
    assert parts(database) == 0 and not store.check().findings


def test_a_repair_spares_a_conversation_made_anew_under_the_id(
    store: ConversationStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = store.create(Conversation(user="alice", messages=MESSAGES)).id
    delete_and_die(store, id, monkeypatch, "_remove_parts")
    store.create(Conversation(id=id, user="alice", messages=MESSAGES[:150]))
    store.check(repair=True)
    assert store.get(id).messages == MESSAGES[:150]
    assert parts(database) == 1 and not store.check().findings


def test_a_repair_spares_a_conversation_whose_delete_did_not_begin(
    store: ConversationStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = store.create(Conversation(user="alice", messages=MESSAGES)).id
    delete_and_die(store, id, monkeypatch, "_remove_head")
    store.append(id, {"role": "user", "content": "still there"})
    store.check(repair=True)
    assert len(store.get(id).messages) == len(MESSAGES) + 1
    assert not store.check().findings
