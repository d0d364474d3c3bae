"""Reading the canonical format: each line checked, the whole checked at its end. Pure: bytes in, lines out"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry, Source
from convostore.schemas.errors import ImportFormatError, InvalidRecordError, SchemaVersionError
from convostore.schemas.formats.canonical import (
    FORMAT,
    FORMAT_VERSION,
    ChangesLine,
    ConversationLine,
    EndLine,
    EntriesLine,
    Header,
    Line,
    QueuedText,
    ResourceBytesLine,
    ResourceLine,
    Trailer,
)
from convostore.schemas.formats.items import Refused
from convostore.schemas.formats.json_input import lines
from convostore.schemas.identifiers import MAX_U64
from convostore.schemas.json_values import JSON, load_exact

__all__ = ["read_canonical", "read_entry"]


def read_canonical(chunks: Iterable[bytes]) -> Iterator[tuple[int, Line | Refused]]:
    """Every line with its number, checked, in the order of the file.

    A conversation or resource of which a line is broken comes out as :class:`Refused`, once, and the rest
    of it is passed over: who reads must not keep what has no ``EndLine`` (a conversation) or not all its
    parts (a resource).

    Raises:
        ImportFormatError: no canonical file; or, at the end, a file that was cut off or altered. What
        came out before
            is what the file holds up to there.
        SchemaVersionError: written by a newer release, in a format version that this one does not know.

    """
    reader = _Reading()
    for number, line, ended in lines(chunks):
        if not line.strip():
            raise ImportFormatError("a blank line, which this format has not", position=number)
        if reader.trailer is not None:
            raise ImportFormatError("more follows after the trailer", position=number)
        yield from reader.take(number, line, ended)
    if reader.trailer is None:
        raise ImportFormatError(
            f"the file is cut off after line {reader.lines}: its trailer is missing; "
            f"{reader.counts['conversations']} conversations before it are whole"
        )


class _Reading:
    """Where in the file the reader is."""

    def __init__(self) -> None:
        self.lines = 0
        self.trailer: Trailer | None = None
        self.counts = dict.fromkeys(("resources", "conversations", "entries", "changes"), 0)
        self._sha256 = hashlib.sha256()
        self._conversation: ConversationLine | None = None
        self._entries = self._changes = 0
        self._entry_ids: set[int] = set()
        self._resource: ResourceLine | None = None
        self._parts = 0
        self._skipping = False

    def take(self, number: int, line: bytes, ended: bool) -> Iterator[tuple[int, Line | Refused]]:
        try:
            found = _line(line)
            if self.lines == 0 and not isinstance(found, Header):
                raise _Broken("the header is missing")
            self._follow(found)
        except _Broken as error:
            if self.lines == 0:
                raise ImportFormatError(f"no {FORMAT} file: {error}", position=number) from None
            if not ended and "JSON" in str(error):
                return  # The file ends within this line; the missing trailer says so.
            yield from self._refuse(number, str(error))
        else:
            if isinstance(found, Trailer):
                self._check_trailer(found, number)
            if not self._skipping:
                if isinstance(found, (EntriesLine, ChangesLine)):
                    found = replace(found, size=len(line))
                yield number, found
        self.lines += 1
        self._sha256.update(line + b"\n" if ended else line)

    def _refuse(self, number: int, reason: str) -> Iterator[tuple[int, Refused]]:
        if not self._skipping:
            open_now = self._conversation or self._resource
            yield number, Refused(number, reason, str(open_now.id) if open_now else None)
        self._conversation = self._resource = None
        self._skipping = True

    def _follow(self, line: Line) -> None:
        """Check that the line may stand here.

        Raises:
            _Broken: it may not.

        """
        if isinstance(line, (ResourceLine, ConversationLine, Trailer)):
            if self._conversation is not None:
                raise _Broken(f"conversation {self._conversation.id} has no end")
            if self._resource is not None:
                raise _Broken(
                    f"resource {self._resource.id} lacks {self._resource.parts - self._parts} parts"
                )
            self._skipping = False
        if self._skipping:
            return
        if isinstance(line, Header):
            if self.lines:
                raise _Broken("a second header")
        elif isinstance(line, ResourceLine):
            self._parts = 0
            if line.parts:
                self._resource = line
            else:
                self.counts["resources"] += 1
        elif isinstance(line, ResourceBytesLine):
            self._follow_bytes(line)
        elif isinstance(line, ConversationLine):
            self._conversation = line
            self._entries = self._changes = 0
            self._entry_ids = set()
        elif not isinstance(line, Trailer):
            self._follow_conversation(line)

    def _follow_bytes(self, line: ResourceBytesLine) -> None:
        if self._resource is None or line.id != self._resource.id or line.part != self._parts:
            raise _Broken("bytes of a resource out of place")
        self._parts += 1
        if self._parts == self._resource.parts:
            self._resource = None
            self.counts["resources"] += 1

    def _follow_conversation(self, line: EntriesLine | ChangesLine | EndLine) -> None:
        if self._conversation is None:
            raise _Broken("stands outside a conversation")
        if isinstance(line, EntriesLine):
            for entry in line.entries:
                if entry.id in self._entry_ids or entry.id >= self._conversation.next_entry:
                    raise _Broken(f"the entry id {entry.id} is there twice, or was never given")
                self._entry_ids.add(entry.id)
            self._entries += len(line.entries)
        elif isinstance(line, ChangesLine):
            self._changes += len(line.changes)
        else:
            had = (self._conversation.id, self._entries, self._changes)
            if (line.id, line.entries, line.changes) != had:
                raise _Broken(
                    f"the end names conversation {line.id}, {line.entries} entries, {line.changes} changes; "
                    f"found {had[0]}, {had[1]}, {had[2]}"
                )
            self._conversation = None
            self.counts["conversations"] += 1
            self.counts["entries"] += self._entries
            self.counts["changes"] += self._changes

    def _check_trailer(self, trailer: Trailer, number: int) -> None:
        self.trailer = trailer
        if trailer.sha256 != self._sha256.hexdigest() or trailer.lines != self.lines:
            raise ImportFormatError(
                "the file was altered after it was written: its lines and the sum in its trailer differ; "
                f"{self.counts['conversations']} whole conversations were in it",
                position=number,
            )
        for name, count in self.counts.items():
            if getattr(trailer, name) != count:
                reason = f"the trailer counts {getattr(trailer, name)} {name}, but {count} are whole"
                raise ImportFormatError(reason, position=number)


_INT64_MAX = 2**63 - 1


class _Broken(ValueError):
    """A line is not what it should be."""


def _line(line: bytes) -> Line:
    try:
        value = load_exact(line)
    except ValueError as error:
        raise _Broken(f"no JSON: {error}") from None
    if not isinstance(value, dict):
        raise _Broken("no object")
    members = _Members(value)
    kind = members.text("kind")
    read = _KINDS.get(kind)
    if read is None:
        raise _Broken(f"a line of unknown kind {kind!a:.60}")
    try:
        return read(members)
    except InvalidRecordError as error:
        raise _Broken(str(error)) from None


class _Members:
    """The members of one line, each taken with its type."""

    def __init__(self, value: Mapping[str, JSON], path: str = "") -> None:
        self._value = value
        self._path = path

    def _take(self, name: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        found = self._value.get(name, default)
        if found is ...:
            raise _Broken(f"{self._path}{name} is missing")
        if found is default and default is not ...:
            return default
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            raise _Broken(f"{self._path}{name} is no {getattr(kind, '__name__', kind)}")
        return found

    def any_text(self, name: str) -> str:
        text: str = self._take(name, str)
        return text

    def text(self, name: str, default: Any = ...) -> str:
        text: str = self._take(name, str, default)
        try:
            if text is not None:
                text.encode()
        except UnicodeEncodeError:
            raise _Broken(f"{self._path}{name} has half a surrogate pair") from None
        return text

    def number(self, name: str, default: Any = ..., *, most: int = _INT64_MAX) -> int:
        number: int = self._take(name, int, default)
        if number is not None and not 0 <= number <= most:
            raise _Broken(f"{self._path}{name} is {'negative' if number < 0 else 'too large'}")
        return number

    def flag(self, name: str) -> bool:
        return bool(self._take(name, bool, False))

    def object(self, name: str, default: Any = ...) -> dict[str, JSON]:
        found: dict[str, JSON] = self._take(name, dict, default)
        return found

    def list(self, name: str, default: Any = ...) -> list[JSON]:
        found: list[JSON] = self._take(name, list, default)
        return found

    def base64(self, name: str) -> bytes:
        try:
            return base64.b64decode(self.text(name), validate=True)
        except (binascii.Error, ValueError):
            raise _Broken(f"{self._path}{name} is no base64") from None

    def names(self) -> tuple[str, ...]:
        return tuple(self._value)

    def has(self, name: str) -> bool:
        return name in self._value

    def value(self, name: str) -> JSON:
        if name not in self._value:
            raise _Broken(f"{self._path}{name} is missing")
        return self._value[name]

    def each(self, name: str, default: Any = ...) -> Iterator[_Members]:
        for place, item in enumerate(self.list(name, default)):
            if not isinstance(item, dict):
                raise _Broken(f"{self._path}{name}[{place}] is no object")
            yield _Members(item, f"{self._path}{name}[{place}].")


def _header(line: _Members) -> Header:
    if line.text("format", "") != FORMAT:
        raise _Broken("another format")
    version = line.number("version")
    if version > FORMAT_VERSION or version < 1:
        raise SchemaVersionError(
            f"the file has version {version} of the {FORMAT} format; known here: 1 to {FORMAT_VERSION}: "
            "import it with the release that wrote it, or a newer one",
            found=version,
            known=FORMAT_VERSION,
        )
    return Header(version)


def _resource(line: _Members) -> ResourceLine:
    return ResourceLine(
        id=line.number("id", most=MAX_U64),
        user=line.text("user"),
        resource=line.object("resource"),
        blob=line.base64("blob") if line.has("blob") else None,
        parts=line.number("parts", 0),
        more=line.object("more", {}),
    )


def _resource_bytes(line: _Members) -> ResourceBytesLine:
    return ResourceBytesLine(line.number("id", most=MAX_U64), line.number("part"), line.base64("data"))


def _conversation(line: _Members) -> ConversationLine:
    return ConversationLine(
        id=line.number("id", most=MAX_U64),
        user=line.text("user"),
        record=line.object("record"),
        version=line.number("version"),
        revision=line.number("revision"),
        lineage=line.number("lineage"),
        next_entry=line.number("next_entry"),
        schema_version=line.number("schema_version"),
        source=_source(_Members(line.object("source"), "source.")) if line.has("source") else None,
        unknown=line.object("unknown", {}),
        queues=_queues(line),
        more=line.object("more", {}),
    )


def _source(found: _Members) -> Source:
    return Source(
        found.text("format"), found.text("id"), found.text("file", None), found.text("sha256", None)
    )


def _queues(line: _Members) -> dict[str, tuple[QueuedText, ...]]:
    queues = _Members(line.object("queues", {}), "queues.")
    return {
        name: tuple(
            QueuedText(item.text("id"), item.any_text("text"), item.number("at"))
            for item in queues.each(name)
        )
        for name in queues.names()
    }


def _entries(line: _Members) -> EntriesLine:
    return EntriesLine(tuple(map(_entry, line.each("entries"))))


def _entry(item: _Members) -> Entry:
    return Entry(
        id=item.number("id"),
        message=item.value("message"),
        made=item.number("made", None),
        author=Author.from_json(item.value("author")) if item.has("author") else None,
        dialect=item.text("dialect", None),
        unfinished=item.flag("unfinished"),
    )


def read_entry(value: Mapping[str, JSON]) -> Entry:
    """The entry that ``entry_json`` wrote.

    Raises:
        InvalidRecordError: it is none.

    """
    try:
        return _entry(_Members(value))
    except _Broken as error:
        raise InvalidRecordError("entry", str(error)) from None


def _changes(line: _Members) -> ChangesLine:
    return ChangesLine(tuple(line.list("changes")))


def _end(line: _Members) -> EndLine:
    return EndLine(line.number("id", most=MAX_U64), line.number("entries"), line.number("changes"))


def _trailer(line: _Members) -> Trailer:
    return Trailer(
        resources=line.number("resources"),
        conversations=line.number("conversations"),
        entries=line.number("entries"),
        changes=line.number("changes"),
        lines=line.number("lines"),
        sha256=line.text("sha256"),
    )


_KINDS: dict[str, Callable[[_Members], Line]] = {
    "header": _header,
    "resource": _resource,
    "resource-bytes": _resource_bytes,
    "conversation": _conversation,
    "entries": _entries,
    "changes": _changes,
    "end": _end,
    "trailer": _trailer,
}
