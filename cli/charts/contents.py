"""Which figures are on the chart of which rows. Pure: from rows of ``convostore.store`` to shapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from convostore.cli.charts.shapes import Chart, Grid, Merge, Panel, Ranking, Series, Unit, edges_of
from convostore.cli.output import plain
from convostore.schemas.periods import By
from convostore.store import (
    ConversationsRow,
    DurationsRow,
    FailuresRow,
    HeatRow,
    MessagesRow,
    QueuesRow,
    StatusRow,
    TopRow,
    UsageRow,
    UsersRow,
)

__all__ = ["chart_of", "grid_of", "ranking_of"]

_NAME = 40
_REASONS = 6
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def _series(rows: Sequence[Any], **names: str) -> tuple[Series, ...]:
    """A series for each member of the rows, with its name on the chart."""
    return tuple(Series(name, tuple(getattr(row, member) for row in rows)) for member, name in names.items())


def _usage(rows: Sequence[UsageRow]) -> list[Panel]:
    panels = [
        Panel("tokens", _series(rows, input_tokens="input", output_tokens="output"), stacked=True),
        Panel("messages and requests", _series(rows, messages="messages", requests="requests")),
        Panel("conversations and users", _series(rows, conversations="conversations", users="users")),
    ]
    if any(row.cost is not None for row in rows):
        panels.append(Panel("cost", _series(rows, cost="cost"), unit=Unit.MONEY))
    return panels


def _conversations(rows: Sequence[ConversationsRow]) -> list[Panel]:
    return [
        Panel("conversations", _series(rows, active="active", created="created")),
        Panel("of those created", _series(rows, imported="imported", forked="forked")),
    ]


def _users(rows: Sequence[UsersRow]) -> list[Panel]:
    return [Panel("active users", _series(rows, returning="returning", new="new"), stacked=True)]


def _messages(rows: Sequence[MessagesRow]) -> list[Panel]:
    return [
        Panel("messages", _series(rows, messages="messages")),
        Panel("appends and edits", _series(rows, appends="appends", edits="edits")),
    ]


def _statuses(rows: Sequence[StatusRow]) -> list[Panel]:
    names = ("completed", "idle", "working", "failed", "cancelled", "submitted")
    return [
        Panel(
            "conversations created, by status", _series(rows, **{name: name for name in names}), stacked=True
        )
    ]


def _failures(rows: Sequence[FailuresRow]) -> list[Panel]:
    totals: Counter[str | None] = Counter()
    for row in rows:
        for one in row.reasons:
            totals[one.reason] += one.failures
    kept = [reason for reason, _ in totals.most_common(_REASONS)]
    if len(totals) > _REASONS:
        kept.pop()
    series = []
    for reason in kept:
        name = "no reason given" if reason is None else plain(reason, _NAME)
        counts = [sum(one.failures for one in row.reasons if one.reason == reason) for row in rows]
        series.append(Series(name, tuple(counts)))
    rest = tuple(
        row.failures - sum(one.values[place] or 0 for one in series) for place, row in enumerate(rows)
    )
    if any(rest) or not series:
        series.append(Series("other reasons" if series else "failures", rest))
    return [Panel("failures, by reason", tuple(series), stacked=True)]


def _percentiles(title: str, rows: Sequence[Any], prefix: str = "") -> Panel:
    names = {f"{prefix}{name}": name for name in ("p50", "p90", "p99")}
    return Panel(title, _series(rows, **names), unit=Unit.DURATION, merge=Merge.HIGHEST)


def _queues(rows: Sequence[QueuesRow]) -> list[Panel]:
    return [
        _percentiles("time waited", rows),
        Panel("waits that ended", _series(rows, waits="waits")),
    ]


def _durations(rows: Sequence[DurationsRow]) -> list[Panel]:
    return [
        _percentiles("from the first message to the last", rows),
        _percentiles("time to the first answer", rows, "answer_"),
        Panel("conversations measured", _series(rows, conversations="with two times", answered="answered")),
    ]


_CONTENTS: dict[type, tuple[str, Callable[[Any], list[Panel]]]] = {
    UsageRow: ("Usage", _usage),
    ConversationsRow: ("Conversations", _conversations),
    UsersRow: ("Active users", _users),
    MessagesRow: ("Messages", _messages),
    StatusRow: ("Statuses", _statuses),
    FailuresRow: ("Failures", _failures),
    QueuesRow: ("Waiting for work to begin", _queues),
    DurationsRow: ("Durations", _durations),
}


def chart_of(rows: Sequence[Any], by: By | str, zone: str, currency: str = "") -> Chart:
    """The chart of a series: one kind of rows, at least one of them, without gaps between their periods."""
    title, panels = _CONTENTS[type(rows[0])]
    edges = edges_of([row.start for row in rows], by, zone)
    found = [
        replace(panel, title=f"{panel.title}, {currency}") if currency and panel.unit is Unit.MONEY else panel
        for panel in panels(rows)
    ]
    return Chart(title, By(by), zone, edges, tuple(found))


def ranking_of(rows: Sequence[TopRow], what: str, title: str, currency: str = "") -> Ranking:
    """The rows in their order, by their member ``what`` (``tokens`` is input and output together)."""
    values = [
        row.input_tokens + row.output_tokens if what == "tokens" else (getattr(row, what) or 0)
        for row in rows
    ]
    names = ["none" if row.name is None else plain(row.name, _NAME) for row in rows]
    unit = Unit.MONEY if what == "cost" else Unit.COUNT
    axis = f"{what}, {currency}" if currency and what == "cost" else what
    return Ranking(title, axis, tuple(names), tuple(values), unit)


def grid_of(rows: Sequence[HeatRow], what: str, zone: str, title: str) -> Grid:
    """Hours by weekday, by the rows' member ``what`` (or ``tokens``)."""
    cells = {
        (row.weekday, row.hour): row.input_tokens + row.output_tokens
        if what == "tokens"
        else getattr(row, what)
        for row in rows
    }
    values = tuple(tuple(cells.get((day, hour), 0) for hour in range(24)) for day in range(7))
    return Grid(title, zone, what, _DAYS, tuple(f"{hour:02d}" for hour in range(24)), values)
