"""How many commands each call sends, and what every command asks for, whatever the URI says."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient

from convostore.schemas.conversations import Conversation
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage
from convostore.store.asynchronous.store import AsyncConversationStore
from convostore.store.synchronous.store import ConversationStore
from support.command_log import CommandLog, Sent
from support.servers import Server

WRITES = frozenset({"insert", "update", "delete", "findAndModify"})
READS = frozenset({"find", "aggregate", "count", "distinct"})
GRIDFS = ("files.files", "files.chunks")
numbers = itertools.count(1)


def said(text: str = "hi") -> dict[str, Any]:
    return {"role": "user", "content": text}


def series(count: int) -> list[Any]:
    return [said(f"message {number}") for number in range(count)]


@dataclass
class Trial:
    """A store on a database that is set up, what it sent, and a user whom no other trial has."""

    store: AsyncConversationStore
    numbered: AsyncConversationStore
    log: CommandLog
    user: str

    async def create(self, *messages: Any, **members: Any) -> Conversation:
        return await self.store.create(Conversation(user=self.user, messages=list(messages), **members))


@pytest.fixture(scope="module")
def prepared(replica_set: Server) -> Iterator[str]:
    """A database that is set up, for all trials."""
    with replica_set.client() as client:
        name = "round_trips"
        ConversationStore(client[name]).setup()
        yield name
        client.drop_database(name)


@asynccontextmanager
async def trial(uri: str, database: str) -> AsyncIterator[Trial]:
    log, number = CommandLog(), next(numbers)
    ids = itertools.count(10**6 * (number + 1))
    async with AsyncMongoClient[dict[str, Any]](uri, event_listeners=[log]) as client:
        store = AsyncConversationStore(client[database])
        numbered = AsyncConversationStore(client[database], ids=lambda: next(ids))
        yield Trial(store, numbered, log, f"user-{number}")


Prepare = Callable[[Trial], Awaitable[Any]]


async def nothing(t: Trial) -> Any:
    return None


async def short(t: Trial) -> Conversation:
    return await t.create(*series(3))


async def long(t: Trial) -> Conversation:
    return await t.create(*series(200))


async def changed(t: Trial) -> Conversation:
    record = await short(t)
    record.label, record.status = "changed", "working"  # type: ignore[assignment]
    return record


async def longer(t: Trial) -> Conversation:
    record = await long(t)
    record.append_messages(series(2))
    return record


async def rewritten(t: Trial) -> Conversation:
    record = await short(t)
    record.messages[1] = said("other")
    return record


async def rewritten_early(t: Trial) -> Conversation:
    record = await long(t)
    record.messages[1] = said("other")
    return record


async def with_long_history(t: Trial) -> Conversation:
    record = await t.create()
    for _ in range(145):
        await t.store.append(record.id, [], usage={"requests": 1})
    return record


async def queued(t: Trial) -> Conversation:
    record = await short(t)
    await t.store.steer(record.id, "wait")
    return record


async def taken(t: Trial) -> Any:
    record = await queued(t)
    return record, await t.store.take(record.id)


async def completed(t: Trial) -> Conversation:
    return await t.create(status="completed")


async def stored(t: Trial) -> Any:
    resource = await t.store.resources.add(Resource(name="r", blob=b"bytes"), user=t.user)
    return resource, await t.create(resources=[resource])


async def old(t: Trial) -> Conversation:
    return await t.create(*series(3), status="completed", created_at=1)


async def drained(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


@dataclass(frozen=True)
class Row:
    """A call on what was prepared, and the commands it may send."""

    commands: int
    prepare: Prepare
    call: Callable[[Trial, Any], Awaitable[Any]]


TABLE: dict[str, Row] = {
    "setup, nothing to do": Row(1, nothing, lambda t, _: t.store.setup()),
    "create": Row(2, nothing, lambda t, _: t.create(said())),
    "create, ids of the caller": Row(
        1, nothing, lambda t, _: t.numbered.create(Conversation(user=t.user, messages=[said()]))
    ),
    "create, an id that came along": Row(2, nothing, lambda t, _: t.create(id=10**9 + next(numbers))),
    "get": Row(1, short, lambda t, c: t.store.get(c.id)),
    "get, with segments": Row(2, long, lambda t, c: t.store.get(c.id)),
    "head": Row(1, long, lambda t, c: t.store.head(c.id)),
    "save, nothing changed": Row(0, short, lambda t, c: t.store.save(c)),
    "save, members": Row(1, changed, lambda t, c: t.store.save(c)),
    "save, appended messages": Row(1, longer, lambda t, c: t.store.save(c)),
    "save, a recent message": Row(1, rewritten, lambda t, c: t.store.save(c)),
    "save, an old message": Row(3, rewritten_early, lambda t, c: t.store.save(c)),
    "append": Row(1, short, lambda t, c: t.store.append(c.id, said())),
    "append, to a long one": Row(1, long, lambda t, c: t.store.append(c.id, series(10))),
    "append, on a record": Row(1, short, lambda t, c: t.store.append(c, said(), usage=Usage(requests=1))),
    "append, everything": Row(
        1,
        short,
        lambda t, c: t.store.append(
            c.id,
            said(),
            usage={"requests": 1},
            status="working",
            artifacts=Resource(id=1, name="a"),
            key="k",
            expected=1,
        ),
    ),
    "append, a key on sealed history": Row(
        4, with_long_history, lambda t, c: t.store.append(c.id, said(), key="k")
    ),
    "append, what was taken": Row(
        1, taken, lambda t, held: t.store.append(held[0].id, said(), took=held[1].receipt)
    ),
    "edit, a recent entry": Row(2, short, lambda t, c: t.store.edit(c.id, 1, said("other"))),
    "edit, a sealed entry": Row(5, long, lambda t, c: t.store.edit(c.id, 1, said("other"))),
    "edit, an equal message": Row(1, short, lambda t, c: t.store.edit(c.id, 1, said("message 1"))),
    "update": Row(1, short, lambda t, c: t.store.update(c.id, label="x", extra={"a": 1}, child=None)),
    "update, merge": Row(2, short, lambda t, c: t.store.update(c.id, merge={"a": 1})),
    "messages, the newest": Row(1, long, lambda t, c: t.store.messages(c.id)),
    "messages, older ones": Row(2, long, lambda t, c: t.store.messages(c.id, before=100)),
    "messages, after one": Row(2, long, lambda t, c: t.store.messages(c.id, after=20)),
    "messages, recent ones before one": Row(
        1, long, lambda t, c: t.store.messages(c.id, limit=10, before=195)
    ),
    "entries": Row(3, long, lambda t, c: drained(t.store.entries(c.id))),
    "find": Row(1, short, lambda t, c: t.store.find(user=t.user, status="submitted")),
    "count": Row(1, short, lambda t, c: t.store.count(user=t.user)),
    "scan": Row(2, short, lambda t, c: drained(t.store.scan(user=t.user))),
    "batch_get": Row(1, short, lambda t, c: t.store.batch_get([c.id, 5], user=t.user)),
    "batch_get, with segments": Row(2, long, lambda t, c: t.store.batch_get([c.id], user=t.user)),
    "delta": Row(1, long, lambda t, c: t.store.delta(c.id, 190)),
    "delta, with segments": Row(2, long, lambda t, c: t.store.delta(c.id, 10)),
    "steer": Row(1, short, lambda t, c: t.store.steer(c.id, "stop", key="k")),
    "follow_up": Row(1, short, lambda t, c: t.store.follow_up(c.id, "more")),
    "take": Row(1, queued, lambda t, c: t.store.take(c.id)),
    "take, nothing there": Row(2, short, lambda t, c: t.store.take(c.id)),
    "give_back": Row(2, taken, lambda t, held: t.store.give_back(held[0].id, held[1].receipt)),
    "stop": Row(1, short, lambda t, c: t.store.stop(c.id, reason="left")),
    "stop, what ended": Row(3, completed, lambda t, c: t.store.stop(c.id)),
    "set_status": Row(1, short, lambda t, c: t.store.set_status(c.id, "working", expected="submitted")),
    "continue_from, a record": Row(3, short, lambda t, c: t.store.continue_from(c, messages=[said()])),
    "continue_from, a record, ids of the caller": Row(2, short, lambda t, c: t.numbered.continue_from(c)),
    "continue_from, an id": Row(4, short, lambda t, c: t.store.continue_from(c.id, key="k")),
    "delete": Row(14, short, lambda t, c: t.store.delete(c.id)),
    "delete, with segments": Row(16, long, lambda t, c: t.store.delete(c.id)),
    "delete, nothing there": Row(2, nothing, lambda t, _: t.store.delete(987_654_321)),
    "delete_expired, nothing": Row(1, short, lambda t, c: t.store.delete_expired(1, user=t.user)),
    "delete_expired, one": Row(15, old, lambda t, c: t.store.delete_expired(10**8, user=t.user)),
    "resources.add": Row(
        2, nothing, lambda t, _: t.store.resources.add(Resource(name="r", blob=b"bytes"), user=t.user)
    ),
    "resources.add, content that is there": Row(
        4, stored, lambda t, held: t.store.resources.add(Resource(name="r", blob=b"bytes"), user=t.user)
    ),
    "resources.add, one that has an id": Row(
        1, stored, lambda t, held: t.store.resources.add(held[0], user=t.user)
    ),
    "resources.get": Row(1, stored, lambda t, held: t.store.resources.get(held[0].id, user=t.user)),
    "resources.get, named by a conversation": Row(
        2,
        stored,
        lambda t, held: t.store.resources.get(held[0].id, user=t.user, conversation=held[1].id),
    ),
}
"""Each call of design 5 in the ordinary case: no other writer, nothing to seal, nothing above 64 KiB."""


def hostile(server: Server) -> str:
    """A URI that asks for what would lose data."""
    return server.uri(w="1", journal="false", readPreference="secondaryPreferred")


_sent: dict[str, tuple[Sent, ...]] = {}


async def sent_by(name: str, server: Server, database: str) -> tuple[Sent, ...]:
    """What the call of that name sends, found out once."""
    if name not in _sent:
        row = TABLE[name]
        async with trial(hostile(server), database) as t:
            subject = await row.prepare(t)
            t.log.clear()
            await row.call(t, subject)
            assert t.log.failures == []
            _sent[name] = tuple(t.log.sent)
    return _sent[name]


@pytest.mark.parametrize("name", TABLE)
async def test_a_call_sends_no_more_commands_than_it_says(
    replica_set: Server, prepared: str, name: str
) -> None:
    sent = await sent_by(name, replica_set, prepared)
    commands = [one.name for one in sent if one.name != "getMore"]
    assert len(commands) == TABLE[name].commands, commands


async def test_every_command_is_safe_whatever_the_uri_says(replica_set: Server, prepared: str) -> None:
    sent = [(name, one) for name in TABLE for one in await sent_by(name, replica_set, prepared)]
    names = {one.name for _, one in sent}
    assert names <= WRITES | READS, names
    concern = {"w": "majority", "j": True}
    unsafe = [
        (call, one.name)
        for call, one in sent
        if one.name in WRITES and one.command.get("writeConcern") != concern
    ]
    assert unsafe == []
    stale = [(call, one.name) for call, one in sent if "$readPreference" in one.command]
    assert stale == []
    uncommented = [(call, one.name) for call, one in sent if not one.command.get("comment")]
    assert uncommented == []
    # Segments are stored as a seal does, an expiry deletes, a continuation creates, a delete settles figures.
    shared = ("seal", "delete", "create", "rollup")
    odd = {
        (call, one.command["comment"])
        for call, one in sent
        if one.command["comment"] not in (call.split(",")[0], *shared)
    }
    assert odd == set()


async def test_large_resources_are_written_as_safely(replica_set: Server, prepared: str) -> None:
    async with trial(hostile(replica_set), prepared) as t:
        blob = next(numbers).to_bytes(8, "big") * 100_000
        reference = await t.store.resources.add(Resource(name="r", blob=blob), user=t.user)
        await t.store.resources.get(reference.id, user=t.user)
        files = [one for one in t.log.sent if (one.collection or "") in GRIDFS]
        assert {one.name for one in files} >= {"insert", "find"}
        concern = {"w": "majority", "j": True}
        unsafe = [
            one.name for one in files if one.name in WRITES and one.command.get("writeConcern") != concern
        ]
        assert unsafe == []
        assert [one.name for one in files if "$readPreference" in one.command] == []


async def test_the_client_of_a_store_says_who_it_is(replica_set: Server, prepared: str) -> None:
    async with AsyncConversationStore.connect(replica_set.uri(prepared)) as store:
        await store.count(user="alice")
        with MongoClient[dict[str, Any]](replica_set.uri()) as plain:
            operations = list(
                plain.admin.aggregate([{"$currentOp": {"allUsers": True, "idleConnections": True}}])
            )
    drivers = {one.get("clientMetadata", {}).get("driver", {}).get("name", "") for one in operations}
    assert any("convostore" in name for name in drivers), drivers
