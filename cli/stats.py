"""``stats``: what was used, when and by whom. A group of commands; now ``stats usage``."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convostore.cli.connection import opened
from convostore.cli.options import AsJson, Uri, UriFile, User, Zone

if TYPE_CHECKING:
    from convostore.store import UsageRow

__all__ = ["stats"]

stats = typer.Typer(help="Figures over time: what was used, when and by whom.", no_args_is_help=True)

_COLUMNS = (
    "PERIOD",
    "CONVERSATIONS",
    "USERS",
    "MESSAGES",
    "INPUT",
    "OUTPUT",
    "CACHED",
    "REQUESTS",
)


@stats.command("usage")
def usage(
    context: typer.Context,
    by: Annotated[str, typer.Option("--by", metavar="PERIOD", help="hour, day, week or month.")] = "day",
    user: User = None,
    label: Annotated[str | None, typer.Option("--label", help="Only with this label.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Only of this model.")] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="WHEN", help="From then on: 2026-03-08, RFC 3339, ms, or 90d."),
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="WHEN", help="Before then.")] = None,
    tz: Zone = "UTC",
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Also a picture: .png or .svg (extra: analytics)."),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values.")] = False,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Tokens, requests, messages, conversations and users by period, in a time zone."""
    from convostore.cli.dates import parse_moment, zone_named
    from convostore.cli.filters import now_ms
    from convostore.cli.output import print_json, print_line, print_table
    from convostore.schemas.periods import By
    from convostore.store import ALL_USERS

    zone = zone_named(tz)
    if by not in {member.value for member in By}:
        raise typer.BadParameter(f"{by!r} is none of hour, day, week, month", param_hint="--by")
    first = None if since is None else parse_moment(since, "since", zone, now_ms())
    last = None if until is None else parse_moment(until, "until", zone, now_ms())
    with opened(context, uri, uri_file) as store:
        rows = store.analytics.usage(
            user=ALL_USERS if user is None else user,
            since=first,
            until=last,
            by=by,
            tz=tz,
            label=label,
            model=model,
        )
    if as_json:
        print_json({"rows": [asdict(row) for row in rows], "zone": tz, "by": by})
    elif as_csv:
        _print_csv(rows)
    elif rows:
        print_table(_COLUMNS, [_cells(row) for row in rows], right=range(1, len(_COLUMNS)))
        for line in _remarks(rows):
            print_line(line)
    else:
        typer.echo("nothing was used", err=True)
    if plot is not None:
        from convostore.cli.plots import plot_usage

        plot_usage(rows, plot, by=by, zone=tz)
        typer.echo(f"drew {plot}", err=True)


def _cells(row: UsageRow) -> Sequence[str]:
    numbers = (
        row.conversations,
        row.users,
        row.messages,
        row.input_tokens,
        row.output_tokens,
        row.cached_tokens,
        row.requests,
    )
    return (row.label, *(f"{number:,}" for number in numbers))


def _remarks(rows: Sequence[UsageRow]) -> list[str]:
    """What the table cannot show: how much of it is not known."""
    unknown = sum(row.unknown for row in rows)
    undated = sum(row.by_creation for row in rows)
    remarks = []
    if unknown:
        remarks.append(f"{unknown:,} appends did not say their usage")
    if undated:
        remarks.append(f"{undated:,} imported messages have no time of their own: they count when created")
    return remarks


def _print_csv(rows: Sequence[UsageRow]) -> None:
    if not rows:
        return
    records: list[dict[str, Any]] = [asdict(row) for row in rows]
    writer = csv.DictWriter(sys.stdout, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
