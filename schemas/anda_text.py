"""JSON text exactly as Anda's own writer, serde_json, makes it (``spec/anda.md`` 7.6). Pure."""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON

__all__ = ["anda_text"]

_EXPONENT = re.compile(r"\d[eE][+-]\d")
_HALF = re.compile("[\ud800-\udfff]")


def anda_text(value: JSON) -> str:
    """Compact JSON: letters unescaped, floats in their shortest text (``1.0``, ``1e16``, ``0.00001``).

    Halves of surrogate pairs, which serde_json cannot hold, are escaped, so that the text always goes into
    UTF-8.

    Raises:
        InvalidRecordError: a float is NaN or infinite, the value nests too deeply, or it is no JSON.

    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if _EXPONENT.search(text):
            # Only an exponent is written differently by Python; texts that look like one are harmless.
            text = _written(value)
    except (ValueError, TypeError) as error:
        raise InvalidRecordError("value", f"cannot be said in JSON: {error}") from None
    except RecursionError:
        raise InvalidRecordError("value", "nests too deeply for JSON text") from None
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _written(value: JSON) -> str:
    if isinstance(value, dict):
        members = (f"{encode_basestring(name)}:{_written(item)}" for name, item in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, float):
        return _float_text(value)
    return json.dumps(value, ensure_ascii=False)


def _float_text(value: float) -> str:
    text = repr(value)
    mantissa, found, exponent = text.partition("e")
    if not found:
        return text
    power = int(exponent)
    if power == -5:
        # serde_json goes one place further than Python before it takes an exponent.
        sign, digits = ("-", mantissa[1:]) if value < 0 else ("", mantissa)
        return f"{sign}0.0000{digits.replace('.', '')}"
    return f"{mantissa}e{power}"
