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
from collections import deque
from collections.abc import Iterable, Iterator

from convostore.schemas.formats.items import Found, Position, Refused
from convostore.schemas.formats.json_text import (
    AROUND,
    BLANK,
    LONG,
    JsonReader,
    JsonText,
    is_hopeless,
    is_open,
)
from convostore.schemas.json_values import JSON

__all__ = [
    "IncompleteError",
    "array_items",
    "decode",
    "document_values",
    "first_value",
    "line_values",
    "lines",
]

_SHOWN = 40


class IncompleteError(ValueError):
    """A JSON value that goes on beyond the text at hand."""


def decode(text: str, position: Position) -> Found | Refused:
    """The one value that ``text`` holds."""
    return _decoded(JsonReader(), text, position, cut=False)


def _decoded(reader: JsonReader, text: str, position: Position, *, cut: bool) -> Found | Refused:
    """The same; ``cut`` says that the input ends with the text, perhaps within the value."""
    start = len(text) - len(text.lstrip(AROUND))
    try:
        value, end = reader.read(text, start)
    except ValueError as error:
        reader.taken()
        return Refused(position, _reason(error, start, cut=cut and is_open(text)))
    rest = text[end:].strip(BLANK)
    if rest:
        reader.taken()
        return Refused(position, f"after the JSON value there is more: {rest[:_SHOWN]!a}")
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
    for number, line, ended in _line_pieces(chunks, None):
        yield number, line, bool(ended)


def _line_pieces(chunks: Iterable[bytes], most: int | None) -> Iterator[tuple[int, bytes, bool | None]]:
    """The same; of a line of more than ``most`` bytes the beginning, and None because it goes on."""
    number, parts, size, begun = 1, list[bytes](), 0, False
    for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            parts.append(chunk[start:end])
            yield number, _joined(parts), True
            number, start, size, begun = number + 1, end + 1, 0, False
        if start < len(chunk):
            parts.append(chunk[start:])
            size += len(chunk) - start
            if most is not None and size > most:
                yield number, _joined(parts), None
                size, begun = 0, True
    if parts or begun:
        yield number, _joined(parts), False


def _joined(parts: list[bytes]) -> bytes:
    """The parts as one, taken out of the list: a line may be large."""
    line = parts[0] if len(parts) == 1 else b"".join(parts)
    parts.clear()
    return line


def line_values(chunks: Iterable[bytes]) -> Iterator[Found | Refused]:
    """JSON Lines: one value a line; blank lines are passed over, a broken line does not stop the rest.

    Objects behind each other on one line, as files that were joined without a line end have them, are taken
    one by one.
    """
    reader = JsonReader()
    pieces = _line_pieces(chunks, LONG)
    for number, line, ended in pieces:
        if ended is None:
            long = _LongLine(number, line, pieces).read()
            del line
            if long:
                yield long.pop()  # so that nothing here holds it any more: it may be large
            continue
        try:
            text = line.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            yield Refused(number, _no_utf8(error.start, line[error.start]))
            continue
        if not text.strip(AROUND):
            continue
        value = _decoded(reader, text, number, cut=not ended)
        if isinstance(value, Found):
            yield _told(value, line)
            continue
        apart = _apart(reader, text)
        if len(apart) < 2:
            yield value
        for piece in apart if len(apart) > 1 else ():
            value = _decoded(reader, piece, number, cut=not ended and piece is apart[-1])
            yield _told(value, piece.encode("utf-8", "surrogatepass")) if isinstance(value, Found) else value


def _told(value: Found, line: bytes) -> Found:
    """The value with what is known of the bytes that it was written as."""
    digest = hashlib.sha256(line.strip()).hexdigest()
    return Found(value.position, value.value, value.notes, digest, len(line))


def _apart(reader: JsonReader, text: str) -> list[str]:
    """The objects that stand behind each other on a line, and what is left of it; nothing when none do."""
    found, at = list[str](), 0
    while text.startswith("{", at := _after_blank(text, at)):
        try:
            end = reader.read(text, at)[1]
        except ValueError:
            break
        finally:
            reader.taken()
        found.append(text[at:end])
        at = end
    rest = text[at:]
    return [*found, rest] if rest and (len(found) > 1 or rest.startswith("{")) else found


