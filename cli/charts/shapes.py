"""What is on a chart: moments, panels, series, in numbers and words. Pure; nothing is drawn here.

Times are milliseconds since 1970. A chart of ``n`` periods has ``n + 1`` edges: a period is as long as it is,
so a day has 23 or 25 hours where the clock changes.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone, tzinfo
from enum import Enum
from itertools import pairwise

from convostore.schemas.periods import By, periods, zone_named

__all__ = [
    "Chart",
    "Grid",
    "Merge",
    "Panel",
    "Ranking",
    "Series",
    "Unit",
    "calendar_groups",
    "clock_changes",
    "condensed",
    "edges_of",
    "even_groups",
    "local_time",
    "range_text",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Unit(str, Enum):
    """What a number counts; durations are in ms."""

    COUNT = "count"
    DURATION = "duration"
    MONEY = "money"
    SHARE = "share"


class Merge(str, Enum):
    """Which value stands for several periods where there is room for one."""

    MEAN = "mean"
    HIGHEST = "highest"


@dataclass(frozen=True, slots=True)
class Series:
    """A name and one value a period; None where nothing is known, which is not zero.

    ``highs`` are set where a value stands for several: the greatest of them.
    """

    name: str
    values: tuple[float | None, ...]
    highs: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """Series that share an axis; ``stacked`` ones add up. ``title`` says what is counted ("tokens").

    ``highs`` are the greatest sums of stacked series that a value stands for, set as :attr:`Series.highs`.
    """

    title: str
    series: tuple[Series, ...]
    stacked: bool = False
    unit: Unit = Unit.COUNT
    merge: Merge = Merge.MEAN
    highs: tuple[float | None, ...] = ()

    def total(self) -> Series:
        """The sum of the series by period; None where every one of them is."""
        columns = zip(*(one.values for one in self.series), strict=True)
        sums = (_of_known(sum, column) for column in columns)
        return Series(self.title, tuple(sums))


@dataclass(frozen=True, slots=True)
class Chart:
    """Panels over the same periods; ``edges`` are where these begin, and where the last one ends.

    The figures are those of periods ``by``. ``drawn`` says of how many a value stands for where these are
    too many to be drawn: "3 hours", "a day"; it is empty where each has its own.
    """

    title: str
    by: By
    zone: str
    edges: tuple[int, ...]
    panels: tuple[Panel, ...]
    drawn: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Names with a value each, the greatest first."""

    title: str
    axis: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    unit: Unit = Unit.COUNT


@dataclass(frozen=True, slots=True)
class Grid:
    """A heat map: a value for each pair of a row and a column."""

    title: str
    zone: str
    what: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


def local_time(ms: int, local: tzinfo) -> datetime:
    """The moment as a zone's clocks show it."""
    return (_EPOCH + timedelta(milliseconds=ms)).astimezone(local)


def edges_of(starts: Sequence[int], by: By | str, zone: str) -> tuple[int, ...]:
    """The starts of periods without gaps, and the end of the last one; empty for none.

    >>> edges_of([1772946000000], "day", "America/New_York")[1] - 1772946000000 == 23 * 3_600_000
    True
    """
    if not starts:
        return ()
    last = periods(starts[-1], starts[-1] + 1, by, zone_named(zone))[-1]
    return (*starts, last.end)


def clock_changes(edges: Sequence[int], zone: str) -> list[tuple[int, int]]:
    """At which edges the zone's clock has just changed, and by how many minutes (60: put forward)."""
    local = zone_named(zone)
    changes = []
    offsets = [_offset(edge, local) for edge in edges]
    for edge, before, after in zip(edges[1:], offsets, offsets[1:], strict=False):
        if before != after:
            changes.append((edge, (after - before) // timedelta(minutes=1)))
    return changes


def _offset(ms: int, local: tzinfo) -> timedelta:
    return local_time(ms, local).utcoffset() or timedelta()


def calendar_groups(chart: Chart, most: int) -> tuple[list[slice], str]:
    """The chart's periods by day, week or month of its zone, the shortest with at most ``most`` groups."""
    local = zone_named(chart.zone)
    order = list(By)
    groups, words = [slice(0, len(chart.edges) - 1)], "the whole"
    for longer in order[order.index(chart.by) + 1 :]:
        starts = [period.start for period in periods(chart.edges[0], chart.edges[-1], longer, local)]
        # A period belongs to the one that it begins in.
        places = [bisect.bisect_left(chart.edges, start) for start in starts[1:]]
        bounds = sorted({0, *places, len(chart.edges) - 1})
        groups, words = [slice(*pair) for pair in pairwise(bounds)], f"a {longer}"
        if len(groups) <= most:
            break
    return groups, words


def even_groups(chart: Chart, most: int) -> tuple[list[slice], str]:
    """The chart's periods in at most ``most`` groups of equally many (the last has what is left)."""
    count = len(chart.edges) - 1
    size = max(1, math.ceil(count / most))
    return [slice(at, min(at + size, count)) for at in range(0, count, size)], f"{size} {chart.by}s"


def condensed(chart: Chart, groups: Sequence[slice], words: str) -> Chart:
    """The chart with one value for each group of periods, by the panel's rule, and the group's highest."""
    edges = (*(chart.edges[group.start] for group in groups), chart.edges[-1])
    return replace(
        chart, edges=edges, panels=tuple(_grouped(panel, groups) for panel in chart.panels), drawn=words
    )


def _grouped(panel: Panel, groups: Sequence[slice]) -> Panel:
    def grouped(one: Series) -> Series:
        parts = [one.values[group] for group in groups]
        highs = tuple(_of_known(max, part) for part in parts)
        values = highs if panel.merge is Merge.HIGHEST else tuple(_of_known(_mean, part) for part in parts)
        return Series(one.name, values, highs)

    highs = grouped(panel.total()).highs if panel.stacked else ()
    return replace(panel, series=tuple(map(grouped, panel.series)), highs=highs)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _of_known(rule: Callable[[list[float]], float], values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return rule(known) if known else None


def range_text(edges: Sequence[int], by: By | str, zone: str) -> str:
    """The range in words: ``2026-03-08 to 2026-03-14``, by hour with the hours; both ends belong to it."""
    if not edges:
        return "nothing"
    local = zone_named(zone)
    first, end = local_time(edges[0], local), local_time(edges[-1], local)
    if By(by) is By.HOUR:
        return f"{first:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}"
    last = local_time(edges[-1] - 1, local)
    return f"{first:%Y-%m-%d}" if first.date() == last.date() else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
