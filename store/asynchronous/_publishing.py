"""Exporting to formats of text: all conversations in one file, or a file for each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from convostore.schemas.formats import librechat_writer
from convostore.schemas.formats.librechat_writer import Tree
from convostore.schemas.formats.message_rows import rows
from convostore.schemas.formats.outgoing import Losses
from convostore.schemas.formats.writers import Writer, file_name
from convostore.store.asynchronous._exporting import Exporter, put_texts
from convostore.store.finding import Wanted
from convostore.store.forests import trees_of
from convostore.store.message_tables import MessageTable

__all__ = ["Create", "publish", "publish_files", "publish_rows", "publish_trees"]

Create = Callable[[str], AbstractContextManager[Callable[[bytes], Any]]]
"""Opens a file of a name and gives what writes to it; leaving it normally says that it is whole."""


async def publish(exporter: Exporter, writer: Writer, wanted: Wanted, losses: Losses) -> None:
    """Write all of them, one behind the other."""
    before, between, after = writer.frame
    first = True
    async for given in exporter.outgoing(wanted, files=writer.takes_files):
        put_texts(exporter.out, [before if first else between])
        first = False
        put_texts(exporter.out, writer.write(given, losses))
    put_texts(exporter.out, [before + after if first else after])


async def publish_rows(exporter: Exporter, wanted: Wanted, losses: Losses) -> None:
    """Write the messages of all of them as the rows of one Parquet file."""
    with MessageTable(exporter.out) as table:
        async for given in exporter.outgoing(wanted):
            for row in rows(given, losses):
                table.add(row)


async def publish_files(
    exporter: Exporter, writer: Writer, wanted: Wanted, losses: Losses, create: Create
) -> None:
    """Write each to a file of its own."""
    async for given in exporter.outgoing(wanted, files=writer.takes_files):
        with create(file_name(given, writer.suffix)) as write:
            put_texts(exporter.counted(write), writer.write(given, losses))


async def publish_trees(
    exporter: Exporter, suffix: str, wanted: Wanted, losses: Losses, create: Create
) -> None:
    """Write each to a file of its own, with its forks that are wanted too."""
    origins = await exporter.origins(wanted)
    present = await exporter.present(wanted, {fork.id for fork, _ in origins.values()}) if origins else set()
    trees = trees_of(origins, present)
    async for given in exporter.outgoing(wanted, but=trees.inside):
        forks, tree = trees.forks.pop(given.record.id, []), Tree(losses, trees.points)
        with create(file_name(given, suffix)) as write:
            put = exporter.counted(write)
            put_texts(put, tree.begin(given))
            for leaf in forks:
                async for fork in exporter.outgoing_one(leaf.id, leaf.user):
                    put_texts(put, tree.branch(fork, leaf.leaves))
            put_texts(put, [tree.end()])
    # What these leave was deleted since.
    for leaf in (leaf for forks in trees.forks.values() for leaf in forks):
        async for fork in exporter.outgoing_one(leaf.id, leaf.user):
            with create(file_name(fork, suffix)) as write:
                put_texts(exporter.counted(write), librechat_writer.write(fork, losses))
