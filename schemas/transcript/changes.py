"""The five changes of a transcript and their records (``spec/rig.md`` 4.1, 4.2). Pure data.

A change holds the entries it brings, never those it removes. Records are read-only: transcripts share their
messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.schemas.transcript.asides import Aside

if TYPE_CHECKING:
    from convostore.schemas.transcript.state import State

__all__ = [
    "AsideChange",
    "Change",
    "ChangeRecord",
    "Halt",
    "HaltChange",
    "PushChange",
    "ResetChange",
    "SpliceChange",
]


class Halt(str, Enum):
    """Why the model owes no answer although the last message is the user's."""

    STOPPED = "stopped"
    """The user stopped the turn; the next push goes behind the STOPPED entry."""
    KEPT = "kept"
    """Left for the next turn."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class PushChange:
    """Entries put at the end, each with its new id; ``made`` only where it differs from the record's time."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class SpliceChange:
    """The entries ``start`` to ``stop`` (exclusive), whose ids are ``removed``, replaced by ``entries``.

    ``made`` is given for an entry put back as it was, and absent otherwise.
    """

    start: int
    stop: int
    removed: tuple[int, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class HaltChange:
    """The halt set, or none: cleared."""

    halt: Halt | None = None


@dataclass(frozen=True, slots=True)
class AsideChange:
    """An aside put or replaced under its id, or none: removed."""

    id: int
    aside: Aside | None = None


@dataclass(frozen=True, slots=True)
class ResetChange:
    """The whole state replaced: entries with their times, saved asides, halt, next ids."""

    state: State


Change: TypeAlias = PushChange | SpliceChange | HaltChange | AsideChange | ResetChange


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A change, who made it and when (ms since 1970); no time until its writer stamps it.

    ``by`` is none for extend and for rig's own changes: halts and turn records. ``clock`` is the time in
    ms when a live edit made it, for entries whose time no log says yet; it is neither written nor
    compared.
    """

    change: Change
    by: Author | None = None
    at: int | None = None
    clock: int | None = field(default=None, compare=False, repr=False)

    def made(self) -> int | None:
        """When its new entries were made, as far as known."""
        return self.clock if self.at is None else self.at
