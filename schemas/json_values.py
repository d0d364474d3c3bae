"""JSON as a value: what equal means, and a JSON text that loses nothing. Pure; knows no record.

Two values are the same when they are *equal JSON*: ``1``, ``1.0`` and ``True`` differ, the order of keys
counts, ``NaN`` equals ``NaN``, ``-0.0`` is not ``0.0``. Diff, save and the tests all use :func:`same_json`.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import math
import re
import struct
from collections.abc import Collection, Iterable, Iterator
from itertools import repeat
from typing import Any, TypeAlias

from convostore.schemas.errors import InvalidRecordError

__all__ = [
    "JSON",
    "MAX_DEPTH",
    "check_json",
    "dump_exact",
    "dump_readable",
    "dump_strict",
    "dump_text",
    "image",
    "images",
    "load_exact",
    "same_json",
    "text_digest",
]

JSON: TypeAlias = Any
"""None, bool, int, float, str, a list of JSON, or a dict from str to JSON; nothing else, no subclasses."""

MAX_DEPTH = 500
"""Levels of nesting a value may have; Python's own JSON encoder gives up near 1,000."""

_WIDE = 16  # members from which a value is written member by member
_MAX_INT_BITS = 14_283  # 4,300 digits: what Python turns into text and back by default
_HALF = re.compile("[\ud800-\udfff]")
_ATOMS = frozenset({type(None), bool, int, float, str})
# An encoder each, since json.dumps makes one at every call that asks for these separators.
_compact = json.JSONEncoder(separators=(",", ":")).encode
_strict = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode


def image(value: JSON) -> bytes | None:
    """The value's bytes, made in C: equal images mean the same JSON, but the same JSON may differ in image.

    ``None`` for what is no JSON. Version 2 of marshal writes no references, so it depends on the value alone;
    the bytes live only inside one process and are never stored.
    """
    try:
        return marshal.dumps(value, 2)
    except ValueError:
        return None


def images(values: Iterable[JSON]) -> list[bytes] | None:
    """The image of each value, in a fraction of the time of as many calls; None when one has none."""
    try:
        return list(map(marshal.dumps, values, repeat(2)))
    except ValueError:
        return None


def same_json(a: JSON, b: JSON) -> bool:
    """Whether both are equal JSON. Values that are no JSON are never the same as anything."""
    first = image(a)
    if first is not None and first == image(b):
        return not _holds_foreign(a)
    return _same(a, b)


