"""Conversations of many MB on a real server: in small commands, each with the time of a call for itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.schemas.formats import Facts
from convostore.store import ALL_USERS, ConversationStore
from convostore.store.runs import NewEntry
from convostore.store.synchronous import _backend, _growing
from support.branched_exports import node, texts_by_source
from support.command_log import CommandLog
from support.servers import Server

MIB = 1 << 20


@pytest.fixture
def log() -> CommandLog:
    return CommandLog()


@pytest.fixture
def store(replica_set: Server, database_name: str, log: CommandLog) -> Iterator[ConversationStore]:
    with MongoClient[dict[str, Any]](replica_set.uri(), event_listeners=[log]) as client:
        opened = ConversationStore(client[database_name])
        opened.setup()
        log.clear()
        yield opened


def inserted(log: CommandLog, collection: str) -> list[list[Any]]:
    """The documents of each command that inserted some."""
    return [
        list(one.command["documents"])
        for one in log.sent
        if one.name == "insert" and one.command["insert"] == collection
    ]


def segments_read(log: CommandLog) -> list[int]:
    """How many segments each command read with their entries."""
    finds = [one.command for one in log.sent if one.name == "find" and one.collection == "segments"]
    return [len(find["filter"]["_id"]["$in"]) for find in finds if "e" in find["projection"]]


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def test_pieces_of_large_messages_go_a_few_mib_at_a_time(store: ConversationStore, log: CommandLog) -> None:
    store.create(
        Conversation(user="alice", messages=said("x" * 18 * MIB, *("y" * 100_000 for _ in range(9))))
    )
    sizes = [sum(len(piece["data"]) for piece in pieces) for pieces in inserted(log, "blobs")]
    assert max(sizes) <= 8 * MIB
    assert len(sizes) == 3


def test_segments_go_a_few_mib_at_a_time(store: ConversationStore, log: CommandLog) -> None:
    store.create(Conversation(user="alice", messages=said(*("x" * 50_000 for _ in range(400)))))
    assert [len(segments) for segments in inserted(log, "segments")] == [8, 8, 4]


def test_time_that_converting_takes_is_no_command_s(
    store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, under_a_deadline = _growing.encode_facts, []

    def encoded(messages: Sequence[Any], facts: Sequence[Facts] | None, first: int) -> list[NewEntry]:
        under_a_deadline.append(_backend._DEADLINE.get() is not None)
        return encode(messages, facts, first)

    monkeypatch.setattr(_growing, "encode_facts", encoded)
    data = json.dumps({"id": "long", "messages": said(*(f"{number} {'x' * 5000}" for number in range(1000)))})
    assert store.import_conversations(data.encode(), user="alice").imported == 1
    assert under_a_deadline
    assert not any(under_a_deadline)
    assert store.check(user="alice")


def test_a_branch_reads_only_what_it_begins_with_and_a_few_segments_at_a_time(
    store: ConversationStore, log: CommandLog
) -> None:
    texts = [f"{number} {'x' * 50_000}" for number in range(300)]
    nodes: dict[str, Any] = {"n-1": {"id": "n-1", "message": None, "parent": None, "children": []}}
    for number, text in enumerate(texts):
        nodes |= node(f"n{number}", f"n{number - 1}", "user", text, float(number))
    nodes |= node("early", "n20", "user", "early", 1000.0) | node("late", "n290", "user", "late", 2000.0)
    tree = {"title": "T", "conversation_id": "g", "current_node": "n299", "mapping": nodes}

    report = store.import_conversations(json.dumps([tree]).encode(), user="alice")

    assert (report.imported, report.notes) == (3, [])
    early, *late = segments_read(log)
    assert early <= 4 < len(late)
    assert max(late) <= 4
    found = texts_by_source(store)
    assert found["g/early"] == [*texts[:21], "early"]
    assert found["g/late"] == [*texts[:291], "late"]
    assert store.check(user=ALL_USERS)
