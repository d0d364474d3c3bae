"""Hours, days, weeks and months in a time zone, right across changes of the clock. Pure.

Times are milliseconds since 1970. A period begins at local midnight (or the full local hour) and ends
where the next one begins, so a day has 23 or 25 hours when the clock changes. Every zone's periods begin at a
multiple of a quarter of an hour in UTC, which is what the ledger counts in.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from enum import Enum
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from convostore.schemas.errors import QueryError

__all__ = ["QUARTER_MS", "By", "Period", "period_places", "periods", "zone_named"]

QUARTER_MS = 900_000
"""A quarter of an hour: the smallest step between the offsets of today's zones."""

_MOST = 200_000
_HOUR_MS = 3_600_000
_CLOCK = tuple(f"{hour:02d}:00" for hour in range(24))


class By(str, Enum):
    """How long a period is."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    def __str__(self) -> str:
        return self.value


class Period(NamedTuple):
    """From ``start`` (included) to ``end`` (excluded), ms; ``label`` names it in its zone.

    Labels: ``2026-03-08T05:00-05:00`` by hour, ``2026-03-08``, ``2026-W10`` (ISO weeks, from Monday),
    ``2026-03``.
    """

    start: int
    end: int
    label: str


def zone_named(name: str) -> ZoneInfo:
    """The IANA zone of that name.

    Raises:
        QueryError: there is none.

    """
    if not isinstance(name, str):
        raise QueryError("tz", f"must be the name of a time zone, not {type(name).__name__}")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise QueryError(
            "tz", f"{ascii(name)[:80]} is no time zone; give one as Europe/Berlin, or UTC"
        ) from None


def periods(since: int, until: int, by: By | str, zone: ZoneInfo) -> list[Period]:
    """Every period that has a part between ``since`` and ``until``, in order and without gaps.

    >>> [p.label for p in periods(1772928000000, 1773014400000, "day", ZoneInfo("UTC"))]
    ['2026-03-08']

    Raises:
        QueryError: the range is empty, or holds more than 200,000 periods.

    """
    wanted = By(by)
    if since >= until:
        raise QueryError("since", f"{since} is not before until, {until}")
    start = _floor(since, wanted, zone)
    if wanted is By.HOUR:
        return _hours(start, until, zone)
    found: list[Period] = []
    while start < until:
        end = _next(start, wanted, zone)
        found.append(Period(start, end, _label(start, wanted, zone)))
        if len(found) > _MOST:
            raise _too_many()
        start = end
    return found


def _hours(start: int, until: int, zone: ZoneInfo) -> list[Period]:
    """The hours of a range; there are many, so most are made day by day."""
    if until - start > _MOST * _HOUR_MS:
        raise _too_many()
    found: list[Period] = []
    while start < until:
        local = _local(start, zone)
        named = local.isoformat(timespec="minutes")
        even = _even_hours(start, until, local, zone)
        if even:
            starts = range(start, start + (even + 1) * _HOUR_MS, _HOUR_MS)
            day, offset = named[:11], named[16:]
            labels = [day + hour + offset for hour in _CLOCK[local.hour : local.hour + even]]
            found += map(Period, starts, starts[1:], labels)
            start = starts[-1]
        else:
            end = _next_hour(start, zone)
            found.append(Period(start, end, named))
            start = end
    return found


def _even_hours(start: int, until: int, local: datetime, zone: ZoneInfo) -> int:
    """How many hours from ``start`` to midnight, or ``until``, are full ones of the same offset."""
    if local.minute:
        return 0
    most = min(24 - local.hour, -(-(until - start) // _HOUR_MS))
    if zone.utcoffset(None) is not None:  # it never changes
        return most
    offset = local.utcoffset()
    for count in range(most):
        if _local(start + (count + 1) * _HOUR_MS, zone).utcoffset() != offset:
            return count
    return most


def _too_many() -> QueryError:
    return QueryError("by", f"the range holds more than {_MOST:,} periods; take longer ones")


def period_places(found: Sequence[Period], quarters: Sequence[int]) -> list[int]:
    """For each quarter of an hour since 1970 the place of the period it lies in; -1 outside of all."""
    starts = [period.start for period in found]
    last = found[-1].end if found else 0
    places = []
    for quarter in quarters:
        at = quarter * QUARTER_MS
        places.append(bisect.bisect_right(starts, at) - 1 if at < last else -1)
    return places


def _local(ms: int, zone: ZoneInfo) -> datetime:
    try:
        return datetime.fromtimestamp(ms // 1000, zone)
    except (OverflowError, ValueError, OSError):
        raise QueryError("since", f"{ms} is beyond the calendar") from None


def _ms(local: datetime) -> int:
    return int(local.timestamp()) * 1000


def _floor(ms: int, by: By, zone: ZoneInfo) -> int:
    local = _local(ms, zone)
    if by is By.HOUR:
        return _hour(ms, local, zone)
    day = local.date()
    if by is By.WEEK:
        day -= timedelta(days=day.weekday())
    elif by is By.MONTH:
        day = day.replace(day=1)
    return _midnight(day, zone)


def _hour(ms: int, local: datetime, zone: ZoneInfo) -> int:
    start = ms - ms % 1000 - (local.minute * 60 + local.second) * 1000
    while _local(start, zone).utcoffset() != local.utcoffset():
        start += QUARTER_MS  # the clock changed within this hour: it began then
    return start


def _midnight(day: date, zone: ZoneInfo) -> int:
    # Where the clock skips midnight the day begins when it goes on: fold 0 names a moment just before the
    # gap.
    local = datetime(day.year, day.month, day.day, tzinfo=zone)
    at = _ms(local)
    return at if _local(at, zone).date() >= day else _ms(local.replace(fold=1))


def _next(start: int, by: By, zone: ZoneInfo) -> int:
    if by is By.HOUR:
        return _next_hour(start, zone)
    day = _local(start, zone).date()
    if by is By.DAY:
        return _midnight(day + timedelta(days=1), zone)
    if by is By.WEEK:
        return _midnight(day + timedelta(days=7), zone)
    first = day.replace(day=28) + timedelta(days=4)
    return _midnight(first.replace(day=1), zone)


def _next_hour(start: int, zone: ZoneInfo) -> int:
    """Where the next local hour begins, or the clock changes, if that is sooner."""
    local = _local(start, zone)
    end = start + _HOUR_MS
    if local.minute == 0 and _local(end, zone).utcoffset() == local.utcoffset():
        return end
    for quarter in range(start + QUARTER_MS, end, QUARTER_MS):
        later = _local(quarter, zone)
        if later.minute == 0 or later.utcoffset() != local.utcoffset():
            return quarter
    return end


def _label(start: int, by: By, zone: ZoneInfo) -> str:
    local = _local(start, zone)
    if by is By.HOUR:
        return local.isoformat(timespec="minutes")
    if by is By.WEEK:
        year, week, _ = local.isocalendar()
        return f"{year:04d}-W{week:02d}"
    if by is By.MONTH:
        return f"{local.year:04d}-{local.month:02d}"
    return local.date().isoformat()
