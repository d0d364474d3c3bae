"""Milliseconds since 1970 as RFC 3339 text and back, as Anda writes it. Pure; no clock."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from convostore.schemas.errors import InvalidRecordError

__all__ = ["read_rfc3339", "rfc3339", "rfc3339_offset"]

# What chrono, Anda's calendar, can say: the years -262,143 to 262,142.
_FIRST, _LAST = -8_334_601_228_800_000, 8_210_266_876_799_999
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)


def rfc3339(ms: int) -> str | None:
    """The u64 read as signed milliseconds since 1970, with three digits of a second and ``Z``.

    None where Anda's calendar has no such day; from 2^63 on the time lies before 1970 (``spec/anda.md`` 7.5).

    >>> rfc3339(1_700_000_000_000)
    '2023-11-14T22:13:20.000Z'
    """
    signed = ms - 2**64 if ms >= 2**63 else ms
    if not _FIRST <= signed <= _LAST:
        return None
    seconds, rest = divmod(signed, 1000)
    return f"{_seconds(seconds)}.{rest:03}Z"


def rfc3339_offset(ms: int) -> str | None:
    """The same with ``+00:00``, and digits of a second only when there are any (``spec/anda.md`` 4.3).

    >>> rfc3339_offset(1_700_000_000_512), rfc3339_offset(1_700_000_000_000)
    ('2023-11-14T22:13:20.512+00:00', '2023-11-14T22:13:20+00:00')
    """
    text = rfc3339(ms)
    return None if text is None else text[:-1].removesuffix(".000") + "+00:00"


def _seconds(seconds: int) -> str:
    days, second = divmod(seconds, 86_400)
    # The calendar repeats every 400 years, which are 146,097 days; Python's datetime knows the ones from
    # 2000.
    era, day = divmod(days - 10_957, 146_097)
    date = datetime(2000, 1, 1) + timedelta(days=day, seconds=second)
    year = date.year + 400 * era
    shown = f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"
    return f"{shown}-{date:%m-%dT%H:%M:%S}"


def read_rfc3339(text: str, path: str) -> int:
    """The time as milliseconds since 1970, cut to whole ones.

    Raises:
        InvalidRecordError: it is no RFC 3339 time with a zone, or lies before 1970.

    """
    found = _RFC3339.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidRecordError(path, f"{ascii(text)[:60]} is no RFC 3339 time, as 2026-03-08T12:00:00Z is")
    *parts, fraction, sign, hours, minutes = found.groups()
    try:
        moment = datetime(*map(int, parts), tzinfo=timezone.utc)  # type: ignore[misc, arg-type]
        moment -= timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    except (ValueError, OverflowError):
        raise InvalidRecordError(path, f"{ascii(text)[:60]} names no day or time that exists") from None
    ms = (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)
    ms += int((fraction or "").ljust(3, "0")[:3])
    if ms < 0:
        raise InvalidRecordError(path, f"{ascii(text)[:60]} lies before 1970")
    return ms
