"""Changes of single members: status, stop, label, extra and the like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convostore.schemas.conversations import ConversationStatus
from convostore.schemas.errors import ConflictError, InvalidRecordError, StatusError
from convostore.schemas.json_values import JSON, check_json, same_json
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._once import Planned, apply_once, with_key
from convostore.store.codec import encode_text, encode_u64
from convostore.store.heads import Head, check_record_size, encode_member, extra_of, fields_of, status_fields
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
        settled, gone = status_fields(wanted, now)
        return with_key(query, _status_update(settled, gone, reason, now), key)

    return await apply_once(backend, owner, key, plan, comment="set_status")


def _check_expected(seen: Head, expected: int | ConversationStatus | None) -> None:
    if isinstance(expected, ConversationStatus):
        if seen["status"] != expected.value:
            raise ConflictError("status", expected=expected.value, actual=seen["status"])
    elif expected is not None and seen["version"] != expected:
        raise ConflictError("version", expected=expected, actual=seen["version"])


def _status_update(
    settled: dict[str, Any], gone: dict[str, Any], reason: str | None, now: int
) -> dict[str, Any]:
    if reason is not None:
        settled = {**settled, "failed_reason": encode_text(reason)}
        gone = {name: value for name, value in gone.items() if name != "failed_reason"}
    update: dict[str, Any] = {
        "$set": settled,
        "$inc": {"version": 1},
        "$max": {"updated_at": encode_u64(now)},
    }
    if gone:
        update["$unset"] = gone
    return update


async def stop(backend: AsyncBackend, owner: Mapping[str, Any], reason: str | None) -> Head:
    """Cancel a conversation that is submitted, working or idle; any other stays as it is."""
    now = backend.now()
    key = backend.key()
    stoppable = [member.value for member in STOPPABLE]

    def plan(seen: Head | None) -> Planned | None:
        if seen is not None and seen["status"] not in stoppable:
            return None
        settled, gone = status_fields(ConversationStatus.CANCELLED, now)
        query = {**owner, "status": {"$in": stoppable}}
        return with_key(query, _status_update(settled, gone, reason, now), key)

    return await apply_once(backend, owner, key, plan, comment="stop")


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

    def plan(seen: Head | None) -> Planned | None:
        members = dict(given)
        query = dict(owner)
        if merge is not None:
            assert seen is not None
            members["extra"] = _merged(members.get("extra", extra_of(seen)), merge)
            query["version"] = seen["version"]
            if given == {} and same_json(members["extra"], extra_of(seen)):
                return None
        sets: dict[str, Any] = {}
        gone: list[str] = []
        for name, value in members.items():
            fields = encode_member(name, value)
            sets |= fields
            gone += [field for field in fields_of(name) if field not in fields]
        check_record_size(sets)
        update: dict[str, Any] = {"$inc": {"version": 1}, "$max": {"updated_at": encode_u64(now)}}
        if sets:
            update["$set"] = sets
        if gone:
            update["$unset"] = dict.fromkeys(gone, "")
        return with_key(query, update, key)

    return await apply_once(backend, owner, key, plan, comment="update", look_first=merge is not None)


def _merged(extra: JSON, merge: Mapping[str, JSON]) -> JSON:
    if extra is None:
        return dict(merge)
    if not isinstance(extra, dict):
        raise InvalidRecordError("extra", f"is a {type(extra).__name__}: only an object can be merged into")
    return {**extra, **merge}
