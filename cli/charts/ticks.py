"""Where a time axis has marks and what they say, by the calendar of a zone. Pure.

The marks are the calendar's own (every third hour, days, Mondays, months, ...), found by
:func:`convostore.schemas.periods.periods`, so they are right where the clock changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from convostore.cli.charts.shapes import local_time
from convostore.schemas.periods import By, periods, zone_named

__all__ = ["Tick", "time_ticks"]

_HOUR = 3_600_000
_DAY = 24 * _HOUR
_RANK = {By.HOUR: 0, By.DAY: 1, By.WEEK: 2, By.MONTH: 3}
# Not strftime's, which speaks the language of the process.
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark at ``at`` (ms) with ``label``, and ``context`` below it where that changes (else empty)."""

    at: int
    label: str
    context: str


@dataclass(frozen=True, slots=True)
class _Step:
    """Marks about ``length`` ms apart: where a period ``by`` begins whose start, in the zone, is kept.

    ``count`` is how many such periods lie between two marks.
    """

    by: By
    count: int
    length: int
    label: Callable[[datetime], str]
    context: Callable[[datetime], str]
    keeps: Callable[[datetime], bool]


def _hours(count: int) -> _Step:
    return _Step(
        By.HOUR,
        count,
        count * _HOUR,
        lambda local: f"{local:%H:%M}",
        lambda local: f"{_WEEKDAYS[local.weekday()]} {local.day} {_month(local)} {local.year}",
        lambda local: local.hour % count == 0 and local.minute == 0,
    )


def _days() -> _Step:
    return _Step(
        By.DAY,
        1,
        _DAY,
        lambda local: f"{_WEEKDAYS[local.weekday()]} {local.day}",
        lambda local: f"{_month(local)} {local.year}",
        lambda local: True,
    )


def _weeks(count: int) -> _Step:
    return _Step(
        By.WEEK,
        count,
        count * 7 * _DAY,
        lambda local: f"{local.day} {_month(local)}",
        _year,
        lambda local: local.toordinal() // 7 % count == 0,
    )


def _months(count: int) -> _Step:
    return _Step(
        By.MONTH, count, count * 30 * _DAY, _month, _year, lambda local: (local.month - 1) % count == 0
    )


def _years(count: int) -> _Step:
    return _Step(
        By.MONTH,
        count * 12,
        count * 365 * _DAY,
        _year,
        lambda local: "",
        lambda local: local.month == 1 and local.year % count == 0,
    )


def _month(local: datetime) -> str:
    return _MONTHS[local.month - 1]


def _year(local: datetime) -> str:
    return f"{local.year}"


_STEPS = (
    *map(_hours, (1, 2, 3, 6, 12)),
    _days(),
    *map(_weeks, (1, 2)),
    *map(_months, (1, 3, 6)),
    *map(_years, (1, 2, 5, 10, 25, 100)),
)


def time_ticks(start: int, end: int, by: By | str, zone: str, most: int) -> list[Tick]:
    """About ``most`` marks at most between ``start`` and ``end``, none closer together than the periods.

    Where every period has its mark it stands in the period's middle, under its bar; else at a beginning.
    """
    shortest = By(by)
    step = next(
        (
            one
            for one in _STEPS
            if _RANK[one.by] >= _RANK[shortest] and (end - start) / one.length <= most + 0.5
        ),
        _STEPS[-1],
    )
    local = zone_named(zone)
    # A period cut off at an edge of the axis has its mark outside.
    found = [
        (period, begins)
        for period in periods(start, end, step.by, local)
        if start <= period.start and step.keeps(begins := local_time(period.start, local))
    ]
    centred = step.by is shortest and step.count == 1
    contexts = [step.context(begins) for _, begins in found]
    changed = [bool(contexts[:1]), *(one != two for one, two in pairwise(contexts))]
    if changed[1:2] == [True] and len(found) > 2:
        changed[0] = False  # two contexts side by side would overlap
    return [
        Tick(
            (period.start + period.end) // 2 if centred else period.start, step.label(begins), context * shown
        )
        for (period, begins), context, shown in zip(found, contexts, changed, strict=False)
    ]
