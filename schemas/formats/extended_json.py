"""MongoDB's extended JSON, in its canonical form and of its first version, brought to the relaxed form. Pure.

``mongoexport`` writes relaxed extended JSON, or canonical when it is asked to; releases before 4.2 wrote
version 1. The same document gives the same JSON here whichever of them it came in, and so does a document
decoded from BSON and written relaxed: numbers are plain, an ObjectId is ``{"$oid": hex}``, a date
``{"$date": "2026-01-02T03:04:05.006Z"}``, bytes are ``{"$binary": {"base64", "subType"}}``.
"""

from __future__ import annotations

import base64
import math
import re
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Final

from dateutil.parser import isoparse

from convostore.schemas.json_values import JSON

__all__ = ["binary_of", "is_extended", "relaxed"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
# The years 1970 to 9999; other dates stay numbers in the relaxed form, too.
_DATES: Final = range(253_402_300_800_000)
_WHOLE: Final = re.compile(r"-?[0-9]{1,19}")
_NO_NUMBERS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def is_extended(document: JSON) -> bool:
    """Whether it is a document of MongoDB in extended JSON, judged by its members."""
    if not isinstance(document, dict):
        return False
    return any(isinstance(item, dict) and _type_of(item) is not None for item in document.values())


def relaxed(value: JSON) -> JSON:
    """The same value in the relaxed form; what only looks like a type of MongoDB's stays as it is."""
    if isinstance(value, list):
        return [relaxed(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = _type_of(value)
    if found is not None:
        try:
            return found(value)
        except (ValueError, TypeError, KeyError, ArithmeticError):
            return value
    return {name: relaxed(item) for name, item in value.items()}


def binary_of(value: JSON) -> bytes | None:
    """The bytes of a ``$binary``; None when it is none."""
    if not isinstance(value, dict) or set(value) != {"$binary"}:
        return None
    held = value["$binary"]
    text = held.get("base64") if isinstance(held, dict) else None
    if not isinstance(text, str):
        return None
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


def _type_of(value: dict[str, JSON]) -> Callable[[dict[str, JSON]], JSON] | None:
    if not 1 <= len(value) <= 2:
        return None
    return _TYPES.get(frozenset(value))


def _same(value: dict[str, JSON]) -> JSON:
    return value


def _whole(name: str) -> Callable[[dict[str, JSON]], JSON]:
    def read(value: dict[str, JSON]) -> JSON:
        text = value[name]
        if not isinstance(text, str) or not _WHOLE.fullmatch(text):
            raise ValueError
        return int(text)

    return read


def _double(value: dict[str, JSON]) -> JSON:
    text = value["$numberDouble"]
    if text in _NO_NUMBERS:
        return _NO_NUMBERS[text]
    number = float(text) if isinstance(text, str) else math.nan
    if not math.isfinite(number):
        raise ValueError
    return number


def _date(value: dict[str, JSON]) -> JSON:
    held = value["$date"]
    if isinstance(held, dict):
        held = _whole("$numberLong")(held) if set(held) == {"$numberLong"} else None
    elif isinstance(held, str):
        moment = isoparse(held)
        held = None if moment.tzinfo is None else (moment - _EPOCH) // timedelta(milliseconds=1)
    if type(held) is not int:
        raise ValueError
    if held not in _DATES:
        return {"$date": {"$numberLong": str(held)}}
    moment = _EPOCH + timedelta(milliseconds=held)
    fraction = f".{held % 1000:03}" if held % 1000 else ""
    return {"$date": f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"}


def _binary(value: dict[str, JSON]) -> JSON:
    held = value["$binary"]
    if not isinstance(held, dict):
        held = {"base64": held, "subType": value["$type"]}
    data = base64.b64decode(held["base64"], validate=True)
    return _binary_json(data, int(held["subType"], 16))


def _uuid(value: dict[str, JSON]) -> JSON:
    text = value["$uuid"]
    if not isinstance(text, str):
        raise ValueError
    return _binary_json(uuid.UUID(text).bytes, 4)


def _binary_json(data: bytes, kind: int) -> JSON:
    return {"$binary": {"base64": base64.b64encode(data).decode(), "subType": f"{kind:02x}"}}


def _regex(value: dict[str, JSON]) -> JSON:
    return {"$regularExpression": {"pattern": value["$regex"], "options": value["$options"]}}


_TYPES: Final[dict[frozenset[str], Callable[[dict[str, JSON]], JSON]]] = {
    frozenset({"$oid"}): _same,
    frozenset({"$date"}): _date,
    frozenset({"$numberInt"}): _whole("$numberInt"),
    frozenset({"$numberLong"}): _whole("$numberLong"),
    frozenset({"$numberDouble"}): _double,
    frozenset({"$numberDecimal"}): _same,
    frozenset({"$binary"}): _binary,
    frozenset({"$binary", "$type"}): _binary,
    frozenset({"$uuid"}): _uuid,
    frozenset({"$timestamp"}): _same,
    frozenset({"$regex", "$options"}): _regex,
    frozenset({"$regularExpression"}): _same,
    frozenset({"$undefined"}): _same,
    frozenset({"$minKey"}): _same,
    frozenset({"$maxKey"}): _same,
}
