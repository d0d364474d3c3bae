"""Markdown as this library exports it (``markdown_writer``), one conversation after another. Pure.

The text of a message may have been mended in an editor; so may line ends and the byte order mark. Everything
between the comments, such as headings, is for people and not read. Other Markdown has no form that says who
speaks, and is refused.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import ImportFormatError, InvalidRecordError
from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.canonical_reader import read_entry
from convostore.schemas.formats.foreign import Item, Sources
from convostore.schemas.formats.items import Facts, Found, Imported, ReadOptions, Refused
from convostore.schemas.formats.markdown_marks import FORM, OPENING, Filling, filled, read_comment
from convostore.schemas.json_values import JSON, MAX_DEPTH, load_exact
from convostore.schemas.resources import Resource

__all__ = ["NAME", "looks_so", "read"]

NAME = "markdown"

_BOM = b"\xef\xbb\xbf"
_MARKED = re.compile(r"convostore:[ \t]*\"?markdown/")
_MEMBER = re.compile(r"([A-Za-z_][\w-]*):[ \t]*(.*)")
_ADDRESS = re.compile(r"\((data:[^,]*;base64,([A-Za-z0-9+/=]*))\)")
_FILE = re.compile(r"\[file-\d+\]: data:[^,]*;base64,([A-Za-z0-9+/=]*)")
_FENCE = re.compile(r"(`{3,})\w*")
_OF_RECORD = frozenset({"_id", *Conversation.model_fields}) - {"id"}
_LONGEST_OPENING = 200


def looks_so(head: bytes) -> bool:
    """Whether an input that begins so is of this format."""
    text = head.removeprefix(_BOM).lstrip(b"\r\n")[:_LONGEST_OPENING].decode("utf-8", "replace")
    return OPENING.match(text) is not None


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The conversations in the input; each belongs to the user that it names, unless ``options.user`` is
    given.

    Raises:
        ImportFormatError: the input does not begin as this format does.
        InvalidRecordError: ``options.user`` is no valid id.

    """
    if not looks_so(source.peek(_LONGEST_OPENING)):
        raise ImportFormatError("it does not begin as Markdown that this library exported")
    sources = Sources(NAME, options, names_user=True)
    lines = _Lines(source)
    return sources.each(_documents(lines), lambda found: [_imported(found, sources)])


class _Lines:
    """The lines of an input without their ends, counted from 1, with one that can be put back.

    ``broken`` says which line since it was set to None is no UTF-8.
    """

    def __init__(self, source: ByteInput) -> None:
        self.number = 0
        self.broken: str | None = None
        self._lines = _split(source)
        self._held: list[str] = []

    def next(self) -> str | None:
        """The next line; None at the end."""
        if self._held:
            return self._held.pop()
        raw = next(self._lines, None)
        if raw is None:
            return None
        self.number += 1
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            text = raw.decode("utf-8", "surrogateescape")
            self.broken = f"line {self.number} is no UTF-8: {error.reason}"
        return text[1:] if self.number == 1 and text.startswith("\ufeff") else text

    def put_back(self, line: str) -> None:
        """Give the line again, before all others."""
        self._held.append(line)


def _split(source: ByteInput) -> Iterator[bytes]:
    held: list[bytes] = []
    for chunk in source:
        first, *rest = chunk.split(b"\n")
        held.append(first)
        for piece in rest:
            yield b"".join(held).removesuffix(b"\r")
            held = [piece]
    last = b"".join(held)
    if last:
        yield last.removesuffix(b"\r")


@dataclass(slots=True)
class _Document:
    """What a document says, being read."""

    members: dict[str, JSON] = field(default_factory=dict)
    messages: list[JSON] = field(default_factory=list)
    facts: list[Facts] = field(default_factory=list)
    resources: dict[str, list[Resource]] = field(default_factory=lambda: {"resource": [], "artifact": []})
    hash: str = ""
    size: int = 0


def _documents(lines: _Lines) -> Iterator[Found | Refused]:
    # Of a document that is refused, the rest is not told of again.
    told = False
    while True:
        line = lines.next()
        if line is None:
            return
        if line.rstrip() != "---":
            if not told and (_MARKED.match(line) or read_comment(line.rstrip()) is not None):
                told = True
                yield Refused(lines.number, "behind a document, and no beginning of another one")
            continue
        position = lines.number
        lines.broken = None
        try:
            found = _Reader(lines).document()
        except (ImportFormatError, InvalidRecordError) as error:
            yield Refused(position, f"line {lines.number}: {error.reason}")
            told = True
            continue
        except RecursionError:
            yield Refused(position, f"line {lines.number}: nested too deeply; at most {MAX_DEPTH} levels")
            told = True
            continue
        if found is not None:
            told = False
        if lines.broken is not None:
            yield Refused(position, lines.broken)
        elif found is not None:
            yield Found(position, found, size=found.size)


