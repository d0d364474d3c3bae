"""The head: the document of ``conversations``, to a record and back. Pure.

Beside the record's own members it holds what the store knows of it (``storage.md`` S1):

==================  ====================================================================================
``version``         raised by every change of the record; not by seals and queues
``revision``        change records ever made; the head's ``log`` holds ``log_start + 1`` to ``revision``
``log_before``      records up to ``log_start`` are all older than this, ms; absent when there are none
``structure``       raised by every update that changes or removes stored entries or touches ``segments``
``lineage``         63 random bits, given at creation
``next_entry``      the id the next entry gets
``embedded_count``  ``embedded_bytes``: of ``messages``, the newest run
``segments``        the manifest of older runs
``recent``          keys of the newest calls that leave no record in the log
``taken``           a lease on queued texts, which lie in ``taken_steering`` and ``taken_follow_ups``
``due``             when a worker may claim it (submitted: since when)
``dirty``           there is something to roll up: the oldest hour of it
``states``          ``[{at, s, r?}]``: changes of status by other calls than appends, the newest ones
==================  ====================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.objectid import ObjectId
from pydantic import ValidationError

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.entries import Entry, Source
from convostore.schemas.errors import InvalidRecordError, TooLargeError
from convostore.schemas.field_types import as_invalid_record
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage
from convostore.store.codec import (
    INT64_MAX,
    decode_body,
    decode_text,
    decode_u64,
    document_size,
    encode_body,
    encode_text,
    encode_u64,
)
from convostore.store.crediting import first_hour
from convostore.store.history import HOUR_MS
from convostore.store.layout import SCHEMA_VERSION, Limits
from convostore.store.limits import check_attachments, check_queued, check_record
from convostore.store.manifest import sealed_bytes, sealed_count
from convostore.store.results import ConversationHead
from convostore.store.runs import NewEntry, StoredEntry, to_entry, with_ids

__all__ = [
    "HEAD_FIELDS",
    "LISTS",
    "WITHOUT_LISTS",
    "Head",
    "conversation_head",
    "embedded",
    "named_resources",
    "new_head",
    "queue_items",
    "record_fields",
    "record_members",
    "record_of",
    "state_push",
]

Head: TypeAlias = dict[str, Any]

_ZERO: Final = Int64(0)

LISTS: Final = ("messages", "resources", "artifacts")
QUEUES: Final = {"steering_messages": "taken_steering", "follow_up_messages": "taken_follow_ups"}
COUNTERS: Final = ("input_tokens", "output_tokens", "cached_tokens", "requests")

_MEMBERS: Final = [
    "user",
    "thread",
    "status",
    "failed_reason",
    "usage",
    "steering_messages",
    "follow_up_messages",
    "taken",
    "taken_steering",
    "taken_follow_ups",
    "child",
    "ancestors",
    "label",
    "extra",
    "extra_text",
    "period",
    "created_at",
    "updated_at",
    "source",
    "version",
    "revision",
    "lineage",
    "structure",
    "next_entry",
    "embedded_count",
    "embedded_bytes",
    "segments",
]

_STATES: Final = 100
_REASON: Final = 500

HEAD_FIELDS: Final[dict[str, Any]] = {
    **dict.fromkeys(_MEMBERS, 1),
    "messages": {"$slice": -1},
    # Of a foreign document, which is read whole then, a message may take half of what one document can have.
    "opening": {"$cond": [{"$ifNull": ["$schema_version", False]}, {"$first": "$messages"}, None]},
    "resource_count": {"$size": {"$ifNull": ["$resources", []]}},
    "artifact_count": {"$size": {"$ifNull": ["$artifacts", []]}},
}
"""What is read for a :class:`ConversationHead`: of fixed size, whatever the lists hold."""

WITHOUT_LISTS: Final[dict[str, Any]] = {"messages": 0, "resources": 0, "artifacts": 0}
"""What is read to decide how a write goes on."""


# To the database


def encode_attachment(resource: dict[str, JSON], path: str) -> NewEntry:
    """A resource inside a record, given as its JSON form, as it is stored there.

    One with bytes above ``Limits.INLINE`` keeps ``_id`` and a reference to pieces that lie apart.

    Raises:
        InvalidRecordError: it is none any more, its lists or metadata having been changed in place.

    """
    try:
        Resource.model_validate(resource)
    except ValidationError as error:
        raise as_invalid_record(error, path) from None
    id = resource["_id"]
    body = encode_body({**resource, "_id": id if id <= INT64_MAX else 0}, path)
    stored = {**body.fields["m"]} if "m" in body.fields else dict(body.fields)
    return NewEntry({**stored, "_id": encode_u64(id)}, body.size, body.pieces)


def decode_attachment(stored: Mapping[str, Any], blobs: Mapping[ObjectId, bytes]) -> Resource:
    """The resource that :func:`encode_attachment` stored."""
    value = decode_body(stored if "name" not in stored else {"m": dict(stored)}, blobs)
    return Resource.model_validate({**value, "_id": decode_u64(stored["_id"])})


def encode_extra(extra: JSON) -> dict[str, Any]:
    """The member ``extra`` natively, or its JSON text as ``extra_text``; nothing when it is None."""
    return {} if extra is None else _encode_member(extra, "extra")


def _encode_member(value: JSON, name: str) -> dict[str, Any]:
    body = encode_body(value, name)
    if not body.pieces:
        return {name: body.fields["m"]} if "m" in body.fields else {f"{name}_text": body.fields["t"]}
    # Above the inline bound the pieces tell the form.
    size = sum(map(len, body.pieces))
    if size > Limits.RECORD:
        raise TooLargeError(name, size, Limits.RECORD)
    if body.fields["blob"]["f"] == "m":
        return {name: value}
    return {f"{name}_text": b"".join(body.pieces).decode("ascii")}


def encode_member(name: str, value: Any) -> dict[str, Any]:
    """One scalar member of the record as the fields it is stored in."""
    if name == "extra":
        return encode_extra(value)
    if value is None:
        return {}
    if name in ("child", "created_at", "updated_at", "period"):
        return {name: encode_u64(value)}
    if name == "ancestors":
        return {name: [encode_u64(id) for id in value]}
    if name == "status":
        return {name: ConversationStatus(value).value}
    return {name: encode_text(value)}


def fields_of(name: str) -> tuple[str, ...]:
    """Every field that the scalar member may be stored in, to unset it."""
    return ("extra", "extra_text") if name == "extra" else (name,)


def queue_item(text: str, at: int, id: ObjectId | None = None) -> dict[str, Any]:
    """A text as it waits in a queue, with its id."""
    return {"id": id or ObjectId(), "text": encode_text(text), "at": Int64(at)}


def status_fields(status: ConversationStatus, now: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is set and unset when the status becomes ``status``: ``due`` follows it,
    a failure's reason goes.
    """
    settled: dict[str, Any] = {"status": status.value}
    gone: dict[str, Any] = {}
    if status is ConversationStatus.SUBMITTED:
        settled["due"] = Int64(now)
    else:
        gone["due"] = ""
    if status is not ConversationStatus.FAILED:
        gone["failed_reason"] = ""
    return settled, gone


