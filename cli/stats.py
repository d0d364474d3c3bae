"""``stats``: what was used, when and by whom. A group of commands; here those that give a series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from convostore.cli.answers import AsChart, AsCsv, Output, PlotFile, TableFile
from convostore.cli.asking import ByPeriod, Label, Model, Prices, Since, Until, asked, currency, price_table
from convostore.cli.connection import opened
from convostore.cli.options import AsJson, Uri, UriFile, User, Zone

__all__ = ["stats"]

stats = typer.Typer(help="Figures over time: what was used, when and by whom.", no_args_is_help=True)


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
    prices: Prices = None,
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
    question = asked(by, user, since, until, tz)
    table = price_table(prices)
    with opened(context, uri, uri_file) as store:
        rows = store.analytics.usage(**question, label=label, model=model, prices=table)
    _give(output, rows, UsageRow, by, tz, **currency(table))


@stats.command("conversations")
def conversations(
    context: typer.Context,
    by: ByPeriod = "day",
    user: User = None,
    label: Label = None,
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
    """Conversations made, and active, by period."""
    from convostore.store import ConversationsRow

    output = Output(plot, out, as_chart, as_csv, as_json)
    question = asked(by, user, since, until, tz)
    with opened(context, uri, uri_file) as store:
        rows = store.analytics.conversations(**question, label=label)
    _give(output, rows, ConversationsRow, by, tz)


@stats.command("users")
def users(
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
    """Active users by period: new ones, and those who came back."""
    from convostore.store import UsersRow

    output = Output(plot, out, as_chart, as_csv, as_json)
    question = asked(by, user, since, until, tz)
    with opened(context, uri, uri_file) as store:
        rows = store.analytics.users(**question, label=label, model=model)
    _give(output, rows, UsersRow, by, tz)


@stats.command("messages")
def messages(
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
    """Messages written by period, and changes of stored ones."""
    from convostore.store import MessagesRow

    output = Output(plot, out, as_chart, as_csv, as_json)
    question = asked(by, user, since, until, tz)
    with opened(context, uri, uri_file) as store:
        rows = store.analytics.messages(**question, label=label, model=model)
    _give(output, rows, MessagesRow, by, tz)


@stats.command("status")
def statuses(
    context: typer.Context,
    by: ByPeriod = "day",
    user: User = None,
    label: Label = None,
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
    """The conversations created in each period, by the status they have now."""
    from convostore.store import StatusRow

    output = Output(plot, out, as_chart, as_csv, as_json)
    question = asked(by, user, since, until, tz)
    with opened(context, uri, uri_file) as store:
        rows = store.analytics.statuses(**question, label=label)
    _give(output, rows, StatusRow, by, tz)


@stats.command("failures")
def failures(
    context: typer.Context,
    by: ByPeriod = "day",
    user: User = None,
    label: Label = None,
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
    """Failures by period, with their reasons."""
    from convostore.store import FailuresRow

    output = Output(plot, out, as_chart, as_csv, as_json)
    question = asked(by, user, since, until, tz)
    with opened(context, uri, uri_file) as store:
        rows = store.analytics.failures(**question, label=label)
    _give(output, rows, FailuresRow, by, tz)


@stats.command("queues")
def queues(
    context: typer.Context,
    by: ByPeriod = "day",
    user: User = None,
    label: Label = None,
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
    """How long conversations waited for work to begin, by when the waits ended."""
    from convostore.store import QueuesRow

    output = Output(plot, out, as_chart, as_csv, as_json)
    question = asked(by, user, since, until, tz)
    with opened(context, uri, uri_file) as store:
        rows = store.analytics.queues(**question, label=label)
    _give(output, rows, QueuesRow, by, tz)


@stats.command("durations")
def durations(
    context: typer.Context,
    by: ByPeriod = "day",
    user: User = None,
    label: Label = None,
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
    """How long conversations lasted and the first answer took, by when they were created."""
    from convostore.store import DurationsRow

    output = Output(plot, out, as_chart, as_csv, as_json)
    question = asked(by, user, since, until, tz)
    with opened(context, uri, uri_file) as store:
        rows = store.analytics.durations(**question, label=label)
    _give(output, rows, DurationsRow, by, tz)


def _give(
    output: Output,
    rows: Sequence[Any],
    kind: type,
    by: str,
    tz: str,
    **named: str,
) -> None:
    """Give a series out."""
    from convostore.cli.charts.contents import chart_of

    shape = chart_of(rows, by, tz, named.get("currency", "")) if rows and output.wants_shape else None
    output.give(rows, kind, shape, zone=tz, by=by, **named)
