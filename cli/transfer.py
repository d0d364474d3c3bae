"""Commands that move conversations in and out: ``import``, ``export``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convostore.cli.application import resumable
from convostore.cli.connection import opened, read_uri, warn_of_password
from convostore.cli.looking import Label, Since, Status, Thread, Until
from convostore.cli.options import AsJson, DryRun, Uri, UriFile, User, Zone

if TYPE_CHECKING:
    from convostore.cli.files import Write
    from convostore.store import ConversationStore, ImportReport

__all__ = ["export", "import_"]

_SHOWN = 10
_LIVE = ("mongodb://", "mongodb+srv://")


class Branches(str, Enum):
    """Which branches an import stores."""

    ALL = "all"
    ACTIVE = "active"


def import_(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Files, also gzip, zstd and zip; folders of them; dumps; mongodb:// of a live database; "
            "- or none: standard input.",
        ),
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help="auto looks at content; else convostore, anda, openai, openai-responses, anthropic, "
            "rig-session, chatgpt, claude-ai, claude-code, codex, librechat, openwebui, chat-ui, langchain, "
            "pydantic-ai, sharegpt, markdown.",
        ),
    ] = "auto",
    branches: Annotated[
        Branches, typer.Option("--branches", help="Store every branch as a fork, or the active one only.")
    ] = Branches.ALL,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="USER", help="Whose they become, whomever the file names."),
    ] = None,
    dry_run: DryRun = False,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write the report there as JSON."),
    ] = None,
    anda_version: Annotated[
        int | None,
        typer.Option(help="Anda: the schema version that wrote the records, 1 to 4.", min=1, max=4),
    ] = None,
    anda_meta: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Anda: meta.cbor of the collection, for documents keyed by index."),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option(
            help="Anda: the collection the records lay in; tells equal ids of several apart. "
            "Of a live database: the collection to read."
        ),
    ] = None,
    into: Annotated[
        int | None,
        typer.Option(metavar="ID", help="Anda: the stored conversation that a delta belongs to.", min=0),
    ] = None,
    messages_offset: Annotated[
        int | None,
        typer.Option(help="Anda: where a delta's messages begin.", min=0),
    ] = None,
    artifacts_offset: Annotated[
        int | None,
        typer.Option(help="Anda: where a delta's artifacts begin.", min=0),
    ] = None,
    from_uri_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file with the URI of a live database to import from."),
    ] = None,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Import conversations; a repeat imports nothing twice."""
    from convostore.cli import import_report
    from convostore.cli.folders import files_to_import
    from convostore.cli.output import print_json
    from convostore.schemas.errors import (
        ImportFormatError,
        InvalidRecordError,
        SchemaVersionError,
        UnavailableError,
    )
    from convostore.store import ImportReport
    from convostore.store.source_layouts import shown_uri

    if into is not None and messages_offset is None:
        raise typer.BadParameter("--into needs --messages-offset")
    options = {
        "branches": branches.value,
        "version": anda_version,
        "field_names": None if anda_meta is None else _field_names(anda_meta),
        "collection": collection,
        "into": into,
        "messages_offset": messages_offset,
        "artifacts_offset": 0
        if artifacts_offset is None and messages_offset is not None
        else artifacts_offset,
    }
    names = [
        *(files or []),
        *([] if from_uri_file is None else [read_uri(from_uri_file, "--from-uri-file")]),
    ] or ["-"]
    for name in files or []:
        if name.startswith(_LIVE):
            warn_of_password(name, "the URI to import from", "--from-uri-file")
    if names.count("-") > 1:
        raise typer.BadParameter("standard input can be read once only")
    given, names, left = names, [], []
    for name in given:
        inside, others = files_to_import(name, format)
        names += inside or [name]
        left += others if inside else []
    with (
        opened(context, uri, uri_file) as store,
        resumable("run the same import again: what is stored already is recognised"),
    ):
        if not dry_run:
            store.setup()
        shown = list(map(shown_uri, names))
        done: list[ImportReport] = []
        for name in names:
            try:
                done.append(_import_one(store, name, format, user, dry_run, options))
            except (ImportFormatError, InvalidRecordError, SchemaVersionError, OSError) as error:
                # A file that cannot be read does not keep the others out.
                done.append(ImportReport(format, dry_run, error=_reason(error)))
                if len(names) == 1:
                    if report is not None:
                        import_report.write(report, import_report.as_json(shown, done, dry_run))
                    raise
            except UnavailableError as error:
                # Nor does one that needs a package which is not installed; without a database all ends.
                if error.capability is None or len(names) == 1:
                    raise
                done.append(ImportReport(format, dry_run, error=_reason(error)))
    if left:
        done[-1].note(
            f"{len(left):,} other files of the folders were not taken, such as {', '.join(left[:3])}"
        )
    told = import_report.as_json(shown, done, dry_run)
    try:
        if as_json:
            print_json(told)
        else:
            import_report.say(shown, done, dry_run)
    finally:  # with a closed pipe, too; and what was done is said where the report cannot be written
        if report is not None:
            import_report.write(report, told)
    if any(one.failed or one.error for one in done):
        raise typer.Exit(1)


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _field_names(meta: Path) -> Any:
    from convostore.schemas.anda_cbor import field_names, load_cbor
    from convostore.store.input_files import read_plain

    with read_plain(str(meta)) as source:
        return field_names(load_cbor(b"".join(source), str(meta)), str(meta))


