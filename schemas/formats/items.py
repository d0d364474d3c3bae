"""What a reader of a foreign format gives: conversations, their branches, what it refused. Pure data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from convostore.schemas.authors import Author
from convostore.schemas.conversations import Conversation, ConversationDelta
from convostore.schemas.entries import Source
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage

__all__ = [
    "Branch",
    "Facts",
    "Found",
    "Imported",
    "ImportedDelta",
    "Noticed",
    "Origin",
    "Position",
    "ReadOptions",
    "Refused",
]

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
    """One value of the input: where it stood, and what a reader should know about how it was written.

    ``sha256`` is of the bytes of its line, in hex; None where it has no line of its own.
    """

    position: Position
    value: JSON
    notes: tuple[str, ...] = ()
    sha256: str | None = None
    size: int = 0


@dataclass(frozen=True, slots=True)
class Refused:
    """One piece of the input that was not taken, with the reason; ``id`` is its own, if it could be read.

    ``skipped`` says that nothing is wrong with it: it holds no conversation.
    """

    position: Position
    reason: str
    id: str | None = None
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What the source says of one message beside its JSON; see :class:`convostore.schemas.entries.Entry`."""

    made: int | None = None
    author: Author | None = None
    dialect: str | None = None
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a line of messages leaves another one, of the same user and format.

    Its first ``after`` messages are those of the conversation with the source id ``id``: positions count all
    messages of that one, what it has from its own origin included. 0 means that it begins by itself.
    """

    id: str
    after: int


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of messages beside the active one: what it has of its own, and where it leaves.

    To be stored as a fork of ``origin``, exactly there, with ``messages`` appended; with ``origin.after`` 0
    as a conversation that copies nothing. ``source.id`` is made of the conversation's and of the first own
    message's, so that it stays when the branch grows; ``source.sha256`` covers the own messages.
    ``messages`` is never empty, ``entries`` runs parallel to it. ``resources`` and ``usage`` are those of
    the own messages, ``unknown`` what else the source says of the branch.
    """

    source: Source
    origin: Origin
    messages: Sequence[JSON]
    entries: Sequence[Facts]
    resources: Sequence[Resource] = ()
    usage: Usage = field(default_factory=Usage)
    unknown: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Imported:
    """One conversation of a source, ready to be stored.

    ``conversation`` has the id of the source, 0 where it has none; ``created_at`` and ``updated_at`` are
    0 where the source gives none. ``entries`` runs parallel to its messages; None when nothing is known
    of any of them. ``unknown`` holds members of the source that the record has no name for. ``states`` names
    the members of the record that the source says something of. ``notes`` say what was converted. ``size`` is
    about that of its JSON, in bytes.

    The messages are those of the active branch, whole. ``branches`` are the others, each after the one that
    it leaves. ``origin`` is given when the conversation itself goes on from another one that was read before
    from the same input; what it has from there is in its messages as well, and not in its usage.
    """

    position: Position
    conversation: Conversation
    source: Source
    entries: Sequence[Facts] | None = None
    unknown: Mapping[str, JSON] = field(default_factory=dict)
    states: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    size: int = 0
    branches: tuple[Branch, ...] = ()
    origin: Origin | None = None


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
