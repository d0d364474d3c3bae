"""Clients killed between any two commands of what changes a conversation's history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bson
import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import ConflictError
from convostore.store.synchronous.store import ConversationStore
from support.dying import BOUNDS, SECRET, Mortuary, edited, mortuary, without_secret
from support.servers import Server

pytestmark = pytest.mark.fault

MOST_COMMANDS = 60


@contextmanager
def opened(uri: str, database: str) -> Iterator[tuple[ConversationStore, Any]]:
    with MongoClient[dict[str, Any]](uri) as client:
        store = ConversationStore(client[database], bounds=BOUNDS)
        store.setup()
        yield store, client[database]


def story(store: ConversationStore) -> int:
    """A conversation with sealed messages and history, a large message that was edited away, and an aside."""
    messages = [{"role": "user", "content": f"{n} {SECRET}"} for n in range(9)]
    id = store.create(Conversation(user="alice", messages=messages)).id
    store.edit(id, 2, {"role": "user", "content": SECRET + "x" * 70_000})
    store.edit(id, 2, {"role": "user", "content": "small"})
    for n in range(6):
        store.append(id, {"role": "assistant", "content": f"answer {n}"})
    return id


def cuts(
    at_work: Mortuary, server: Server, database: str, call: str, store: ConversationStore
) -> Iterator[int]:
    """A fresh conversation for each command of the call, in which a client was killed just before it."""
    for cut in range(1, MOST_COMMANDS):
        id = story(store)
        ended = at_work.call(uri=server.uri(), database=database, id=id, call=call, cut=cut)
        assert ended in ("killed", "done")
        yield id
        if ended == "done":
            assert cut > 4, f"{call} took {cut - 1} commands: hardly a place to die"
            return
    raise AssertionError(f"{call} takes more than {MOST_COMMANDS} commands")


def broken(store: ConversationStore) -> list[Any]:
    return [finding for finding in store.check().findings if finding.severity == "broken"]


def test_a_transcript_is_saved_whole_or_not_at_all(server: Server, database_name: str) -> None:
    with mortuary() as at_work, opened(server.uri(), database_name) as (store, _):
        saved = 0
        for id in cuts(at_work, server, database_name, "save_transcript", store):
            found = store.transcript(id)
            assert found.revision() in (9, 13)
            if found.revision() == 9:
                edited(found)
                store.save_transcript(found)
            else:
                saved += 1
            value = store.transcript(id)
            assert [entry.id for entry in value] == [0, 16, *range(4, 16)] and value.halted() == "stopped"
            assert len(value.asides()) == 1
            assert len(store.as_of(id, 9)) == 15 and len(store.as_of(id, 1)) == 9
        assert saved >= 1 and broken(store) == []


def test_an_undo_is_done_whole_or_not_at_all(server: Server, database_name: str) -> None:
    with mortuary() as at_work, opened(server.uri(), database_name) as (store, _):
        done = 0
        for id in cuts(at_work, server, database_name, "undo", store):
            found = store.transcript(id)
            assert (found.revision(), len(found)) in ((9, 15), (10, 14))
            done += found.revision() == 10
            if found.revision() == 9:
                store.undo(id)
            assert store.transcript(id) == store.as_of(id, 8)
        assert done >= 1 and broken(store) == []


def test_a_fork_is_there_whole_or_not_at_all(server: Server, database_name: str) -> None:
    with mortuary() as at_work, opened(server.uri(), database_name) as (store, _):
        made = 0
        for id in cuts(at_work, server, database_name, "fork", store):
            forks = [head.id for head in store.find(user="alice", limit=100) if head.id > id]
            assert len(forks) <= 1
            made += len(forks)
            fork = forks[0] if forks else store.fork(id).id
            assert store.transcript(fork) == store.transcript(id)
            assert store.as_of(fork, 2) == store.as_of(id, 2)
            store.delete(fork)
        assert made >= 1 and broken(store) == []


def test_a_rewrite_that_died_is_finished_by_the_next(server: Server, database_name: str) -> None:
    with mortuary() as at_work, opened(server.uri(), database_name) as (store, database):
        rewritten = 0
        for id in cuts(at_work, server, database_name, "rewrite", store):
            found = store.transcript(id)
            text = str([store.as_of(id, number).messages() for number in (1, 2, 9)])
            rewritten += SECRET not in text
            assert SECRET not in text or text.count(SECRET) == 9 + 9 + 8
            found.push({"role": "user", "content": "later"})
            store.rewrite(id, without_secret)
            with pytest.raises(ConflictError):
                store.save_transcript(found)
            assert holding(database, id) == []
            assert store.transcript(id).revision() == 9
        assert rewritten >= 1 and broken(store) == []


def holding(database: Any, id: int) -> list[str]:
    """The collections in which something of the conversation holds the secret."""
    wanted = {"$or": [{"_id": id}, {"c": id}]}
    return [
        name
        for name in database.list_collection_names()
        if any(SECRET.encode() in bson.encode(found) for found in database[name].find(wanted))
    ]