def state_push(status: ConversationStatus, now: int, failed_reason: Any = None) -> dict[str, dict[str, Any]]:
    """The push that notes a change of status for the figures; ``failed_reason`` is one as stored."""
    noted: dict[str, Any] = {"at": encode_u64(now), "s": status.value}
    if failed_reason is not None:
        noted["r"] = encode_text(decode_text(failed_reason)[:_REASON])
    return {"states": {"$each": [noted], "$slice": -_STATES}}


def record_fields(
    record: Conversation,
    *,
    id: int,
    now: int,
    attachments: Mapping[str, list[dict[str, Any]]],
    source: Source | None = None,
    unknown: Mapping[str, JSON] | None = None,
) -> Head:
    """The record of a conversation that is about to be created, without its messages, as fields of its head.

    Raises:
        TooLargeError: the record without its lists, its attachments or its queues are above their limits.

    """
    resources, artifacts = attachments["resources"], attachments["artifacts"]
    attached = sum([document_size(item) for item in (*resources, *artifacts)])
    check_attachments(attached)
    head: Head = {"_id": encode_u64(id), "user": record.user}
    if record.thread is not None:
        head["thread"] = encode_text(record.thread)
    head["messages"] = []
    head["resources"], head["artifacts"] = resources, artifacts
    head["status"] = record.status.value
    if record.failed_reason is not None:
        head["failed_reason"] = encode_text(record.failed_reason)
    usage = record.usage.to_json()
    head["usage"] = {name: encode_u64(count) if count else _ZERO for name, count in usage.items()}
    queued: list[dict[str, Any]] = []
    for name in QUEUES:
        texts = getattr(record, name)
        if texts is not None:
            head[name] = [queue_item(text, now) for text in texts]
            queued += head[name]
    for name in ("child", "ancestors", "label", "extra"):
        value = getattr(record, name)
        if value is not None:
            head |= encode_member(name, value)
    for name in ("period", "created_at", "updated_at"):
        head[name] = encode_u64(getattr(record, name))
    if record.status is not ConversationStatus.COMPLETED:
        noted = state_push(record.status, record.updated_at, head.get("failed_reason"))
        head["states"] = noted["states"]["$each"]
    if source is not None:
        head["source"] = source.to_json()
    if unknown:
        head |= encode_unknown(unknown)
    if record.status is ConversationStatus.SUBMITTED:
        head["due"] = encode_u64(record.created_at)
    check_record(head)
    queue_bytes = check_queued(queued)
    if queue_bytes:
        head["queue_bytes"] = queue_bytes
    if attached:
        head["attachment_bytes"] = attached
    return head


