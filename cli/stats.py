"""``stats``: what was used, when and by whom. A group of commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from convostore.cli.answers import AsChart, AsCsv, Output, PlotFile, TableFile
from convostore.cli.connection import opened
from convostore.cli.options import AsJson, Uri, UriFile, User, Zone

if TYPE_CHECKING:
    from convostore.store import UsageRow

__all__ = ["stats"]

stats = typer.Typer(help="Figures over time: what was used, when and by whom.", no_args_is_help=True)

ByPeriod: TypeAlias = Annotated[str, typer.Option("--by", metavar="PERIOD", help="hour, day, week or month.")]
Label: TypeAlias = Annotated[str | None, typer.Option("--label", help="Only with this label.")]
Model: TypeAlias = Annotated[str | None, typer.Option("--model", help="Only of this model.")]
Since: TypeAlias = Annotated[
    str | None,
    typer.Option("--since", metavar="WHEN", help="From then on: 2026-03-08, RFC 3339, ms, or 90d."),
]
Until: TypeAlias = Annotated[str | None, typer.Option("--until", metavar="WHEN", help="Before then.")]


@stats.command("usage")
def usage(
    context: typer.Context,
    by: ByPeriod = "day",
    user: User = None,
    label: Label = None,
    model: Model = None,
    since: Since = None,
    until: Until = None,
    tz: Zone = "UTC",
    plot: PlotFile = None,
    out: TableFile = None,
    as_chart: AsChart = False,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Tokens, requests, messages, conversations and users by period, in a time zone."""
    from convostore.store import UsageRow

    output = Output(plot, out, as_chart, as_csv, as_json)
    asked = _asked(by, user, since, until, tz)
    with opened(context, uri, uri_file) as store:
        rows = store.analytics.usage(**asked, label=label, model=model)
    _give(output, rows, UsageRow, by, tz, _remarks(rows))


def _asked(by: str | None, user: str | None, since: str | None, until: str | None, tz: str) -> dict[str, Any]:
    """The range and whose figures, as keyword arguments of the queries."""
    from convostore.cli.dates import parse_moment, zone_named
    from convostore.cli.filters import now_ms
    from convostore.schemas.periods import By
    from convostore.store import ALL_USERS

    zone = zone_named(tz)
    if by is not None and by not in {member.value for member in By}:
        raise typer.BadParameter(f"{by!r} is none of hour, day, week, month", param_hint="--by")
    return {
        "user": ALL_USERS if user is None else user,
        "since": None if since is None else parse_moment(since, "since", zone, now_ms()),
        "until": None if until is None else parse_moment(until, "until", zone, now_ms()),
        "tz": tz,
        **({} if by is None else {"by": by}),
    }


def _give(output: Output, rows: Sequence[Any], kind: type, by: str, tz: str, remarks: Sequence[str]) -> None:
    """Give a series out."""
    from convostore.cli.charts.contents import chart_of

    shape = chart_of(rows, by, tz) if rows and output.wants_shape else None
    output.give(rows, kind, shape, zone=tz, remarks=remarks, by=by)


def _remarks(rows: Sequence[UsageRow]) -> list[str]:
    """What the table cannot show: how much of it is not known."""
    unknown = sum(row.unknown for row in rows)
    undated = sum(row.by_creation for row in rows)
    unpriced = sum(row.unpriced for row in rows)
    remarks = []
    if unknown:
        remarks.append(f"{unknown:,} appends did not say their usage")
    if undated:
        remarks.append(f"{undated:,} imported messages have no time of their own: they count when created")
    if unpriced:
        remarks.append(f"{unpriced:,} tokens have no price")
    return remarks