def _holds_foreign(value: JSON) -> bool:
    # marshal also takes bytes, tuples, sets and complex numbers; JSON has none of them.
    waiting = [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind is dict:
            if any(type(key) is not str for key in item):
                return True
            waiting.extend(item.values())
        elif kind is list:
            waiting.extend(item)
        elif kind not in _ATOMS:
            return True
    return False


def _same(a: JSON, b: JSON) -> bool:
    # A list of what is still to compare, so that no depth is too deep.
    waiting = [(a, b)]
    while waiting:
        one, other = waiting.pop()
        kind = type(one)
        if kind is not type(other):
            return False
        if kind is dict:
            if list(one) != list(other) or any(type(key) is not str for key in one):
                return False
            waiting.extend(zip(one.values(), other.values(), strict=True))
        elif kind is list:
            if len(one) != len(other):
                return False
            waiting.extend(zip(one, other, strict=True))
        elif kind is float:
            same_bits = struct.pack("<d", one) == struct.pack("<d", other)
            if not same_bits and not (math.isnan(one) and math.isnan(other)):
                return False
        elif kind not in _ATOMS or one != other:
            return False
    return True


def check_json(value: JSON, path: str, *, index: int | None = None) -> None:
    """Refuse what JSON cannot say, with the path to it.

    Raises:
        InvalidRecordError: a datetime, set, tuple, bytes, Decimal, enum or other object; a key that is no
            text, or that JSON cannot tell from another one; a whole number of more than 4,300 digits; more
            than ``MAX_DEPTH`` levels.

    """
    try:
        _check(value, path, 0, index)
    except RecursionError:
        raise InvalidRecordError(
            path, f"nested too deeply; at most {MAX_DEPTH} levels", index=index
        ) from None


def _check(value: JSON, path: str, depth: int, index: int | None) -> None:
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is float:
        return
    if kind is int:
        if value.bit_length() > _MAX_INT_BITS:
            raise InvalidRecordError(path, "a whole number of more than 4,300 digits", index=index)
        return
    if depth >= MAX_DEPTH:
        raise InvalidRecordError(path, f"nested too deeply; at most {MAX_DEPTH} levels", index=index)
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                reason = f"a key of type {type(key).__name__}; JSON keys are text"
                raise InvalidRecordError(f"{path}[{key!a}]", reason, index=index)
            _check(item, f"{path}.{key}", depth + 1, index)
        if not _are_distinct(value):
            reason = "two keys that are one in JSON, where two halves of a surrogate pair are one character"
            raise InvalidRecordError(path, reason, index=index)
    elif kind is list:
        for place, item in enumerate(value):
            _check(item, f"{path}[{place}]", depth + 1, index)
    else:
        reason = f"a {kind.__name__} is no JSON; give text, a number, true, false, null, a list or a dict"
        raise InvalidRecordError(path, reason, index=index)


def _are_distinct(keys: Collection[str]) -> bool:
    odd = [key for key in keys if not key.isascii() and _HALF.search(key)]
    if not odd:
        return True
    joined = [key.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") for key in keys]
    return len(set(joined)) == len(joined)


def dump_text(value: JSON) -> str:
    """Compact ASCII JSON for the database: NaN and infinities as Python writes them, whole numbers whole."""
    return _compact(value)


def text_digest(value: JSON) -> tuple[str, int]:
    """The SHA-256 in hex, and the length, of what :func:`dump_text` gives, without making all of it."""
    hashed, size = hashlib.sha256(), 0
    for piece in _text_pieces(value):
        hashed.update(piece.encode("ascii"))
        size += len(piece)
    return hashed.hexdigest(), size


def _text_pieces(value: JSON) -> Iterator[str]:
    if type(value) is dict and (len(value) > _WIDE or any(map(_is_wide, value.values()))):
        mark = "{"
        for key, item in value.items():
            yield f"{mark}{dump_text(key)}:"
            yield from _text_pieces(item)
            mark = ","
        yield "}"
    elif type(value) is list and (len(value) > _WIDE or any(map(_is_wide, value))):
        mark = "["
        for item in value:
            yield mark
            yield from _text_pieces(item)
            mark = ","
        yield "]"
    else:
        yield dump_text(value)


def _is_wide(value: JSON) -> bool:
    return type(value) in (dict, list) and len(value) > _WIDE


# A text that any JSON parser reads and that gives the same value back: numbers that parsers round or refuse
# are tagged, and the key of a dict that looks like a tag gets one more "$".
_INT, _FLOAT = "$int", "$float"
_LIKE_A_TAG = re.compile(r"\$+(?:int|float)")
_WHOLE = re.compile(r"-?[0-9]+")
_SAFE = 2**53
_UNTAGGED = frozenset({str, type(None), bool})
_ONE_LINE = 90
_MOST_LINED = 256 << 10  # characters; Python's encoder with line breaks is no C


def dump_exact(value: JSON) -> str:
    """Compact ASCII JSON that every strict parser reads and :func:`load_exact` gives back as the same value.

    NaN and infinities become ``{"$float":"NaN"}``, whole numbers beyond 2^53
    ``{"$int":"9007199254740993"}`` (readers of doubles only would round them), and a dict whose only key
    is ``$int`` or ``$float``, with one or more ``$``, has that key written with one ``$`` more.
    """
    return _strict(_tagged(value))


def dump_strict(value: JSON) -> str:
    """Compact ASCII JSON as every strict parser reads it, nothing tagged.

    Raises:
        ValueError: there is a NaN or an infinity in it.

    """
    return _strict(value)


def dump_readable(value: JSON, *, lines: bool = False) -> str:
    """The same for people: letters are themselves, but for halves of surrogate pairs.

    In one line, or with ``lines`` over several, unless it is short, or too long or too deep for that.
    """
    tagged = _tagged(value)
    text = json.dumps(tagged, ensure_ascii=False, allow_nan=False)
    if _HALF.search(text):
        text = json.dumps(tagged, allow_nan=False)
    if not lines or not _ONE_LINE < len(text) <= _MOST_LINED:
        return text
    try:
        return json.dumps(tagged, indent=2, ensure_ascii=text.isascii(), allow_nan=False)
    except RecursionError:
        return text


# Both ways take one frame a level (a comprehension would take two), so that MAX_DEPTH of them fit the stack.
def _tagged(value: JSON) -> JSON:
    """The value with its tags; itself when it needs none, as nearly all do."""
    kind = type(value)
    if kind is dict:
        plain = value
        for key, item in value.items():
            if type(item) not in _UNTAGGED and (tagged := _tagged(item)) is not item:
                if plain is value:
                    plain = value.copy()
                plain[key] = tagged
        if len(plain) == 1 and _LIKE_A_TAG.fullmatch(key):
            return {"$" + key: plain[key]}
        return plain
    if kind is list:
        items = value
        for place, item in enumerate(value):
            if type(item) not in _UNTAGGED and (tagged := _tagged(item)) is not item:
                if items is value:
                    items = value.copy()
                items[place] = tagged
        return items
    if kind is int and not -_SAFE <= value <= _SAFE:
        return {_INT: str(value)}
    if kind is float and not math.isfinite(value):
        return {_FLOAT: "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    return value


def load_exact(text: str | bytes) -> JSON:
    """The value that :func:`dump_exact` wrote.

    Raises:
        ValueError: the text is no JSON, or a tag holds what it cannot.

    """
    try:
        value = json.loads(text)
        sign = '"$' if isinstance(text, str) else b'"$'
        return _untagged(value) if sign in text else value  # type: ignore[operator]  # of the same kind
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _untagged(value: JSON) -> JSON:
    kind = type(value)
    if kind is list:
        items = []
        for item in value:
            items.append(item if type(item) is str else _untagged(item))
        return items
    if kind is not dict:
        return value
    escaped = False
    if len(value) == 1:
        tag, held = next(iter(value.items()))
        if tag in (_INT, _FLOAT):
            return _number(tag, held)
        escaped = _LIKE_A_TAG.fullmatch(tag) is not None
    plain = {}
    for key, item in value.items():
        plain[key[1:] if escaped else key] = item if type(item) is str else _untagged(item)
    return plain


def _number(tag: str, held: JSON) -> int | float:
    if tag == _INT and type(held) is str and _WHOLE.fullmatch(held):
        return int(held)
    if tag == _FLOAT and held in ("NaN", "Infinity", "-Infinity"):
        return float(held)
    raise ValueError(f"{tag} holds {held!a:.80}, which it cannot")
