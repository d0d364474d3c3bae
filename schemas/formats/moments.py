"""The times of foreign sources as milliseconds since 1970. Pure.

What a source writes is either a time, or it is none and said so: nothing is guessed. Clocks that are part of
an identifier which the source made itself (the ObjectId of MongoDB, UUID version 7) are times too.
"""

from __future__ import annotations

import math
import re
import uuid
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Literal

from dateutil.parser import isoparse

from convostore.schemas.anda_times import read_rfc3339
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.json_values import JSON

__all__ = ["Moments", "clock_of"]

_UNREADABLE = "times that cannot be read, or not in one way only, are missing"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_OBJECT_ID = re.compile(r"[0-9a-fA-F]{24}")
# Whether a number counts seconds or milliseconds shows where only one of the two gives a time of computers.
_SECONDS = range(10**8, 10**10)
_MILLISECONDS = range(10**11, 10**14)
# MongoDB's first release, and the last second that its ObjectIds count; the draft of UUID version 7.
_OBJECT_IDS = range(1_230_768_000, 2**32)
_UUID7S = range(1_577_836_800_000, 4_102_444_800_000)


class Moments:
    """Reads the times of one conversation; what it cannot read it remarks."""

    def __init__(self, remarks: Remarks, numbers: Literal["seconds", "milliseconds"] | None = None) -> None:
        """``numbers`` says what plain numbers count; without it their size must leave no doubt."""
        self._remarks = remarks
        self._numbers = numbers

    def read(self, value: JSON) -> int | None:
        """The time; None where the source gives none (null), or none that can be read.

        Taken are RFC 3339 and other ISO 8601 texts that name a zone, numbers, and MongoDB's extended JSON
        (``{"$date": ...}``). Parts of a millisecond are cut off.
        """
        if value is None:
            return None
        try:
            return self._read(value)
        except (InvalidRecordError, ValueError, ArithmeticError):
            self._remarks.add(_UNREADABLE, value)
            return None

    def read_or_clock(self, value: JSON, *ids: JSON) -> int | None:
        """The same; where the source gives no time, that of the first of the identifiers with a clock."""
        made = self.read(value)
        if made is not None:
            return made
        made = next((clock for clock in map(clock_of, ids) if clock is not None), None)
        if made is not None:
            self._remarks.add("times taken from the clock in the source's own identifiers")
        return made

    def _read(self, value: JSON) -> int:
        if isinstance(value, dict) and set(value) == {"$date"}:
            date = value["$date"]
            if isinstance(date, dict) and set(date) == {"$numberLong"}:
                date = int(date["$numberLong"]) if isinstance(date["$numberLong"], str) else None
            if type(date) is int and 0 <= date < _MILLISECONDS.stop:
                return date
            value = date if isinstance(date, str) else None
        if isinstance(value, str):
            return _text(value)
        if type(value) is int or (type(value) is float and math.isfinite(value)):
            return self._number(value)
        raise ValueError

    def _number(self, value: int | float) -> int:
        counts = self._numbers
        whole = math.floor(value)
        if counts is None:
            counts = "seconds" if whole in _SECONDS else "milliseconds" if whole in _MILLISECONDS else None
        elif counts == "seconds" and whole in _MILLISECONDS:
            self._remarks.add("times written in milliseconds where seconds were expected", value)
            counts = "milliseconds"
        if whole < 0 or whole >= _MILLISECONDS.stop or counts is None:
            raise ValueError
        # The digits as they were written, not the double nearest to them.
        return math.floor(Decimal(repr(value)) * (1000 if counts == "seconds" else 1))


def _text(text: str) -> int:
    try:
        return read_rfc3339(text, "time")
    except InvalidRecordError:
        moment = isoparse(text)
    if moment.tzinfo is None:
        raise ValueError
    made: int = (moment - _EPOCH) // timedelta(milliseconds=1)
    if made < 0:
        raise ValueError
    return made


def clock_of(id: JSON) -> int | None:
    """The time in an identifier, in milliseconds; None when it has no clock.

    >>> clock_of("65c5f9e00000000000000001"), clock_of("0197b2e1-8c00-7000-8000-000000000000")
    (1707473376000, 1751052815360)
    """
    if isinstance(id, dict) and set(id) == {"$oid"}:
        id = id["$oid"]
    if not isinstance(id, str):
        return None
    if _OBJECT_ID.fullmatch(id):
        seconds = int(id[:8], 16)
        return seconds * 1000 if seconds in _OBJECT_IDS else None
    if len(id) != 36:
        return None
    try:
        found = uuid.UUID(id)
    except ValueError:
        return None
    made = found.int >> 80
    return made if found.version == 7 and made in _UUID7S else None
