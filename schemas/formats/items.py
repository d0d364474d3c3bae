"""What a reader of a foreign format gives: conversations, and what it refused. Pure data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from convostore.schemas.authors import Author
from convostore.schemas.conversations import Conversation, ConversationDelta
from convostore.schemas.entries import Source
from convostore.schemas.json_values import JSON

__all__ = ["Facts", "Found", "Imported", "ImportedDelta", "Noticed", "Position", "ReadOptions", "Refused"]

Position = int | str
"""Where in the input: a line number (from 1), or an index or a path in a document (``.result[3]``)."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the caller of a reader knows and the input may not say.

    ``user`` owns all that is read, whomever the input names; ``file`` is the name to put into the source.
    The rest is for the ``anda`` format: ``version`` is the schema version that wrote the records (2 makes a
    missing user the anonymous one), ``collection`` where they lay, ``field_names`` those of a collection's
    ``meta.cbor``, and ``messages_offset`` and ``artifacts_offset`` where deltas begin in the records they
    belong to.
    """

    user: str | None = None
    file: str | None = None
    version: int | None = None
    collection: str | None = None
    field_names: Mapping[int, str] | None = None
    messages_offset: int | None = None
    artifacts_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One value of the input: where it stood, and what a reader should know about how it was written."""

    position: Position
    value: JSON
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """One piece of the input that was not taken, with the reason; ``id`` is its own, if it could be read."""

    position: Position
    reason: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What the source says of one message beside its JSON; see :class:`convostore.schemas.entries.Entry`."""

    made: int | None = None
    author: Author | None = None
    dialect: str | None = None
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class Imported:
    """One conversation of a source, ready to be stored.

    ``conversation`` has the id of the source, 0 where it has none; ``created_at`` and ``updated_at`` are
    0 where the source gives none. ``entries`` runs parallel to its messages; None when nothing is known
    of any of them. ``unknown`` holds members of the source that the record has no name for. ``notes`` say
    what was converted.
    """

    position: Position
    conversation: Conversation
    source: Source
    entries: Sequence[Facts] | None = None
    unknown: Mapping[str, JSON] = field(default_factory=dict)
    states: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    size: int = 0


@dataclass(frozen=True, slots=True)
class ImportedDelta:
    """What a known record got since the offsets (``spec/anda.md`` 7.3); never a record of its own.

    ``delta.id`` is the record's in the source; ``given`` names the members that the input had.
    """

    position: Position
    delta: ConversationDelta
    given: frozenset[str]
    messages_offset: int
    artifacts_offset: int


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something that whoever imports should know about the input as a whole."""

    position: Position
    text: str
