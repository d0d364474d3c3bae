"""JSON text as Anda's own reader and writer, serde_json, has it (``spec/anda.md`` 7.6). Pure."""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring
from typing import NoReturn

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON

__all__ = ["anda_text", "load_json"]

_HINT = re.compile(r"e[+-]\d")
_EXPONENT = re.compile(r"(?:^|[\[,:])-?\d+(?:\.\d+)?e[+-]\d")
_HALF = re.compile("[\ud800-\udfff]")
# One encoder, since json.dumps makes one at every call that asks for this.
_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def load_json(source: str | bytes, *, strict: bool = False, path: str = "") -> JSON:
    """The value of a JSON text; of a key given twice the last one counts, a byte order mark is overlooked.

    Raises:
        InvalidRecordError: it is no JSON, no UTF-8, or nests too deeply; with ``strict`` also what Python
        reads
            beyond JSON: NaN, infinities, and halves of surrogate pairs.

    """
    where = path or "conversation"
    try:
        text = source.decode("utf-8-sig") if isinstance(source, bytes) else source.removeprefix("\ufeff")
        value = json.loads(text, parse_constant=_refuse_constant) if strict else json.loads(text)
        if strict:
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise InvalidRecordError(where, "nests too deeply") from None
    except UnicodeEncodeError:
        raise InvalidRecordError(where, "has half a surrogate pair in it") from None
    except ValueError as error:
        raise InvalidRecordError(where, f"is no JSON: {error}") from None
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def anda_text(value: JSON) -> str:
    """Compact JSON: letters unescaped, floats in their shortest text (``1.0``, ``1e16``, ``0.00001``).

    Halves of surrogate pairs, which serde_json cannot hold, are escaped, so that the text always goes into
    UTF-8.

    Raises:
        InvalidRecordError: a float is NaN or infinite, the value nests too deeply, or it is no JSON.

    """
    try:
        text = _compact(value)
        # The first two questions spare most texts the third, which takes longer than writing them.
        if ("e-" in text or "e+" in text) and _HINT.search(text) and _EXPONENT.search(text):
            # Only an exponent is written differently by Python; a string that looks like one costs time only.
            text = _written(value)
    except RecursionError:
        raise InvalidRecordError("value", "nests too deeply for JSON text") from None
    except (ValueError, TypeError) as error:
        raise InvalidRecordError("value", f"cannot be said in JSON: {error}") from None
    return text if text.isascii() else _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _written(value: JSON) -> str:
    if isinstance(value, dict):
        # Loops, as comprehensions take a second frame a level and could not go as deep as a message may.
        members = []
        for name, item in value.items():
            members.append(f"{encode_basestring(name)}:{_written(item)}")
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        items = []
        for item in value:
            items.append(_written(item))
        return "[" + ",".join(items) + "]"
    if isinstance(value, float):
        return _float_text(value)
    return json.dumps(value, ensure_ascii=False)


def _float_text(value: float) -> str:
    mantissa, found, exponent = repr(value).partition("e")
    if not found:
        return mantissa
    if int(exponent) == -5:
        # serde_json goes one place further than Python before it takes an exponent.
        sign, digits = ("-", mantissa[1:]) if value < 0 else ("", mantissa)
        return f"{sign}0.0000{digits.replace('.', '')}"
    return f"{mantissa}e{int(exponent)}"
