"""``stats report``: all figures of a range on one page of HTML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convostore.cli.answers import check_suffix, need
from convostore.cli.asking import ByPeriod, Label, Prices, Since, Until, asked, price_table
from convostore.cli.connection import opened
from convostore.cli.options import AsJson, Uri, UriFile, User, Zone
from convostore.cli.progress import progress

if TYPE_CHECKING:
    from convostore.cli.report import Answers
    from convostore.schemas.prices import PriceTable
    from convostore.store import ConversationStore

__all__ = ["report"]

_SERIES = {
    "Conversations": "conversations",
    "Active users": "users",
    "Messages": "messages",
    "Statuses": "statuses",
    "Failures": "failures",
    "Waiting for work to begin": "queues",
    "Durations": "durations",
}
_TOPS = ("users", "labels", "models")


def report(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The page: .html (extra: analytics).")],
    by: ByPeriod = "day",
    user: User = None,
    label: Label = None,
    since: Since = None,
    until: Until = None,
    tz: Zone = "UTC",
    prices: Prices = None,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """All figures of a range on one page: pictures, tables; it loads nothing and needs no script."""
    check_suffix(out, (".html",), "--out")
    need("matplotlib", "reports")
    need("jinja2", "reports")
    question = {**asked(by, user, since, until, tz), "label": label}
    table = price_table(prices)
    with progress("drawing the report") as advance:
        with opened(context, uri, uri_file) as store:
            advance("asking")
            found = _answers(store, question, table)
        if found is None:
            typer.echo(f"convostore: there is nothing to report: {out} was not written", err=True)
            raise typer.Exit(1)
        advance("drawing")
        from convostore.cli.charts.page import html_of
        from convostore.cli.files import writing
        from convostore.cli.output import plain
        from convostore.cli.report import report_page

        whose = "all users" if user is None else f"user {user}"
        about = [plain(whose if label is None else f"{whose}, label {label}")]
        page = html_of(report_page(found, about)).encode()
    with writing(out) as write:
        write(page)
    if as_json:
        from convostore.cli.output import print_json

        print_json({"file": str(out), "bytes": len(page), "zone": tz, "by": by})
    else:
        typer.echo(f"wrote {out}", err=True)


def _answers(store: ConversationStore, question: dict[str, Any], prices: PriceTable | None) -> Answers | None:
    """Everything for the range of the usage, so that all of it is of the same periods; None of nothing."""
    from convostore.cli.charts.shapes import edges_of
    from convostore.cli.report import Answers

    by, zone = question["by"], question["tz"]
    usage = store.analytics.usage(**question, prices=prices)
    if not usage:
        return None
    edges = edges_of([row.start for row in usage], by, zone)
    span: dict[str, Any] = {"since": edges[0], "until": edges[-1]}
    whose: dict[str, Any] = {"user": question["user"], "label": question["label"]}
    return Answers(
        by=by,
        zone=zone,
        currency=None if prices is None else prices.currency,
        usage=usage,
        series={
            title: getattr(store.analytics, name)(**{**question, **span}) for title, name in _SERIES.items()
        },
        tops={f"Top {of}": store.analytics.top(of, **whose, **span, prices=prices) for of in _TOPS},
        heat=store.analytics.heat(**whose, **span, tz=zone),
        waiting=store.analytics.waiting(**whose),
    )
