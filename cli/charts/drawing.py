"""Charts as pictures, by matplotlib (extra ``analytics``). Importing this module imports matplotlib.

The time axis is in days since 1970 UTC, so a period is as wide as it is long; its marks are in the chart's
zone. Nothing global of matplotlib is used or changed.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from itertools import cycle, pairwise
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from convostore.cli.charts.shapes import (
    Chart,
    Grid,
    Merge,
    Panel,
    Ranking,
    Series,
    Unit,
    calendar_groups,
    clock_changes,
    condensed,
    range_text,
)
from convostore.cli.charts.ticks import time_ticks
from convostore.cli.charts.units import short, step_between
from convostore.schemas.periods import By

__all__ = ["figure_of", "picture"]

_DAY_MS = 86_400_000
_WIDTH = 11.0
_BARS = 120
"""Up to so many periods have bars with a gap between them; more become one area, which stays even."""
_GAP = 0.1
_MOST = 800
"""More periods than that are drawn in groups: there are not enough dots for each."""
_WIDE = 20
"""Durations that differ by more than this factor have a logarithmic axis."""
_POWERS = (1, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 259_200_000, 2_592_000_000)
_LETTERS = 150
"""How many letters of a legend fit beside each other."""
# Okabe and Ito's, told apart by the colour-blind.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999999")
_INK = "#333333"
_STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,
    "svg.fonttype": "none",
}


def picture(shape: Chart | Ranking | Grid, kind: str, *, salt: str = "convostore") -> bytes:
    """The picture as a file of ``kind``, ``png`` or ``svg``; the same shape gives the same bytes.

    ``salt`` keeps the names inside several SVGs on one page apart.
    """
    figure = figure_of(shape)
    stream = io.BytesIO()
    # A letter that the font lacks is a box in the picture; the table beside it has the name.
    with warnings.catch_warnings(), matplotlib.rc_context({**_STYLE, "svg.hashsalt": salt}):
        warnings.filterwarnings("ignore", message="Glyph .* missing from font|Matplotlib currently does not")
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(stream, format=kind, dpi=120, metadata=metadata)
    return stream.getvalue()


def figure_of(shape: Chart | Ranking | Grid) -> Figure:
    """The shape as a figure of matplotlib."""
    with matplotlib.rc_context(_STYLE):
        if isinstance(shape, Chart):
            return _chart(shape)
        return _ranking(shape) if isinstance(shape, Ranking) else _grid(shape)


def _chart(chart: Chart) -> Figure:
    if len(chart.edges) > _MOST:
        chart = condensed(chart, *calendar_groups(chart, _MOST))
    heights = [3.0, *(2.2 for _ in chart.panels[1:])]
    figure = Figure(figsize=(_WIDTH, sum(heights) + 1.1), layout="constrained")
    every: Any = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    said = f"{range_text(chart.edges, chart.by, chart.zone)}, times in {chart.zone}"
    if chart.drawn:
        said += f"; each step is {chart.drawn}: the mean of its {chart.by}s, pale to the highest"
    figure.suptitle(f"{chart.title} by {chart.by}\n{said}", x=0.01, ha="left", fontsize=11)
    for axes, panel in zip(every, chart.panels, strict=True):
        _panel(axes, panel, chart.edges)
    _time_axis(every, chart)
    return figure


def _panel(axes: Any, panel: Panel, moments: Sequence[int]) -> None:
    edges = [moment / _DAY_MS for moment in moments]
    nothing = [0.0] * (len(edges) - 1)
    filled = panel.stacked or len(panel.series) == 1
    highs = panel.highs or (panel.series[0].highs if filled else ())
    highest = max(_known(highs, nothing), default=0.0)
    if highs:
        axes.stairs(_drawable(highs), edges, fill=True, color=_COLOURS[0], alpha=0.25, linewidth=0)
    bottom = nothing
    for place, (colour, one) in enumerate(zip(cycle(_COLOURS), panel.series, strict=False)):
        highest = max([highest, *_known(one.values, bottom)])
        if filled:
            _fill(axes, one, bottom, edges, colour)
        else:
            highest = max([highest, *_known(one.highs, nothing)])
            _steps(axes, one, edges, colour, max(0.7, 2.2 - 0.5 * place))
        if panel.stacked:
            bottom = [low + (value or 0) for low, value in zip(bottom, one.values, strict=True)]
    title = panel.title
    if panel.merge is Merge.HIGHEST and any(one.highs for one in panel.series):
        title += ", the highest"
    lowest = min((value for one in panel.series for value in one.values if value), default=0.0)
    if panel.unit is Unit.DURATION and highest > lowest * _WIDE > 0:
        _logarithmic_axis(axes, lowest, highest)
        title += " (logarithmic axis)"
    else:
        _value_axis(axes, highest, panel.unit)
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_title(title, loc="left", fontsize=10)
    if len(panel.series) > 1 or panel.series[0].name not in panel.title:
        _legend(axes, panel)
    known = [value for one in panel.series for value in one.values if value is not None]
    if not any(known):
        said = "0 throughout" if known else "nothing known"
        axes.text(0.5, 0.5, said, transform=axes.transAxes, ha="center", color="#888888")


def _legend(axes: Any, panel: Panel) -> None:
    """Above the panel, beside its title; on two lines where the names are too long for one."""
    room = _LETTERS - len(panel.title)
    count = len(panel.series)
    wide = sum(len(one.name) + 6 for one in panel.series) > room
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1),
        frameon=False,
        ncols=-(-count // 2) if wide else count,
        borderaxespad=0.1,
        fontsize=9,
    )


def _known(values: Sequence[float | None], bottom: Sequence[float]) -> list[float]:
    return [low + value for low, value in zip(bottom, values, strict=False) if value is not None]


def _fill(axes: Any, one: Series, bottom: Sequence[float], edges: Sequence[float], colour: str) -> None:
    values = [value or 0 for value in one.values]
    if len(values) > _BARS:
        top = [low + value for low, value in zip(bottom, values, strict=True)]
        axes.stairs(top, edges, baseline=bottom, fill=True, color=colour, linewidth=0, label=one.name)
        return
    widths = [after - before for before, after in pairwise(edges)]
    lefts = [left + width * _GAP / 2 for left, width in zip(edges, widths, strict=False)]
    axes.bar(
        lefts,
        values,
        [width * (1 - _GAP) for width in widths],
        bottom,
        align="edge",
        color=colour,
        label=one.name,
    )


def _steps(axes: Any, one: Series, edges: Sequence[float], colour: str, width: float) -> None:
    # Each thinner than those below it, so that equal ones are all seen.
    values = _drawable(one.values)
    axes.stairs(values, edges, baseline=None, color=colour, linewidth=width, label=one.name)
    if one.highs and one.highs != one.values:
        axes.stairs(_drawable(one.highs), edges, baseline=None, color=colour, linewidth=0.6, alpha=0.5)


def _drawable(values: Sequence[float | None]) -> list[float]:
    """What is not known is not drawn."""
    return [float("nan") if value is None else value for value in values]


def _value_axis(axes: Any, highest: float, unit: Unit) -> None:
    step = step_between(highest, unit, 5)
    marks = [step * place for place in range(int(highest / step) + 2)]
    axes.set_yticks(marks, [short(mark, unit) for mark in marks])
    axes.set_ylim(0, max(highest * 1.06, step))


def _logarithmic_axis(axes: Any, lowest: float, highest: float) -> None:
    """An axis of durations that begins with 0 and goes on in powers: beside p99, p50 would lie at 0."""
    first = max((mark for mark in _POWERS if mark <= lowest), default=_POWERS[0])
    marks = [mark for mark in _POWERS if first <= mark < highest * 3]
    axes.set_yscale("symlog", linthresh=marks[0], linscale=0.3)
    axes.set_yticks([0, *marks], [short(mark, Unit.DURATION) for mark in (0, *marks)])
    axes.set_yticks([], minor=True)
    axes.set_ylim(0, highest * 1.5)


def _time_axis(every: Sequence[Any], chart: Chart) -> None:
    start, end = chart.edges[0], chart.edges[-1]
    # One or two bars would fill the picture: they stand among empty periods instead.
    margin = max(0, 8 - (len(chart.edges) - 1)) * (chart.edges[1] - start) / 2
    ticks = time_ticks(start, end, chart.by, chart.zone, 14)
    lowest = every[-1]
    lowest.set_xlim((start - margin) / _DAY_MS, (end + margin) / _DAY_MS)
    lowest.set_xticks(
        [tick.at / _DAY_MS for tick in ticks],
        [f"{tick.label}\n{tick.context}" if tick.context else tick.label for tick in ticks],
    )
    if chart.by is By.HOUR and not chart.drawn:
        changes = clock_changes(chart.edges, chart.zone)
        for at, minutes in changes:
            for axes in every:
                axes.axvline(at / _DAY_MS, color="#888888", linewidth=0.8, linestyle=":")
            every[0].annotate(
                f"clock {minutes:+d} min",
                (at / _DAY_MS, 1),
                xycoords=("data", "axes fraction"),
                xytext=(3, -2),
                textcoords="offset points",
                va="top",
                fontsize=8,
                color="#666666",
            )


def _ranking(ranking: Ranking) -> Figure:
    count = max(1, len(ranking.names))
    figure = Figure(figsize=(_WIDTH, 1.1 + 0.34 * count), layout="constrained")
    axes = figure.subplots()
    figure.suptitle(ranking.title, x=0.01, ha="left", fontsize=11)
    places = list(range(len(ranking.names)))
    bars = axes.barh(places, ranking.values, height=0.7, color=_COLOURS[0])
    axes.bar_label(bars, [short(value, ranking.unit) for value in ranking.values], padding=4, fontsize=9)
    axes.set_yticks(places, ranking.names)
    axes.invert_yaxis()
    highest = max(ranking.values, default=0)
    step = step_between(highest, ranking.unit, 8)
    marks = [step * place for place in range(int(highest / step) + 2)]
    axes.set_xticks(marks, [short(mark, ranking.unit) for mark in marks])
    axes.set_xlim(0, max(highest * 1.08, step))
    axes.set_xlabel(ranking.axis)
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    return figure


def _grid(grid: Grid) -> Figure:
    figure = Figure(figsize=(_WIDTH, 4.2), layout="constrained")
    axes = figure.subplots()
    figure.suptitle(grid.title, x=0.01, ha="left", fontsize=11)
    highest = max((value for row in grid.values for value in row), default=0)
    image = axes.pcolormesh(
        range(len(grid.columns) + 1),
        range(len(grid.rows) + 1),
        grid.values,
        cmap="YlGnBu",
        vmin=0,
        vmax=highest or 1,
        edgecolors="white",
        linewidth=0.6,
    )
    axes.invert_yaxis()
    axes.set_xticks([place + 0.5 for place in range(len(grid.columns))], grid.columns)
    axes.set_yticks([place + 0.5 for place in range(len(grid.rows))], grid.rows)
    axes.tick_params(length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel(f"hour of the day, {grid.zone}")
    bar = figure.colorbar(image, ax=axes, pad=0.01, label=grid.what)
    step = step_between(highest, Unit.COUNT, 5)
    marks = [step * place for place in range(int(highest / step) + 1)]
    bar.set_ticks(marks, labels=[short(mark, Unit.COUNT) for mark in marks])
    bar.outline.set_visible(False)
    return figure
