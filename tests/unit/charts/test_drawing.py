"""What matplotlib was given to draw equals the rows, and the files are what their names say."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from convostore.cli.charts.contents import chart_of, grid_of, ranking_of
from convostore.cli.charts.drawing import figure_of, picture
from convostore.cli.charts.shapes import Chart
from convostore.cli.charts.terminal import text_of
from convostore.store import DurationsRow, FailuresRow, QueuesRow, ReasonCount, UsageRow, UsersRow
from support.figure_rows import heat_rows, made_rows, top_rows

DAY = 86_400_000


def steps(axes: Any) -> list[Any]:
    """What lines and areas of the panel were given: values and edges."""
    return [patch.get_data() for patch in axes.patches if hasattr(patch, "get_data")]


@pytest.mark.parametrize(
    ("zone", "since", "count"),
    [("America/New_York", "2026-03-08", 23), ("America/New_York", "2026-11-01", 25)],
)
def test_bars_are_the_rows_of_a_day_on_which_the_clock_changes(zone: str, since: str, count: int) -> None:
    rows = made_rows(UsageRow, count, "hour", zone, since)
    tokens, messages, *_ = figure_of(chart_of(rows, "hour", zone)).axes
    given, made = tokens.containers
    assert [bar.get_height() for bar in given] == [row.input_tokens for row in rows]
    assert [bar.get_height() for bar in made] == [row.output_tokens for row in rows]
    assert [bar.get_y() for bar in made] == [row.input_tokens for row in rows]
    middles = [bar.get_x() + bar.get_width() / 2 for bar in given]
    assert middles == pytest.approx([(row.start + DAY / 48) / DAY for row in rows])
    assert [list(found.values) for found in steps(messages)] == [
        [row.messages for row in rows],
        [row.requests for row in rows],
    ]
    assert list(steps(messages)[0].edges) == [edge / DAY for edge in chart_of(rows, "hour", zone).edges]
    assert any("clock" in text.get_text() for text in tokens.texts)


def test_an_area_is_the_rows_of_a_year_of_days() -> None:
    rows = made_rows(UsersRow, 365, "day", "Australia/Lord_Howe")
    (axes,) = figure_of(chart_of(rows, "day", "Australia/Lord_Howe")).axes
    returning, new = steps(axes)
    assert list(returning.values) == [row.returning for row in rows]
    assert list(new.values) == [row.returning + row.new for row in rows]
    assert list(new.baseline) == [row.returning for row in rows]
    low, high = axes.get_xlim()
    assert (low, high) == pytest.approx((rows[0].start / DAY, (rows[-1].start + DAY) / DAY))
    assert axes.get_ylim()[1] >= max(row.users for row in rows)


def test_a_year_of_hours_is_drawn_by_day_and_keeps_its_highest_hour() -> None:
    rows = made_rows(UsageRow, 8760, "hour", "Asia/Kolkata")
    tokens, messages, *_ = figure_of(chart_of(rows, "hour", "Asia/Kolkata")).axes
    highs, given, _made = steps(tokens)
    totals = [row.input_tokens + row.output_tokens for row in rows]
    assert list(highs.values) == [max(totals[at : at + 24]) for at in range(0, 8760, 24)]
    assert list(given.values) == pytest.approx(
        [sum(row.input_tokens for row in rows[at : at + 24]) / 24 for at in range(0, 8760, 24)]
    )
    assert "a day" in tokens.figure.get_suptitle()
    assert max(messages.get_ylim()) >= max(row.messages for row in rows)


def test_one_point_stands_alone_with_its_zone_and_its_mark() -> None:
    (row,) = made_rows(UsageRow, 1, "day", "Asia/Kolkata", "2026-03-08")
    figure = figure_of(chart_of([row], "day", "Asia/Kolkata"))
    lowest = figure.axes[-1]
    low, high = lowest.get_xlim()
    assert high - low > 4
    assert [label.get_text() for label in lowest.get_xticklabels()] == ["Sun 8\nMar 2026"]
    assert "2026-03-08, times in Asia/Kolkata" in figure.get_suptitle()


def test_what_is_not_known_is_left_out_and_far_apart_durations_have_powers() -> None:
    rows = made_rows(DurationsRow, 30, "day")
    rows[3] = DurationsRow(rows[3].start, rows[3].label, 0)
    lasted = figure_of(chart_of(rows, "day", "UTC")).axes[0]
    assert lasted.get_yscale() == "symlog"
    (p50, *_) = steps(lasted)
    assert [value if value == value else None for value in p50.values] == [row.p50 for row in rows]
    waited, waits = figure_of(chart_of([QueuesRow(0, "1970-01-01", 0)], "day", "UTC")).axes
    assert [text.get_text() for text in waited.texts] == ["nothing known"]
    assert [text.get_text() for text in waits.texts] == ["0 throughout"]


def test_a_single_reason_is_named() -> None:
    rows = [FailuresRow(0, "1970-01-01", 2, 2, (ReasonCount("no credit", 2),))]
    (axes,) = figure_of(chart_of(rows, "day", "UTC")).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["no credit"]
    assert "no credit" in text_of(chart_of(rows, "day", "UTC"), 60).plain


def test_rankings_and_heat_maps_draw_their_rows() -> None:
    names = ["alice", "$x^2$", None]
    (axes,) = figure_of(ranking_of(top_rows(names), "tokens", "Users")).axes
    assert [bar.get_width() for bar in axes.containers[0]] == [
        row.input_tokens + row.output_tokens for row in top_rows(names)
    ]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["alice", "$x^2$", "none"]
    rows = heat_rows()
    grid = grid_of(rows, "messages", "Europe/London", "Hours")
    axes = figure_of(grid).axes[0]
    assert axes.collections[0].get_array().tolist() == [list(row) for row in grid.values]
    assert axes.collections[0].get_array().sum() == sum(row.messages for row in rows)
    assert "Europe/London" in axes.get_xlabel()


def test_files_are_of_their_kind_and_the_same_each_time() -> None:
    chart = chart_of(made_rows(UsersRow, 7, "day"), "day", "UTC")
    assert isinstance(chart, Chart)
    png, svg = picture(chart, "png"), picture(chart, "svg")
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"active users" in svg
    assert picture(chart, "svg") == svg


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_names_in_any_script_and_of_any_sort_can_be_drawn(kind: str) -> None:
    names = [
        "\u65e5\u672c\u8a9e",
        "\u0939\u093f\u0928\u094d\u0926\u0940",
        "\U0001f469\u200d\U0001f467",
        "\ud800",
        "\x00\x1b[31m",
        "$\\frac$",
        "_x",
        "a\nb",
    ]
    assert picture(ranking_of(top_rows([*names]), "tokens", "Users"), kind)  # warnings are errors here
