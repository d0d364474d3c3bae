"""Charts as text of a given width: columns, bars and shades of block characters. Nothing is printed here.

rich, which the command line has anyway, does the colours and leaves them out for NO_COLOR and pipes. plotext
was weighed and not taken: its axis of time knows no zones, and putting periods together would be left to do.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable

from rich.cells import cell_len
from rich.text import Text

from convostore.cli.charts.shapes import (
    Chart,
    Grid,
    Merge,
    Panel,
    Ranking,
    Series,
    Unit,
    condensed,
    even_groups,
    range_text,
)
from convostore.cli.charts.ticks import time_ticks
from convostore.cli.charts.units import short

__all__ = ["text_of"]

_UPWARDS = " ▁▂▃▄▅▆▇█"
_RIGHTWARDS = " ▏▎▍▌▋▊▉█"
_SHADES = "░▒▓█"
_UNKNOWN = "·"
_HEIGHT, _LOW_HEIGHT = 6, 3
_MARGIN = 8
"""Left of a chart: a number of at most six characters, a space and the axis."""
_NARROWEST = 28
_WIDEST_COLUMN = 6
_TICK = 8
_COLOUR = "cyan"


def text_of(shape: Chart | Ranking | Grid, width: int) -> Text:
    """The shape in lines of at most ``width`` characters (at least 28), without a line's end at the end."""
    wide = max(width, _NARROWEST)
    if isinstance(shape, Chart):
        lines = _chart(shape, wide)
    else:
        lines = _ranking(shape, wide) if isinstance(shape, Ranking) else _grid(shape, wide)
    return Text("\n", no_wrap=True, overflow="crop").join(lines)


def _chart(chart: Chart, width: int) -> list[Text]:
    room = width - _MARGIN
    if len(chart.edges) - 1 > room:
        chart = condensed(chart, *even_groups(chart, room))
    count = len(chart.edges) - 1
    column = min(_WIDEST_COLUMN, room // count)
    lines = [Text(f"{chart.title} by {chart.by}", style="bold")]
    said = [range_text(chart.edges, chart.by, chart.zone), f"times in {chart.zone}"]
    if chart.drawn:
        said.append(f"a column is {chart.drawn}")
    lines += _wrapped(said, width)
    for panel in chart.panels:
        for series, said_of, height in _rows_of(panel):
            if chart.drawn:
                said_of += ", the highest" if panel.merge is Merge.HIGHEST else ", the mean"
            known = [value for value in series.values if value is not None]
            if any(known):
                lines += [Text(said_of), *_columns(series, panel.unit, height, column)]
                lines.append(Text(f"{'0':>{_MARGIN - 2}} └{'─' * count * column}"))
            else:
                lines.append(Text(f"{said_of}: {'0 throughout' if known else 'not known'}"))
    return [*lines, *_time_axis(chart, column, room)]


def _wrapped(parts: Iterable[str], width: int) -> list[Text]:
    """The parts on as few lines as they need, each whole."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 2 <= width:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    return [Text(line) for line in lines]


def _rows_of(panel: Panel) -> list[tuple[Series, str, int]]:
    """The series that have columns of their own, with what is said above them and how high they are."""
    if panel.stacked and len(panel.series) > 1:
        names = " + ".join(one.name for one in panel.series)
        return [(panel.total(), f"{panel.title} ({names})", _HEIGHT)]
    height = _HEIGHT if len(panel.series) == 1 else _LOW_HEIGHT
    return [
        (one, panel.title if len(panel.series) == 1 else one.name, height)
        if one.name in panel.title
        else (one, f"{panel.title}: {one.name}", height)
        for one in panel.series
    ]


def _columns(series: Series, unit: Unit, height: int, column: int) -> list[Text]:
    highest = max(value for value in series.values if value is not None)
    filled = column - 1 if column > 2 else column
    lines = []
    for row in range(height):
        number = short(highest, unit) if row == 0 else ""
        line = Text(f"{number:>{_MARGIN - 2}} ┤")
        cells = []
        for value in series.values:
            block = _block(value, highest, height, height - 1 - row)
            cells.append((block * filled).ljust(column))
        line.append("".join(cells).rstrip(), style=_COLOUR)
        lines.append(line)
    return lines


def _block(value: float | None, highest: float, height: int, above: int) -> str:
    """The character of a column, ``above`` rows above the axis; what is more than zero can be seen."""
    if value is None:
        return _UNKNOWN if above == 0 else " "
    eighths = round(value / highest * height * 8)
    if value > 0:
        eighths = max(1, eighths)
    return _UPWARDS[min(8, max(0, eighths - above * 8))]


def _time_axis(chart: Chart, column: int, room: int) -> list[Text]:
    """What the marks of the axis say, below its beginning, as far as there is room."""
    ticks = time_ticks(chart.edges[0], chart.edges[-1], chart.by, chart.zone, room // _TICK)
    labels, contexts = "", ""
    for tick in ticks:
        at = (bisect.bisect_right(chart.edges, tick.at) - 1) * column
        labels = _placed(labels, tick.label, at, room)
        contexts = _placed(contexts, tick.context, at, room)
    before = " " * _MARGIN
    return [Text(f"{before}{line}") for line in (labels, contexts) if line]


def _placed(line: str, text: str, at: int, room: int) -> str:
    """The line with the text at a place, or at the right edge; without it, where it would touch another."""
    place = max(0, min(at, room - len(text)))
    return line.ljust(place) + text if text and (not line or len(line) < place) else line


def _ranking(ranking: Ranking, width: int) -> list[Text]:
    shown = [short(value, ranking.unit) for value in ranking.values]
    numbers = max(map(len, shown), default=0)
    names = min(max(map(cell_len, ranking.names), default=0), max(8, width // 3))
    room = width - names - numbers - 3
    highest = max(ranking.values, default=0)
    lines = [Text(ranking.title, style="bold"), Text(ranking.axis)]
    for name, value, number in zip(ranking.names, ranking.values, shown, strict=True):
        line = Text(name)
        line.truncate(names, overflow="ellipsis", pad=True)
        line.append(" ")
        line.append(_bar(value, highest, room), style=_COLOUR)
        lines.append(line.append(f" {number}"))
    return lines


def _bar(value: float, highest: float, room: int) -> str:
    eighths = round(value / highest * room * 8) if highest else 0
    if value > 0:
        eighths = max(1, eighths)
    return "█" * (eighths // 8) + _RIGHTWARDS[eighths % 8].strip()


def _grid(grid: Grid, width: int) -> list[Text]:
    names = max(map(len, grid.rows))
    column = max(1, min(3, (width - names - 1) // len(grid.columns)))
    highest = max((value for row in grid.values for value in row), default=0)
    every = 1 if column > 2 else 3 if column == 2 else 6
    heads = "".join(
        name.ljust(column * every) for place, name in enumerate(grid.columns) if place % every == 0
    )
    lines = [Text(grid.title, style="bold"), Text(f"{' ' * names} {heads}".rstrip())]
    for name, row in zip(grid.rows, grid.values, strict=True):
        line = Text(f"{name:<{names}} ")
        cells = "".join(_shade(value, highest) * column for value in row)
        lines.append(line.append(cells, style=_COLOUR))
    if highest:
        steps = [
            f"{shade} to {short(highest * (place + 1) / 4, Unit.COUNT)}"
            for place, shade in enumerate(_SHADES)
        ]
        lines += _wrapped([f"{grid.what}: {_UNKNOWN} none", *steps], width)
    return lines


def _shade(value: float, highest: float) -> str:
    return _SHADES[math.ceil(value / highest * 4) - 1] if value > 0 else _UNKNOWN
