"""Documents of older schema versions: read as the present ones, and lifted to it by whoever writes to them.

A reader changes nothing: what it reads is brought to the present layout in memory. A writer's updates fit
only documents of the present version (:meth:`AsyncBackend.modify`); where one misses for that reason, the
document is lifted first, step by step, each by one guarded update, so whatever dies in between leaves a
document of one version or the next.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import bson
from pymongo.errors import OperationFailure

from convostore.schemas.errors import InvalidRecordError, TooLargeError
from convostore.store import migrations
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import drop_pieces, store_pieces
from convostore.store.asynchronous._numbering import lift_counter
from convostore.store.asynchronous._sealing import store_segments
from convostore.store.asynchronous._splicing import gave_up
from convostore.store.codec import OPTIONS, decode_u64
from convostore.store.faults import Unclear
from convostore.store.heads import Head, embedded
from convostore.store.layout import SCHEMA_VERSION
from convostore.store.migrations import Found, m0001_anda_records, m0002_first_release, version_of
from convostore.store.runs import cut_into_segments

__all__ = ["is_present", "lift", "listed", "mend", "present", "with_version"]

_WRITING: Final = frozenset(
    {
        "append",
        "continue_from",
        "delete",
        "edit",
        "follow_up",
        "fork",
        "give_back",
        "redo",
        "rewrite",
        "save",
        "save_transcript",
        "set_status",
        "steer",
        "stop",
        "take",
        "undo",
        "update",
    }
)
"""The calls that write to the conversation they read, by the name that their commands carry."""

_DUPLICATE = 11000
_INVALID = 121
_log = logging.getLogger("convostore")


def with_version(fields: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The projection, and with it the schema version."""
    if fields is None:
        return None
    # A copy: mongomock puts _id into what it is given.
    excludes = all(type(value) is int and not value for name, value in fields.items() if name != "_id")
    return dict(fields) if excludes else {**fields, "schema_version": 1}


def is_present(head: Mapping[str, Any]) -> bool:
    """Whether what was read is of the schema version that this release writes."""
    return head.get("schema_version") == SCHEMA_VERSION


async def present(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    head: Head,
    fields: Mapping[str, Any] | None,
    *,
    comment: str,
) -> Head | None:
    """What was read of a head, with its version, as one of the present version; None when it is gone.

    For a call that writes the document itself is lifted first. One that lies there as somebody put it is read
    whole for this, whatever ``fields`` say.

    Raises:
        SchemaVersionError: a newer release wrote it; it is not touched.
        InvalidRecordError, TooLargeError: it is no conversation.
        UnavailableError: other writers were faster at every try to lift it.

    """
    if is_present(head):
        return head
    _refuse_newer(head)
    if comment in _WRITING:
        await lift(backend, owner, comment=comment)
        return await backend.find_one("conversations", owner, with_version(fields), comment=comment)
    if version_of(head):
        return migrations.as_head(head, b"")
    data = await backend.find_raw("conversations", owner, comment=comment)
    if data is None:
        return None
    document = bson.decode(data, OPTIONS)
    return document if is_present(document) else migrations.as_head(document, data)


async def listed(
    backend: AsyncBackend,
    heads: Sequence[Head],
    fields: Mapping[str, Any] | None,
    *,
    comment: str,
    refused: Callable[[Any, Exception], None] | None = None,
) -> list[Head]:
    """The heads of a list as heads of the present version, without documents that are no conversations.

    Those are the business of ``check`` and of the migrations: one of them must not hide all others. They are
    logged, and ``refused`` is told of them.
    """
    found = []
    for head in heads:
        try:
            lifted = await present(backend, {"_id": head["_id"]}, head, fields, comment=comment)
        except (InvalidRecordError, TooLargeError) as error:
            _log.warning("document %s of conversations is none: %s", ascii(head["_id"])[:80], error)
            if refused is not None:
                refused(head["_id"], error)
            continue
        if lifted is not None:
            found.append(lifted)
    return found


async def lift(
    backend: AsyncBackend, owner: Mapping[str, Any], *, to: int = SCHEMA_VERSION, comment: str
) -> bool:
    """Bring a document to a schema version; False when there is none.

    Raises:
        SchemaVersionError: a newer release wrote it.
        InvalidRecordError, TooLargeError: it is no conversation; it is not touched.
        UnavailableError: other writers were faster at every try.
        Unclear: the database did not come back to tell.

    """
    for attempt in backend.attempts():
        data = await backend.find_raw("conversations", owner, comment=comment)
        if data is None:
            return False
        document = bson.decode(data, OPTIONS)
        _refuse_newer(document)
        version = version_of(document)
        if version >= to:
            return True
        try:
            if version:
                done = await _second(backend, document, comment=comment)
            else:
                done = await _adopt(backend, document, data, comment=comment)
        except Unclear:
            if backend.is_last(attempt):
                raise
            done = False
        if done and version + 1 >= to:
            return True
        if not done:
            await _pace.pause(attempt)
    raise gave_up(comment)


