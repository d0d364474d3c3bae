"""Writing the record as one of Anda's versions, for JSON and for CBOR (``spec/anda.md`` 1, 6.3). Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from convostore.schemas.anda_versions import AndaVersion, ancestor_order, version_of
from convostore.schemas.errors import SchemaVersionError
from convostore.schemas.identifiers import Principal, Xid
from convostore.schemas.json_values import JSON, MAX_DEPTH, check_json
from convostore.schemas.resources import Resource

__all__ = ["RecordWriter"]

_HALF = re.compile("[\ud800-\udfff]")
_OPAQUE = "Anda reads only {kind} there; written as it is"


class RecordWriter:
    """Writes members of records as one version says them.

    What the version cannot say is left out, replaced or written against its rules, each with a line in
    ``notes`` (``path: what happened``); with ``strict`` it is refused instead. ``binary`` writes bytes as
    bytes, for CBOR.

    Raises:
        SchemaVersionError: there is no such version; or, with ``strict``, the version cannot say a value
            (``found`` is its path).

    """

    def __init__(self, version: int, *, strict: bool, binary: bool, notes: list[str] | None) -> None:
        self.version: AndaVersion = version_of(version)
        self.strict = strict
        self.binary = binary
        self.notes = [] if notes is None else notes

    def record(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """The whole record: the version's members in its order, without optional ones that are unset."""
        written = {}
        for name, value in members.items():
            if value is None:
                continue
            if name in self.version.members:
                written[name] = self.member(name, value)
            else:
                self._unsaid(name, f"version {self.version.number} has no such member; left out")
        return written

    def member(self, name: str, value: Any) -> Any:
        """One member, which is not None, as the version writes it."""
        write = _WRITERS.get(name)
        return value if write is None else write(self, value, name)

    def message(self, value: JSON, place: int) -> JSON:
        """One message, the one at that place; the same object unless something in it cannot be said."""
        return value if _is_plain(value) else self._json(value, f"messages[{place}]")

    def _user(self, value: str, path: str) -> str | bytes:
        if not Principal.is_valid(value):
            self._unsaid(path, _OPAQUE.format(kind="principals"))
            return value
        return Principal.parse(value).raw if self.binary else value

    def _thread(self, value: str, path: str) -> str | bytes:
        if not Xid.is_valid(value):
            self._unsaid(path, _OPAQUE.format(kind="xids"))
            return value
        return Xid.parse(value).raw if self.binary else value

    def _status(self, value: str, path: str) -> str:
        status = str(value)
        if status == "idle" and not self.version.idle:
            # Nobody works on it and nothing is pending; version 1 hosts would take up what is "working".
            self._unsaid(path, f"version {self.version.number} has no idle; written as completed")
            return "completed"
        return status

    def _usage(self, value: Any, path: str) -> dict[str, int]:
        counters: dict[str, int] = value.to_json()
        if not self.version.cached_tokens and counters.pop("cached_tokens"):
            reason = f"version {self.version.number} has no such counter; left out"
            self._unsaid(f"{path}.cached_tokens", reason)
        return counters

    def _ancestors(self, value: list[int], path: str) -> list[int]:
        if self.version.root_first:
            return list(value)
        if ancestor_order(value) == 1:
            return value[::-1]
        self.notes.append(f"{path}: their order is unclear; written as it is")
        return list(value)

    def _resources(self, value: list[Resource], path: str) -> list[dict[str, Any]]:
        return [self._resource(item, f"{path}[{place}]") for place, item in enumerate(value)]

    def _resource(self, value: Resource, path: str) -> dict[str, Any]:
        written = value.members() if self.binary else value.to_json(prefixed=self.version.prefixed_bytes)
        if value.metadata is not None:
            written["metadata"] = self._extra(value.metadata, f"{path}.metadata")
        return written

    def _messages(self, value: list[JSON], path: str) -> list[JSON]:
        return [self.message(item, place) for place, item in enumerate(value)]

    def _extra(self, value: JSON, path: str) -> JSON:
        return value if _is_plain(value) else self._json(value, path)

    def _json(self, value: JSON, path: str, depth: int = 0) -> JSON:
        kind = type(value)
        if kind is str:
            return self._text(value, path)
        if kind is float:
            return self._float(value, path)
        if kind is int:
            if not _fits(value):
                self._unsaid(path, "a whole number beyond 64 bits, which Anda rounds; written whole")
            return value
        if depth >= MAX_DEPTH or kind not in (dict, list):
            check_json(value, path)
            return value
        # Loops, as comprehensions take a second frame a level and could not go as deep as a message may.
        if kind is list:
            items = []
            for place, item in enumerate(value):
                items.append(self._json(item, f"{path}[{place}]", depth + 1))
            return items
        members = {}
        for name, item in value.items():
            if type(name) is not str:
                check_json(value, path)
            members[self._text(name, path)] = self._json(item, f"{path}.{name}", depth + 1)
        return members

    def _text(self, value: str, path: str) -> str:
        if value.isascii() or not _HALF.search(value):
            return value
        if self.binary:
            self._unsaid(path, "half a surrogate pair, which CBOR cannot hold; replaced")
            return _HALF.sub("\ufffd", value)
        self._unsaid(path, "half a surrogate pair, which Anda refuses; written as an escape")
        return value

    def _float(self, value: float, path: str) -> float | None:
        if math.isfinite(value):
            return value
        self._unsaid(path, f"{value} is no JSON number; written as null")
        return None

    def _unsaid(self, path: str, what: str) -> None:
        if self.strict:
            reason = f"{path} cannot be said in version {self.version.number}: {what.partition(';')[0]}"
            raise SchemaVersionError(reason, found=path, known=self.version.number)
        # A key can hold half a surrogate pair, which no terminal shows.
        self.notes.append(f"{path.encode(errors='backslashreplace').decode()}: {what}")


_WRITERS: dict[str, Callable[[RecordWriter, Any, str], Any]] = {
    "user": RecordWriter._user,
    "thread": RecordWriter._thread,
    "messages": RecordWriter._messages,
    "resources": RecordWriter._resources,
    "artifacts": RecordWriter._resources,
    "status": RecordWriter._status,
    "usage": RecordWriter._usage,
    "ancestors": RecordWriter._ancestors,
    "extra": RecordWriter._extra,
}


def _fits(number: int) -> bool:
    return -(2**63) <= number < 2**64


def _is_plain(value: JSON) -> bool:
    """Whether every version can say all of it; quick, since nearly everything is."""
    kind = type(value)
    if kind is str:
        return value.isascii() or _HALF.search(value) is None
    if kind is dict:
        for name, item in value.items():
            if type(name) is not str or not _is_plain(name) or not _is_plain(item):
                return False
        return True
    if kind is list:
        for item in value:  # noqa: SIM110 - a generator would take a second frame a level
            if not _is_plain(item):
                return False
        return True
    if kind is float:
        return math.isfinite(value)
    if kind is int:
        return _fits(value)
    return value is None or kind is bool