def new_head(
    fields: Head,
    *,
    lineage: int,
    entries: Sequence[StoredEntry],
    size: int,
    segments: Sequence[Mapping[str, Any]],
    next_entry: int,
    record_log: Sequence[Mapping[str, Any]],
) -> Head:
    """The document of a conversation: its record's fields, its newest messages and the store's own facts."""
    hour = first_hour(record_log)
    if hour is None:
        hour = decode_u64(fields["created_at"]) // HOUR_MS
    return {
        **fields,
        "messages": list(entries),
        "schema_version": SCHEMA_VERSION,
        "version": Int64(1),
        "revision": Int64(len(record_log)),
        "lineage": Int64(lineage),
        "structure": _ZERO,
        "next_entry": Int64(next_entry),
        "embedded_count": len(entries),
        "embedded_bytes": Int64(size),
        "segments": list(segments),
        "log": list(record_log),
        "log_start": _ZERO,
        "dirty": encode_u64(hour),
    }


def encode_unknown(unknown: Mapping[str, JSON]) -> dict[str, Any]:
    """Members of an import that the record has no name for, natively or as JSON text."""
    if not isinstance(unknown, Mapping):
        raise InvalidRecordError("unknown", f"must be an object, not a {type(unknown).__name__}")
    return _encode_member(dict(unknown), "unknown")


def decode_unknown(head: Head) -> dict[str, JSON]:
    """The members that :func:`encode_unknown` stored."""
    found = json.loads(head["unknown_text"]) if "unknown_text" in head else head.get("unknown", {})
    return dict(found)


# From the database


def queue_items(head: Head, name: str, now: int | None = None) -> list[dict[str, Any]] | None:
    """What waits in a queue, what is under a lease first; None when the member is absent.

    Texts taken for good are gone from here; those of a lapsed lease are back.
    """
    waiting: list[dict[str, Any]] | None = head.get(name)
    lease = head.get("taken")
    if lease is None or lease.get("final"):
        return waiting
    return [*head.get(QUEUES[name], []), *(waiting or [])] or waiting


def queue_texts(head: Head, name: str) -> list[str] | None:
    """The texts of :func:`queue_items`."""
    items = queue_items(head, name)
    return None if items is None else [decode_text(item["text"]) for item in items]


def extra_of(head: Head) -> JSON:
    """The member ``extra``."""
    return json.loads(head["extra_text"]) if "extra_text" in head else head.get("extra")


def usage_of(head: Head) -> Usage:
    """The counters of the head."""
    return Usage(**{name: decode_u64(head["usage"].get(name, 0)) for name in COUNTERS})


