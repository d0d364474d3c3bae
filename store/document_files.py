"""Files of a database's documents: BSON and archives of ``mongodump``, extended JSON of ``mongoexport``."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import bson
from bson.errors import BSONError

from convostore.schemas.errors import ImportFormatError
from convostore.schemas.formats import ByteInput
from convostore.schemas.formats.documents import extended
from convostore.schemas.formats.extended_json import relaxed
from convostore.schemas.formats.items import Refused
from convostore.schemas.formats.json_layout import json_values, peek_value
from convostore.store.bson_documents import ARCHIVE_SIGN, END_OF_BLOCK, bson_values, looks_like_bson
from convostore.store.collections import InCollection, fitting
from convostore.store.input_files import read_plain

__all__ = ["folder_documents", "holds_documents", "stream_documents"]

_LARGEST_HEAD: Final = 16 << 20
_DESCRIPTION: Final = re.compile(r"(?:\.metadata|(?:^|/)prelude)\.json(?:\.gz)?$")


def stream_documents(stream: ByteInput, name: str = "") -> Iterator[InCollection] | None:
    """The documents in the bytes when these are BSON, else None; ``name`` stands for the collection."""
    if stream.peek(4) == ARCHIVE_SIGN:
        return _archive_documents(stream)
    if looks_like_bson(stream):
        return ((name, found) for found in bson_values(stream))
    return None


def folder_documents(
    folder: Path, is_left_out: Callable[[str], bool], note: Callable[[str], object]
) -> Iterator[InCollection]:
    """The documents in the files of a folder and those below it, each at ``file: number``.

    Files that hold none are passed over and told to ``note``, but for the descriptions beside a dump's.

    Raises:
        OSError: a file cannot be read.

    """
    for path in _files(folder):
        name = path.relative_to(folder).as_posix()
        try:
            with read_plain(str(path), note) as source:
                yield from _named(name, source, is_left_out, note)
        except ImportFormatError as error:
            yield name, Refused(name, str(error))


def holds_documents(folder: Path) -> bool:
    """Whether any file of the folder, or below it, begins with documents of conversations, or is BSON.

    Raises:
        OSError: a file cannot be read.

    """
    for path in _files(folder):
        try:
            with read_plain(str(path)) as source:
                if _file_documents(source, path.name) is not None:
                    return True
        except ImportFormatError:
            continue
    return False


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(place) / name


def _file_documents(stream: ByteInput, name: str) -> Iterator[InCollection] | None:
    documents = stream_documents(stream, name)
    if documents is not None:
        return documents
    first = peek_value(stream)
    if first is None or not fitting(relaxed(first.value)):
        return None
    return ((name, found) for found in extended(json_values(stream)))


def _named(
    name: str, stream: ByteInput, is_left_out: Callable[[str], bool], note: Callable[[str], object]
) -> Iterator[InCollection]:
    documents = _file_documents(stream, name)
    if documents is None and not _DESCRIPTION.search(name):
        note(f"{name}: no documents of conversations; left out")
    for collection, found in documents or ():
        if is_left_out(collection):
            return
        yield collection, replace(found, position=f"{name}: {found.position}")


def _archive_documents(stream: ByteInput) -> Iterator[InCollection]:
    """The documents of ``mongodump --archive``: a head, then blocks, each of documents of one collection."""
    stream.read(len(ARCHIVE_SIGN))
    counts: Counter[str] = Counter()
    while _head(stream) is not None:
        pass
    while (head := _head(stream)) is not None or stream.peek(1):
        if head is None:
            continue
        name = f"{head.get('db')}.{head.get('collection')}"
        for found in bson_values(stream):
            yield name, replace(found, position=f"{name}[{counts[name]}]")
            counts[name] += 1
        if stream.read(4) != END_OF_BLOCK:
            yield name, Refused(name, "the archive ends in the middle of a block")
            return


def _head(stream: ByteInput) -> dict[str, object] | None:
    """The next document that describes; None at the end of a block, which is taken, or of the archive."""
    start = stream.peek(4)
    if start == END_OF_BLOCK or len(start) < 4:
        stream.read(4)
        return None
    size = int.from_bytes(start, "little", signed=True)
    try:
        if not 5 <= size <= _LARGEST_HEAD:
            raise ValueError("a length is none")
        return bson.decode(stream.read(size))
    except (BSONError, ValueError) as error:
        raise ImportFormatError(f"the archive is broken: {error}") from None
