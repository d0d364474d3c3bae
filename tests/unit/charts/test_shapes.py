"""What is on a chart, in numbers: edges, groups, marks, units. No pixels."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from convostore.cli.charts.contents import chart_of, grid_of, ranking_of
from convostore.cli.charts.shapes import (
    Chart,
    Merge,
    Panel,
    Series,
    Unit,
    calendar_groups,
    clock_changes,
    condensed,
    edges_of,
    even_groups,
    range_text,
)
from convostore.cli.charts.ticks import time_ticks
from convostore.cli.charts.units import short, step_between
from convostore.schemas.periods import By, periods
from convostore.store import FailuresRow, HeatRow, QueuesRow, ReasonCount, TopRow, UsageRow
from support.figure_rows import SERIES, made_rows, some_periods

HOUR = 3_600_000
ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Europe/London", "Australia/Lord_Howe")


def a_chart(by: str, zone: str, values: list[float | None], merge: Merge = Merge.MEAN) -> Chart:
    edges = edges_of([period.start for period in some_periods(len(values), by, zone, "2026-01-01")], by, zone)
    series = (Series("one", tuple(values)), Series("two", tuple(values)))
    return Chart("Something", By(by), zone, edges, (Panel("things", series, True, Unit.COUNT, merge),))


@pytest.mark.parametrize(
    ("zone", "since", "hours"),
    [
        ("America/New_York", "2026-03-08", 23),
        ("America/New_York", "2026-11-01", 25),
        ("Australia/Lord_Howe", "2026-04-05", 24.5),
        ("UTC", "2026-03-08", 24),
    ],
)
def test_a_day_is_as_wide_as_it_is_long(zone: str, since: str, hours: float) -> None:
    (start,) = (period.start for period in some_periods(1, "day", zone, since))
    assert edges_of([start], "day", zone) == (start, start + hours * HOUR)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("by", "count"), [("hour", 24), ("day", 365), ("week", 53), ("month", 12)])
def test_edges_are_the_starts_and_the_last_end(by: str, count: int, zone: str) -> None:
    found = some_periods(count, by, zone, "2026-01-01")
    edges = edges_of([period.start for period in found], by, zone)
    assert edges == (*(period.start for period in found), found[-1].end)
    assert edges_of([], by, zone) == ()


def test_changes_of_the_clock_are_told_with_their_minutes() -> None:
    def of(zone: str, since: str) -> list[tuple[int, int]]:
        return clock_changes([period.start for period in some_periods(24, "hour", zone, since)], zone)

    at = int(datetime(2026, 3, 8, 7, tzinfo=ZoneInfo("UTC")).timestamp() * 1000)
    assert of("America/New_York", "2026-03-08") == [(at, 60)]
    assert [minutes for _, minutes in of("Australia/Lord_Howe", "2026-04-05")] == [-30]
    assert of("Asia/Kolkata", "2026-03-08") == []


def test_the_range_is_said_in_the_zone() -> None:
    def said(count: int, by: str, zone: str) -> str:
        return range_text(a_chart(by, zone, [1] * count).edges, by, zone)

    assert said(1, "day", "Asia/Kolkata") == "2026-01-01"
    assert said(365, "day", "Australia/Lord_Howe") == "2026-01-01 to 2026-12-31"
    assert said(1, "month", "America/New_York") == "2026-01-01 to 2026-01-31"
    assert said(24, "hour", "Europe/London") == "2026-01-01 00:00 to 2026-01-02 00:00"


@pytest.mark.parametrize("zone", ["Europe/London", "Australia/Lord_Howe"])
def test_a_year_of_hours_is_grouped_by_the_days_of_the_zone(zone: str) -> None:
    count = len(
        periods(
            *(edges := a_chart("hour", zone, [0.0] * 8760).edges)[:: len(edges) - 1], By.HOUR, ZoneInfo(zone)
        )
    )
    chart = a_chart("hour", zone, [float(place) for place in range(count)])
    groups, words = calendar_groups(chart, 800)
    assert words == "a day"
    days = some_periods(len(groups), "day", zone, "2026-01-01")
    grouped = condensed(chart, groups, words)
    assert grouped.edges[:-1] == tuple(day.start for day in days)
    assert sum(group.stop - group.start for group in groups) == count
    first = groups[0]
    (panel,) = grouped.panels
    assert panel.series[0].values[0] == sum(range(first.stop)) / first.stop
    assert panel.series[0].highs[0] == first.stop - 1
    assert panel.highs[0] == 2 * (first.stop - 1)


def test_groups_keep_what_is_not_known_apart_from_zero() -> None:
    chart = a_chart("day", "UTC", [None, None, 0.0, 4.0, None])
    groups, words = even_groups(chart, 3)
    assert words == "2 days" and groups == [slice(0, 2), slice(2, 4), slice(4, 5)]
    (panel,) = condensed(chart, groups, words).panels
    assert panel.series[0].values == (None, 2.0, None)
    (panel,) = condensed(
        a_chart("day", "UTC", [None, None, 0.0, 4.0, None], Merge.HIGHEST), groups, ""
    ).panels
    assert panel.series[0].values == (None, 4.0, None)


def test_marks_of_a_day_skip_the_hour_that_the_clock_skips() -> None:
    start, end = edges_of(
        [some_periods(1, "day", "America/New_York", "2026-03-08")[0].start], "day", "America/New_York"
    )
    marks = time_ticks(start, end, "hour", "America/New_York", 24)
    assert [mark.label for mark in marks] == [f"{hour:02d}:00" for hour in range(24) if hour != 2]
    assert [mark.context for mark in marks if mark.context] == ["Sun 8 Mar 2026"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    ("by", "count", "first", "last"),
    [
        ("hour", 1, "00:00", "00:00"),
        ("hour", 24, "00:00", "22:00"),
        ("day", 1, "Thu 1", "Thu 1"),
        ("day", 30, "5 Jan", "26 Jan"),
        ("day", 365, "Jan", "Dec"),
        ("hour", 8760, "Jan", "Dec"),
        ("month", 12, "Jan", "Dec"),
        ("day", 3650, "2026", "2035"),
    ],
)
def test_marks_are_the_calendars(by: str, count: int, zone: str, first: str, last: str) -> None:
    edges = a_chart(by, zone, [0.0] * count).edges
    marks = time_ticks(edges[0], edges[-1], by, zone, 14)
    assert (marks[0].label, marks[-1].label) == (first, last)
    assert len(marks) <= 14
    assert all(edges[0] <= mark.at < edges[-1] for mark in marks)


def test_a_mark_stands_under_its_bar_when_each_has_one() -> None:
    edges = a_chart("day", "America/New_York", [1.0] * 7).edges
    marks = time_ticks(edges[0], edges[-1], "day", "America/New_York", 14)
    assert [mark.at for mark in marks] == [(one + two) // 2 for one, two in pairwise(edges)]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, Unit.DURATION, "0"),
        (999, Unit.COUNT, "999"),
        (999.7, Unit.COUNT, "1k"),
        (999_999, Unit.COUNT, "1M"),
        (2**64 - 1, Unit.COUNT, "18.4E"),
        (1_250_000, Unit.COUNT, "1.25M"),
        (59_999, Unit.DURATION, "1min"),
        (5_400_000, Unit.DURATION, "1.5h"),
        (0.0042, Unit.MONEY, "0.0042"),
        (12_500, Unit.MONEY, "12.5k"),
        (0.5, Unit.COUNT, "0.5"),
    ],
)
def test_numbers_are_short(value: float, unit: Unit, text: str) -> None:
    assert short(value, unit) == text


@pytest.mark.parametrize(
    ("highest", "unit", "step"),
    [
        (0, Unit.COUNT, 1),
        (1, Unit.COUNT, 1),
        (3, Unit.COUNT, 1),
        (10, Unit.COUNT, 2),
        (1_000_000, Unit.COUNT, 200_000),
        (60_000, Unit.DURATION, 15_000),
        (86_400_000, Unit.DURATION, 21_600_000),
        (0.01, Unit.MONEY, 0.002),
    ],
)
def test_steps_of_an_axis_are_round_and_counts_whole(highest: float, unit: Unit, step: float) -> None:
    assert step_between(highest, unit, 5) == pytest.approx(step)


@pytest.mark.parametrize("kind", SERIES, ids=lambda kind: kind.__name__)
def test_every_series_has_a_chart_of_its_periods(kind: type) -> None:
    rows = made_rows(kind, 7, "day", "Europe/London", "2026-03-25")
    chart = chart_of(rows, "day", "Europe/London")
    assert chart.edges[:-1] == tuple(row.start for row in rows)
    assert chart.panels
    assert {len(one.values) for panel in chart.panels for one in panel.series} == {7}


def test_usage_has_the_rows_numbers_and_cost_only_where_it_is_known() -> None:
    rows = made_rows(UsageRow, 5, "day")
    chart = chart_of(rows, "day", "UTC")
    tokens = chart.panels[0]
    assert tokens.total().values == tuple(row.input_tokens + row.output_tokens for row in rows)
    assert chart.panels[-1].series[0].values == tuple(row.cost for row in rows)
    free = [UsageRow(row.start, row.label, *([1] * 7)) for row in rows]
    assert "cost" not in [panel.title for panel in chart_of(free, "day", "UTC").panels]


def test_failures_are_stacked_by_reason_and_add_up() -> None:
    reasons = tuple(ReasonCount(f"reason {place}", place) for place in range(9, 0, -1))
    rows = [
        FailuresRow(0, "1970-01-01", 50, 40, (*reasons, ReasonCount(None, 5))),
        FailuresRow(86_400_000, "1970-01-02", 0),
    ]
    (panel,) = chart_of(rows, "day", "UTC").panels
    assert panel.total().values == (50, 0)
    assert [one.name for one in panel.series][:2] == ["reason 9", "reason 8"]
    assert panel.series[-1].name == "other reasons"


def test_times_that_nobody_waited_are_not_known() -> None:
    rows = [QueuesRow(0, "1970-01-01", 0), QueuesRow(86_400_000, "1970-01-02", 1, 0, 0, 0, 0)]
    waited = chart_of(rows, "day", "UTC").panels[0]
    assert [one.values for one in waited.series] == [(None, 0)] * 3


def test_a_ranking_keeps_the_order_and_names_what_has_no_name() -> None:
    rows = [TopRow("alice\x1b[31m", 1, 1, 5, 10, 5, 0, 2), TopRow(None, 1, 1, 7, 1, 0, 0, 1)]
    found = ranking_of(rows, "tokens", "Users")
    assert found.names == ("alice\\x1b[31m", "none") and found.values == (15, 1)
    assert ranking_of(rows, "messages", "Users").values == (5, 7)


def test_a_heat_map_has_a_place_for_every_hour_of_the_week() -> None:
    grid = grid_of([HeatRow(6, 23, 4, 3, 2, 1, 1), HeatRow(0, 0, 1, 1, 0, 0, 1)], "tokens", "UTC", "Hours")
    assert len(grid.values) == 7 and {len(row) for row in grid.values} == {24}
    assert grid.values[6][23] == 5 and grid.values[0][0] == 1
    assert sum(map(sum, grid.values)) == 6
