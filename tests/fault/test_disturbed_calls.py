"""Every command of every writing call fails in turn, in every way; what is stored and told stays the same."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient, common

from convostore.schemas.conversations import Conversation
from convostore.schemas.entries import Entry
from convostore.schemas.resources import Resource
from convostore.store import AsyncConversationStore, ConversationStore
from convostore.store.baselines import baseline
from support.calls import BOUNDS, CALLS, Call, Subject
from support.disturbance import Disturber, Failure
from support.scale import SCALE

pytestmark = pytest.mark.fault

BEFORE, NOW = 1_790_848_800_000, 1_790_848_900_000
PLACES = [("sync", "replica_set"), ("async", "standalone")]
if SCALE >= 1:
    PLACES += [("async", "replica_set"), ("sync", "standalone")]
OTHERS = frozenset({"user", "receipt", "source", "first", "message_bytes"})
"""Members that differ between two calls that did the same: names, and what depends on how much is sealed."""
Run = Callable[[Any], Any]


@dataclasses.dataclass
class Bench:
    """A store behind a disturber, whose calls ``finish`` ends, and a quiet one to prepare and to look."""

    disturber: Disturber
    store: Any
    finish: Run
    quiet: ConversationStore
    clock: list[int]
    turn: int
    runs: int = 0

    def outcome(self, call: Call) -> tuple[Any, Subject]:
        """Make the call on a subject of its own; what it told."""
        self.runs += 1
        subject = Subject(f"user {self.runs}")
        self.clock[0] = BEFORE
        call.prepare(self.quiet, subject)
        self.clock[0] = NOW
        self.disturber.log.clear()
        return self.finish(call.act(self.store, subject)), subject


@pytest.fixture(scope="module", params=PLACES, ids=" ".join)
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """One face on one server; its database serves all tests, each call has a user of its own."""
    face, server, database = request.param[0], request.getfixturevalue(request.param[1]), token_hex(8)
    clock = [BEFORE]
    options: dict[str, Any] = {"clock": lambda: clock[0], "bounds": BOUNDS}
    with (
        pytest.MonkeyPatch.context() as patch,
        Disturber(server, database) as disturber,
        MongoClient[dict[str, Any]](server.uri(direct=True)) as client,
    ):
        # A client looks for its server again this long after a lost connection.
        patch.setattr(common, "MIN_HEARTBEAT_INTERVAL", 0.005)
        quiet = ConversationStore(client[database], **options)
        quiet.setup()
        connect = blocking if face == "sync" else waiting
        with connect(disturber, database, options) as (store, finish):
            yield Bench(disturber, store, finish, quiet, clock, PLACES.index(request.param))
        client.drop_database(database)


def look(bench: Bench, told: Any, subject: Subject) -> dict[str, Any]:
    """What may not depend on disturbances: everything but names and ids that are new each time."""
    quiet, user = bench.quiet, subject.user
    heads = [head for head in quiet.scan(user=user)]
    names = {head.id: f"conversation {place}" for place, head in enumerate(heads)}
    stored = [quiet.get(head.id) for head in heads]
    if subject.record is not None:
        names.setdefault(subject.id, "the deleted one")
    return {
        "told": plain(told, names),
        "in hand": plain(subject.record, names),
        "records": plain(stored, names),
        "heads": plain(heads, names),
        "entries": plain([list(quiet.entries(head.id)) for head in heads], names),
        "broken": quiet.check(user=user).broken,
    }


def plain(value: Any, names: dict[int, str]) -> Any:
    """The value for comparing."""
    if isinstance(value, Conversation):
        noted = baseline(value)
        facts = {name: noted.head[name] for name in ("version", "revision", "next_entry")}
        facts["entry ids"] = [entry["id"] for entry in noted.entries]
        return plain(json.loads(value.to_json()) | facts, names)
    if isinstance(value, Entry):
        return dataclasses.astuple(value)
    if isinstance(value, Resource):
        return plain({**value.to_json(), "_id": bool(value.id)}, names)
    if dataclasses.is_dataclass(value):
        members = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return plain(members, names)
    if hasattr(value, "_asdict"):
        return plain(value._asdict(), names)
    if isinstance(value, dict):
        return {name: _named(name, member, names) for name, member in value.items() if name not in OTHERS}
    if isinstance(value, (list, tuple)):
        return [plain(one, names) for one in value]
    return value


def _named(name: str, member: Any, names: dict[int, str]) -> Any:
    if name in ("_id", "id", "child"):
        return names.get(member, member)
    if name == "ancestors":
        return [names[one] for one in member or ()]
    return plain(member, names)


@contextmanager
def blocking(disturber: Disturber, database: str, options: dict[str, Any]) -> Iterator[tuple[Any, Run]]:
    """The synchronous face, and how to finish a call of it."""
    with MongoClient[dict[str, Any]](disturber.uri, event_listeners=[disturber.log]) as client:
        yield ConversationStore(client[database], **options), lambda told: told


@contextmanager
def waiting(disturber: Disturber, database: str, options: dict[str, Any]) -> Iterator[tuple[Any, Run]]:
    """The asynchronous face, on an event loop that runs only during a call."""
    loop = asyncio.new_event_loop()
    client = AsyncMongoClient[dict[str, Any]](disturber.uri, event_listeners=[disturber.log])
    try:
        yield AsyncConversationStore(client[database], **options), loop.run_until_complete
    finally:
        loop.run_until_complete(client.close())
        loop.close()


def failures(commands: list[str], turn: int) -> Iterator[tuple[Failure, int, int]]:
    """Every failure of every command, one to three times in a row; at a small scale two of them, in turn."""
    for at, command in enumerate(commands):
        concerned = [failure for failure in Failure if failure.concerns(command)]
        if SCALE < 1:
            first = (at + turn) % len(concerned)
            concerned = [concerned[first], concerned[first - 1]]
        for place, failure in enumerate(concerned):
            for times in (1, 2, 3) if SCALE >= 1 else ((at + turn + place) % 3 + 1,):
                yield failure, at, times


@pytest.mark.parametrize("name", CALLS)
def test_a_disturbed_call_stores_and_tells_what_an_undisturbed_one_does(name: str, bench: Bench) -> None:
    call = CALLS[name]
    bench.outcome(call)
    told, subject = bench.outcome(call)
    commands = bench.disturber.log.names
    wanted = look(bench, told, subject)
    assert commands and not wanted["broken"]
    for failure, at, times in failures(commands, list(CALLS).index(name) + 2 * bench.turn):
        with bench.disturber.failing(failure, at, times):
            told, subject = bench.outcome(call)
        found = look(bench, told, subject)
        assert found == wanted, f"{times} x {failure.value}: command {at} of {commands}"
