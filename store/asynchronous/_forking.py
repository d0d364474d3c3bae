"""Forking: a new conversation from a prefix of another one's log; the two share nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bson.objectid import ObjectId

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.errors import NotFoundError
from convostore.schemas.usage import Usage
from convostore.store import baselines, forking
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import read_blobs, store_raw
from convostore.store.asynchronous._history import (
    Moved,
    blobs_for,
    present,
    records_after,
    removed_by,
    settled,
)
from convostore.store.asynchronous._numbering import next_ids
from convostore.store.asynchronous._planting import plant
from convostore.store.asynchronous._reading import read_record
from convostore.store.codec import encode_u64
from convostore.store.forking import Prefix, with_new_blobs, without_callers_keys
from convostore.store.heads import Head, record_fields
from convostore.store.layout import Limits
from convostore.store.runs import (
    StoredEntry,
    blob_references,
    to_entry,
)
from convostore.store.timeline import Moment

__all__ = ["copy_blobs", "fork", "prefix_at"]

_CALL = "fork"


async def fork(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    at: int | None,
    ids: Callable[[], int] | None,
    *,
    exact: bool,
) -> Conversation:
    """Copy the conversation up to an entry, or whole.

    Raises:
        NotFoundError: there is no such conversation or entry.

    """
    return await settled(backend, owner, lambda: _fork(backend, owner, at, ids, exact=exact), comment=_CALL)


async def _fork(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    at: int | None,
    ids: Callable[[], int] | None,
    *,
    exact: bool,
) -> Conversation:
    head, moment = await present(backend, owner, comment=_CALL)
    owner = {"_id": owner["_id"], "user": head["user"]}
    found = await prefix_at(backend, owner, head, moment, at, exact=exact, comment=_CALL)
    id = (await next_ids(backend, "conversation", 1, ids, comment=_CALL))[0]
    fork_owner = {"_id": encode_u64(id), "user": head["user"]}
    facts: Head = {"user": head["user"], "lineage": backend.lineage(), "structure": 0}
    attached = {name: list(head[name]) for name in ("resources", "artifacts")}
    await copy_blobs(backend, owner, fork_owner, facts, found, attached, int(head["lineage"]), comment=_CALL)
    now = backend.now()
    fields = record_fields(_record(head, now), id=id, now=now, attachments=attached)
    origin = {
        "id": head["_id"],
        "lineage": head["lineage"],
        "revision": len(found.records),
        "entries": len(found.moment.entries),
    }
    await plant(backend, fork_owner, facts, found, fields, {"forked_from": origin}, comment=_CALL)
    return await read_record(backend, fork_owner, comment=_CALL)


async def prefix_at(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    head: Head,
    moment: Moment,
    at: int | None,
    *,
    exact: bool,
    comment: str,
) -> Prefix:
    """The log up to the entry ``at``, or up to the end of a turn before it unless ``exact``; all for None.

    Raises:
        NotFoundError: there is no such entry.

    """
    records = await records_after(backend, owner, head, 0, comment=comment)
    removed = {
        place: await removed_by(backend, owner, head, record, comment=comment)
        for place, (_, record) in enumerate(records)
        if "rm" in record or "body" in record
    }
    found = Prefix(moment, [without_callers_keys(dict(record)) for _, record in records], removed)
    if at is None:
        return found
    cut: int | None = at
    if not exact:
        blobs = await blobs_for(backend, owner, head, moment, comment=comment)
        cut = forking.boundary([to_entry(entry, blobs) for entry in moment.entries], at)
    elif all(entry["id"] != at for entry in moment.entries):
        raise NotFoundError("entry", at)
    if cut is None:
        return Prefix(Moment([], {}, None, 0, moment.next_aside))
    return forking.prefix(found, cut)


async def copy_blobs(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    fork_owner: Mapping[str, Any],
    facts: Head,
    found: Prefix,
    attached: dict[str, list[dict[str, Any]]],
    lineage: int,
    *,
    comment: str,
) -> None:
    """Copy what lies apart, one message at a time, and let the fork's entries refer to the copies.

    Raises:
        Moved: some of it, of that lineage, is not there.

    """
    names: dict[ObjectId, ObjectId] = {}
    holders: list[list[StoredEntry]] = [found.moment.entries, *found.removed.values(), *attached.values()]
    for reference in (one for holder in holders for one in blob_references(holder)):
        if reference["b"] in names:
            continue
        held = await read_blobs(backend, owner["user"], owner["_id"], [reference], comment=comment)
        if held is None:
            raise Moved(f"{comment}: a message is missing; run check", lineage)
        data, name = held[reference["b"]], ObjectId()
        names[reference["b"]] = name
        step = Limits.BLOB_PIECE
        pieces = [(name, k, data[k * step : (k + 1) * step]) for k in range(reference["n"])]
        await store_raw(backend, fork_owner, facts, pieces, comment=comment)
    if names:
        found.moment.entries = with_new_blobs(found.moment.entries, names.__getitem__)
        attached |= {name: with_new_blobs(items, names.__getitem__) for name, items in attached.items()}
        found.removed = {
            place: with_new_blobs(entries, names.__getitem__) for place, entries in found.removed.items()
        }


def _record(source: Head, now: int) -> Conversation:
    """The fork's record: what the source's says of whose and what it is, not what it cost or queued."""
    plain = baselines.load({**source, "resources": [], "artifacts": [], "messages": []}, [], {})
    return Conversation(
        user=plain.user,
        thread=plain.thread,
        status=ConversationStatus.COMPLETED,
        usage=Usage(),
        ancestors=plain.ancestors,
        label=plain.label,
        extra=plain.extra,
        created_at=now,
        updated_at=now,
    )
