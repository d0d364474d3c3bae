"""Importing documents of a database that make conversations together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from convostore.schemas.formats import ReadOptions, Refused
from convostore.schemas.formats.documents import Gatherer, Layout, Placed
from convostore.schemas.json_values import MAX_DEPTH
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._importing import Importer
from convostore.store.collections import Collections, InCollection, layout_of
from convostore.store.exchanging import ImportReport, until_broken
from convostore.store.gathering import Gathering

__all__ = ["take_documents", "take_sorted"]


async def take_documents(
    importer: Importer,
    report: ImportReport,
    collections: Collections,
    values: Iterable[InCollection],
    options: ReadOptions,
) -> None:
    """Take all documents of several collections, in any order, and end the import.

    Raises:
        ImportFormatError: none of them is of a conversation, or they are of several formats.
        InvalidRecordError: the format names no user and none is given.

    """
    placed = collections.placed(until_broken(values, report))
    with closing(Gathering()) as gathering:
        gatherer = await _take_whole(importer, placed, gathering, collections, options)
        assert collections.found is not None
        report.format = collections.found.name
        await take_sorted(importer, gatherer, gathering)
    await importer.finish()
    for note in collections.notes():
        report.note(note)


async def _take_whole(
    importer: Importer,
    placed: Iterator[Placed | Refused],
    gathering: Gathering,
    collections: Collections,
    options: ReadOptions,
) -> Gatherer:
    """Take what needs no other document, and keep the rest for later."""
    layout: Layout | None = None
    gatherer: Gatherer | None = None
    for item in placed:
        if layout is None or gatherer is None:
            assert collections.found is not None
            layout = layout_of(collections.found)
            gatherer = layout.open(options)
        if isinstance(item, Refused):
            await importer.take(item)
        elif layout.parts[item.part].is_whole:
            gatherer.take(item.part, item.found)
            await _end(importer, gatherer)
        else:
            try:
                gathering.add(item)
            except RecursionError:
                reason = f"nested too deeply; at most {MAX_DEPTH} levels"
                await importer.take(Refused(item.found.position, reason))
    assert gatherer is not None
    return gatherer


async def take_sorted(importer: Importer, gatherer: Gatherer, placed: Any) -> None:
    """Take documents of which those of one conversation follow each other; ``placed`` may be asynchronous."""
    key: str | None = None
    async for item in _pace.iterate(placed):
        if isinstance(item, Refused):
            await importer.take(item)
            continue
        if item.key != key and key is not None:
            await _end(importer, gatherer)
        key = item.key
        gatherer.take(item.part, item.found)
    if key is not None:
        await _end(importer, gatherer)


async def _end(importer: Importer, gatherer: Gatherer) -> None:
    for item in gatherer.end():
        await importer.take(item)
