"""The command line: ``convostore``. Uses the store and the schemas through their public names only.

What a command needs is imported when it runs, so that ``--version`` and ``--help`` do not wait for a driver.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from convostore.cli import changing, looking, migrating, rankings, reporting, running, transfer
from convostore.cli import history as past
from convostore.cli import stats as figures
from convostore.cli.application import Application
from convostore.cli.options import Uri, UriFile

__all__ = ["app"]

app = Application(
    name="convostore",
    help="Keep the conversations of LLM agents in MongoDB.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"convostore {version('convostore')}")
        raise typer.Exit


@app.callback()
def _before(
    context: typer.Context,
    uri: Uri = None,
    uri_file: UriFile = None,
    say_version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Keep the conversations of LLM agents in MongoDB."""
    given: tuple[str | None, Path | None] = (uri, uri_file)
    context.obj = given


app.command("init")(running.init)
app.command("serve")(running.serve)
app.command("doctor")(running.doctor)
app.command("demo")(running.demo)
app.command("import")(transfer.import_)
app.command("export")(transfer.export)
app.command("list")(looking.list_)
app.command("show")(looking.show)
app.command("tail")(looking.tail)
app.command("delete")(changing.delete)
app.command("expire")(changing.expire)
app.command("stop")(changing.stop)
app.command("steer")(changing.steer)
app.command("follow-up")(changing.follow_up)
app.command("history")(past.history)
app.command("undo")(past.undo)
app.command("redo")(past.redo)
app.command("fork")(past.fork)
app.add_typer(migrating.migrate, name="migrate")
app.add_typer(figures.stats, name="stats")
figures.stats.command("top")(rankings.top)
figures.stats.command("heatmap")(rankings.heatmap)
figures.stats.command("waiting")(rankings.waiting)
figures.stats.command("rollup")(rankings.rollup)
figures.stats.command("report")(reporting.report)
