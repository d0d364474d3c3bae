"""Made-up rows of figures, without a store: what a year of an agent's use looks like."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from convostore.schemas.periods import Period, periods
from convostore.store import (
    ConversationsRow,
    DurationsRow,
    FailuresRow,
    HeatRow,
    MessagesRow,
    QueuesRow,
    ReasonCount,
    StatusRow,
    TopRow,
    UsageRow,
    UsersRow,
)

__all__ = ["SERIES", "heat_rows", "made_rows", "some_periods", "top_rows"]

_SPANS = {"hour": 3_600_000, "day": 86_400_000, "week": 604_800_000, "month": 31 * 86_400_000}
REASONS = ("the model did not answer", "tool 'search' raised", None, "too many turns", "no credit")


def some_periods(count: int, by: str, zone: str, since: str) -> list[Period]:
    """So many periods from the day ``since`` on."""
    local = ZoneInfo(zone)
    start = int(datetime.fromisoformat(since).replace(tzinfo=local).timestamp() * 1000)
    return periods(start, start + _SPANS[by] * (count + 1), by, local)[:count]


def _requests(rng: random.Random, period: Period, zone: str, place: float) -> int:
    """More by day than at night, more on workdays, more as time goes on."""
    local = datetime.fromtimestamp(period.start / 1000, ZoneInfo(zone))
    hours = (period.end - period.start) / 3_600_000
    shape = 0.1 + math.exp(-(((local.hour - 14) / 4) ** 2)) if hours <= 1 else 0.4
    quiet = 0.3 if local.weekday() > 4 and hours <= 25 else 1
    return int(40 * hours * shape * quiet * (1 + place) * rng.uniform(0.7, 1.2))


def _usage(start: int, label: str, count: int, rng: random.Random) -> UsageRow:
    given = count * rng.randrange(1200, 1800)
    return UsageRow(
        start, label, count // 3, min(count // 4, 120), count * 3, given, count * 240, given // 3, count,
        count // 5, count, count % 7, cost=round(given * 3e-6, 6),
    )  # fmt: skip


def _conversations(start: int, label: str, count: int, rng: random.Random) -> ConversationsRow:
    return ConversationsRow(start, label, count // 5, count // 3, count // 20, count // 30)


def _users(start: int, label: str, count: int, rng: random.Random) -> UsersRow:
    new = rng.randrange(count // 20 + 1)
    return UsersRow(start, label, count // 4 + new, new, count // 4)


def _messages(start: int, label: str, count: int, rng: random.Random) -> MessagesRow:
    return MessagesRow(start, label, count * 3, count, count // 15, count // 3)


def _statuses(start: int, label: str, count: int, rng: random.Random) -> StatusRow:
    done, failed = count // 5, count // 40
    return StatusRow(start, label, done + failed + count // 50, 0, 0, count // 50, done, 0, failed)


def _failures(start: int, label: str, count: int, rng: random.Random) -> FailuresRow:
    found = [ReasonCount(reason, rng.randrange(count // 60 + 1)) for reason in REASONS]
    reasons = tuple(sorted((one for one in found if one.failures), key=lambda one: -one.failures))
    failures = sum(one.failures for one in reasons)
    return FailuresRow(start, label, failures, failures, reasons)


def _queues(start: int, label: str, count: int, rng: random.Random) -> QueuesRow:
    if count < 4:
        return QueuesRow(start, label, 0)
    half = rng.randrange(400, 1500)
    return QueuesRow(start, label, count, half, half * 6, half * 30, half * 60)


def _durations(start: int, label: str, count: int, rng: random.Random) -> DurationsRow:
    if count < 4:
        return DurationsRow(start, label, 0)
    half, first = rng.randrange(60_000, 200_000), rng.randrange(800, 2500)
    return DurationsRow(
        start, label, count, half, half * 5, half * 40, half * 90,
        count, first, first * 4, first * 15, first * 30,
    )  # fmt: skip


SERIES: dict[type, Callable[[int, str, int, random.Random], Any]] = {
    UsageRow: _usage,
    ConversationsRow: _conversations,
    UsersRow: _users,
    MessagesRow: _messages,
    StatusRow: _statuses,
    FailuresRow: _failures,
    QueuesRow: _queues,
    DurationsRow: _durations,
}


def made_rows(
    kind: type, count: int, by: str, zone: str = "UTC", since: str = "2026-01-01", seed: int = 1
) -> list[Any]:
    """Rows of a series; the same arguments give the same rows."""
    rng = random.Random(seed)
    found = some_periods(count, by, zone, since)
    return [
        SERIES[kind](period.start, period.label, _requests(rng, period, zone, place / count), rng)
        for place, period in enumerate(found)
    ]


def top_rows(names: list[str | None], seed: int = 1) -> list[TopRow]:
    """A row for each name, the greatest first."""
    rng = random.Random(seed)
    rows = []
    for place, name in enumerate(names):
        count = int(4000 / (place + 1) ** 0.8 * rng.uniform(0.9, 1.1))
        rows.append(TopRow(name, count // 3, 1, count * 3, count * 1500, count * 240, count * 500, count))
    return rows


def heat_rows(seed: int = 1) -> list[HeatRow]:
    """All 168 hours of a week."""
    rng = random.Random(seed)
    rows = []
    for weekday in range(7):
        for hour in range(24):
            shape = max(0.0, math.exp(-(((hour - 14) / 4) ** 2)) - 0.01) * (0.3 if weekday > 4 else 1)
            count = int(900 * shape * rng.uniform(0.7, 1.2))
            rows.append(HeatRow(weekday, hour, count * 3, count * 1500, count * 240, count * 500, count))
    return rows
