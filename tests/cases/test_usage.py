"""Cases U: what counts as usage, and counts once."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from convostore.schemas import Conversation, Usage
from convostore.schemas.errors import ConflictError, InvalidRecordError
from convostore.store.history import usage_of
from support.faces import Face
from support.journeys import PLAIN, Clock, Journey

COUNTERS = ("input_tokens", "output_tokens", "cached_tokens", "requests")
NO_COUNTS: list[Any] = [
    float("nan"),
    float("inf"),
    1.0,
    1.5,
    "20",
    "",
    None,
    True,
    -1,
    2**64,
    -(2**70),
    10**400,
    [1],
    {"$inc": 1},
    b"1",
    Decimal(1),
]


def test_U01_one_answer_counts_once(journey: Journey, face: Face) -> None:
    store, id = journey.store, journey.new()
    usage = {"input_tokens": 4, "output_tokens": 27, "requests": 1}
    call = {"role": "assistant", "content": None, "tool_calls": []}
    for _ in range(3):
        store.append(id, [PLAIN, call], key="response 1", usage=usage)
    face.together(store, [lambda one: one.append(id, [PLAIN, call], key="response 2", usage=usage)] * 5)
    with pytest.raises(ConflictError):
        store.append(id, [PLAIN, call], key="response 1", usage={**usage, "output_tokens": 28})
    store.edit(id, 1, {**call, "content": "edited"})
    assert store.head(id).usage == Usage(input_tokens=8, output_tokens=54, requests=2)
    records = journey.head_document(id)["log"]
    assert [usage_of(record) for record in records if "u" in record] == [usage, usage]


def test_U06_bad_counters_never_block_a_message_nor_touch_a_total(journey: Journey) -> None:
    store, id = journey.store, journey.new(PLAIN)
    store.append(id, PLAIN, usage={"input_tokens": 2**63 - 1})
    expected = 2
    for name in COUNTERS:
        for value in NO_COUNTS if name == "requests" else NO_COUNTS[:2]:
            given = {"requests": 1, name: value}
            with journey.nothing_written(), pytest.raises(InvalidRecordError) as refused:
                store.append(id, PLAIN, usage=given)
            assert refused.value.path == f"usage.{name}"
            if name == "requests":
                done = store.append(id, PLAIN, usage=given, usage_errors="report")
                expected += 1
                assert done.usage_errors and name in done.usage_errors[0]
    for whole in ([1], "x", 5, {"tokens": 1}, {"$inc": {"requests": 1}}, {1: 1}, {"input_tokens.x": 1}):
        with journey.nothing_written(), pytest.raises(InvalidRecordError):
            store.append(id, PLAIN, usage=whole)
        assert store.append(id, PLAIN, usage=whole, usage_errors="report").usage_errors
        expected += 1
    with pytest.raises(InvalidRecordError):
        store.append(id, PLAIN, usage={}, usage_errors="ignore")
    head = store.head(id)
    assert (head.usage, head.message_count) == (Usage(input_tokens=2**63 - 1), expected)


def test_U06_unknown_is_not_zero_and_sums_saturate(journey: Journey) -> None:
    store, id = journey.store, journey.new()
    store.append(id, PLAIN, usage=None)
    store.append(id, PLAIN, usage={})
    for _ in range(4):
        store.append(id, PLAIN, usage={"input_tokens": 2**63 - 1, "requests": 1})
    assert store.head(id).usage == Usage(input_tokens=2**64 - 1, requests=4)
    given = [usage_of(record) for record in journey.head_document(id)["log"] if "u" in record]
    assert given == [{"input_tokens": 2**63 - 1, "requests": 1}] * 4, "unknown usage is in no sum"
    record = store.get(id)
    record.usage.accumulate(Usage(requests=2**64 - 1))
    store.save(record)
    assert store.head(id).usage.requests == 2**64 - 1
    with pytest.raises(ValueError):
        Conversation(user=journey.user, usage={"input_tokens": -1})


def ms(text: str, zone: str = "UTC") -> int:
    """The moment in milliseconds; without an offset it is local in the zone."""
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))).timestamp() * 1000)


def write_at(journey: Journey, clock: Clock, moments: dict[int, int]) -> None:
    """A message at each of these moments, with so many tokens."""
    clock.now = min(moments)
    id = journey.new()
    for clock.now, tokens in sorted(moments.items()):
        journey.store.append(id, PLAIN, usage={"input_tokens": tokens})


def test_U04_hours_and_days_across_changes_of_the_clock(journey: Journey, clock: Clock) -> None:
    times = ("2024-11-03T05:30", "2024-11-03T06:30", "2024-03-10T06:30", "2024-03-10T07:30")
    moments = {ms(f"{time}+00:00"): 2**place for place, time in enumerate(times)}
    write_at(journey, clock, moments)
    usage = journey.store.analytics.usage
    for zone in ("America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"):
        for by in ("hour", "day", "week", "month"):
            rows = usage(user=journey.user, by=by, tz=zone)
            assert sum(row.input_tokens for row in rows) == 15
            starts = [row.start for row in rows]
            for at, tokens in moments.items():
                (one,) = [row for row in rows if row.start == max(s for s in starts if s <= at)]
                assert one.input_tokens & tokens, "it counts in the period it lies in"
    hours = usage(user=journey.user, by="hour", tz="America/New_York")
    per_day = {day: sum(row.label.startswith(day) for row in hours) for day in ("2024-03-10", "2024-06-01")}
    assert per_day == {"2024-03-10": 23 - 1, "2024-06-01": 24}, "its first hour has nothing before it"
    since, until = ms("2024-11-03", "America/New_York"), ms("2024-11-04", "America/New_York")
    long_day = usage(user=journey.user, by="hour", tz="America/New_York", since=since, until=until)
    assert len(long_day) == 25 and len({row.label for row in long_day}) == 25
    twice = {row.label: row.input_tokens for row in long_day if "T01:" in row.label}
    assert twice == {"2024-11-03T01:00-04:00": 1, "2024-11-03T01:00-05:00": 2}
    days = usage(user=journey.user, by="day", tz="America/New_York")
    labels = [row.label for row in days]
    assert len(labels) == len(set(labels)) == 239, "zero filling adds no day and leaves none out"


def test_U05_a_local_day_is_the_same_in_every_report(journey: Journey, clock: Clock) -> None:
    zone = "Asia/Shanghai"
    early, late = ms("2024-05-02T00:30", zone), ms("2024-05-02T08:30", zone)
    write_at(journey, clock, {early: 1, late: 2})
    usage = journey.store.analytics.usage
    days = {row.label: row.input_tokens for row in usage(user=journey.user, by="day", tz=zone)}
    assert days == {"2024-05-02": 3}
    by_utc = {row.label: row.input_tokens for row in usage(user=journey.user, by="day", tz="UTC")}
    assert by_utc == {"2024-05-01": 1, "2024-05-02": 2}
    id = journey.store.find(user=journey.user).items[0].id
    raw = [record["at"] for record in journey.head_document(id)["log"]]
    local = {datetime.fromtimestamp(at / 1000, timezone.utc).astimezone(ZoneInfo(zone)).date() for at in raw}
    assert {str(day) for day in local} == set(days), "roll-up and raw report agree"
