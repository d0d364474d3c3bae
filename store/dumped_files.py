"""Files of GridFS in a folder that ``mongodump`` wrote: found by name, held on disk where memory is short."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import bson
from bson.errors import BSONError

from convostore.schemas.errors import ImportFormatError
from convostore.schemas.formats import ByteInput
from convostore.store.bson_documents import CODEC
from convostore.store.input_files import read_chunks

__all__ = ["DumpedFiles"]

_MOST_BYTES: Final = 256 << 20
_LARGEST: Final = 48 << 20


class DumpedFiles:
    """The files of one bucket; read at the first question."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: sqlite3.Connection | None = None

    def find(self, bucket: str, name: str) -> bytes | None:
        """The bytes of the last file of that name; None when there is none, or it is larger than 256 MiB.

        Raises:
            ImportFormatError: not all of them are in the dump.

        """
        if self._rows is None:
            self._rows = self._read(bucket)
        found = self._rows.execute("SELECT id, length FROM files WHERE name = ? ORDER BY number DESC", [name])
        row = found.fetchone()
        if row is None or row[1] > _MOST_BYTES:
            return None
        parts = self._rows.execute("SELECT data FROM chunks WHERE id = ? ORDER BY n", [row[0]])
        data = b"".join(part for (part,) in parts)
        if len(data) != row[1]:
            raise ImportFormatError(f"of the file {name} {len(data):,} of {row[1]:,} bytes are in the dump")
        return data

    def close(self) -> None:
        """Forget them."""
        if self._rows is not None:
            self._rows.close()

    def _read(self, bucket: str) -> sqlite3.Connection:
        rows = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        rows.execute("PRAGMA journal_mode = OFF")
        rows.execute("CREATE TABLE files (number INTEGER PRIMARY KEY, name TEXT, id TEXT, length INTEGER)")
        rows.execute("CREATE TABLE chunks (id TEXT, n INTEGER, data BLOB)")
        rows.execute("BEGIN")
        for one in self._documents(f"{bucket}.files.bson"):
            name, length = one.get("filename"), one.get("length")
            if isinstance(name, str) and isinstance(length, int):
                file = (name, repr(one.get("_id")), int(length))
                rows.execute("INSERT INTO files (name, id, length) VALUES (?, ?, ?)", file)
        for one in self._documents(f"{bucket}.chunks.bson"):
            number, data = one.get("n"), one.get("data")
            if isinstance(number, int) and isinstance(data, bytes):
                rows.execute("INSERT INTO chunks VALUES (?, ?, ?)", (repr(one.get("files_id")), number, data))
        rows.execute("CREATE INDEX by_name ON files (name, number)")
        rows.execute("CREATE INDEX by_id ON chunks (id, n)")
        return rows

    def _documents(self, name: str) -> Iterator[dict[str, Any]]:
        """The documents of the collection, as far as they can be read."""
        for path in sorted(self._folder.rglob(f"{name}*")):
            if path.name not in (name, f"{name}.gz", f"{name}.zst"):
                continue
            with suppress(ImportFormatError), read_chunks(str(path)) as chunks:
                stream = ByteInput(chunks)
                while 5 <= (size := int.from_bytes(stream.peek(4), "little")) <= _LARGEST:
                    with suppress(BSONError, TypeError, ValueError):
                        yield bson.decode(stream.read(size), CODEC)
