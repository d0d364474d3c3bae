"""What a writer of a format is given, and where it says what the format cannot. Pure data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from convostore.schemas.conversations import Conversation
from convostore.schemas.dialects import DIALECTS, dialect_of, message_of
from convostore.schemas.entries import Entry, Source
from convostore.schemas.errors import SchemaVersionError
from convostore.schemas.json_output import foreign_json
from convostore.schemas.json_values import JSON
from convostore.schemas.messages import Message, Part
from convostore.schemas.resources import Resource

__all__ = [
    "File",
    "Fork",
    "Losses",
    "Outgoing",
    "dialect_in",
    "own_title",
    "parts_in",
    "result_text",
    "said_in",
    "source_id",
]


@dataclass(frozen=True, slots=True)
class File:
    """The bytes of a resource that a conversation names; ``chunks`` gives them in pieces, each time anew."""

    resource: Resource
    size: int
    chunks: Callable[[], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class Fork:
    """What a conversation was forked from: that one's id, and how many of its messages it took along."""

    id: int
    entries: int


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One conversation to write.

    ``record`` has no messages: they are in ``entries``, of which no more than one need be in memory, and
    which may be iterated again but not twice at a time. ``count`` is how many there are. ``unknown`` holds
    the members of its source that the record has no name for. ``files`` are the resources and artifacts whose
    bytes are stored apart, by their id; formats that take no bytes are given none.
    """

    record: Conversation
    entries: Iterable[Entry]
    count: int
    source: Source | None = None
    unknown: Mapping[str, JSON] = field(default_factory=dict)
    forked_from: Fork | None = None
    files: Mapping[int, File] = field(default_factory=dict)

    def attachments(self) -> Sequence[Resource]:
        """The resources and the artifacts of the record."""
        return [*self.record.resources, *self.record.artifacts]

    def file_of(self, resource: Resource) -> File | None:
        """The bytes of one of them: its own, else those that are stored under its id."""
        blob = resource.blob
        if blob is not None:
            return File(resource, len(blob), lambda: iter([blob]))
        return self.files.get(resource.id)


class Losses:
    """Collects what a format cannot say, or refuses it.

    ``note`` takes one line for each such thing; with ``strict`` it is an error instead.
    """

    def __init__(self, format: str, note: Callable[[str], None], *, strict: bool = False) -> None:
        self._format = format
        self._note = note
        self._strict = strict

    def add(self, what: str, record: Conversation) -> None:
        """Say that ``what`` is lost or changed.

        Raises:
            SchemaVersionError: it must not be.

        """
        if self._strict:
            raise SchemaVersionError(
                f"conversation {record.id}: in the format {self._format}, {what}; "
                "export without strict to let it be so",
                found=record.id,
            )
        self._note(what)


def parts_in(entry: Entry) -> list[tuple[Part, Mapping[str, JSON]]] | None:
    """The parts of the entry's message, each with what an importer kept beside it; None without a message."""
    message = said_in(entry)
    if message is None:
        return None
    content = entry.message.get("content")
    raw = content if isinstance(content, list) and len(content) == len(message.content) else []
    beside = [part.get("source") if isinstance(part, dict) else None for part in raw]
    if dialect_in(entry) != "anda" or not raw:
        beside = [None] * len(message.content)
    return [
        (part, rest if isinstance(rest, dict) else {})
        for part, rest in zip(message.content, beside, strict=True)
    ]


def result_text(output: JSON) -> str:
    """What a tool gave back as text: itself, else its JSON."""
    return output if isinstance(output, str) else foreign_json(output)


def source_id(given: Outgoing, format: str) -> str | None:
    """The id that a conversation of that format has in its source; None for one that had none there.

    Of a conversation from elsewhere its own id.
    """
    if given.source is None or given.source.format != format:
        return str(given.record.id)
    return None if given.source.id.startswith("sha256:") else given.source.id


def own_title(record: Conversation) -> str | None:
    """The title that an import put into ``extra``, or that a program did; None without one."""
    title = record.extra.get("title") if isinstance(record.extra, dict) else None
    return title if isinstance(title, str) and title.strip() else None


def dialect_in(entry: Entry) -> str | None:
    """The dialect that its writer named, else the one its message has by its shape."""
    return entry.dialect if entry.dialect in DIALECTS else dialect_of(entry.message)


def said_in(entry: Entry) -> Message | None:
    """The entry's message as a model; None when it is no message."""
    return message_of(entry.message, dialect_in(entry))
