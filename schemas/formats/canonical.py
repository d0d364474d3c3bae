"""The canonical format, line by line: what each line says and how it is written. Pure; design.md 9.

JSON Lines in ASCII, by ``dump_exact``: a header, resources by ascending id (bytes over 256 KiB in lines
of their own), conversations by ascending id (head, entries, changes, end), a trailer with the counts and
the SHA-256 of every line before it. Nothing in it depends on when or where it was written: the same data
give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from convostore.schemas.entries import Entry, Source
from convostore.schemas.json_values import JSON, dump_exact

__all__ = [
    "FORMAT",
    "FORMAT_VERSION",
    "INLINE_BYTES",
    "MAX_RUN",
    "PART_BYTES",
    "CanonicalWriter",
    "ChangesLine",
    "ConversationLine",
    "EndLine",
    "EntriesLine",
    "Header",
    "Line",
    "QueuedText",
    "ResourceBytesLine",
    "ResourceLine",
    "Trailer",
    "count_parts",
    "entry_json",
    "entry_text",
]

FORMAT = "convostore"
FORMAT_VERSION = 1

MAX_RUN = 1 << 20
"""Bytes that a line of entries, changes or resource bytes stays within; one entry or change may be longer."""

_ROOM = MAX_RUN - 64  # beside what stands around a run

INLINE_BYTES = 256 << 10
"""Up to so many bytes a resource carries its content in its own line."""

PART_BYTES = 720 << 10
"""How much of a resource's content a line of bytes carries."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line."""

    version: int = FORMAT_VERSION


@dataclass(frozen=True, slots=True)
class ResourceLine:
    """One stored resource: its Anda JSON without ``blob``; ``blob`` here when it has bytes and they are few.

    ``parts`` is how many lines of bytes follow; 0 when the bytes are in ``blob`` or there are none.
    ``more`` is what else the store holds about it.
    """

    id: int
    user: str
    resource: Mapping[str, JSON]
    blob: bytes | None = None
    parts: int = 0
    more: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResourceBytesLine:
    """One piece of a resource's content; ``part`` counts from 0."""

    id: int
    part: int
    data: bytes


@dataclass(frozen=True, slots=True)
class QueuedText:
    """A steering or follow-up text that waits, with its id and when it was queued, in milliseconds."""

    id: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class ConversationLine:
    """The head of a conversation: the version 4 record without messages and queues, and what lies beside it.

    ``queues`` has what waits by the queue's name, each queue that the record has, be it empty. ``more``
    holds what else the store knows of it, by name.
    """

    id: int
    user: str
    record: Mapping[str, JSON]
    version: int
    revision: int
    lineage: int
    next_entry: int
    schema_version: int
    source: Source | None = None
    unknown: Mapping[str, JSON] = field(default_factory=dict)
    queues: Mapping[str, tuple[QueuedText, ...]] = field(default_factory=dict)
    more: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EntriesLine:
    """A run of a conversation's entries, in order; ``size`` is that of the line read, in bytes."""

    entries: tuple[Entry, ...]
    size: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ChangesLine:
    """A run of a conversation's change records, oldest first, in the JSON of the store's history."""

    changes: tuple[JSON, ...]
    size: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class EndLine:
    """The conversation is complete: so many entries and changes were its."""

    id: int
    entries: int
    changes: int


@dataclass(frozen=True, slots=True)
class Trailer:
    """The last line: how much of each kind there was, and the SHA-256 of all lines before it, in hex."""

    resources: int
    conversations: int
    entries: int
    changes: int
    lines: int
    sha256: str


Line: TypeAlias = (
    Header
    | ResourceLine
    | ResourceBytesLine
    | ConversationLine
    | EntriesLine
    | ChangesLine
    | EndLine
    | Trailer
)


