"""What once went wrong in rarely combined calls: records in hand, resumed watches, values of wrong types."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import ConvostoreError, InvalidRecordError, QueryError
from convostore.schemas.resources import Resource
from convostore.store import ConversationStore
from support.servers import Server


def said(number: int) -> dict[str, Any]:
    return {"role": "user", "content": f"message {number}"}


@pytest.fixture
def store(server: Server, database_name: str) -> Iterator[ConversationStore]:
    client: MongoClient[dict[str, Any]] = MongoClient(server.uri())
    store = ConversationStore(client[database_name])
    store.setup()
    yield store
    client.drop_database(database_name)
    client.close()


def made(store: ConversationStore, **members: Any) -> Conversation:
    return store.create(Conversation(user="alice", messages=[said(0)], **members))


def holds_what_is_stored(store: ConversationStore, record: Conversation) -> bool:
    return store.get(record.id).to_json() == record.to_json()


@pytest.mark.parametrize("others", [0, 1])
def test_an_append_keeps_an_unsaved_status(store: ConversationStore, others: int) -> None:
    record = made(store)
    for number in range(others):
        store.append(record.id, said(number))
    record.status = "failed"  # type: ignore[assignment]
    record.failed_reason = "no answer"
    store.append(record, said(1))
    assert record.status == "failed"
    store.save(record)
    assert (store.head(record.id).status, store.head(record.id).failed_reason) == ("failed", "no answer")


@pytest.mark.parametrize("others", [0, 1])
def test_an_append_keeps_unsaved_resources(store: ConversationStore, others: int) -> None:
    record = made(store)
    for number in range(others):
        store.append(record.id, said(number), artifacts=Resource(name="theirs"))
    record.artifacts.append(Resource(name="mine"))
    store.append(record, said(1))
    assert [one.name for one in record.artifacts] == ["theirs"] * others + ["mine"]
    store.save(record)
    assert [one.name for one in store.get(record.id).artifacts] == ["theirs"] * others + ["mine"]


@pytest.mark.parametrize("others", [0, 1])
def test_an_append_with_a_status_is_newer_than_an_unsaved_one(store: ConversationStore, others: int) -> None:
    record = made(store)
    for number in range(others):
        store.append(record.id, said(number))
    record.status = "working"  # type: ignore[assignment]
    store.append(record, said(1), status="completed")
    assert store.save(record).changed == ()
    assert holds_what_is_stored(store, record)


def test_a_record_keeps_the_reason_of_a_stop_that_stuck(store: ConversationStore) -> None:
    record = made(store)
    store.stop(record.id, reason="enough")
    record = store.get(record.id)
    store.append(record, said(1), status="working")
    assert record.failed_reason == "enough"
    assert holds_what_is_stored(store, record)


def test_a_record_of_a_deleted_conversation_takes_on_the_one_of_the_same_id(store: ConversationStore) -> None:
    record = made(store)
    store.delete(record.id)
    store.create(Conversation(id=record.id, user="alice", messages=[said(7)]))
    store.append(record, said(1))
    assert record.messages == [said(7), said(1)]


def test_an_unsaved_queue_is_still_refused_after_an_append(store: ConversationStore) -> None:
    record = made(store)
    record.steering_messages = ["stop"]
    store.append(record, said(1))
    with pytest.raises(InvalidRecordError, match="steering_messages"):
        store.save(record)


@pytest.mark.parametrize("members", [{"user": "bob"}, {"label": 5}, {"thread": "a\0"}], ids=str)
def test_an_append_on_a_record_that_cannot_be_saved_writes_nothing(
    store: ConversationStore, members: dict[str, Any]
) -> None:
    record = made(store)
    store.append(record.id, said(1))
    with pytest.raises(InvalidRecordError):
        store.append(record.model_copy(update=members), said(2))
    assert store.get(record.id).messages == [said(0), said(1)]


@pytest.mark.parametrize(
    "members",
    [
        {"status": "nope"},
        {"label": 5},
        {"thread": "a\0"},
        {"child": 2**70},
        {"updated_at": 2**64},
        {"usage": None},
        {"messages": None},
    ],
    ids=str,
)
def test_a_copy_cannot_bring_past_the_model_what_nobody_could_read(
    store: ConversationStore, members: dict[str, Any]
) -> None:
    record = made(store)
    with pytest.raises(InvalidRecordError, match=next(iter(members))):
        store.save(record.model_copy(update=members))
    assert store.head(record.id).version == 1


def test_a_copy_may_bring_a_status_as_text(store: ConversationStore) -> None:
    record = made(store).model_copy(update={"status": "working", "usage": {"requests": 2}})
    store.save(record)
    assert (store.head(record.id).status, store.head(record.id).usage.requests) == ("working", 2)


def test_a_resumed_watch_on_everything_gives_what_happened_meanwhile(store: ConversationStore) -> None:
    first, second = made(store), made(store)
    with store.watch(poll=0.05) as changes:
        store.append(first.id, said(1))
        token = json.loads(json.dumps(next(iter(changes)).token))
    store.append(first.id, [said(2), said(3)])
    store.delete(second.id)
    third = made(store)
    with store.watch(resume_after=token, poll=0.05) as changes:
        found = {
            (change.id, change.kind, tuple(entry.id for entry in change.entries))
            for change in islice(changes, 3)
        }
    assert found == {
        (first.id, "appended", (2, 3)),
        (second.id, "deleted", ()),
        (third.id, "created", (0,)),
    }


@pytest.mark.parametrize("one", [True, False])
def test_a_watch_ends_when_the_database_is_dropped(
    replica_set: Server, database_name: str, one: bool
) -> None:
    with replica_set.client() as client:
        store = ConversationStore(client[database_name])
        store.setup()
        id = made(store).id
        with store.watch(id if one else None) as changes:
            client.drop_database(database_name)
            ended = threading.Thread(target=lambda: list(changes), daemon=True)
            ended.start()
            ended.join(30)
            assert not ended.is_alive()


@pytest.mark.parametrize(
    "token", ["x", 5, [1], {"stream": "zz"}, {"stream": {"_data": 5}}, {"seen": {"a": 1}}]
)
def test_a_watch_refuses_what_is_no_token(store: ConversationStore, token: Any) -> None:
    with pytest.raises(QueryError, match="resume_after"):
        store.watch(resume_after=token)


@pytest.mark.parametrize("value", ["x", 5, ["x"], {"$ne": None}], ids=str)
def test_values_of_wrong_types_are_refused_by_our_errors(store: ConversationStore, value: Any) -> None:
    made(store)
    with pytest.raises(ConvostoreError):
        store.resources.add(value, user="alice")
    with pytest.raises(ConvostoreError):
        store.resources.add_all(value, user="alice")
    with pytest.raises(ConvostoreError):
        store.analytics.usage(user="alice", by=value)
    with pytest.raises(ConvostoreError):
        store.analytics.usage(user="alice", tz=value)
    with pytest.raises(ConvostoreError):
        store.analytics.usage(user="alice", since=[value])  # type: ignore[arg-type]
    with pytest.raises(ConvostoreError):
        store.export_conversations(lambda _: None, user="alice", format=value)
    with pytest.raises(ConvostoreError):
        store.import_conversations(value, format="anda", user="alice")


def test_a_format_that_is_only_read_is_not_written_as_another(store: ConversationStore) -> None:
    with pytest.raises(QueryError, match="format"):
        store.export_conversations(lambda _: None, user="alice", format="chatgpt")
