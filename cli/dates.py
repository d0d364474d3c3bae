"""Times as people write them, to milliseconds since 1970 and back. Pure; ``now`` is given."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from convostore.schemas.errors import QueryError

__all__ = ["parse_moment", "show_moment", "zone_named"]

_UNITS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000}
_AGO = re.compile(r"(\d{1,9})([wdhms])")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MS = re.compile(r"\d{1,20}")
_FORMS = "give 2026-03-08, 2026-03-08T12:00:00Z, milliseconds since 1970, or 90d for 90 days ago"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def zone_named(name: str) -> tzinfo:
    """The time zone of that name.

    Raises:
        QueryError: there is none.

    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise QueryError("tz", f"{name!a} is no time zone, as Europe/Berlin is one") from None


def parse_moment(text: str, parameter: str, zone: tzinfo, now: int) -> int:
    """The moment in milliseconds: a date is its midnight in ``zone``, ``90d`` is that long before ``now``.

    Units of a time ago: w, d, h, m (minutes), s. A time of day without a zone is in ``zone``.

    Raises:
        QueryError: it is none of these, no day that exists, or before 1970.

    """
    found = text.strip()
    ago = _AGO.fullmatch(found)
    if ago is not None:
        return max(0, now - int(ago[1]) * _UNITS[ago[2]])
    if _MS.fullmatch(found):
        return int(found)
    try:
        # Python 3.10 reads no "Z".
        moment = datetime.fromisoformat(found[:-1] + "+00:00" if found[-1:] in ("Z", "z") else found)
    except ValueError:
        what = "is no day that exists" if _DATE.match(found) else "is no time"
        raise QueryError(parameter, f"{text!a} {what}; {_FORMS}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    try:
        ms = (moment - _EPOCH) // timedelta(milliseconds=1)
    except OverflowError:
        ms = -1
    if ms < 0:
        raise QueryError(parameter, f"{text!a} lies before 1970")
    return ms


def show_moment(ms: int | None, zone: tzinfo) -> str:
    """The moment to the second in ``zone``, with the zone's offset; ``-`` for none."""
    if ms is None:
        return "-"
    try:
        moment = _EPOCH + timedelta(milliseconds=ms)
        return moment.astimezone(zone).isoformat(sep=" ", timespec="seconds")
    except OverflowError:
        return f"{ms} ms"
