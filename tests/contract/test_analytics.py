"""Figures over time on a real server: equal to a plain computation over what was done."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from convostore.schemas import Conversation
from convostore.schemas.errors import InvalidRecordError
from convostore.store import ALL_USERS, ConversationStore, UsageRow
from support.scale import scaled
from support.servers import Server

ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Europe/London", "Australia/Lord_Howe")
YEAR_START = int(datetime(2024, 1, 1, tzinfo=timezone.utc).timestamp() * 1000)
YEAR_MS = 366 * 86_400_000


@dataclass(frozen=True)
class Event:
    """One thing that was written: when, in which conversation, whose, with what usage."""

    at: int
    conversation: int
    user: str
    label: str | None
    messages: int
    tokens: int | None


@dataclass
class World:
    store: ConversationStore
    now: int = YEAR_START

    def clock(self) -> int:
        return self.now


@pytest.fixture
def world(replica_set: Server, database_name: str) -> Iterator[World]:
    with replica_set.client() as client:
        made = World(ConversationStore(client[database_name]))
        made.store = ConversationStore(client[database_name], clock=made.clock)
        made.store.setup()
        yield made


def write_a_year(world: World, conversations: int, seed: int = 7) -> list[Event]:
    rng = random.Random(seed)
    events = []
    for _ in range(conversations):
        world.now = at = YEAR_START + rng.randrange(YEAR_MS)
        user, label = rng.choice(["alice", "bob", "carol"]), rng.choice([None, "travel"])
        first = [{"role": "user", "content": "hi"}] * rng.randrange(3)
        made = world.store.create(Conversation(user=user, label=label, messages=first))
        events.append(Event(at, made.id, user, label, len(first), None))
        for _ in range(rng.randrange(4)):
            world.now = at = min(at + rng.randrange(3 * 3_600_000), YEAR_START + YEAR_MS - 1)
            tokens = rng.choice([None, rng.randrange(1000)])
            usage = None if tokens is None else {"input_tokens": tokens, "requests": 1}
            world.store.append(made.id, {"role": "assistant", "content": "x"}, usage=usage)
            events.append(Event(at, made.id, user, label, 1, tokens))
    world.now = YEAR_START + YEAR_MS
    return events


def label_of(at: int, by: str, zone: ZoneInfo) -> str:
    """The name of the period by the calendar alone, independent of the code under test."""
    local = datetime.fromtimestamp(at / 1000, timezone.utc).astimezone(zone)
    if by == "hour":
        # The clock of Lord Howe moves by half an hour: the hour that it cuts begins where it did.
        start = local.replace(minute=0, second=0, microsecond=0)
        while start.astimezone(timezone.utc).astimezone(zone).utcoffset() != local.utcoffset() or (
            local.timestamp() - start.timestamp() > 3600
        ):
            start = datetime.fromtimestamp(start.timestamp() + 900, timezone.utc).astimezone(zone)
        begun = datetime.fromtimestamp(start.timestamp(), timezone.utc).astimezone(zone)
        return begun.isoformat(timespec="minutes")
    if by == "week":
        year, week, _ = local.isocalendar()
        return f"{year:04d}-W{week:02d}"
    return local.strftime("%Y-%m" if by == "month" else "%Y-%m-%d")


def computed(events: list[Event], by: str, zone: str) -> dict[str, tuple[int, int, int, int, int]]:
    """Conversations, users, messages, tokens and unknown usages by period: a plain sum over what was done."""
    sums: dict[str, list[Any]] = defaultdict(lambda: [set(), set(), 0, 0, 0])
    for event in events:
        one = sums[label_of(event.at, by, ZoneInfo(zone))]
        one[0].add(event.conversation)
        one[1].add(event.user)
        one[2] += event.messages
        one[3] += event.tokens or 0
        one[4] += event.tokens is None and event.messages > 0
    return {label: (len(one[0]), len(one[1]), *one[2:]) for label, one in sums.items()}


def shown(rows: list[UsageRow]) -> dict[str, tuple[int, int, int, int, int]]:
    return {
        row.label: (row.conversations, row.users, row.messages, row.input_tokens, row.unknown)
        for row in rows
        if row.conversations
    }


def test_a_year_equals_a_plain_computation_in_every_zone(world: World) -> None:
    events = write_a_year(world, scaled(2_000, at_least=20))
    for by, zone in itertools.product(("hour", "day", "week", "month"), ZONES):
        rows = world.store.analytics.usage(user=ALL_USERS, by=by, tz=zone)
        assert shown(rows) == computed(events, by, zone)
        assert all(one.start < two.start for one, two in itertools.pairwise(rows))
    mine = [event for event in events if event.user == "bob"]
    travel = [event for event in events if event.label == "travel"]
    for zone in ZONES:
        rows = world.store.analytics.usage(user="bob", by="day", tz=zone)
        assert shown(rows) == computed(mine, "day", zone)
        rows = world.store.analytics.usage(user=ALL_USERS, by="month", tz=zone, label="travel")
        assert shown(rows) == computed(travel, "month", zone)


def test_a_rebuild_gives_the_same_figures(world: World) -> None:
    events = write_a_year(world, 30)
    world.store.analytics.usage(user=ALL_USERS)
    world.store.analytics.rebuild()
    rows = world.store.analytics.usage(user=ALL_USERS, by="day")
    assert shown(rows) == computed(events, "day", "UTC")


def test_what_was_written_after_the_last_look_is_in_the_next_one(world: World) -> None:
    made = world.store.create(Conversation(user="alice"))
    for expected in (10, 20, 30):
        world.store.append(made.id, {"role": "user"}, usage={"input_tokens": 10})
        (row,) = world.store.analytics.usage(user="alice", by="month")
        assert (row.input_tokens, row.messages) == (expected, expected // 10)


def test_gaps_are_filled_with_zeros(world: World) -> None:
    for days in (0, 3):
        world.now = YEAR_START + days * 86_400_000
        world.store.create(Conversation(user="alice", messages=[{"role": "user"}]))
    rows = world.store.analytics.usage(user=ALL_USERS, by="day")
    assert [row.messages for row in rows] == [1, 0, 0, 1]


def test_usage_of_none_is_unknown_and_bad_usage_never_gets_in(world: World) -> None:
    made = world.store.create(Conversation(user="alice"))
    world.store.append(made.id, {"role": "user"}, usage=None)
    for bad in (float("nan"), -1, "20", 1.5, True):
        with pytest.raises(InvalidRecordError, match="input_tokens"):
            world.store.append(made.id, {"role": "user"}, usage={"input_tokens": bad})
    world.store.append(made.id, {"role": "user"}, usage={"input_tokens": -5}, usage_errors="report")
    (row,) = world.store.analytics.usage(user=ALL_USERS, by="month")
    assert (row.messages, row.input_tokens, row.known, row.unknown) == (2, 0, 0, 2)


def test_a_fork_counts_shared_entries_once(world: World) -> None:
    made = world.store.create(Conversation(user="alice", messages=[{"role": "user"}, {"role": "assistant"}]))
    world.store.append(made.id, {"role": "user"}, usage={"input_tokens": 5})
    fork = world.store.fork(made.id)
    world.store.append(fork.id, {"role": "user"}, usage={"input_tokens": 7})
    (row,) = world.store.analytics.usage(user=ALL_USERS, by="month")
    assert (row.messages, row.input_tokens, row.conversations) == (4, 12, 2)


def test_one_user_sees_only_his_own(world: World) -> None:
    world.store.create(Conversation(user="alice", messages=[{"role": "user"}] * 3))
    world.store.create(Conversation(user="bob", messages=[{"role": "user"}]))
    (row,) = world.store.analytics.usage(user="bob", by="month")
    assert (row.messages, row.users, row.conversations) == (1, 1, 1)
    assert world.store.analytics.usage(user="carol", by="month") == []
    with pytest.raises(InvalidRecordError):
        world.store.analytics.usage(user=None)  # type: ignore[arg-type]


def test_ids_of_the_whole_range_are_counted(world: World) -> None:
    for id in (5, 2**63, 2**64 - 1):
        made = world.store.create(
            Conversation(_id=id, user="alice", messages=[{"role": "user", "content": "hi"}])
        )
        world.store.append(made.id, {"role": "assistant", "content": "a"}, usage={"input_tokens": 2})
    world.store.set_status(2**63, "failed", reason="no answer")
    analytics = world.store.analytics
    (used,) = analytics.usage(user=ALL_USERS)
    assert (used.conversations, used.messages, used.input_tokens) == (3, 6, 6)
    (failed,) = analytics.failures(user=ALL_USERS)
    assert (failed.failures, failed.conversations) == (1, 1)
    world.store.delete(2**64 - 1, figures="drop")
    analytics.rebuild()
    assert analytics.usage(user=ALL_USERS)[0].conversations == 2
    assert not world.store.check().findings
