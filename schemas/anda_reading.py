"""Reading the record from Anda's JSON and CBOR, kindly or as Anda does (``spec/anda.md`` 1, 6.3, 10.4). Pure.

Read kindly, null is absent, what is missing gets its default, ids and bytes come in any form that an Anda
program writes, and members without a name in the record are handed back. Read strictly, it is refused what
Anda refuses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from convostore.schemas.anda_forms import (
    is_andadb,
    is_bare_principal,
    read_thread,
    read_user,
    unescaped,
    without_bytes,
)
from convostore.schemas.anda_versions import NEWEST, REQUIRED, ancestor_order, infer_version, version_of
from convostore.schemas.byte_text import read_bytes
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.identifiers import Principal
from convostore.schemas.json_values import JSON, check_json
from convostore.schemas.usage import COUNTERS

__all__ = ["DELTA_MEMBERS", "ReadMembers", "RecordReader"]

_RESOURCE = frozenset(
    ("_id", "tags", "name", "description", "uri", "mime_type", "blob", "size", "hash", "metadata")
)
DELTA_MEMBERS = ("_id", "messages", "artifacts", "status", "usage", "failed_reason", "updated_at", "child")
_DELTA_OPTIONAL = ("failed_reason", "child")
# A record that names no status has nobody who works on it, so reading it must not put anybody to work.
_DEFAULTS: dict[str, Any] = {
    "_id": 0,
    "messages": [],
    "resources": [],
    "artifacts": [],
    "status": "completed",
    "usage": {},
    "period": 0,
    "created_at": 0,
}


@dataclass(frozen=True, slots=True)
class ReadMembers:
    """The members found, for the model to check; the rest of the object; and what was done to read it.

    ``unknown`` holds members that the record has no name for; those of ``usage`` and of resources lie in it
    under ``usage``, and under ``resources`` and ``artifacts`` by the number of the resource.
    """

    members: dict[str, Any]
    version: int
    unknown: dict[str, JSON] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class RecordReader:
    """Reads one object of Anda's; made anew for each.

    ``version`` is what its writer said, if it said; ``user`` stands in for one that the record lacks;
    ``path`` is where it lies in the input; ``binary`` is for CBOR, where bytes are bytes.
    """

    def __init__(
        self,
        *,
        strict: bool = False,
        version: int | None = None,
        user: str | None = None,
        path: str = "",
        binary: bool = False,
    ) -> None:
        self.strict = strict
        self.told = None if version is None else version_of(version)
        self.user = user
        self.path = path
        self.binary = binary
        self.andadb = False
        self.notes: list[str] = []
        self.unknown: dict[str, JSON] = {}

    def record(self, value: Any) -> ReadMembers:
        """The members of a whole record.

        Raises:
            InvalidRecordError: it is no object; a member is missing or of no form that is read. What the
            model
                checks (ranges, texts, lists) is left to it.

        """
        found = self._object(value)
        version = self.told.number if self.told else infer_version(found)
        known = version_of(NEWEST if not self.strict or self.told is None else version).members
        members = self._known(found, known, REQUIRED)
        if "user" in members:
            members["user"] = self._user(members["user"])
        elif version == 2 and self.told:
            members["user"] = Principal.anonymous().text
        elif self.user is not None:
            members["user"] = self.user
        else:
            raise InvalidRecordError(self._at("user"), "is missing")
        if "thread" in members:
            members["thread"] = self._thread(members["thread"])
        self._read_values(members)
        if not self.strict:
            members.setdefault("updated_at", members["created_at"])
        self._note_contradictions(members)
        return ReadMembers(members, version, self.unknown, self.notes)

    def delta(self, value: Any) -> ReadMembers:
        """The members of a ``ConversationDelta``; the same errors."""
        found = self._object(value)
        members = self._known(found, DELTA_MEMBERS, frozenset(DELTA_MEMBERS).difference(_DELTA_OPTIONAL))
        self._read_values(members)
        return ReadMembers(members, self.told.number if self.told else NEWEST, self.unknown, self.notes)

    def _object(self, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            reason = f"a conversation is an object, not a {type(value).__name__}"
            raise InvalidRecordError(self.path or "conversation", reason)
        for name in value:
            if not isinstance(name, str):
                raise InvalidRecordError(self.path or "conversation", f"{name!a} is no name of a member")
        user = value.get("user")
        if not self.strict and not self.binary:
            self.andadb = is_andadb(user) or is_bare_principal(user)
            if is_andadb(user):
                try:
                    return {unescaped(name): unescaped(item) for name, item in value.items()}
                except RecursionError:
                    raise InvalidRecordError(self.path or "conversation", "nests too deeply") from None
        return value

    def _known(
        self, found: Mapping[str, Any], known: tuple[str, ...], required: frozenset[str]
    ) -> dict[str, Any]:
        """The known members that are there, and the defaults of those that must be."""
        for name, item in found.items():
            if name not in known:
                self.unknown[name] = self._json(item, self._at(name))
        members = {name: found[name] for name in known if found.get(name) is not None}
        for name in known:
            if name in members or name not in required or name == "user":
                continue
            if self.strict:
                raise InvalidRecordError(self._at(name), "is null" if name in found else "is missing")
            self.notes.append(f"{self._at(name)}: missing")
            if name in _DEFAULTS:
                default = _DEFAULTS[name]
                members[name] = default.copy() if isinstance(default, (list, dict)) else default
        return members

    def _read_values(self, members: dict[str, Any]) -> None:
        members["messages"] = self._messages(members["messages"])
        for name in ("resources", "artifacts"):
            if name in members:
                members[name] = self._resources(name, members[name])
        members["usage"] = self._usage(members["usage"])
        if self.strict and self.told and members["status"] == "idle" and not self.told.idle:
            raise InvalidRecordError(self._at("status"), f"version {self.told.number} has no idle")
        if "ancestors" in members:
            members["ancestors"] = self._ancestors(members["ancestors"])
        if "extra" in members:
            members["extra"] = self._json(members["extra"], self._at("extra"))

    def _user(self, value: Any) -> Any:
        user = read_user(value, self._at("user"), strict=self.strict)
        return self._reformed("user", value, user)

    def _thread(self, value: Any) -> Any:
        thread = read_thread(value, self._at("thread"), strict=self.strict, andadb=self.andadb)
        return self._reformed("thread", value, thread)

    def _reformed(self, name: str, value: Any, read: Any) -> Any:
        if isinstance(value, str) and value != read:
            self.notes.append(f"{self._at(name)}: read as {read}")
        return read

    def _messages(self, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        path = self._at("messages")
        return [self._json(item, f"{path}[{place}]", place) for place, item in enumerate(value)]

    def _json(self, value: Any, path: str, index: int | None = None) -> JSON:
        if self.binary:
            value = without_bytes(value, path, self.notes)
        check_json(value, path, index=index)
        return value

    def _resources(self, name: str, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [self._resource(name, place, item) for place, item in enumerate(value)]

    def _resource(self, name: str, place: int, value: Any) -> Any:
        path = f"{self._at(name)}[{place}]"
        if not isinstance(value, Mapping):
            raise InvalidRecordError(path, f"a resource is an object, not a {type(value).__name__}")
        rest = {key: self._json(item, f"{path}.{key}") for key, item in value.items() if key not in _RESOURCE}
        if rest:
            self.unknown.setdefault(name, {})[str(place)] = rest
        members = {key: item for key, item in value.items() if key in _RESOURCE and item is not None}
        for key, default in (("_id", 0), ("tags", []), ("name", "")):
            if key not in members:
                if self.strict:
                    raise InvalidRecordError(f"{path}.{key}", "is missing")
                self.notes.append(f"{path}.{key}: missing")
                members[key] = default
        for key in ("blob", "hash"):
            if key in members:
                members[key] = read_bytes(members[key], f"{path}.{key}")
        if "metadata" in members:
            members["metadata"] = self._json(members["metadata"], f"{path}.metadata")
        if not self.strict and "blob" in members and "hash" in members:
            digest = hashlib.sha3_256(members["blob"]).digest()
            if members["hash"] != digest:
                self.notes.append(f"{path}.hash: not that of the bytes; computed anew")
                members["hash"] = digest
        return members

    def _usage(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        rest = {key: item for key, item in value.items() if key not in COUNTERS}
        if rest:
            self.unknown["usage"] = self._json(rest, self._at("usage"))
        for key in COUNTERS:
            if value.get(key) is None and key != "cached_tokens":
                if self.strict:
                    raise InvalidRecordError(self._at(f"usage.{key}"), "is missing")
                if value:
                    self.notes.append(f"{self._at('usage')}.{key}: missing")
        return {key: value[key] for key in COUNTERS if value.get(key) is not None}

    def _ancestors(self, value: Any) -> Any:
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            return value
        order = ancestor_order(value)
        if order < 0:
            self.notes.append(f"{self._at('ancestors')}: nearest first; turned round")
            return value[::-1]
        if not order:
            self.notes.append(f"{self._at('ancestors')}: neither rising nor falling; kept as it is")
        return value

    def _note_contradictions(self, members: dict[str, Any]) -> None:
        period, created = members["period"], members["created_at"]
        if period and type(period) is type(created) is int and period != created // 3_600_000:
            self.notes.append(f"{self._at('period')}: not that of created_at; computed anew")

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name