def _import_one(
    store: ConversationStore,
    name: str,
    format: str,
    user: str | None,
    dry_run: bool,
    options: dict[str, Any],
) -> ImportReport:
    from convostore.cli.progress import progress
    from convostore.cli.session_folders import FORMAT, import_sessions
    from convostore.store import UNSET
    from convostore.store.folders import kind_of_folder
    from convostore.store.input_files import read_chunks

    is_folder = Path(name).is_dir()
    if is_folder and (format == FORMAT or (format == "auto" and kind_of_folder(Path(name)) is None)):
        return import_sessions(store, name, user, dry_run=dry_run)
    owner = UNSET if user is None else user

    def advance_by(advance: Callable[[str], object]) -> Callable[[ImportReport], object]:
        return lambda report: advance(f"{report.read:,} conversations")

    if name.startswith(_LIVE):
        with progress("importing from a database") as advance:
            return store.import_database(
                name,
                format=format,
                user=owner,
                collection=options["collection"],
                branches=options["branches"],
                dry_run=dry_run,
                on_progress=advance_by(advance),
            )
    if is_folder:
        with progress(f"importing {name}") as advance:
            return store.import_folder(
                name,
                format=format,
                user=owner,
                collection=options["collection"],
                branches=options["branches"],
                dry_run=dry_run,
                on_progress=advance_by(advance),
            )
    with read_chunks(name) as chunks, progress(f"importing {name}") as advance:
        return store.import_conversations(
            chunks,
            format=format,
            user=owner,
            file=None if name == "-" else Path(name).name,
            dry_run=dry_run,
            on_progress=advance_by(advance),
            **options,
        )


def _folder(out: Path | None, format: str) -> Callable[[str], AbstractContextManager[Write]]:
    """Opens files in the folder ``out``, which is made when it is not there."""
    from convostore.cli.files import writing
    from convostore.schemas.formats.writers import WRITERS

    if out is None:
        raise typer.BadParameter(
            f"--format {format} writes a file for each conversation: say where with --out"
        )
    if out.suffix == WRITERS[format].suffix and not out.is_dir():
        raise typer.BadParameter(
            f"--format {format} writes a file for each conversation: name a folder, not {out}"
        )
    out.mkdir(parents=True, exist_ok=True)
    return lambda name: writing(out / name)


def export(
    context: typer.Context,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE or FOLDER",
            help="The file, .gz and .zst by name; else standard output. For formats of many files a folder.",
        ),
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help="One file: convostore, anda, openai, anthropic, sharegpt, parquet (extra: analytics). "
            "A file for each conversation: markdown, html, librechat. A folder for each: rig-session.",
        ),
    ] = "convostore",
    anda_version: Annotated[int, typer.Option(help="Anda: the schema version to write.", min=1, max=4)] = 4,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse what the format cannot say, instead of saying so.")
    ] = False,
    user: User = None,
    thread: Thread = None,
    status: Status = None,
    label: Label = None,
    since: Since = None,
    until: Until = None,
    tz: Zone = "UTC",
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Export conversations; with --json the report goes to standard error when they go to standard output."""
    from convostore.cli.dates import zone_named
    from convostore.cli.files import writing
    from convostore.cli.filters import wanted
    from convostore.cli.output import plain
    from convostore.cli.progress import progress
    from convostore.cli.session_folders import FORMAT, export_sessions
    from convostore.schemas.formats.writers import FILE_EACH
    from convostore.schemas.json_output import foreign_json

    filters = wanted(user, thread, status, label, since, until, zone_named(tz))
    with (
        opened(context, uri, uri_file) as store,
        resumable("run the same export again; nothing was changed"),
        progress("exporting") as advance,
    ):
        if format == FORMAT:
            done = export_sessions(store, out, filters, advance)
        elif format in FILE_EACH:
            done = store.export_files(
                _folder(out, format),
                **filters,
                format=format,
                strict=strict,
                on_progress=lambda report: advance(f"{report.conversations:,} conversations"),
            )
        else:
            with writing(out) as write:
                done = store.export_conversations(
                    write,
                    **filters,
                    format=format,
                    version=anda_version,
                    strict=strict,
                    on_progress=lambda report: advance(f"{report.conversations:,} conversations"),
                )
    if as_json:
        typer.echo(
            foreign_json({"file": None if out is None else str(out), **done.to_json()}), err=out is None
        )
        return
    typer.echo(f"exported {done.conversations:,} conversations with {done.messages:,} messages", err=True)
    for note in done.notes[:_SHOWN]:
        typer.echo(f"  note: {plain(note, 300)}", err=True)
    if len(done.notes) > _SHOWN:
        typer.echo(f"  and {len(done.notes) - _SHOWN:,} more notes", err=True)
