"""Commands about the database itself: ``init``, ``serve``, ``doctor``, ``demo``."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Annotated

import typer

from convostore.cli.application import Interrupted, resumable
from convostore.cli.connection import choose, opened
from convostore.cli.options import AsJson, DryRun, Uri, UriFile, User, Zone

if TYPE_CHECKING:
    from convostore.store.results import Finding

__all__ = ["demo", "doctor", "init", "serve"]


def init(
    context: typer.Context,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Set the database up: collections, indexes, validators. Does nothing where nothing is missing."""
    from convostore.cli.output import print_json, print_line

    with opened(context, uri, uri_file) as store, resumable("run init again to finish"):
        done = store.setup(dry_run=dry_run)
    made = {"collections": done.created, "indexes": done.indexes, "validators": done.validators}
    if as_json:
        print_json(
            {**{name: list(found) for name, found in made.items()}, "schema_version": done.schema_version}
        )
        return
    would = "would make" if dry_run else "made"
    for name, found in made.items():
        if found:
            print_line(f"{would} {name}: {', '.join(found)}")
    if not done:
        print_line("nothing is missing")
    print_line(f"schema version {done.schema_version}")
    if done.pending:
        print_line("documents of an older schema version wait: see convostore migrate status")


def serve(
    context: typer.Context,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Run the embedded server in the foreground until Ctrl-C, and print the URI for other programs."""
    from convostore.cli.output import print_json, print_line
    from convostore.store.engine import folder_of, resolve_uri

    chosen = choose(context, uri, uri_file)
    if folder_of(chosen.uri) is None:
        raise typer.BadParameter("serve runs an embedded server: give --uri embedded:FOLDER, or nothing")
    address, engine = resolve_uri(chosen.uri)
    try:
        if as_json:
            print_json({"uri": address, "folder": str(folder_of(chosen.uri))})
        else:
            print_line(address)
            typer.echo(f"serving {folder_of(chosen.uri)}; Ctrl-C ends it", err=True)
        import sys

        sys.stdout.flush()
        threading.Event().wait()
    except KeyboardInterrupt:
        raise Interrupted("run serve again to go on") from None
    finally:
        if engine is not None:
            engine.stop()


def doctor(
    context: typer.Context,
    repair: Annotated[
        bool, typer.Option("--repair", help="Remove what crashes left behind, when older than an hour.")
    ] = False,
    user: User = None,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Check everything that is stored; exit code 1 when something is broken."""
    from convostore.cli.output import print_json, print_line
    from convostore.cli.progress import progress
    from convostore.store import ALL_USERS

    with (
        opened(context, uri, uri_file) as store,
        resumable("run doctor again; what was repaired stays so"),
        progress("checking"),
    ):
        found = store.check(user=ALL_USERS if user is None else user, repair=repair)
    if as_json:
        print_json(
            {
                "fine": bool(found),
                "conversations": found.conversations,
                "messages": found.messages,
                "segments": found.segments,
                "findings": [_finding_json(one) for one in found.findings],
            }
        )
    else:
        for one in found.findings:
            done = ", repaired" if one.repaired else ""
            print_line(f"{one.severity}: {one.kind} {one.id}: {one.detail}{done}")
        state = (
            "fine" if not found.findings else f"{len(found.broken)} broken, {len(found.leftovers)} left over"
        )
        print_line(f"checked {found.conversations:,} conversations with {found.messages:,} messages: {state}")
    if found.broken:
        raise typer.Exit(1)


def _finding_json(found: Finding) -> dict[str, object]:
    id = found.id if isinstance(found.id, (int, str)) else str(found.id)
    return {
        "severity": found.severity,
        "kind": found.kind,
        "id": id,
        "detail": found.detail,
        "repaired": found.repaired,
    }


def demo(
    context: typer.Context,
    tz: Zone = "UTC",
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Load a small sample, and show the list, one conversation and the usage."""
    from convostore.cli.demonstration import run

    with opened(context, uri, uri_file) as store:
        run(store, tz, as_json=as_json)
