"""Changes of single members: status, stop, label, extra and the like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bson.int64 import Int64

from convostore.schemas.conversations import ConversationStatus
from convostore.schemas.errors import ConflictError, InvalidRecordError, StatusError
from convostore.schemas.json_values import JSON, check_json, same_json
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._once import Planned, apply_once, with_key
from convostore.store.codec import encode_text, encode_u64
from convostore.store.heads import Head, encode_member, extra_of, fields_of, state_push, status_fields
from convostore.store.history import HOUR_MS, Key
from convostore.store.limits import check_record, is_heavy
from convostore.store.statuses import STOPPABLE, sources

__all__ = ["set_status", "stop", "update_members"]


async def set_status(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    wanted: ConversationStatus,
    *,
    reason: str | None,
    expected: int | ConversationStatus | None,
    force: bool,
) -> Head:
    """Bring the conversation to a status that may follow its present one."""
    now = backend.now()
    key = backend.key()
    allowed = sources(wanted, reopening=True)
    settled, gone = _status_members(wanted, reason, now)

    def plan(seen: Head | None) -> Planned:
        if seen is not None:
            _check_expected(seen, expected)
            if not force and seen["status"] not in allowed:
                raise StatusError(seen["status"], wanted.value)
        query = dict(owner)
        if isinstance(expected, ConversationStatus):
            query["status"] = expected.value
        elif not force:
            query["status"] = {"$in": allowed}
        if isinstance(expected, int):
            query["version"] = expected
        if isinstance(expected, ConversationStatus) and not force and expected.value not in allowed:
            raise StatusError(expected.value, wanted.value)
        return _planned(query, settled, gone, seen, now, key)

    return await apply_once(backend, owner, key, plan, comment="set_status", look_first=is_heavy(settled))


def _check_expected(seen: Head, expected: int | ConversationStatus | None) -> None:
    if isinstance(expected, ConversationStatus):
        if seen["status"] != expected.value:
            raise ConflictError("status", expected=expected.value, actual=seen["status"])
    elif expected is not None and seen["version"] != expected:
        raise ConflictError("version", expected=expected, actual=seen["version"])


def _status_members(
    status: ConversationStatus, reason: str | None, now: int
) -> tuple[dict[str, Any], list[str]]:
    settled, gone = status_fields(status, now)
    if reason is not None:
        settled["failed_reason"] = encode_text(reason)
        gone.pop("failed_reason", None)
    return settled, list(gone)


def _planned(
    query: dict[str, Any],
    sets: Mapping[str, Any],
    gone: Sequence[str],
    seen: Head | None,
    now: int,
    key: Key,
) -> Planned:
    """The update that sets and unsets members; when they are large, of the record that was seen only."""
    if seen is not None and is_heavy(sets):
        check_record(seen, sets, gone)
        query = {**query, "version": seen["version"]}
    update: dict[str, Any] = {
        "$inc": {"version": 1},
        "$max": {"updated_at": encode_u64(now)},
        "$min": {"dirty": Int64(now // HOUR_MS)},
    }
    if "status" in sets:
        update["$push"] = state_push(ConversationStatus(sets["status"]), now, sets.get("failed_reason"))
    if sets:
        update["$set"] = sets
    if gone:
        update["$unset"] = dict.fromkeys(gone, "")
    return with_key(query, update, key)


async def stop(backend: AsyncBackend, owner: Mapping[str, Any], reason: str | None) -> Head:
    """Cancel a conversation that is submitted, working or idle; any other stays as it is."""
    now = backend.now()
    key = backend.key()
    stoppable = [member.value for member in STOPPABLE]
    settled, gone = _status_members(ConversationStatus.CANCELLED, reason, now)

    def plan(seen: Head | None) -> Planned | None:
        if seen is not None and seen["status"] not in stoppable:
            return None
        return _planned({**owner, "status": {"$in": stoppable}}, settled, gone, seen, now, key)

    return await apply_once(backend, owner, key, plan, comment="stop", look_first=is_heavy(settled))


async def update_members(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    given: Mapping[str, Any],
    merge: Mapping[str, JSON] | None,
) -> Head:
    """Set members (None clears), and merge the top-level keys of ``merge`` into ``extra`` (a null stays a
    null).

    Raises:
        InvalidRecordError: ``extra`` is no object, so nothing can be merged into it.

    """
    now = backend.now()
    key = backend.key()
    if merge is not None:
        check_json(dict(merge), "merge")
    look_first = merge is not None or is_heavy(_members(given)[0])

    def plan(seen: Head | None) -> Planned | None:
        members = dict(given)
        query = dict(owner)
        if merge is not None:
            assert seen is not None
            members["extra"] = _merged(members.get("extra", extra_of(seen)), merge)
            query["version"] = seen["version"]
            if given == {} and same_json(members["extra"], extra_of(seen)):
                return None
        return _planned(query, *_members(members), seen, now, key)

    return await apply_once(backend, owner, key, plan, comment="update", look_first=look_first)


def _members(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    sets: dict[str, Any] = {}
    gone: list[str] = []
    for name, value in given.items():
        fields = encode_member(name, value)
        sets |= fields
        gone += [field for field in fields_of(name) if field not in fields]
    return sets, gone


def _merged(extra: JSON, merge: Mapping[str, JSON]) -> JSON:
    if extra is None:
        return dict(merge)
    if not isinstance(extra, dict):
        raise InvalidRecordError("extra", f"is a {type(extra).__name__}: only an object can be merged into")
    return {**extra, **merge}
