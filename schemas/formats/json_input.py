"""JSON from a stream of bytes, one value at a time, exactly as written. Pure: bytes in, values out.

Three layouts are read in the memory that one value needs, not the whole input: JSON Lines, one array, and
documents over several lines. Numbers keep their kind (``1`` and ``1.0`` differ, whole numbers are whole
at any length), lone surrogates stay, and of a key that occurs twice the last value is taken and a note
made. ``NaN``, ``Infinity`` and ``-Infinity``, which many tools write though JSON has none, are taken as
the numbers they name. A number beyond the range of doubles (``1e999``) is refused: no double equals it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from convostore.schemas.formats.items import Found, Position, Refused
from convostore.schemas.json_values import JSON

__all__ = [
    "IncompleteError",
    "array_items",
    "decode",
    "document_values",
    "first_value",
    "is_inside_text",
    "is_open",
    "line_values",
    "lines",
]

_BOM = "\ufeff"
_BLANK = " \t\r\n"
_AROUND = _BLANK + _BOM
_BAD_BYTE = re.compile("[\udc80-\udcff]")
# A whole text, a bracket, or the quotation mark of a text that does not end.
_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}"]', re.DOTALL)


class IncompleteError(ValueError):
    """A JSON value that goes on beyond the text at hand."""


class _Reader:
    """A JSON decoder that remembers keys that occurred twice in the value being read."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_float=_float)

    def _object(self, pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            self.notes.append(f"the key {twice!a} occurs twice in one object; the last value was taken")
        return found

    def read(self, text: str, start: int = 0) -> tuple[JSON, int]:
        """The value that begins at ``start`` and where it ends.

        Raises:
            ValueError: it is no JSON, or not whole; RecursionError is turned into one.

        """
        try:
            return self._decoder.raw_decode(text, start)
        except RecursionError:
            raise ValueError("nested too deeply") from None

    def taken(self) -> tuple[str, ...]:
        """The notes since the last call."""
        if not self.notes:
            return ()
        notes, self.notes = tuple(dict.fromkeys(self.notes)), []
        return notes


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is beyond the range of doubles")
    return value


def decode(text: str, position: Position) -> Found | Refused:
    """The one value that ``text`` holds."""
    return _decoded(_Reader(), text, position, cut=False)


def _decoded(reader: _Reader, text: str, position: Position, *, cut: bool) -> Found | Refused:
    """The same; ``cut`` says that the input ends with the text, perhaps within the value."""
    start = len(text) - len(text.lstrip(_AROUND))
    try:
        value, end = reader.read(text, start)
    except ValueError as error:
        reader.taken()
        return Refused(position, _reason(error, start, cut=cut and is_open(text)))
    rest = text[end:].strip(_BLANK)
    if rest:
        reader.taken()
        return Refused(position, f"after the JSON value there is more: {rest[:40]!a}")
    return Found(position, value, reader.taken())


def _reason(error: ValueError, start: int = 0, *, cut: bool = False) -> str:
    if cut:
        return "the input ends in the middle of this JSON value"
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON: {error.msg[0].lower()}{error.msg[1:]}, at character {error.pos - start + 1}"
    if "string conversion" in str(error):
        return "a whole number of more than 4,300 digits"
    return str(error)


def lines(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes, bool]]:
    """The lines with their numbers from 1, without line ends, and whether the line was ended by one."""
    number, parts = 0, list[bytes]()
    for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            number += 1
            parts.append(chunk[start:end])
            yield number, _joined(parts), True
            start = end + 1
        if start < len(chunk):
            parts.append(chunk[start:])
    if parts:
        yield number + 1, _joined(parts), False


def _joined(parts: list[bytes]) -> bytes:
    """The parts as one, taken out of the list: a line may be large."""
    line = parts[0] if len(parts) == 1 else b"".join(parts)
    parts.clear()
    return line


def line_values(chunks: Iterable[bytes]) -> Iterator[Found | Refused]:
    """JSON Lines: one value a line; blank lines are passed over, a broken line does not stop the rest."""
    reader = _Reader()
    for number, line, ended in lines(chunks):
        try:
            text = line.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            yield Refused(number, f"no UTF-8: byte {error.start + 1} is {line[error.start]:#04x}")
            continue
        if not text.strip(_AROUND):
            continue
        digest, size = hashlib.sha256(line.strip()).hexdigest(), len(line)
        del line
        found = _decoded(reader, text, number, cut=not ended)
        del text
        if isinstance(found, Found):
            yield Found(number, found.value, found.notes, digest, size)
        else:
            yield found
        del found


def is_inside_text(text: str) -> bool:
    """Whether the JSON stops inside a text."""
    return any(token.group() == '"' for token in _STRUCTURE.finditer(text))


def is_open(text: str) -> bool:
    """Whether the JSON stops inside a text, an object or an array."""
    depth = 0
    for token in _STRUCTURE.finditer(text):
        kind = token.group()
        if kind == '"':
            return True
        depth += kind in ("{", "[")
        depth -= kind in ("}", "]")
    return depth > 0