def source_of(head: Head) -> Source | None:
    """Where the conversation was imported from."""
    found = head.get("source")
    return (
        None
        if found is None
        else Source(found["format"], found["id"], found.get("file"), found.get("sha256"))
    )


def record_members(head: Head) -> dict[str, Any]:
    """The record's members as Python values, without the three lists; absent ones are None."""
    child = head.get("child")
    failed = head.get("failed_reason")
    return {
        "id": decode_u64(head["_id"]),
        "user": head["user"],
        "thread": head.get("thread"),
        "status": ConversationStatus(head["status"]),
        "failed_reason": None if failed is None else decode_text(failed),
        "usage": usage_of(head),
        "steering_messages": queue_texts(head, "steering_messages"),
        "follow_up_messages": queue_texts(head, "follow_up_messages"),
        "child": None if child is None else decode_u64(child),
        "ancestors": [decode_u64(id) for id in head["ancestors"]] if "ancestors" in head else None,
        "label": head.get("label"),
        "extra": extra_of(head),
        "period": decode_u64(head["period"]),
        "created_at": decode_u64(head["created_at"]),
        "updated_at": decode_u64(head["updated_at"]),
    }


def record_of(head: Head, entries: Sequence[StoredEntry], blobs: Mapping[ObjectId, bytes]) -> Conversation:
    """The record of a head and of these entries.

    Raises:
        InvalidRecordError: what is stored is none.

    """
    try:
        return Conversation(
            **record_members(head),
            messages=[entry["m"] if "m" in entry else decode_body(entry, blobs) for entry in entries],
            resources=[decode_attachment(item, blobs) for item in head.get("resources", ())],
            artifacts=[decode_attachment(item, blobs) for item in head.get("artifacts", ())],
        )
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(map(str, first["loc"]))
        raise InvalidRecordError(f"conversation {head['_id']}.{path}", f"stored as {first['msg']}") from error


def named_resources(head: Head) -> set[int]:
    """The ids of the resources that a conversation names."""
    lists = [head[name] for name in ("resources", "artifacts") if isinstance(head.get(name), list)]
    ids = [item.get("_id") for items in lists for item in items if isinstance(item, dict)]
    return {decode_u64(id) for id in ids if isinstance(id, (int, Decimal128))}


def message_count(head: Head) -> int:
    """How many messages the conversation has."""
    return sealed_count(head["segments"]) + int(head["embedded_count"])


def message_bytes(head: Head) -> int:
    """Their stored bytes."""
    return sealed_bytes(head["segments"]) + int(head["embedded_bytes"])


def embedded(head: Head) -> list[StoredEntry]:
    """The embedded run, or the end of it that was read, with ids."""
    return with_ids(head["messages"], head["next_entry"])


def _shown(entry: StoredEntry) -> Entry | None:
    # A head is read in one trip: an entry that lies apart is not fetched for it.
    return None if "blob" in entry else to_entry(entry, {})


def conversation_head(head: Head) -> ConversationHead:
    """The head as callers see it, from what ``HEAD_FIELDS`` reads or from a whole document."""
    members = record_members(head)
    members["ancestors"] = tuple(members["ancestors"] or ())
    for name in QUEUES:
        members[name] = tuple(members[name] or ())
    run = embedded(head)
    return ConversationHead(
        **members,
        version=int(head["version"]),
        revision=int(head["revision"]),
        message_count=message_count(head),
        message_bytes=message_bytes(head),
        resource_count=head.get("resource_count", len(head.get("resources", ()))),
        artifact_count=head.get("artifact_count", len(head.get("artifacts", ()))),
        first=_first(head),
        last=_shown(run[-1]) if run else None,
        source=source_of(head),
    )


def _first(head: Head) -> Entry | None:
    # Of a long conversation the first entry lies in a segment, which a head's one trip does not reach.
    opening = head["opening"] if "opening" in head else (head["messages"] or [None])[0]
    if head["segments"] or opening is None:
        return None
    return _shown({"id": head["next_entry"] - head["embedded_count"], **opening})
