"""``stats``: the commands that give no series: rankings, hours of the week, what waits, and roll-ups."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from convostore.cli.answers import AsChart, AsCsv, Output, PlotFile, TableFile
from convostore.cli.asking import (
    Label,
    Model,
    Prices,
    Since,
    Until,
    asked,
    currency,
    price_table,
    range_words,
)
from convostore.cli.connection import opened
from convostore.cli.options import AsJson, Uri, UriFile, User, Zone

__all__ = ["heatmap", "rollup", "top", "waiting"]


def waiting(
    context: typer.Context,
    user: User = None,
    label: Label = None,
    out: TableFile = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """What waits now, and for how long: conversations to be run, texts to be taken."""
    from convostore.store import ALL_USERS, WaitingRow

    output = Output(None, out, False, as_csv, as_json)
    with opened(context, uri, uri_file) as store:
        rows = store.analytics.waiting(user=ALL_USERS if user is None else user, label=label)
    output.give(rows, WaitingRow, None, zone="UTC")


def top(
    context: typer.Context,
    of: Annotated[str, typer.Argument(metavar="OF", help="users, labels or models.")],
    order: Annotated[
        str,
        typer.Option("--order", help="tokens, requests, messages, conversations, or cost (with --prices)."),
    ] = "tokens",
    limit: Annotated[int, typer.Option("--limit", help="So many at most.")] = 10,
    user: User = None,
    label: Label = None,
    model: Model = None,
    since: Since = None,
    until: Until = None,
    tz: Zone = "UTC",
    prices: Prices = None,
    plot: PlotFile = None,
    out: TableFile = None,
    as_chart: AsChart = False,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """The users, labels or models that used most."""
    from convostore.store import TopRow

    output = Output(plot, out, as_chart, as_csv, as_json)
    question = asked(None, user, since, until, tz)
    table = price_table(prices)
    with opened(context, uri, uri_file) as store:
        rows = store.analytics.top(
            of,
            **{name: value for name, value in question.items() if name != "tz"},
            label=label,
            model=model,
            order=order,
            limit=limit,
            prices=table,
        )
    shape = None
    if rows and output.wants_shape:
        from convostore.cli.charts.contents import ranking_of

        title = f"Top {of} by {order}\n{range_words(question)}"
        shape = ranking_of(rows, order, title, currency(table).get("currency", ""))
    output.give(rows, TopRow, shape, zone=tz, of=of, order=order, **currency(table))


def heatmap(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Option("--what", help="tokens, messages or requests: what a chart or a picture shows."),
    ] = "messages",
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
    """What was used in each hour of the week, as a heat map; --csv, --json and --out give all its numbers."""
    from convostore.store import HeatRow

    if what not in ("tokens", "messages", "requests"):
        raise typer.BadParameter(f"{what!r} is none of tokens, messages, requests", param_hint="--what")
    output = Output(plot, out, as_chart, as_csv, as_json)
    question = asked(None, user, since, until, tz)
    with opened(context, uri, uri_file) as store:
        rows = store.analytics.heat(**question, label=label, model=model)
    from convostore.cli.charts.contents import grid_of

    # For people it is the map: nobody reads a table of 168 hours.
    output = replace(output, chart=not (out or as_csv or as_json))
    title = f"{what.capitalize()} by hour and weekday\n{range_words(question)}"
    output.give(rows, HeatRow, grid_of(rows, what, tz, title), zone=tz)


def rollup(
    context: typer.Context,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Make all roll-ups anew from the conversations.")
    ] = False,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Bring the roll-ups up to date, as every question does first; for a timer, so that none has to wait."""
    from convostore.cli.output import print_json, print_line

    with opened(context, uri, uri_file) as store:
        count = store.analytics.rebuild() if rebuild else store.analytics.advance()
    if as_json:
        print_json({"conversations": count, "rebuilt": rebuild})
    else:
        print_line(f"rolled up {count:,} conversations")
