"""The report's page: which figures it shows, from the rows of ``store.analytics``. No store in here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convostore.cli.charts.contents import chart_of, grid_of, ranking_of
from convostore.cli.charts.drawing import picture
from convostore.cli.charts.page import Page, Section, inline_svg
from convostore.cli.charts.shapes import Chart, Grid, Ranking, edges_of, range_text
from convostore.cli.output import plain
from convostore.cli.tables import cells, headings, number_columns, remarks_of, says_something
from convostore.store import HeatRow, TopRow, UsageRow, WaitingRow

__all__ = ["Answers", "report_page"]

_TOTALS = {
    "created": "conversations made",
    "messages": "messages",
    "requests": "requests",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "cached_tokens": "cached tokens",
    "cost": "cost",
}


@dataclass(frozen=True, slots=True)
class Answers:
    """What was found: the series and the greatest by their titles, the hours of the week, what waits."""

    by: str
    zone: str
    currency: str | None
    usage: Sequence[UsageRow]
    series: Mapping[str, Sequence[Any]]
    tops: Mapping[str, Sequence[TopRow]]
    heat: Sequence[HeatRow]
    waiting: Sequence[WaitingRow]


def report_page(found: Answers, about: Sequence[str]) -> Page:
    """The page of the report; ``about`` says in lines whose figures these are and when they were made."""
    edges = edges_of([row.start for row in found.usage], found.by, found.zone)
    span = f"{range_text(edges, found.by, found.zone)}, times in {found.zone}"
    sections: list[Section] = []
    for title, rows in {"Usage": found.usage, **found.series}.items():
        shape = chart_of(rows, found.by, found.zone, found.currency or "")
        happened = [row for row in rows if says_something(row)]
        notes = ["A period in which nothing happened has no row."] if len(happened) < len(rows) else []
        sections.append(_section(len(sections), title, shape, happened, notes))
    grid = grid_of(found.heat, "tokens", found.zone, f"Tokens by hour and weekday\n{span}")
    sections.append(_section(len(sections), "Hours of the week", grid))
    for title, top in found.tops.items():
        ranking = ranking_of(top, "tokens", f"{title} by tokens\n{span}") if top else None
        sections.append(_section(len(sections), title, ranking, top, folded=False))
    sections.append(_section(len(sections), "Waiting now", None, found.waiting, folded=False))
    return Page(
        title="Conversations and their usage",
        about=[f"{span}, by {found.by}", *about],
        numbers=_totals(found),
        remarks=remarks_of(found.usage),
        sections=sections,
    )


def _section(
    place: int,
    title: str,
    shape: Chart | Grid | Ranking | None,
    rows: Sequence[Any] = (),
    notes: Sequence[str] = (),
    *,
    folded: bool = True,
) -> Section:
    name = f"p{place + 1}"
    drawn = "" if shape is None else inline_svg(picture(shape, "svg", salt=name), name, shape.title)
    if not rows:
        return Section(title, drawn, notes=[*notes, *([] if drawn else ["Nothing."])])
    texts = [[plain(cell) for cell in row] for row in cells(rows)]
    return Section(title, drawn, headings(rows), texts, number_columns(rows), notes, folded)


def _totals(found: Answers) -> list[tuple[str, str]]:
    totals = []
    for member, name in _TOTALS.items():
        known = [value for row in found.usage if (value := getattr(row, member)) is not None]
        if member == "cost" and known:
            totals.append((f"cost, {found.currency}" if found.currency else "cost", f"{sum(known):,.2f}"))
        elif known:
            totals.append((name, f"{sum(known):,}"))
    return totals
