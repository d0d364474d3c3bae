"""Storing a new conversation together with a history of its own: parts first, the head last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bson.int64 import Int64
from pymongo.errors import DuplicateKeyError

from convostore.schemas.errors import ConflictError
from convostore.store import sealing
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._asides import store_asides
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._sealing import store_segments
from convostore.store.codec import decode_u64
from convostore.store.faults import Unclear
from convostore.store.forking import Prefix
from convostore.store.heads import Head, new_head
from convostore.store.runs import cut_into_segments, entries_size, newest_page
from convostore.store.splicing import removed_bodies
from convostore.store.timeline import aside_fields

__all__ = ["plant"]


async def plant(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    facts: Head,
    found: Prefix,
    fields: Mapping[str, Any],
    more: Mapping[str, Any],
    *,
    comment: str,
) -> None:
    """Store the history ``found`` and the conversation it leads to under the id of ``owner``.

    ``fields`` is its record (``heads.record_fields``), ``more`` what its head says beside; ``facts`` are the
    user, lineage and structure of its parts. Pieces of messages are stored already.

    Raises:
        ConflictError: the id, or the source, was taken meanwhile; what was stored of it has no head.

    """
    bounds, moment = backend.bounds, found.moment
    for place, entries in found.removed.items():
        record = found.records[place]
        for name in ("rm", "rmi", "body"):
            record.pop(name, None)
        bodies = removed_bodies(entries, facts, owner["_id"])
        if bodies:
            await backend.insert_own("bodies", bodies, comment=comment)
            record["body"] = [body["_id"] for body in bodies]
            record["rmi"] = [int(entry["id"]) for entry in entries]
        elif entries:
            record["rm"] = list(entries)
    kept = len(moment.entries)
    if kept > bounds.soft_count or entries_size(moment.entries) > bounds.soft_bytes:
        kept = newest_page(moment.entries, bounds)
    older, run = moment.entries[: len(moment.entries) - kept], moment.entries[len(moment.entries) - kept :]
    items = await store_segments(backend, owner, facts, cut_into_segments(older, bounds))
    sealed, log = sealing.sealed_at_birth(
        owner["_id"], {**facts, "next_entry": moment.next_entry}, found.records, bounds
    )
    await backend.insert_own("changes", sealed, comment=comment)
    head = new_head(
        dict(fields),
        lineage=int(facts["lineage"]),
        entries=run,
        size=entries_size(run),
        segments=items,
        next_entry=moment.next_entry,
        record_log=log,
    )
    head |= {
        "revision": Int64(len(found.records)),
        "log_start": Int64(len(found.records) - len(log)),
        **more,
    }
    head |= await store_asides(backend, owner, facts, aside_fields(moment.asides), comment=comment)
    if moment.next_aside:
        head["next_aside"] = Int64(moment.next_aside)
    if moment.halt is not None:
        head["halt"] = moment.halt
    await _insert(backend, owner, head, comment=comment)


async def _insert(backend: AsyncBackend, owner: Mapping[str, Any], head: Head, *, comment: str) -> None:
    for attempt in backend.attempts():
        try:
            await backend.insert_new("conversations", head, comment=comment)
            return
        except DuplicateKeyError:
            held = await backend.find_one("conversations", owner, {"lineage": 1}, comment=comment)
            if held is not None and held["lineage"] == head["lineage"]:
                return
            id = decode_u64(owner["_id"])
            reason = f"the id {id}, or the source, was taken meanwhile; repeat the call"
            raise ConflictError("_id", expected=id, reason=reason) from None
        except Unclear:
            if backend.is_last(attempt):
                raise
            await _pace.pause(attempt)
