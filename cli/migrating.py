"""``migrate``: bring a live database to this release's schema version. A group of commands."""

from __future__ import annotations

from dataclasses import asdict
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convostore.cli.application import resumable
from convostore.cli.connection import opened
from convostore.cli.options import AsJson, DryRun, Uri, UriFile

if TYPE_CHECKING:
    from convostore.store import MigrationReport, MigrationStatus

__all__ = ["migrate"]

migrate = typer.Typer(help="Bring the database to this release's schema version.", no_args_is_help=True)

_SHOWN = 20
_WRITTEN = {0: "as somebody put them"}


class Phase(str, Enum):
    """Which phases of the steps are run."""

    ALL = "all"
    PRE = "pre"
    POST = "post"


@migrate.command("status")
def status(
    context: typer.Context, as_json: AsJson = False, uri: Uri = None, uri_file: UriFile = None
) -> None:
    """Show the database's schema version, its documents by version, and what each step has to do."""
    from convostore.cli.output import print_json, print_line, print_table
    from convostore.cli.progress import progress

    with opened(context, uri, uri_file) as store, progress("counting documents"):
        found = store.migrations.status()
    if as_json:
        print_json({**asdict(found), "documents": _by_version(found), "pending": found.pending})
        return
    version = "never set up" if found.version is None else f"schema version {found.version}"
    print_line(f"the database: {version}; this release writes {found.known}")
    for number, count in found.documents.items():
        print_line(f"conversations {_WRITTEN.get(number, f'of version {number}')}: {count:,}")
    rows = [
        (f"{step.number:04}", step.name, "done" if step.prepared else "to do", f"{step.waiting:,}")
        for step in found.steps
    ]
    print_table(("STEP", "NAME", "PRE", "WAITING FOR POST"), rows, right=(3,))
    if found.running:
        print_line("a migration is under way")
    elif found.pending:
        print_line("run: convostore migrate run")


def _by_version(found: MigrationStatus) -> dict[str, int]:
    return {str(number): count for number, count in found.documents.items()}


@migrate.command("run")
def run(
    context: typer.Context,
    to: Annotated[
        int | None, typer.Option("--to", metavar="VERSION", help="Stop at this schema version.")
    ] = None,
    phase: Annotated[
        Phase,
        typer.Option(
            "--phase", help="pre: before the new release starts; post: when no old process is left."
        ),
    ] = Phase.ALL,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Run the migrations; the database stays in use. Exit code 1 when a document could not be migrated."""
    from convostore.cli.output import print_json
    from convostore.cli.progress import progress

    with (
        opened(context, uri, uri_file) as store,
        resumable("run migrate run again: it goes on where it was"),
        progress("migrating") as advance,
    ):
        report = store.migrations.run(
            to=to,
            phase=phase.value,
            dry_run=dry_run,
            on_progress=lambda done: advance(f"{done.examined:,} conversations"),
        )
    if as_json:
        print_json({**asdict(report), "done": bool(report)})
    else:
        _say(report)
    if report.refused or (report.remaining and phase is not Phase.PRE):
        raise typer.Exit(1)


def _say(report: MigrationReport) -> None:
    from convostore.cli.output import plain, print_line

    would = "would make" if report.dry_run else "made"
    if report.prepared:
        print_line(f"{would} {', '.join(report.prepared)}")
    print_line(_counted(report))
    for one in report.refusals[:_SHOWN]:
        print_line(f"left as it is: {plain(one.id)}: {plain(one.reason, 200)}")
    if report.refused > _SHOWN:
        print_line(f"and {report.refused - _SHOWN:,} others; --json names them")
    if report.remaining:
        print_line(
            f"{report.remaining:,} wait for the post phase, when no process of an older release is left"
        )
    print_line(f"schema version {report.version}")


def _counted(report: MigrationReport) -> str:
    verb = "would be migrated" if report.dry_run else "migrated"
    counts: list[Any] = [f"{report.examined:,} examined", f"{report.migrated:,} {verb}"]
    counts += [f"{report.elsewhere:,} gone meanwhile"] if report.elsewhere else []
    counts += [f"{report.mended:,} mended"] if report.mended else []
    counts += [f"{report.refused:,} left as they are"] if report.refused else []
    return ", ".join(counts)