class CanonicalWriter:
    """Writes the lines as they are given and counts them; who calls gives resources and conversations by id.

    Every method gives a whole line as bytes, or one after the other where there may be many.
    """

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()
        self._lines = 0
        self._counts = {"resources": 0, "conversations": 0, "entries": 0, "changes": 0}
        self._entries = 0
        self._changes = 0

    def header(self) -> bytes:
        """The first line."""
        return self._line({"kind": "header", "format": FORMAT, "version": FORMAT_VERSION})

    def resource(self, line: ResourceLine) -> bytes:
        """One resource; its ``line.parts`` pieces come next."""
        self._counts["resources"] += 1
        written: dict[str, JSON] = {
            "kind": "resource",
            "id": line.id,
            "user": line.user,
            "resource": dict(line.resource),
        }
        if line.blob is not None:
            written["blob"] = base64.b64encode(line.blob).decode()
        if line.parts:
            written["parts"] = line.parts
        if line.more:
            written["more"] = dict(line.more)
        return self._line(written)

    def resource_bytes(self, id: int, part: int, data: bytes) -> bytes:
        """One piece of the resource's content: ``PART_BYTES``, the last one less."""
        text = base64.b64encode(data).decode()
        return self._line({"kind": "resource-bytes", "id": id, "part": part, "data": text})

    def conversation(self, line: ConversationLine) -> bytes:
        """The head of a conversation; its entries, changes and end come next."""
        self._counts["conversations"] += 1
        self._entries = self._changes = 0
        written: dict[str, JSON] = {
            "kind": "conversation",
            "id": line.id,
            "user": line.user,
            "version": line.version,
            "revision": line.revision,
            "lineage": line.lineage,
            "next_entry": line.next_entry,
            "schema_version": line.schema_version,
            "record": dict(line.record),
        }
        optional: dict[str, Any] = {
            "source": line.source.to_json() if line.source else None,
            "unknown": dict(line.unknown),
            "queues": {name: list(map(asdict, texts)) for name, texts in line.queues.items()},
            "more": dict(line.more),
        }
        written |= {name: value for name, value in optional.items() if value}
        return self._line(written)

    def entries(self, entries: Iterable[str]) -> Iterator[bytes]:
        """All entries of the conversation, each as :func:`entry_text` writes it, in runs of at most 1 MiB.

        The runs depend on the entries alone.
        """
        for count, text in _runs(entries):
            self._entries += count
            yield self._text(f'{{"kind":"entries","entries":[{text}]}}')

    def entries_at_once(self, entries: Sequence[JSON]) -> Iterator[bytes]:
        """The same of entries as JSON objects, which are few and take little: they are written together."""
        text = dump_exact(list(entries))[1:-1]
        if len(text) > _ROOM:
            yield from self.entries(map(dump_exact, entries))
        elif text:
            self._entries += len(entries)
            yield self._text(f'{{"kind":"entries","entries":[{text}]}}')

    def changes(self, changes: Iterable[str]) -> Iterator[bytes]:
        """All change records of the conversation as texts of JSON, oldest first, in runs of at most 1 MiB."""
        for count, text in _runs(changes):
            self._changes += count
            yield self._text(f'{{"kind":"changes","changes":[{text}]}}')

    def end(self, id: int) -> bytes:
        """The end of the conversation begun last."""
        self._counts["entries"] += self._entries
        self._counts["changes"] += self._changes
        return self._line({"kind": "end", "id": id, "entries": self._entries, "changes": self._changes})

    def trailer(self) -> bytes:
        """The last line."""
        sums = {**self._counts, "lines": self._lines, "sha256": self._sha256.hexdigest()}
        return self._line({"kind": "trailer", **sums})

    def _line(self, value: JSON) -> bytes:
        return self._text(dump_exact(value))

    def _text(self, text: str) -> bytes:
        line = text.encode("ascii") + b"\n"
        self._sha256.update(line)
        self._lines += 1
        return line


def count_parts(size: int) -> int:
    """How many lines of bytes ``size`` bytes take."""
    return -(-size // PART_BYTES)


def _runs(texts: Iterable[str]) -> Iterator[tuple[int, str]]:
    waiting: list[str] = []
    size = 0
    for text in texts:
        if waiting and size + len(text) + len(waiting) > _ROOM:
            yield len(waiting), ",".join(waiting)
            waiting, size = [], 0
        waiting.append(text)
        size += len(text)
    if waiting:
        yield len(waiting), ",".join(waiting)


def entry_text(entry: Entry) -> str:
    """An entry as it stands in a line of entries."""
    return dump_exact(entry_json(entry))


def entry_json(entry: Entry) -> dict[str, JSON]:
    """An entry as a JSON object, without what says nothing."""
    written: dict[str, JSON] = {"id": entry.id}
    if entry.made is not None:
        written["made"] = entry.made
    if entry.author is not None:
        written["author"] = entry.author.to_json()
    if entry.dialect is not None:
        written["dialect"] = entry.dialect
    if entry.unfinished:
        written["unfinished"] = True
    written["message"] = entry.message
    return written
