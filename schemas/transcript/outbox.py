"""The records of a transcript that no log holds yet, and the log they continue. Pure; the clock is given.

Also the dates in force: inside ``dated`` every record and every new entry has the given time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.transcript.changes import ChangeRecord
from convostore.schemas.transcript.lineage import EMPTY

__all__ = ["Outbox", "now_ms"]


def now_ms() -> int:
    """The computer's clock, in ms since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class Outbox:
    """Unsaved records, the number of all records behind the value, the lineage of its log."""

    clock: Callable[[], int]
    records: list[ChangeRecord] = field(default_factory=list)
    revision: int = 0
    lineage: int = EMPTY
    _dates: list[int] = field(default_factory=list)

    @property
    def date(self) -> int | None:
        """The date in force; none outside ``dated``."""
        return self._dates[-1] if self._dates else None

    def now(self) -> int:
        """When a new entry is made: the date in force, else the clock."""
        return self.clock() if self.date is None else self.date

    def add(self, record: ChangeRecord) -> None:
        """Keep a record to be saved."""
        self.records.append(record)
        self.revision += 1

    @contextmanager
    def dated(self, at: int) -> Iterator[None]:
        """Put a date in force; the one before applies again afterwards."""
        if type(at) is not int or at < 0:
            raise InvalidRecordError("at", "a time is whole milliseconds since 1970")
        self._dates.append(at)
        try:
            yield
        finally:
            self._dates.pop()

    def viewed(self) -> Outbox:
        """The same log seen by a view: nothing of it is to be saved."""
        return Outbox(self.clock, [], self.revision, self.lineage)