def _refuse_newer(head: Head) -> None:
    version = version_of(head)
    if version > SCHEMA_VERSION:
        raise migrations.newer(version, f"conversation {decode_u64(head['_id'])}")


async def _adopt(backend: AsyncBackend, document: Head, data: bytes, *, comment: str) -> bool:
    """Let a record that lies there as it is become a conversation; False when it changed meanwhile."""
    change = m0001_anda_records.planned(document, data, backend.bounds)
    id, user, lineage = change.query["_id"], change.update["user"], change.update["lineage"]
    owner, facts = {"_id": id, "user": user}, {"user": user, "lineage": lineage, "structure": 0}
    await lift_counter(backend, "conversation", decode_u64(id), comment=comment)
    await store_pieces(backend, owner, facts, change.entries, comment=comment)
    items = await store_segments(backend, owner, facts, cut_into_segments(change.older, backend.bounds))
    try:
        update = {**change.update, "segments": items}
        if await backend.modify("conversations", change.query, update, {"_id": 1}, comment=comment):
            return True
        refused = None
    except OperationFailure as error:
        if error.code not in (_DUPLICATE, _INVALID):
            raise
        refused = error
    # It was answered and will not arrive later: what was stored for it belongs to nobody.
    part = {"user": user, "c": id, "_id": {"$in": [item["i"] for item in items]}}
    if items:
        await backend.delete("segments", part, comment=comment)
    await drop_pieces(backend, user, id, change.entries, comment=comment)
    if refused is None:
        return False
    if refused.code == _DUPLICATE:
        raise InvalidRecordError(
            "source", "the same record was imported under another id already"
        ) from refused
    raise InvalidRecordError("conversation", "the collection's validator refuses it") from refused


async def mend(backend: AsyncBackend, owner: Mapping[str, Any], *, comment: str) -> bool:
    """Do what a process of the first release left undone on a lifted conversation; whether it had."""
    for attempt in backend.attempts():
        head = await backend.find_one("conversations", owner, comment=comment)
        if head is None or not is_present(head):
            return False
        found = await _beside(backend, head, times=False, comment=comment)
        change = None if found is None else m0002_first_release.mended(head, found, backend.now())
        if found is not None and change is None:
            return False
        if change is not None:
            for query, update in change.amended:
                await backend.update_many("changes", query, update, comment=comment)
            if await backend.update_many("conversations", change.query, change.update, comment=comment):
                return True
        await _pace.pause(attempt)
    raise gave_up(comment)


async def _second(backend: AsyncBackend, head: Head, *, comment: str) -> bool:
    """Lift a head of version 1; False when a seal or an edit came in between."""
    times = m0002_first_release.asks_for_times(head)
    found = await _beside(backend, head, times=times, comment=comment)
    if found is None:
        return False
    change = m0002_first_release.planned(head, found, backend.now())
    for query, update in change.amended:
        await backend.update_many("changes", query, update, comment=comment)
    return await backend.update_once("conversations", change.query, change.update, comment=comment)


async def _beside(backend: AsyncBackend, head: Head, *, times: bool, comment: str) -> Found | None:
    """What the second step must know beside the head; None when a part of it was replaced meanwhile."""
    part = {"user": head["user"], "c": head["_id"]}
    sealed: list[dict[str, Any]] = []
    if head["log_start"]:
        query = {**part, "lin": head["lineage"], "to": {"$lte": head["log_start"]}}
        sealed = await backend.find("changes", query, comment=comment)
        sealed.sort(key=lambda one: int(one["_id"]["from"]))
    if not times:
        return Found(sealed)
    ids = [item["i"] for item in head["segments"]]
    entries = embedded(head)
    if ids:
        query = {**part, "_id": {"$in": ids}}
        held = await backend.find("segments", query, {"e.id": 1, "e.made": 1}, comment=comment)
        if len(held) < len(ids):
            return None
        entries += [entry for document in held for entry in document["e"]]
    return Found(sealed, {int(entry["id"]): entry.get("made") for entry in entries})
