"""Imports from places that hold more than one stream of bytes: folders and live databases."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing, closing
from dataclasses import replace
from pathlib import Path

from convostore.schemas.formats import FORMATS, ReadOptions, anda
from convostore.store import faults, parameters
from convostore.store.andadb_folders import andadb_collections, holds_andadb
from convostore.store.asynchronous._attaching import FindBytes
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._documents import take_documents, take_sorted
from convostore.store.asynchronous._importing import Importer
from convostore.store.asynchronous._source import AsyncSource
from convostore.store.collections import Collections, layout_of
from convostore.store.document_files import folder_documents
from convostore.store.dumped_files import DumpedFiles
from convostore.store.exchanging import ImportReport
from convostore.store.source_layouts import chosen

__all__ = ["import_database", "import_folder"]

_BRANCHES = ("all", "active")


async def import_folder(
    backend: AsyncBackend,
    ids: Callable[[], int] | None,
    folder: Path,
    *,
    format: str,
    options: ReadOptions,
    branches: str,
    dry_run: bool,
    on_progress: Callable[[ImportReport], object] | None,
) -> ImportReport:
    """Import what the files of a folder hold together.

    Raises:
        ImportFormatError: they hold no conversations, or of several formats.
        InvalidRecordError: the format names no user and none is given.
        OSError: a file cannot be read.

    """
    parameters.one_of(branches, _BRANCHES, "branches")
    parameters.one_of(format, ("auto", *FORMATS), "format")
    if not folder.is_dir():
        raise NotADirectoryError(20, "no such folder", str(folder))
    report = ImportReport(format, dry_run)

    def importer(find_bytes: FindBytes | None = None) -> Importer:
        return Importer(
            backend,
            ids,
            report,
            user=options.user,
            branches=branches,
            find_bytes=find_bytes,
            on_progress=on_progress,
        )

    with faults.translated("import"):
        if format == anda.NAME or (format == "auto" and holds_andadb(folder)):
            report.format = anda.NAME
            for items in andadb_collections(folder, options, report.note):
                async with aclosing(importer()) as taking:
                    for item in items:
                        await taking.take(item)
                    await taking.finish()
            return report
        collections = Collections(format)
        documents = folder_documents(folder, collections.is_left_out, report.note)
        with closing(DumpedFiles(folder)) as files:
            async with aclosing(importer(_dump_finder(collections, files))) as taking:
                await take_documents(taking, report, collections, documents, options)
    return report


def _dump_finder(collections: Collections, files: DumpedFiles) -> FindBytes:
    def find(name: str) -> bytes | None:
        bucket = None if collections.found is None else layout_of(collections.found).bucket
        return None if bucket is None else files.find(bucket, name)

    return find


async def import_database(
    backend: AsyncBackend,
    ids: Callable[[], int] | None,
    uri: str,
    *,
    format: str,
    options: ReadOptions,
    branches: str,
    dry_run: bool,
    on_progress: Callable[[ImportReport], object] | None,
) -> ImportReport:
    """Import from a live database of another program, which is only read.

    Raises:
        ImportFormatError: it holds no conversations that are known, or of several programs.
        InvalidRecordError: the format names no user and none is given.
        UnavailableError: it does not answer, or may not be read.

    """
    parameters.one_of(branches, _BRANCHES, "branches")
    parameters.one_of(format, ("auto", *FORMATS), "format")
    source = AsyncSource(uri, backend.timeout)
    try:
        candidate = chosen(await source.samples(), format, options.collection)
        layout = layout_of(candidate.format)
        first = next(iter(candidate.collections.values()))[0]
        gatherer = layout.open(replace(options, file=f"{candidate.database}.{first}", collection=None))
        report = ImportReport(candidate.format.name, dry_run)
        importer = Importer(
            backend,
            ids,
            report,
            user=options.user,
            branches=branches,
            find_bytes=_finder(source, candidate.database, layout.bucket),
            on_progress=on_progress,
        )
        with faults.translated("import"):
            async with aclosing(importer) as taking:
                await take_sorted(taking, gatherer, source.placed(candidate))
                await taking.finish()
        return report
    finally:
        await source.close()


def _finder(source: AsyncSource, database: str, bucket: str | None) -> FindBytes | None:
    return None if bucket is None else lambda name: source.find_bytes(database, bucket, name)
