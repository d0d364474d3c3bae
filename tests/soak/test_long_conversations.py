"""A conversation of 100,000 messages, appended one at a time: every call on it, and how it lies stored."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import bson
import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.schemas.json_values import JSON
from convostore.store import ConversationStore
from convostore.store.layout import KIB, MIB, Bounds
from support.command_log import CommandLog
from support.measuring import message
from support.scale import scaled
from support.servers import Server

# One process builds the conversation and asks all of it.
pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("long")]

SIZE = 500
BOUNDS = Bounds()


@dataclass
class LongConversation:
    """The conversation, what must be in it, and a store whose commands are counted."""

    database: Any
    store: ConversationStore
    log: CommandLog
    id: int
    expected: list[JSON]

    def head(self) -> dict[str, Any]:
        found: dict[str, Any] = self.database["conversations"].find_one({"_id": self.id})
        return found

    def trips(self, limit: int, **bounds: int) -> int:
        """How many commands one page takes."""
        self.log.clear()
        self.store.messages(self.id, limit=limit, **bounds)
        return self.log.round_trips


@pytest.fixture(scope="module")
def long(replica_set: Server) -> Iterator[LongConversation]:
    count = scaled(100_000, at_least=1000)
    name, log = f"soak_{secrets.token_hex(4)}", CommandLog()
    with (
        MongoClient[dict[str, Any]](replica_set.uri()) as writing,
        MongoClient[dict[str, Any]](replica_set.uri(), event_listeners=[log]) as reading,
    ):
        writer = ConversationStore(writing[name])
        writer.setup()
        id = writer.create(Conversation(user="alice")).id
        messages = [message(number, SIZE) for number in range(count)]
        for number, one in enumerate(messages):
            appended = writer.append(id, one, user="alice", usage={"output_tokens": 1})
            assert appended.ids == (number,)
            assert appended.version == number + 2
        yield LongConversation(writing[name], ConversationStore(reading[name]), log, id, list(messages))
        writing.drop_database(name)


def test_segments_are_few_and_full(long: LongConversation) -> None:
    items = long.head()["segments"]
    sealed = sum(item["b"] for item in items)
    assert sum(item["n"] for item in items) + BOUNDS.hard_count > len(long.expected)
    # Small ones wait for their seven neighbours, in each of three sizes.
    assert len(items) <= 2 * sealed / BOUNDS.segment_bytes + 3 * (BOUNDS.merge_width - 1)
    assert all(item["b"] <= BOUNDS.segment_bytes for item in items)
    assert long.database["segments"].count_documents({}) == len(items)


def test_the_document_stays_small(long: LongConversation) -> None:
    head = long.head()
    assert head["embedded_count"] == len(head["messages"]) <= BOUNDS.soft_count + BOUNDS.step
    assert len(head["log"]) <= BOUNDS.log_soft + BOUNDS.step
    assert len(bson.encode(head)) < 128 * KIB
    assert head["usage"]["output_tokens"] == len(long.expected)


def test_segments_hold_readable_messages(long: LongConversation) -> None:
    for document in long.database["segments"].find().limit(3):
        for entry in document["e"]:
            assert entry["m"] == long.expected[entry["id"]]


def test_the_last_page_costs_what_it_does_at_a_hundred(long: LongConversation) -> None:
    short = long.store.create(Conversation(user="alice", messages=long.expected[:100])).id
    page = long.store.messages(long.id, limit=50)
    assert [entry.message for entry in page] == long.expected[-50:]
    assert long.trips(50) == 1
    long.log.clear()
    long.store.messages(short, limit=50)
    assert long.log.round_trips == 1
    long.store.delete(short)


def test_pages_give_every_message_once_in_two_trips_each(long: LongConversation) -> None:
    found: list[JSON] = []
    before = None
    while True:
        long.log.clear()
        page = long.store.messages(long.id, limit=1000, before=before)
        assert long.log.round_trips <= 2
        found[:0] = [entry.message for entry in page]
        before = page.cursor
        if before is None:
            break
    assert found == long.expected


def test_it_loads_whole(long: LongConversation) -> None:
    long.log.clear()
    record = long.store.get(long.id)
    assert long.log.round_trips == 2
    assert record.messages == long.expected
    assert [entry.id for entry in long.store.entries(long.id)] == list(range(len(long.expected)))


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_an_edit_changes_one_message(long: LongConversation, place: str) -> None:
    number = {"first": 0, "middle": len(long.expected) // 2, "last": len(long.expected) - 1}[place]
    segments = len(long.head()["segments"])
    long.log.clear()
    long.store.edit(long.id, number, {"role": "user", "content": f"the {place}, edited"})
    # Head, segment, new segment, update, old segment: nothing that grows with the history.
    assert long.log.round_trips <= 6
    long.expected[number] = {"role": "user", "content": f"the {place}, edited"}
    behind = number + 1 if number + 1 < len(long.expected) else None
    page = long.store.messages(long.id, limit=3, before=behind)
    assert [entry.message for entry in page] == long.expected[max(number - 2, 0) : number + 1]
    assert long.store.get(long.id).messages == long.expected
    assert len(long.head()["segments"]) <= segments + 1


def test_a_save_changes_a_message_in_the_middle(long: LongConversation) -> None:
    record = long.store.get(long.id)
    middle = len(record.messages) // 2 + 1
    record.messages[middle] = long.expected[middle] = {"role": "user", "content": "saved"}
    assert long.store.save(record).changed == ("messages",)
    assert long.store.get(long.id) == record


def test_it_is_exported_and_comes_back_equal(long: LongConversation) -> None:
    pieces: list[bytes] = []
    report = long.store.export_conversations(pieces.append, user="alice")
    assert (report.conversations, report.messages) == (1, len(long.expected))
    exported = b"".join(pieces)
    assert all(json.loads(line) for line in exported.splitlines())
    other = ConversationStore(long.database, prefix="other_")
    other.setup()
    assert other.import_conversations(exported).imported == 1
    assert other.get(long.id) == long.store.get(long.id)
    again: list[bytes] = []
    other.export_conversations(again.append, user="alice")
    assert b"".join(again) == exported


def test_the_check_finds_it_sound(long: LongConversation) -> None:
    report = long.store.check(user="alice")
    assert report.findings == []
    assert report.messages == len(long.expected)


@pytest.mark.parametrize("size", [30 * KIB, 100 * KIB], ids=["in the document", "apart"])
def test_forty_megabytes_of_messages(replica_set: Server, database_name: str, size: int) -> None:
    total = scaled(40 * MIB, at_least=512 * KIB)
    with MongoClient[dict[str, Any]](replica_set.uri()) as client:
        store = ConversationStore(client[database_name])
        store.setup()
        id = store.create(Conversation(user="alice")).id
        messages = [message(number, size) for number in range(total // size + 1)]
        for one in messages:
            store.append(id, one)
        assert store.get(id).messages == messages
        assert [entry.message for entry in store.messages(id, limit=5)] == messages[-5:]
        store.edit(id, 0, {"role": "user", "content": "edited"})
        assert store.get(id).messages == [{"role": "user", "content": "edited"}, *messages[1:]]
        head = client[database_name]["conversations"].find_one({"_id": id})
        assert head is not None
        assert len(bson.encode(head)) < 512 * KIB
        assert store.check(user="alice").findings == []


def test_one_message_of_twenty_megabytes(replica_set: Server, database_name: str) -> None:
    large = {"role": "user", "content": "é" * (10 * MIB), "more": [message(1, MIB)]}
    with MongoClient[dict[str, Any]](replica_set.uri()) as client:
        store = ConversationStore(client[database_name])
        store.setup()
        record = store.create(Conversation(user="alice", messages=[message(0, SIZE)]))
        store.append(record.id, [large, message(2, SIZE)])
        found = store.get(record.id)
        assert found.messages == [message(0, SIZE), large, message(2, SIZE)]
        assert store.messages(record.id, limit=2).items[0].message == large
        found.messages[1]["more"] = "less"
        store.save(found)
        assert store.get(record.id) == found
