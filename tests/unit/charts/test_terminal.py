"""Charts as text: within the width, in proportion, legible without colour."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from convostore.cli.charts.contents import chart_of, grid_of, ranking_of
from convostore.cli.charts.terminal import text_of
from convostore.store import HeatRow, QueuesRow, TopRow, UsageRow, UsersRow
from support.figure_rows import heat_rows, made_rows, top_rows


@pytest.mark.parametrize("width", [28, 40, 80, 200])
@pytest.mark.parametrize(
    ("by", "count", "zone"),
    [
        ("hour", 1, "UTC"),
        ("hour", 24, "America/New_York"),
        ("day", 365, "Asia/Kolkata"),
        ("hour", 8760, "UTC"),
    ],
)
def test_no_line_is_wider_than_asked(by: str, count: int, zone: str, width: int) -> None:
    rows = made_rows(UsageRow, count, by, zone, "2026-03-08")
    lines = text_of(chart_of(rows, by, zone), width).plain.splitlines()
    drawn = [line for line in lines if "┤" in line or "└" in line or line.startswith("        ")]
    assert len(drawn) > (10 if count > 1 else 0)
    assert max(map(len, drawn)) <= width
    assert f"times in {zone}" in "\n".join(lines)


def test_columns_are_in_proportion_and_nothing_is_no_column() -> None:
    rows = [UsersRow(place * 86_400_000, "", users, users) for place, users in enumerate([0, 600, 300, 1])]
    lines = text_of(chart_of(rows, "day", "UTC"), 40).plain.splitlines()
    columns = [line[8:].ljust(24) for line in lines if "┤" in line]
    heights = [sum(line[at] != " " for line in columns) for at in (0, 6, 12, 18)]
    assert heights == [0, 6, 3, 1]
    assert columns[-1][18] == "▁"
    assert any(line.startswith("   600 ┤") for line in lines)


def test_a_column_of_many_periods_says_so() -> None:
    rows = made_rows(UsersRow, 365, "day")
    said = text_of(chart_of(rows, "day", "UTC"), 80).plain
    assert "a column is 6 days" in said and "the mean" in said


def test_what_is_not_known_is_a_dot_and_zeros_take_one_line() -> None:
    rows = [QueuesRow(0, "", 0), QueuesRow(86_400_000, "", 0, 50, 60, 70, 80)]
    said = text_of(chart_of(rows, "day", "UTC"), 60).plain
    assert "·····" in said
    assert "waits that ended: 0 throughout" in said
    nothing = text_of(chart_of(rows[:1], "day", "UTC"), 60).plain
    assert "time waited: p50: not known" in nothing


def test_bars_fit_wide_letters_and_keep_their_order() -> None:
    rows = [*top_rows(["日本語のとても長い名前の利用者", "bob", None]), TopRow("nobody", 1, 1, 0, 0, 0, 0, 0)]
    lines = text_of(ranking_of(rows, "tokens", "Users"), 40).plain.splitlines()[2:]
    assert max(map(cell_len, lines)) <= 40
    bars = [line.count("█") for line in lines]
    assert bars == sorted(bars, reverse=True) and bars[0] > 0 and bars[-1] == 0


@pytest.mark.parametrize("width", [28, 60, 100])
def test_a_heat_map_shades_the_highest_darkest(width: int) -> None:
    rows = [HeatRow(day, hour, 0, 0, 0, 0, 0) for day in range(7) for hour in range(24)]
    rows[2 * 24 + 13] = HeatRow(2, 13, 9, 0, 0, 0, 0)
    rows[6 * 24] = HeatRow(6, 0, 1, 0, 0, 0, 0)
    lines = text_of(grid_of(rows, "messages", "UTC", "Hours"), width).plain.splitlines()
    column = max(1, min(3, (width - 4) // 24))
    days = {line[:3]: line[4:] for line in lines if line[:3] in ("Mon", "Wed", "Sun")}
    assert days["Wed"][13 * column] == "█" and days["Sun"][0] == "░"
    assert set(days["Mon"]) == {"·"}
    assert max(len(line) for line in lines) <= width


def test_colours_are_left_out_off_a_terminal_and_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = grid_of(heat_rows(), "tokens", "UTC", "Hours")

    def printed(terminal: bool) -> str:
        out = io.StringIO()
        Console(file=out, force_terminal=terminal, width=80).print(text_of(shape, 80))
        return out.getvalue()

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[36m" in printed(True) and "\x1b" not in printed(False)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[36m" not in printed(True)
