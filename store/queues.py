"""Planning steering and follow-up: texts that wait, are taken under a lease, and become messages. Pure.

Taking moves both queues aside in one update (``$rename``); an append with the receipt clears them in the
update that stores what they became; a lapsed lease is put back at the front by the next taker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bson.int64 import Int64

from convostore.schemas.errors import ConflictError, LeaseLostError, TooLargeError
from convostore.store.codec import INT64_MAX, decode_text, decode_u64, document_size, encode_u64
from convostore.store.heads import QUEUES, Head, queue_item
from convostore.store.history import HOUR_MS, Key, digest
from convostore.store.layout import Limits
from convostore.store.results import Queued

__all__ = [
    "LEASE_FIELDS",
    "QueueName",
    "enqueue",
    "give_back",
    "is_held",
    "put_back",
    "queued",
    "same_text",
    "take",
    "take_for_good",
    "text_digest",
]

LEASE_FIELDS = ("taken", "taken_bytes", *QUEUES.values())
"""Every field of a lease."""

_TOLD_MS = 60_000
"""How long texts taken for good are held, until the taker is known to have them."""

_LEASED_BYTES = {"$cond": [{"$eq": ["$taken.final", True]}, 0, {"$ifNull": ["$taken_bytes", 0]}]}
_HELD_BYTES: dict[str, Any] = {"$add": [{"$ifNull": ["$queue_bytes", 0]}, _LEASED_BYTES]}
"""What waits and what lies under a lease, from where it may come back to the queues."""

QueueName = Literal["steering_messages", "follow_up_messages"]


def _marked(now: int) -> dict[str, Any]:
    """What marks the conversation for the next roll-up: its figures say what waits."""
    return {"dirty": Int64(min(now, INT64_MAX) // HOUR_MS)}


def enqueue(
    owner: Mapping[str, Any], name: QueueName, text: str, now: int, seen: Head | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Put a text at the end of a queue; its key is added by the caller.

    Raises:
        TooLargeError: both queues together would pass their limit.

    """
    item = queue_item(text, now)
    size = document_size(item)
    total = size if seen is None else _held_bytes(seen) + size
    if total > Limits.QUEUED_TOTAL:
        raise TooLargeError("the queued texts", total, Limits.QUEUED_TOTAL)
    query = {**owner, "$expr": {"$lte": [_HELD_BYTES, Limits.QUEUED_TOTAL - size]}}
    update = {
        "$push": {name: {"$each": [item]}},
        "$inc": {"queue_bytes": size},
        "$max": {"updated_at": encode_u64(now)},
        "$min": _marked(now),
    }
    return query, update


def _held_bytes(head: Head) -> int:
    leased = 0 if head.get("taken", {}).get("final") else head.get("taken_bytes", 0)
    return int(head.get("queue_bytes", 0)) + int(leased)


def text_digest(name: QueueName, text: str) -> int:
    """What tells a repeated call from another text under the same key."""
    return digest(name, text)


def same_text(noted: Mapping[str, Any] | None, wanted: int, key: Key) -> None:
    """Refuse a key that was used for another text.

    Raises:
        ConflictError: it was.

    """
    if noted is not None and noted.get("h") != wanted:
        raise ConflictError(
            "key",
            expected=wanted,
            actual=noted.get("h"),
            reason=f"the key {key!a} was used for another text; nothing was queued",
        )


def is_held(head: Head, now: int) -> bool:
    """Whether somebody holds a lease on the queued texts."""
    lease = head.get("taken")
    return lease is not None and not lease.get("final") and lease["until"] > now


def take(
    owner: Mapping[str, Any], key: Key, receipt: str, now: int, lease_ms: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Move both queues under a lease, when nothing lies there; also what is to be taken for good."""
    lease = {"key": key, "receipt": receipt, "until": Int64(now + (lease_ms or _TOLD_MS))}
    waiting = [{f"{name}.0": {"$exists": True}} for name in QUEUES]
    query = {**owner, "taken": {"$exists": False}, "$or": waiting}
    moved = {**QUEUES, "queue_bytes": "taken_bytes"}
    return query, {"$set": {"taken": lease}, "$rename": moved, "$min": _marked(now)}


def take_for_good(owner: Mapping[str, Any], receipt: str, now: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Let go of the lease, whose texts the taker now has: the next taker may forget them."""
    query = {**owner, "taken.receipt": receipt}
    sets = {"taken.final": True, "taken.until": Int64(now)}
    return query, {"$set": sets, "$min": _marked(now)}


def put_back(
    owner: Mapping[str, Any], head: Head, *, returned: str | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Put what lies under the head's lease back at the front of the queues; of one for good, forget it."""
    lease = head["taken"]
    query = {**owner, "taken.receipt": lease["receipt"]}
    update: dict[str, Any] = {
        "$unset": dict.fromkeys(LEASE_FIELDS, ""),
        "$min": _marked(decode_u64(head["updated_at"])),
    }
    if not lease.get("final"):
        update["$inc"] = {"queue_bytes": head.get("taken_bytes", 0)}
        pushes = {
            name: {"$each": head[aside], "$position": 0} for name, aside in QUEUES.items() if head.get(aside)
        }
        if pushes:
            update["$push"] = pushes
    if returned is not None:
        update["$set"] = {"returned": returned}
    return query, update


def queued(head: Head) -> Queued:
    """What lies under the head's lease, as the taker gets it."""
    lease = head["taken"]
    follow_ups, steering = (
        tuple(decode_text(item["text"]) for item in head.get(QUEUES[name], ()))
        for name in ("follow_up_messages", "steering_messages")
    )
    until = None if lease.get("final") else int(lease["until"])
    return Queued(follow_ups, steering, lease["receipt"], until)


def give_back(head: Head, receipt: str, now: int) -> bool:
    """Whether there is something to give back; False when this receipt was given back already.

    Raises:
        LeaseLostError: the receipt lapsed, was used, or is somebody else's.

    """
    if head.get("returned") == receipt:
        return False
    lease = head.get("taken")
    if lease is None or lease["receipt"] != receipt or lease.get("final") or lease["until"] <= now:
        raise LeaseLostError(
            "receipt",
            expected=receipt,
            reason="the receipt lapsed, was used, or belongs to another taker; nothing was given back",
        )
    return True
