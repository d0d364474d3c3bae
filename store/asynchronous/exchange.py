"""Imports and exports as the store's calls make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, aclosing, closing
from dataclasses import replace
from pathlib import PurePath
from typing import IO, Any

from convostore.schemas.errors import ImportFormatError, InvalidRecordError, QueryError
from convostore.schemas.formats import (
    FORMATS,
    ByteInput,
    Format,
    ReadOptions,
    Refused,
    canonical,
    detect,
    librechat_writer,
    rig_session,
)
from convostore.schemas.formats.canonical import ChangesLine, ConversationLine, EntriesLine, Line
from convostore.schemas.formats.canonical_reader import read_canonical
from convostore.schemas.formats.documents import begins_loose, extended
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.formats.outgoing import Losses
from convostore.schemas.formats.writers import EXPORTED, FILE_EACH, PARQUET, WRITERS
from convostore.schemas.identifiers import check_user
from convostore.store import faults, parameters
from convostore.store.archives import Archive, is_zip
from convostore.store.asynchronous._attaching import FindBytes
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._documents import take_documents
from convostore.store.asynchronous._exporting import Exporter
from convostore.store.asynchronous._importing import Importer
from convostore.store.asynchronous._publishing import publish, publish_files, publish_rows, publish_trees
from convostore.store.asynchronous._restoring import Restorer
from convostore.store.asynchronous._session_exchange import import_session
from convostore.store.asynchronous.sessions.bundles import AsyncBundledSession
from convostore.store.collections import Collections
from convostore.store.document_files import stream_documents
from convostore.store.exchanging import ExportReport, ImportReport, note_left_out, until_broken
from convostore.store.finding import Wanted
from convostore.store.opening import plain_input

__all__ = ["export_conversations", "export_files", "import_conversations"]

_BRANCHES = ("all", "active")
_CHUNK = 256 << 10
_TOGETHER = 200
_GROUP_BYTES = 4 << 20
_SMALL = 4 << 10


async def import_conversations(
    backend: AsyncBackend,
    ids: Callable[[], int] | None,
    source: bytes | IO[bytes] | Iterable[bytes],
    *,
    format: str,
    options: ReadOptions,
    into: int | None,
    branches: str,
    dry_run: bool,
    on_progress: Callable[[ImportReport], object] | None,
) -> ImportReport:
    """Import what the source holds.

    Raises:
        ImportFormatError: the format is not known, or nothing of the source could be read.
        InvalidRecordError: the format names no user and none is given, or the user is none.
        QueryError: ``branches`` is neither ``all`` nor ``active``.

    """
    parameters.one_of(branches, _BRANCHES, "branches")
    report = ImportReport(format, dry_run)
    stream = plain_input(ByteInput(_chunks(source)), report.note, file=options.file)

    def importer(find_bytes: FindBytes | None = None) -> Importer:
        return Importer(
            backend,
            ids,
            report,
            user=options.user,
            into=into,
            branches=branches,
            find_bytes=find_bytes,
            on_progress=on_progress,
        )

    if is_zip(stream.peek(4)):
        with closing(Archive(stream)) as archive, faults.translated("import"):
            async with aclosing(importer(archive.find)) as taking:
                await _import_archive(archive, taking, report, format, options)
        return report
    documents = stream_documents(stream, options.file or "the input")
    if documents is not None:
        with faults.translated("import"):
            sorting = Collections(_format_name(format))
            async with aclosing(importer()) as taking:
                await take_documents(taking, report, sorting, documents, options)
        return report
    found = _known(format, stream, options)
    report.format = found.name
    with faults.translated("import"):
        if found.name == rig_session.NAME:
            return await _import_session(backend, ids, stream, options, dry_run=dry_run)
        if found.layout is not None and begins_loose(stream, found.layout):
            values = ((options.file or "the input", value) for value in extended(json_values(stream)))
            async with aclosing(importer()) as taking:
                await take_documents(taking, report, Collections(found.name), values, options)
        elif found.read is None:
            restorer = Restorer(backend, ids, report, user=options.user, on_progress=on_progress)
            await _restore(restorer, stream, report)
        else:
            async with aclosing(importer()) as taking:
                for item in until_broken(found.read(stream, options), report):
                    await taking.take(item)
                    del item
                await taking.finish()
    return report


async def _import_session(
    backend: AsyncBackend,
    ids: Callable[[], int] | None,
    stream: ByteInput,
    options: ReadOptions,
    *,
    dry_run: bool,
) -> ImportReport:
    """Import a saved session that lies in one file, named as the file is, else as its first log."""
    bundle = rig_session.read_bundle(b"".join(stream))
    session = AsyncBundledSession(bundle)
    name = PurePath(options.file).stem if options.file else next(iter(bundle.logs), rig_session.NAME)
    owner = check_user(options.user)
    report = await import_session(backend, ids, session, user=owner, name=name, dry_run=dry_run)
    for note in bundle.notes:
        report.note(note)
    return report


def _known(format: str, stream: ByteInput, options: ReadOptions) -> Format:
    """The format named or found.

    Raises:
        ImportFormatError: the content has none that is known.
        InvalidRecordError: it names no user and none is given.

    """
    found = _format(format) if format != "auto" else detect(stream)
    if options.user is None and not found.names_user:
        raise InvalidRecordError(
            "user", f"the {found.name} format names no user; say whose they are (--user)"
        )
    return found


async def _import_archive(
    archive: Archive, importer: Importer, report: ImportReport, format: str, options: ReadOptions
) -> None:
    """Import each file of conversations; one that cannot be read does not keep the others out.

    Of files that only may be some, those of no known format are left to the notes.

    Raises:
        ImportFormatError: it is the only one, or of those that may be some none is of a known format.

    """
    read = 0
    for name in archive.conversations:
        try:
            stream = plain_input(ByteInput(archive.chunks(name)), _noting(report, name))
            inside = replace(options, file=f"{options.file}/{name}" if options.file else name)
            found = _known(format, stream, options)
            if found.read is None:
                raise ImportFormatError(f"files of the {found.name} format are not read from a zip file")
            report.format = found.name
            for item in until_broken(found.read(stream, inside), report):
                await importer.take(replace(item, position=f"{name}: {item.position}"))
            read += 1
        except ImportFormatError as error:
            if len(archive.conversations) == 1 and not archive.refused:
                raise
            if archive.are_guessed:
                report.note(f"{name}: {error}")
            else:
                report.stop(f"{name}: {error}")
    for name, reason in archive.refused:
        report.add("failed", name, reason)
    if archive.are_guessed and not read and not archive.refused:
        raise ImportFormatError(f"none of the {len(archive.conversations):,} JSON files is of a known format")
    await importer.finish()
    for text in archive.notes():
        report.note(text)


def _noting(report: ImportReport, name: str) -> Callable[[str], object]:
    return lambda text: report.note(f"{name}: {text}")


async def _restore(restorer: Restorer, stream: ByteInput, report: ImportReport) -> None:
    for group in _groups(until_broken(read_canonical(stream), report)):
        heads = [line for _, line in group if isinstance(line, ConversationLine)]
        if heads:
            await restorer.look_ahead(heads)
        for position, line in group:
            await restorer.take(position, line)
    await restorer.finish()


def _groups(lines: Iterator[tuple[int, Line | Refused]]) -> Iterator[list[tuple[int, Line | Refused]]]:
    """The lines in groups of as many conversations as are looked up together, and of a few MiB."""
    group: list[tuple[int, Line | Refused]] = []
    heads = size = 0
    for position, line in lines:
        if isinstance(line, ConversationLine):
            if heads >= _TOGETHER:
                yield group
                group, heads, size = [], 0, 0
            heads += 1
        group.append((position, line))
        size += line.size if isinstance(line, (EntriesLine, ChangesLine)) else _SMALL
        if size >= _GROUP_BYTES:
            yield group
            group, heads, size = [], 0, 0
    yield group


async def export_conversations(
    backend: AsyncBackend,
    write: Callable[[bytes], Any],
    wanted: Wanted,
    *,
    format: str,
    version: int,
    strict: bool,
    on_progress: Callable[[ExportReport], object] | None,
) -> ExportReport:
    """Write what is wanted.

    Raises:
        QueryError: the format is not known.
        SchemaVersionError: with ``strict``, the format cannot say something.

    """
    parameters.one_of(format, EXPORTED, "format")
    if format in FILE_EACH:
        raise QueryError("format", f"{format} has a file for each conversation: use export_files")
    report = ExportReport(format)
    exporter = Exporter(backend, write, report, on_progress)
    with faults.translated("export"):
        if format == canonical.FORMAT:
            await exporter.write_canonical(wanted)
        elif format == "anda":
            await exporter.write_anda(wanted, version, strict=strict)
        else:
            losses = Losses(format, report.note, strict=strict)
            if format == PARQUET:
                await publish_rows(exporter, wanted, losses)
            else:
                await publish(exporter, WRITERS[format], wanted, losses)
            note_left_out(report)
    return report


async def export_files(
    backend: AsyncBackend,
    create: Callable[[str], AbstractContextManager[Callable[[bytes], Any]]],
    wanted: Wanted,
    *,
    format: str,
    strict: bool,
    on_progress: Callable[[ExportReport], object] | None,
) -> ExportReport:
    """Write what is wanted, a file for each conversation.

    Raises:
        QueryError: the format is not known, or is one of all conversations in one file.
        SchemaVersionError: with ``strict``, the format cannot say something.

    """
    parameters.one_of(format, EXPORTED, "format")
    if format not in FILE_EACH:
        raise QueryError("format", f"{format} has all conversations in one file: use export_conversations")
    report = ExportReport(format)
    exporter = Exporter(backend, _nowhere, report, on_progress)
    losses = Losses(format, report.note, strict=strict)
    with faults.translated("export"):
        if format == librechat_writer.NAME:
            await publish_trees(exporter, WRITERS[format].suffix, wanted, losses, create)
        else:
            await publish_files(exporter, WRITERS[format], wanted, losses, create)
    note_left_out(report)
    return report


def _nowhere(data: bytes) -> None:
    raise AssertionError("no file is open")


def _format_name(name: Any) -> str:
    return str(parameters.one_of(name, ("auto", *FORMATS), "format"))


def _format(name: Any) -> Format:
    return FORMATS[_format_name(name)]


def _chunks(source: bytes | IO[bytes] | Iterable[bytes]) -> Iterable[bytes]:
    if isinstance(source, (bytes, bytearray)):
        held = memoryview(source)
        return (bytes(held[start : start + _CHUNK]) for start in range(0, len(held), _CHUNK))
    if hasattr(source, "read"):
        return _only_bytes(iter(lambda: source.read(_CHUNK) or b"", b""))
    if isinstance(source, (str, Mapping)) or not isinstance(source, Iterable):
        raise _no_bytes(source)
    return _only_bytes(source)


def _only_bytes(chunks: Iterable[Any]) -> Iterable[bytes]:
    for chunk in chunks:
        if not isinstance(chunk, (bytes, bytearray, memoryview)):
            raise _no_bytes(chunk)
        yield bytes(chunk)


def _no_bytes(found: Any) -> InvalidRecordError:
    return InvalidRecordError(
        "source",
        f"must be bytes, chunks of bytes or a file opened as binary; found {type(found).__name__}",
    )