def _after_blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in AROUND:
        at += 1
    return at


def _no_utf8(place: int, byte: int) -> str:
    return f"no UTF-8: byte {place + 1} is {byte:#04x}"


class _LongLine:
    """A line that is read in pieces, in memory for its value and little more."""

    def __init__(self, number: int, first: bytes, pieces: Iterator[tuple[int, bytes, bool | None]]) -> None:
        self._number = number
        self._first = first
        self._pieces = pieces
        self._hash = hashlib.sha256()
        self._size = 0
        self._blank = b""
        self._ended: bool | None = None

    def _bytes(self) -> Iterator[bytes]:
        """The bytes of the line, counted and hashed."""
        yield self._counted(self._first)
        self._first = b""
        while self._ended is None:
            _, piece, self._ended = next(self._pieces, (0, b"", False))
            yield self._counted(piece)

    def _counted(self, piece: bytes) -> bytes:
        # Blanks around the line are not hashed: those at an end wait for what follows.
        inside = self._blank + piece if self._size else piece.lstrip()
        self._size += len(piece)
        stripped = inside.rstrip()
        self._hash.update(stripped)
        self._blank = inside[len(stripped) :]
        return piece

    def read(self) -> list[Found | Refused]:
        """What the line holds, which is nothing when it is blank; all of it is read."""
        content = self._bytes()
        text, reader = JsonText(content), JsonReader()
        try:
            if not text.skip_blank():
                return []
            value = text.value(reader)
            rest = text.skip_blank(BLANK)
        except ValueError as error:
            reason, is_whole = _reason(error, text.begun), text.pass_over()
            deque(content, maxlen=0)
            cut = not self._ended and not is_whole
            found = Refused(self._number, _reason(error, cut=True) if cut else reason)
        else:
            if not rest and text.first_bad is None:
                return [Found(self._number, value, reader.taken(), self._hash.hexdigest(), self._size)]
            while len(text.text) - text.at < _SHOWN and text.grow():
                pass
            rest = text.text[text.at :].strip(BLANK)[:_SHOWN]
            found = Refused(self._number, f"after the JSON value there is more: {rest!a}")
        deque(content, maxlen=0)
        return [found if text.first_bad is None else Refused(self._number, _no_utf8(*text.first_bad))]


def _read(text: JsonText, position: Position, reader: JsonReader) -> Found | Refused:
    value = text.value(reader)
    notes = reader.taken()
    return Found(position, value, notes) if text.bad is None else Refused(position, text.bad)


def array_items(chunks: Iterable[bytes], path: str = "") -> Iterator[Found | Refused]:
    """The items of one or several arrays, at ``path[index]``; a broken item that is closed stops nothing."""
    text, reader, index = JsonText(chunks), JsonReader(), 0
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
                found = [_read(text, position, reader)]
            except ValueError as error:
                cut = text.is_cut()
                yield Refused(position, _reason(error, text.begun, cut=cut))
                if cut:
                    return
                if not text.pass_over():
                    yield Refused(position, "what follows in the array cannot be told apart")
                    return
            else:
                yield found.pop()  # so that nothing here holds it any more: it may be large
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
    text, reader = JsonText(chunks), JsonReader()
    while text.skip_blank():
        position = text.line_here()
        try:
            found = [_read(text, position, reader)]
        except ValueError as error:
            yield Refused(position, _reason(error, text.begun, cut=text.is_cut()))
            return
        yield found.pop()


def first_value(text: str) -> JSON:
    """The value that the text begins with.

    Raises:
        IncompleteError: more text may complete it.
        ValueError: it is no JSON.

    """
    try:
        return JsonReader().read(text)[0]
    except ValueError as error:
        if is_hopeless(error, len(text)):
            raise
        raise IncompleteError from None