class _Text:
    """A text that grows from chunks; what was read is forgotten.

    Bytes that are no UTF-8 stand in it as halves of surrogate pairs, so that what follows can be read.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""
        self.text = ""
        self.at = 0
        self.line = 1
        self.ended = False
        self._has_bad = False
        self.bad: str | None = None
        """Why the value that was read last is no good, though it reads as JSON."""

    def grow(self) -> bool:
        """Take in at least as much again as is left; False at the end of the input."""
        wanted = max(len(self.text) - self.at, 1)
        parts = [self.text[self.at :]]
        self.line += self.text.count("\n", 0, self.at)
        self.at = 0
        grown = 0
        while grown < wanted and not self.ended:
            chunk = next(self._chunks, None)
            if chunk is None:
                self.ended = True
                part = self._decoded(self._rest)
                self._rest = b""
            else:
                data = self._rest + chunk
                whole = _whole_characters(data)
                part, self._rest = self._decoded(data[:whole]), data[whole:]
            parts.append(part)
            grown += len(part)
        self.text = "".join(parts)
        return grown > 0

    def _decoded(self, data: bytes) -> str:
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            self._has_bad = True
            return data.decode("utf-8", "surrogateescape")

    def skip_blank(self) -> str:
        """The next character that is no blank, not taken; empty at the end of the input."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _AROUND:
                self.at += 1
            if self.at < len(self.text) or not self.grow():
                return self.text[self.at : self.at + 1]

    def line_here(self) -> int:
        """The number of the line reached."""
        return self.line + self.text.count("\n", 0, self.at)

    def value(self, reader: _Reader) -> JSON:
        """The value that begins here, taken.

        Raises:
            ValueError: no JSON, or the input ends within it.

        """
        while True:
            try:
                value, end = reader.read(self.text, self.at)
            except ValueError as error:
                reader.taken()
                if _is_hopeless(error, len(self.text)) or not self.grow():
                    raise
                continue
            # What ends with the text may be a number that goes on in the next chunk.
            if end < len(self.text) or not self.grow():
                bad = _BAD_BYTE.search(self.text, self.at, end) if self._has_bad else None
                self.bad = None if bad is None else f"no UTF-8: byte {ord(bad[0]) - 0xDC00:#04x}"
                self.at = min(end, len(self.text))
                return value
            reader.taken()

    def pass_over(self) -> bool:
        """Step over a broken object or array, to after the bracket that closes it; False when none does."""
        depth = 0
        if self.text[self.at : self.at + 1] not in ("{", "["):
            return False
        while True:
            for token in _STRUCTURE.finditer(self.text, self.at):
                kind = token.group()
                if kind == '"':
                    break
                depth += kind in ("{", "[")
                depth -= kind in ("}", "]")
                if depth < 0:
                    return False
                self.at = token.end()
                if depth == 0:
                    return True
            else:
                self.at = len(self.text)
            if not self.grow():
                return False


def _whole_characters(data: bytes) -> int:
    """How many of the bytes are whole characters: all but a character begun at the end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return len(data)
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) if back >= length else len(data) - back
    return len(data)


def _is_hopeless(error: ValueError, size: int) -> bool:
    """Whether more text cannot mend it: the decoder stopped well before the end of what it had."""
    if not isinstance(error, json.JSONDecodeError):
        return True
    return not error.msg.startswith("Unterminated string") and error.pos < size - 16


def _taken(text: _Text, position: Position, value: JSON, reader: _Reader) -> Found | Refused:
    notes = reader.taken()
    return Found(position, value, notes) if text.bad is None else Refused(position, text.bad)


def array_items(chunks: Iterable[bytes], path: str = "") -> Iterator[Found | Refused]:
    """The items of one or several arrays, at ``path[index]``; a broken item that is closed stops nothing."""
    text, reader, index = _Text(chunks), _Reader(), 0
    while text.skip_blank() == "[":
        text.at += 1
        if text.skip_blank() == "]":
            text.at += 1
            continue
        while True:
            position = f"{path}[{index}]"
            if not text.skip_blank():
                yield Refused(position, "the input ends before the array does")
                return
            try:
                value = text.value(reader)
            except ValueError as error:
                cut = text.ended and is_open(text.text[text.at :])
                yield Refused(position, _reason(error, text.at, cut=cut))
                if cut:
                    return
                if not text.pass_over():
                    yield Refused(position, "what follows in the array cannot be told apart")
                    return
            else:
                yield _taken(text, position, value, reader)
            index += 1
            mark = text.skip_blank()
            if mark == ",":
                text.at += 1
            elif mark == "]":
                text.at += 1
                break
            else:
                missing = (
                    "the input ends before the array does" if not mark else f"a comma is missing at {mark!a}"
                )
                yield Refused(f"{path}[{index}]", missing)
                return
    if text.skip_blank():
        yield Refused(text.line_here(), "after the array there is more that is no array")


def document_values(chunks: Iterable[bytes]) -> Iterator[Found | Refused]:
    """Values over several lines, one after the other; each is at the line where it begins."""
    text, reader = _Text(chunks), _Reader()
    while text.skip_blank():
        position = text.line_here()
        try:
            value = text.value(reader)
        except ValueError as error:
            cut = text.ended and is_open(text.text[text.at :])
            yield Refused(position, _reason(error, text.at, cut=cut))
            return
        yield _taken(text, position, value, reader)


def first_value(text: str) -> JSON:
    """The value that the text begins with.

    Raises:
        IncompleteError: more text may complete it.
        ValueError: it is no JSON.

    """
    try:
        return _Reader().read(text)[0]
    except ValueError as error:
        if _is_hopeless(error, len(text)):
            raise
        raise IncompleteError from None