class _Reader:
    """Reads one document, from behind its first line."""

    def __init__(self, lines: _Lines) -> None:
        self._lines = lines
        self._hash = hashlib.sha256()
        self._found = _Document()
        self._skeleton: JSON = None
        self._fillings: dict[int, Filling] = {}
        self._kind = ""

    def document(self) -> _Document | None:
        """The document; None when the line before was none of its beginning.

        Raises:
            ImportFormatError: it is cut off, or what it holds cannot be read.

        """
        if not self._front_matter():
            return None
        while True:
            line = self._line()
            found = read_comment(line.rstrip())
            if found is None:
                if _MARKED.match(line):
                    self._lines.put_back(line)
                    self._lines.put_back("---")
                    raise ImportFormatError("it is cut off: another document begins before its end")
                self._file(line)
            elif found == ("end", "of conversation"):
                self._finish_message()
                self._found.hash = self._hash.hexdigest()
                return self._found
            else:
                self._take(*found)

    def _line(self) -> str:
        line = self._lines.next()
        if line is None:
            raise ImportFormatError("it is cut off: the comment at its end is missing")
        data = line.encode("utf-8", "surrogateescape")
        self._hash.update(data + b"\n")
        self._found.size += len(data) + 1
        return line

    def _front_matter(self) -> bool:
        first = self._lines.next()
        if first is None:
            return False
        if OPENING.match(f"---\n{first}") is None:
            self._lines.put_back(first)
            return False
        self._lines.put_back(first)
        while (line := self._line()).rstrip() != "---":
            found = _MEMBER.fullmatch(line.rstrip())
            if found is None:
                if line.strip() and not line.lstrip().startswith("#"):
                    raise ImportFormatError("the front matter holds a line that is no member and its value")
                continue
            self._found.members[found[1]] = _value(found[2])
        form = self._found.members.pop("convostore")
        if form != FORM:
            raise ImportFormatError(f"it is of the form {form!a:.40}; this release reads {FORM}")
        return True

    def _take(self, kind: str, held: str) -> None:
        if kind == "message":
            self._finish_message()
            self._skeleton = _json(held)
        elif kind in ("resource", "artifact"):
            self._finish_message()
            self._kind = kind
            self._found.resources[kind].append(_resource(_json(held)))
        elif kind == "text":
            self._text(held)
        elif kind == "code":
            self._code(held)
        elif kind == "data":
            self._data(held)
        else:
            raise ImportFormatError("a comment ends a text where none began")

    def _text(self, held: str) -> None:
        number, closed = _numbered(held)
        lines = []
        while True:
            line = self._line()
            found = read_comment(line.rstrip())
            if found == ("end", ""):
                break
            if found is not None:
                raise ImportFormatError("a text has no comment at its end")
            lines.append(line)
        if closed == "closed":
            lines = lines[:-1]
        self._fillings[number] = Filling("\n".join(lines))

    def _code(self, held: str) -> None:
        number, how = _numbered(held)
        language, _, form = how.partition(" ")
        opening = _FENCE.fullmatch(self._line().rstrip())
        if opening is None:
            raise ImportFormatError("code has no fence at its beginning")
        lines = []
        while (line := self._line()).rstrip() != opening[1]:
            if read_comment(line.rstrip()) is not None:
                raise ImportFormatError("code has no fence at its end")
            lines.append(line)
        text = "\n".join(lines)
        self._fillings[number] = Filling(_json(text), form or None) if language == "json" else Filling(text)

    def _data(self, held: str) -> None:
        number, form = _numbered(held)
        found = _ADDRESS.search(self._line())
        if found is None:
            raise ImportFormatError("data have no address below their comment")
        data = _bytes(found[2])
        self._fillings[number] = Filling(found[1]) if form == "address" else Filling(data, form)

    def _file(self, line: str) -> None:
        """Take the bytes of the resource above, if the line holds them."""
        found = _FILE.fullmatch(line.rstrip()) if self._kind and line.startswith("[file-") else None
        if found is not None:
            resources = self._found.resources[self._kind]
            resources[-1] = resources[-1].model_copy(update={"blob": _bytes(found[1])})

    def _finish_message(self) -> None:
        skeleton, self._skeleton = self._skeleton, None
        if skeleton is None:
            return
        try:
            entry = read_entry({**skeleton, "message": filled(skeleton["message"], self._fillings)})
        except KeyError as error:
            raise ImportFormatError(f"a message lacks the block {error}") from None
        except (TypeError, ValueError) as error:
            raise ImportFormatError(f"a message cannot be put together: {error}") from None
        self._fillings = {}
        self._found.messages.append(entry.message)
        self._found.facts.append(Facts(entry.made, entry.author, entry.dialect, entry.unfinished))


def _numbered(held: str) -> tuple[int, str]:
    number, _, rest = held.partition(" ")
    if not number.isascii() or not number.isdigit():
        raise ImportFormatError("a comment of a block has no number")
    return int(number), rest


def _json(text: str) -> JSON:
    try:
        return load_exact(text)
    except ValueError as error:
        raise ImportFormatError(f"no JSON where it should be: {error}") from None


def _value(text: str) -> JSON:
    """The value of a member, JSON or else the text itself."""
    try:
        return load_exact(text)
    except ValueError:
        return text


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ImportFormatError("bytes are no base64") from None


def _resource(value: JSON) -> Resource:
    record = Conversation.from_json({"user": "nobody", "resources": [value]})
    # Its id was that of another store.
    return record.resources[0].model_copy(update={"id": 0})


def _imported(found: Found, sources: Sources) -> Imported:
    document: _Document = found.value
    members = dict(document.members)
    beside = {name: members.pop(name) for name in document.members if name not in _OF_RECORD}
    user = sources.owner(members.pop("user", None))
    held = {f"{kind}s": resources for kind, resources in document.resources.items()}
    notes: list[str] = []
    filled_in = {"messages": [], "resources": [], "artifacts": [], "period": 0}
    record = Conversation.from_json({"user": user, **members, **filled_in}, notes=notes)
    record = record.model_copy(update={**held, "messages": document.messages})
    id = f"{record.id}@{record.created_at}" if record.id else None
    inner = beside.get("unknown")
    if isinstance(inner, dict):
        del beside["unknown"]
    return Imported(
        position=found.position,
        conversation=record,
        source=sources.identified(id, document.hash),
        entries=document.facts,
        unknown={**beside, **(inner if isinstance(inner, dict) else {})},
        states=frozenset({*members, "messages", "resources", "artifacts"}),
        notes=tuple(note for note in notes if not note.startswith("period")),
        size=document.size,
    )
