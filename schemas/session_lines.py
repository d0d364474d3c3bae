"""The lines of saved sessions, ``rig-session/4``: read strictly, written exactly (``spec/rig.md`` 7). Pure.

A log is one JSON object a line: a stamp (``seq``, ``n``, ``t``), ``by`` where known, then one record.
What reads and writes files lives in ``store``; what the lines mean together is in ``session_logs``.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, TypeAlias

from convostore.schemas.authors import Author
from convostore.schemas.errors import InvalidRecordError, SessionFormatError
from convostore.schemas.json_values import JSON
from convostore.schemas.transcript import Change
from convostore.schemas.transcript.codec import change_from_json, change_to_json

__all__ = [
    "FORMAT",
    "Header",
    "Line",
    "Record",
    "Retired",
    "SavedValue",
    "Stamp",
    "read_line",
    "recovered_name",
    "split_torn",
    "stamp_of",
    "write_line",
]

FORMAT = "rig-session/4"


class Stamp(NamedTuple):
    """Place in the log, dense from 0; place in the session, rising; when it was written, ms since 1970."""

    seq: int
    n: int
    t: int


@dataclass(frozen=True, slots=True)
class Header:
    """The first record of a log: its name, its lineage, the agent that spawned it, who rewrote it."""

    log: str
    lineage: int
    parent: str | None = None
    rewrites: tuple[JSON, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedValue:
    """A saved value; the newest of a key counts, and null removes it."""

    key: str
    value: JSON = None


@dataclass(frozen=True, slots=True)
class Retired:
    """The agent is gone for good."""


Record: TypeAlias = Header | SavedValue | Retired | Change


@dataclass(frozen=True, slots=True)
class Line:
    """One line: when and where it was written, who made it, what it records."""

    stamp: Stamp
    record: Record
    by: Author | None = None


def split_torn(data: bytes) -> tuple[bytes, bytes]:
    """The whole lines of a log, and what follows the last newline: a line whose writing was cut off."""
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]


def recovered_name(log: str, torn: bytes) -> str:
    """The file that a torn line is set aside under."""
    return f"recovered/{log}-{hashlib.sha256(torn).hexdigest()}.part"


def write_line(line: Line) -> bytes:
    """The line with its newline: UTF-8 without blanks, members in rig's order."""
    written: dict[str, Any] = line.stamp._asdict()
    if line.by is not None:
        written["by"] = line.by.to_json()
    written |= _record_to_json(line.record)
    try:
        return (json.dumps(written, separators=(",", ":"), ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # a lone surrogate, which only its escape can say
        return (json.dumps(written, separators=(",", ":")) + "\n").encode()


def _record_to_json(record: Record) -> dict[str, Any]:
    if isinstance(record, Header):
        written = {"type": "header", "format": FORMAT, "log": record.log, "lineage": record.lineage}
        if record.parent is not None:
            written["parent"] = record.parent
        return {**written, "rewrites": list(record.rewrites)} if record.rewrites else written
    if isinstance(record, SavedValue):
        return {"type": "state", "key": record.key, "value": record.value}
    if isinstance(record, Retired):
        return {"type": "retired"}
    return change_to_json(record)


def read_line(data: bytes, log: str, number: int) -> Line:
    """Read line ``number`` (from 1) of a log, its record too.

    Raises:
        SessionFormatError: it is no such line; with the log, the line and why.

    """
    members = _members(data, log, number)
    stamp = _stamp(members, log, number)
    try:
        by = None if members.get("by") is None else Author.from_json(members["by"], "by")
        return Line(stamp, _record(members, log, number), by)
    except InvalidRecordError as error:
        raise SessionFormatError(str(error), file=log, position=number) from error


def stamp_of(data: bytes, log: str, number: int) -> tuple[Stamp, str]:
    """The stamp of a line and the type of its record, which is not read.

    Raises:
        SessionFormatError: the line is no JSON object, has no stamp or no type; for the first, is no
        header of this
            format and log.

    """
    members = _members(data, log, number)
    stamp = _stamp(members, log, number)
    kind = members.get("type")
    if not isinstance(kind, str):
        _refuse("has no type", log, number)
    if number == 1:
        _record(members, log, number)
    return stamp, kind


def _refuse(reason: str, log: str, number: int) -> NoReturn:
    raise SessionFormatError(reason, file=log, position=number)


def _members(data: bytes, log: str, number: int) -> dict[str, Any]:
    try:
        members = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SessionFormatError(f"is no JSON: {error}", file=log, position=number) from error
    if not isinstance(members, dict):
        _refuse("is no JSON object", log, number)
    return members


def _stamp(members: dict[str, Any], log: str, number: int) -> Stamp:
    found = [value for name in Stamp._fields if type(value := members.get(name)) is int and value >= 0]
    if len(found) < len(Stamp._fields):
        _refuse("has no stamp of seq, n and t", log, number)
    stamp = Stamp(*found)
    if stamp.seq != number - 1:
        _refuse(f"has seq {stamp.seq} where {number - 1} is due", log, number)
    return stamp


def _record(members: dict[str, Any], log: str, number: int) -> Record:
    kind = members.get("type")
    if (kind == "header") != (number == 1):
        _refuse("the header is the first line and no other", log, number)
    if kind == "header":
        return _header(members, log, number)
    if kind == "state":
        if not isinstance(members.get("key"), str):
            _refuse("a saved value has a key", log, number)
        return SavedValue(members["key"], members.get("value"))
    if kind == "retired":
        return Retired()
    return change_from_json(members, "record")


def _header(members: dict[str, Any], log: str, number: int) -> Header:
    if members.get("format") != FORMAT:
        _refuse(f"the format is {ascii(members.get('format'))[:80]}, not {FORMAT}", log, number)
    lineage, parent, rewrites = (members.get(name) for name in ("lineage", "parent", "rewrites"))
    if members.get("log") != log:
        _refuse(f"it is the log of {ascii(members.get('log'))[:80]}", log, number)
    if type(lineage) is not int or not 0 <= lineage < 2**64:
        _refuse("the lineage is no number of 64 bits", log, number)
    if not isinstance(parent, str | None) or not isinstance(rewrites, list | None):
        _refuse("the parent or the rewrites are not what they must be", log, number)
    return Header(log, lineage, parent, tuple(rewrites or ()))
