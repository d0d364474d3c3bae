"""A JSON text that is read value by value, exactly as written, in the memory of one value. Pure.

Of a value that is long itself the members are read one by one, so that its text is never held as a whole.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable

from convostore.schemas.json_values import JSON

__all__ = [
    "AROUND",
    "BLANK",
    "LONG",
    "JsonReader",
    "JsonText",
    "beginning",
    "is_hopeless",
    "is_inside_text",
    "is_open",
]

LONG = 1 << 20
"""Bytes of a line, or characters of a value, from which it is read in pieces."""

BLANK = " \t\r\n"
AROUND = BLANK + "\ufeff"
"""What may stand around a value: a byte order mark, too."""

_SHORT = 64  # characters of a text that may well occur again: an id, a role, a kind
_BAD_BYTE = re.compile("[\udc80-\udcff]")
_NUMBER_END = len("e+")  # of a number's characters so many may stand behind what is one already

# A whole text, a bracket, or the quotation mark of a text that does not end.
_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}"]', re.DOTALL)


class JsonReader:
    """A JSON decoder that remembers keys that occurred twice in the value being read."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.texts: dict[str, str] | None = None
        """While a large value is read: its keys and short texts, so that equal ones are one in memory."""
        self._decoder = json.JSONDecoder(object_pairs_hook=self.object, parse_float=_float)

    def object(self, pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
        """The object of these members; a key that occurs twice is noted."""
        if self.texts is not None:
            pairs = [(self.shared(key), self.shared(value)) for key, value in pairs]
        found = dict(pairs)
        if len(found) != len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            self.notes.append(f"the key {twice!a} occurs twice in one object; the last value was taken")
        return found

    def shared(self, value: JSON) -> JSON:
        """The value; of a short text the one that equals it and was read before."""
        if self.texts is None or type(value) is not str or len(value) > _SHORT:
            return value
        return self.texts.setdefault(value, value)

    def read(self, text: str, start: int = 0) -> tuple[JSON, int]:
        """The value that begins at ``start`` and where it ends; without it no notes.

        Raises:
            ValueError: it is no JSON, or not whole; RecursionError is turned into one.

        """
        noted = len(self.notes)
        try:
            return self._decoder.raw_decode(text, start)
        except RecursionError:
            del self.notes[noted:]
            raise ValueError("nested too deeply") from None
        except ValueError:
            del self.notes[noted:]
            raise

    def taken(self) -> tuple[str, ...]:
        """The notes since the last call."""
        if not self.notes:
            return ()
        notes, self.notes = tuple(dict.fromkeys(self.notes)), []
        return notes


def beginning(text: str) -> JSON:
    """What a text says of the value that it is the beginning of: objects and arrays end where the text does.

    So may a number.

    Raises:
        ValueError: it begins neither an object nor an array.

    """
    return _beginning(JsonReader(), text, _after_blank(text, 0, AROUND))[0]


def _beginning(reader: JsonReader, text: str, at: int) -> tuple[JSON, int | None]:
    """The value at ``at`` and where it ends; None when what there is of it was given."""
    try:
        return reader.read(text, at)
    except ValueError:
        if text[at : at + 1] not in ("{", "["):
            raise
    is_object = text[at] == "{"
    items: list[JSON] = []
    place: int | None = at + 1
    try:
        while place is not None:
            place = _after_blank(text, place)
            if is_object:
                key, end = reader.read(text, place)
                value, place = _beginning(reader, text, _after_blank(text, _after_blank(text, end) + 1))
                items.append((key, value))
            else:
                value, place = _beginning(reader, text, place)
                items.append(value)
            if place is not None:
                place = _after_blank(text, place) + 1  # a comma
    except ValueError:
        pass
    return (dict(items) if is_object else items), None


def _after_blank(text: str, at: int, blank: str = BLANK) -> int:
    while at < len(text) and text[at] in blank:
        at += 1
    return at


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is beyond the range of doubles")
    return value


def is_inside_text(text: str) -> bool:
    """Whether the JSON stops inside a text."""
    return any(token.group() == '"' for token in _STRUCTURE.finditer(text))


def is_open(text: str, depth: int = 0) -> bool:
    """Whether the JSON, which begins ``depth`` levels deep, stops inside an object, an array or a text."""
    for token in _STRUCTURE.finditer(text):
        kind = token.group()
        if kind == '"':
            return True
        depth += kind in ("{", "[")
        depth -= kind in ("}", "]")
    return depth > 0


class JsonText:
    """A text that grows from chunks; what was read is forgotten.

    Bytes that are no UTF-8 stand in it as halves of surrogate pairs, so that what follows can be read.
    Of a value of more than ``LONG`` characters the members are read one by one, so that its text is never
    held as a whole.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""
        self.text = ""
        self.at = 0
        self.line = 1
        self.ended = False
        self.begun = 0
        """Where the value began that was read last; below 0 when that was forgotten."""
        self.depth = 0
        """The objects and arrays inside of which reading stopped."""
        self._decoded = 0
        self.first_bad: tuple[int, int] | None = None
        """The place of the first byte that is no UTF-8, from 0, and the byte."""
        self.bad: str | None = None
        """Why the value that was read last is no good, though it reads as JSON."""

    def grow(self) -> bool:
        """Take in at least as much again as is left; False at the end of the input."""
        wanted = max(len(self.text) - self.at, 1)
        parts = [self.text[self.at :]]
        self.line += self.text.count("\n", 0, self.at)
        self.begun -= self.at
        self.at = 0
        grown = 0
        while grown < wanted and not self.ended:
            chunk = next(self._chunks, None)
            if chunk is None:
                self.ended = True
                part = self._text_of(self._rest)
                self._rest = b""
            else:
                data = self._rest + chunk
                whole = _whole_characters(data)
                part, self._rest = self._text_of(data[:whole]), data[whole:]
            parts.append(part)
            grown += len(part)
        self.text = "".join(parts)
        return grown > 0

    def _text_of(self, data: bytes) -> str:
        before = self._decoded
        self._decoded += len(data)
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            if self.first_bad is None:
                self.first_bad = before + error.start, data[error.start]
            return data.decode("utf-8", "surrogateescape")

    def skip_blank(self, blank: str = AROUND) -> str:
        """The next character that is no blank, not taken; empty at the end of the input."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in blank:
                self.at += 1
            if self.at < len(self.text) or not self.grow():
                return self.text[self.at : self.at + 1]

    def line_here(self) -> int:
        """The number of the line reached."""
        return self.line + self.text.count("\n", 0, self.at)

    def value(self, reader: JsonReader) -> JSON:
        """The value that begins here, taken.

        Raises:
            ValueError: no JSON, or the input ends within it.

        """
        self.begun, self.depth, self.bad = self.at, 0, None
        reader.texts = None
        try:
            return self._value(reader)
        except RecursionError:
            raise ValueError("nested too deeply") from None

    def _value(self, reader: JsonReader) -> JSON:
        while True:
            try:
                value, end = reader.read(self.text, self.at)
            except ValueError as error:
                if is_hopeless(error, len(self.text)):
                    raise
                if len(self.text) - self.at > LONG and self.text[self.at] in "{[":
                    return self._members(reader)
                if not self.grow():
                    reader.read(self.text, self.at)  # told again, with its place in what is left
                    raise
                continue
            left = len(self.text) - end
            if left > _NUMBER_END or (left and type(value) not in (int, float)):
                self._take(end)
                return value
            # What ends here may be a number that goes on in the next chunk.
            noted, size = len(reader.notes), end - self.at
            if not self.grow():
                self._take(self.at + size)
                return value
            del reader.notes[noted:]

    def _take(self, end: int) -> None:
        """Step to the end of what was read."""
        if self.first_bad is not None and self.bad is None:
            bad = _BAD_BYTE.search(self.text, self.at, end)
            self.bad = None if bad is None else f"no UTF-8: byte {ord(bad[0]) - 0xDC00:#04x}"
        self.at = end

    def _members(self, reader: JsonReader) -> JSON:
        """The object or array that begins here, read member by member."""
        if reader.texts is None:
            reader.texts = {}
        is_object = self.text[self.at] == "{"
        end = "}" if is_object else "]"
        items: list[JSON] = []
        self.at += 1
        self.depth += 1
        if self.skip_blank(BLANK) != end:
            while True:
                if not is_object:
                    items.append(self._value(reader))
                else:
                    key = reader.shared(self._key(reader))
                    items.append((key, self._value(reader)))
                mark = self.skip_blank(BLANK)
                if mark == end:
                    break
                self._step(mark, ",", "Expecting ',' delimiter")
                self.skip_blank(BLANK)
        self.at += 1
        self.depth -= 1
        return reader.object(items) if is_object else items

    def _key(self, reader: JsonReader) -> str:
        """The key of a member, taken with the colon behind it."""
        if self.text[self.at : self.at + 1] != '"':
            raise self._error("Expecting property name enclosed in double quotes")
        key: str = self._value(reader)
        self._step(self.skip_blank(BLANK), ":", "Expecting ':' delimiter")
        self.skip_blank(BLANK)
        return key

    def _step(self, found: str, wanted: str, missing: str) -> None:
        if found != wanted:
            raise self._error(missing)
        self.at += 1

    def _error(self, missing: str) -> ValueError:
        return json.JSONDecodeError(missing, self.text, self.at)

    def is_cut(self) -> bool:
        """Whether the input ended within the value that could not be read."""
        return self.ended and is_open(self.text[self.at :], self.depth)

    def pass_over(self) -> bool:
        """Step over what is left of a broken object or array, to after the bracket that closes it.

        False when none does.
        """
        depth = self.depth
        if not depth and self.text[self.at : self.at + 1] not in ("{", "["):
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


def is_hopeless(error: ValueError, size: int) -> bool:
    """Whether more text cannot mend it: the decoder stopped well before the end of what it had."""
    if not isinstance(error, json.JSONDecodeError):
        return True
    return not error.msg.startswith("Unterminated string") and error.pos < size - 16
