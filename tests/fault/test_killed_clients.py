"""A client is killed before and after every command of a call; what it was working on stays whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import ConflictError
from convostore.store import ALL_USERS, ConversationStore
from convostore.store.asynchronous._backend import wall_clock
from convostore.store.baselines import baseline
from support.calls import BOUNDS, CALLS, Subject, messages
from support.command_log import CommandLog
from support.killed_clients import killed_at
from support.last_calls import call_and_die, create_and_die
from support.scale import SCALE
from support.servers import Server

pytestmark = pytest.mark.fault

DAYS = 86_400_000
DYING = (
    "append, sealing",
    "append, merging",
    "append, sealing its log",
    "append, heavy",
    "append, 201",
    "edit, embedded",
    "edit, sealed",
    "save, embedded splice",
    "save, sealed splice",
    "continue_from",
    "delete",
    "delete, long",
)
SERVERS = ("replica_set", "standalone")
CASES = [
    (name, server)
    for number, name in enumerate(DYING)
    for server in (SERVERS if SCALE >= 1 else SERVERS[number % 2 :][:1])
]
State = list[dict[str, Any]]


@dataclass
class Place:
    """A database, and the clock of the stores that prepare and look."""

    uri: str
    database: str
    log: CommandLog
    store: ConversationStore
    late: int = 0

    def clock(self) -> int:
        return wall_clock() + self.late

    def state(self, user: str) -> State:
        """The user's conversations, without what differs from one try to the next."""
        found = []
        for head in self.store.scan(user=user):
            record = self.store.get(head.id)
            noted = baseline(record)
            found.append(
                {
                    "messages": record.messages,
                    "entries": [entry["id"] for entry in noted.entries],
                    "version": noted.version,
                    "revision": head.revision,
                    "child": record.child is not None,
                }
            )
        return found


@contextmanager
def opened(server: Server, database: str) -> Iterator[Place]:
    log = CommandLog()
    with MongoClient[dict[str, Any]](server.uri(), event_listeners=[log]) as client:
        store = ConversationStore(client[database], bounds=BOUNDS, clock=lambda: found.clock())
        found = Place(server.uri(), database, log, store)
        store.setup()
        yield found


@pytest.fixture
def place(request: pytest.FixtureRequest, database_name: str) -> Iterator[Place]:
    with opened(request.getfixturevalue(request.param), database_name) as found:
        yield found


def prepared(place: Place, name: str, user: str) -> Subject:
    subject = Subject(user)
    CALLS[name].prepare(place.store, subject)
    return subject


@pytest.mark.parametrize(("name", "place"), CASES, indirect=["place"])
def test_a_conversation_is_whole_at_one_version_or_the_next(name: str, place: Place) -> None:
    call = CALLS[name]
    whole = prepared(place, name, "nobody dies")
    before = place.state(whole.user)
    place.log.clear()
    call.act(place.store, whole)
    commands = place.log.names
    after = place.state(whole.user)
    assert before != after
    for number in range(len(commands) + 1):
        subject = prepared(place, name, f"killed before {number}")
        again = replace(subject, record=None if subject.record is None else subject.record.model_copy())
        assert killed_at(number, call_and_die, place.uri, place.database, name, again, bounds=BOUNDS)
        where = f"killed before command {number} of {commands}"
        assert place.state(subject.user) in between(name, before, after), where
        assert not place.store.check(user=subject.user).broken, where
        # A save whose record is stored already has nothing to change; it may say so as a conflict.
        with suppress(ConflictError):
            call.act(place.store, subject)
        assert place.state(subject.user) == after, where
    collect_what_is_left(place)


def between(name: str, before: State, after: State) -> list[State]:
    """The states that a killed call may leave."""
    allowed = [before, after]
    if name == "continue_from":
        allowed.append([before[0], after[1]])
    return allowed


@pytest.mark.parametrize("place", SERVERS, indirect=True)
def test_a_long_conversation_is_created_whole_or_not_at_all(place: Place) -> None:
    def create(user: str, id: int) -> Conversation:
        return Conversation(id=id, user=user, messages=messages(40))

    place.log.clear()
    place.store.create(create("nobody dies", 1_000))
    commands = place.log.names
    made = 0
    for number in range(len(commands) + 1):
        subject = Subject(f"killed before {number}", create(f"killed before {number}", 2_000 + number))
        assert killed_at(number, create_and_die, place.uri, place.database, subject, bounds=BOUNDS)
        stored = [head.id for head in place.store.scan(user=subject.user)]
        assert stored in ([], [subject.id])
        assert not place.store.check(user=subject.user).broken
        made += len(stored)
        with suppress(ConflictError):
            place.store.create(create(subject.user, subject.id))
        assert place.store.get(subject.id).messages == messages(40)
    assert 1 <= made <= 3
    collect_what_is_left(place)


def collect_what_is_left(place: Place) -> None:
    """What the dead left behind is found, removed days later, and was needed by nobody."""
    found = place.store.check()
    assert not found.broken
    place.late = 3 * DAYS
    kept = [place.store.get(head.id) for head in place.store.scan(user=ALL_USERS)]
    place.store.check(repair=True)
    assert not place.store.check().findings
    assert [place.store.get(head.id) for head in place.store.scan(user=ALL_USERS)] == kept
