"""The hours of the week: equal to a plain count by the zone's clock, and in sum to the usage."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

import pytest

from convostore.schemas import Conversation
from convostore.store import ALL_USERS, ConversationStore
from support.servers import Server

ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Europe/London", "Australia/Lord_Howe")
# Days on which one of the zones changes its clock, and one on which none does.
DAYS = ("2026-03-08", "2026-03-29", "2026-04-05", "2026-06-10", "2026-10-04", "2026-10-25", "2026-11-01")


class Clock:
    now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(replica_set: Server, database_name: str, clock: Clock) -> Iterator[ConversationStore]:
    with replica_set.client() as client:
        made = ConversationStore(client[database_name], clock=clock)
        made.setup()
        yield made


def write(store: ConversationStore, clock: Clock) -> list[tuple[int, int]]:
    """Messages with their tokens, a few on each of the days; when, and how many tokens."""
    rng = random.Random(5)
    written = []
    for day in DAYS:
        midnight = int(datetime.fromisoformat(f"{day}T00:00+00:00").timestamp() * 1000)
        # Twelve hours around the day, so that every zone's change of the clock lies in it.
        times = sorted(midnight + rng.randrange(-12 * 3_600_000, 36 * 3_600_000) for _ in range(16))
        clock.now = times[0]
        made = store.create(Conversation(user=rng.choice(["alice", "bob"])))
        for at in times:
            clock.now, tokens = at, rng.randrange(1, 1000)
            usage = {"input_tokens": tokens, "output_tokens": tokens % 7, "requests": 1}
            store.append(made.id, {"role": "assistant", "content": "x"}, usage=usage)
            written.append((at, tokens))
    return written


def test_every_hour_is_a_plain_count_and_the_sum_is_the_usage(store: ConversationStore, clock: Clock) -> None:
    written = write(store, clock)
    for name in ZONES:
        counted: Counter[tuple[int, int]] = Counter()
        tokens: Counter[tuple[int, int]] = Counter()
        for at, used in written:
            local = datetime.fromtimestamp(at / 1000, timezone.utc).astimezone(ZoneInfo(name))
            counted[local.weekday(), local.hour] += 1
            tokens[local.weekday(), local.hour] += used
        rows = store.analytics.heat(user=ALL_USERS, tz=name)
        assert [(row.weekday, row.hour) for row in rows] == [
            (day, hour) for day in range(7) for hour in range(24)
        ]
        assert {(row.weekday, row.hour): row.messages for row in rows if row.messages} == counted
        assert {(row.weekday, row.hour): row.input_tokens for row in rows if row.messages} == tokens
        for by in ("hour", "month"):
            usage = store.analytics.usage(user=ALL_USERS, by=by, tz=name)
            for member in ("messages", "input_tokens", "output_tokens", "cached_tokens", "requests"):
                assert sum(getattr(row, member) for row in rows) == sum(getattr(row, member) for row in usage)


def test_a_users_hours_are_that_users(store: ConversationStore, clock: Clock) -> None:
    write(store, clock)
    every = store.analytics.heat(user=ALL_USERS, tz="Asia/Kolkata")
    of_users = [store.analytics.heat(user=user, tz="Asia/Kolkata") for user in ("alice", "bob")]
    assert [row.messages for row in every] == [
        sum(row.messages for row in together) for together in zip(*of_users, strict=True)
    ]
    assert all(sum(row.messages for row in rows) for rows in of_users)
    assert store.for_user("alice").analytics.heat(tz="Asia/Kolkata") == of_users[0]
