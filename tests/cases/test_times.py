"""Cases E: clocks, zones and dates. Times are milliseconds in UTC; a date is no JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

from convostore.schemas import Conversation
from convostore.schemas.errors import ConvostoreError
from convostore.store.layout import Bounds
from support.faces import Face
from support.journeys import PLAIN, Clock, Journey

pytestmark = pytest.mark.parametrize("face", ["sync"], indirect=True)

DATES: list[Any] = [
    datetime(2024, 5, 1, 12, 0, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    datetime(2024, 5, 1, 12, 0),
    datetime(2024, 11, 3, 1, 30, fold=1),
    datetime.max,
    date(2024, 2, 29),
    timedelta(seconds=1),
    time.gmtime(0),
]


@pytest.fixture(params=["America/St_Johns", "Asia/Kolkata", "Australia/Lord_Howe"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The machine's zone while the test runs."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_E01_no_date_is_guessed(journey: Journey) -> None:
    for value in DATES[:2]:
        journey.refuses({"role": "user", "created_at": value}, ".created_at")
        journey.refuses_extra({"at": [value]}, ".at[0]")
    id = journey.new(PLAIN)
    for value in DATES:
        with pytest.raises(ConvostoreError):
            journey.store.append(id, {"at": value})
        with pytest.raises(ValueError):
            Conversation(user=journey.user, updated_at=value)
        for name in ("since", "until"):
            with pytest.raises(ConvostoreError):
                journey.store.find(user=journey.user, **{name: value})


def test_E03_versions_not_times_tell_what_is_stale(journey: Journey, clock: Clock) -> None:
    store, record = journey.store, journey.store.create(Conversation(user=journey.user))
    for number in range(10):
        store.append(record, PLAIN, expected=2 * number + 1)
        record.label = str(number)
        store.append(record.id, PLAIN)
        clock.advance(-1 if number % 2 else 0)
    assert store.save(record).rebased
    assert len(store.get(record.id).messages) == 20
    assert store.head(record.id).label == "9"


def test_E04_the_machines_zone_changes_nothing(
    journey: Journey, clock: Clock, zone: str, face: Face, databases: tuple[str, str]
) -> None:
    store, now = face.open(databases[0], bounds=Bounds()), clock.now
    id = journey.new(PLAIN)
    journey.store.append(id, PLAIN)
    record = store.get(id)
    assert (record.created_at, record.period) == (now, now // 3_600_000)
    assert [entry.made for entry in store.entries(id)] == [now, now]
    hour = now // 3_600_000 * 3_600_000
    assert store.count(user=journey.user, since=hour, until=hour + 3_600_000) == 1
    assert store.count(user=journey.user, until=now) == 0
    assert store.delete_expired(hour, user=journey.user, include=["submitted"]) == 0
    assert store.delete_expired(hour + 3_600_000, user=journey.user, include=["submitted"]) == 1
    wall = store.create(Conversation(user=journey.user, messages=[PLAIN])).created_at
    assert abs(wall - time.time() * 1000) < 60_000, "the store's own clock is UTC"


def test_E06_imported_dates_are_found_by_time(journey: Journey) -> None:
    texts = [
        '"2024-01-01T00:00:00Z"',
        '"2024-01-01T05:30:00+05:30"',
        '"2023-12-31T19:00:00.000-05:00"',
        "1704067200",
        "1704067200000",
        "1704067200.0",
    ]
    lines = [
        f'{{"id":"{number}","messages":[{{"role":"user","content":"x","created_at":{text}}}]}}'
        for number, text in enumerate(texts)
    ]
    bad = ['"2024-02-30"', '"2024-01-01T00:00:00"', '"yesterday"', "-5", "true", "[]", "1e30"]
    lines += [f'{{"messages":[{{"role":"user","content":"x","created_at":{text}}}]}}' for text in bad]
    report = journey.store.import_conversations("\n".join(lines).encode(), format="openai", user=journey.user)
    refused = [problem.position for problem in report.problems]
    assert refused == list(range(len(texts) + 1, len(lines) + 1)), "refused with their lines"
    assert journey.store.count(user=journey.user, since=1704067200000, until=1704067200001) == len(texts)
