"""Documents that come in any order, in the order of their conversations: on disk where memory is short."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

from convostore.schemas.formats.documents import Placed
from convostore.schemas.formats.items import Found
from convostore.schemas.json_values import dump_text

__all__ = ["Gathering"]

_TABLE = "CREATE TABLE documents (number INTEGER PRIMARY KEY, key TEXT, part INTEGER, facts TEXT, value TEXT)"
_CACHE_KIB = 16 << 10


class Gathering:
    """Takes documents, then gives them back sorted by conversation, part, and the order they came in.

    They lie in a database of SQLite's without a name: in memory up to 16 MiB, beyond that in a file that is
    gone with it, whatever ends the process.
    """

    def __init__(self) -> None:
        self._rows = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._rows.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._rows.execute("PRAGMA journal_mode = OFF")
        self._rows.execute(_TABLE)
        self._rows.execute("BEGIN")

    def add(self, placed: Placed) -> None:
        """Take one document.

        Raises:
            RecursionError: it is nested too deeply to be written down.

        """
        found = placed.found
        row = (placed.key, placed.part, dump_text([found.position, *found.notes]), dump_text(found.value))
        self._rows.execute("INSERT INTO documents (key, part, facts, value) VALUES (?, ?, ?, ?)", row)

    def __iter__(self) -> Iterator[Placed]:
        self._rows.execute("CREATE INDEX by_key ON documents (key, part, number)")
        rows = self._rows.execute("SELECT key, part, facts, value FROM documents ORDER BY key, part, number")
        for key, part, facts, value in rows:
            position, *notes = json.loads(facts)
            yield Placed(part, key, Found(position, json.loads(value), tuple(notes)))

    def close(self) -> None:
        """Forget them."""
        self._rows.close()
