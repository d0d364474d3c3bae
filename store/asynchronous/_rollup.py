"""Rolling up: the ledger's rows and hourly sheets brought up to date with what is marked dirty.

Rows and sheets are replaced by absolute sums, never added to, and ``dirty`` is unset last, only when the
conversation has not changed since it was read: whatever a crash leaves is done again. One runner at a time
holds a lease; its fence number keeps a slower one from overwriting sheets.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from bson.int64 import Int64
from pymongo import ReplaceOne, UpdateOne

from convostore.schemas.errors import UnavailableError
from convostore.store import ledger
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._history import records_after
from convostore.store.faults import Unclear
from convostore.store.heads import Head

__all__ = ["advance", "rebuild"]

_CALL = "rollup"
_LEASE_MS = 60_000
_BATCH = 500
_CHUNK = 5_000
_HOURS = 500
_FIELDS = {
    name: 1
    for name in [
        "user",
        "label",
        "created_at",
        "forked_from",
        "lineage",
        "version",
        "revision",
        "log",
        "log_start",
        "dirty",
        "rolled",
    ]
}


async def advance(backend: AsyncBackend) -> int:
    """Roll up every conversation that is marked dirty; how many there were. One look when there is none."""
    with backend.call(_CALL):
        waiting = await _dirty(backend, 1)
    return await _run(backend) if waiting else 0


async def rebuild(backend: AsyncBackend) -> int:
    """Make all rows and sheets anew from the conversations; rows of deleted ones that were kept stay."""
    fence, owner = await _lease(backend)
    try:
        with backend.call(_CALL):
            await backend.delete("ledger", {"kept": {"$exists": False}}, comment=_CALL)
        with backend.call(_CALL):
            again = {"$set": {"dirty": Int64(0)}, "$unset": {"rolled": ""}}
            await backend.update_many("conversations", {}, again, comment=_CALL)
            await backend.delete("sheets", {}, comment=_CALL)
        count = await _all(backend, fence, owner)
        with backend.call(_CALL):
            kept = await backend.find("ledger", {"kept": True}, {"h": 1}, comment=_CALL)
        await _write_sheets(backend, {row["h"] for row in kept}, fence)
    finally:
        await _release(backend, owner)
    return count


async def _run(backend: AsyncBackend) -> int:
    fence, owner = await _lease(backend)
    try:
        return await _all(backend, fence, owner)
    finally:
        await _release(backend, owner)


async def _all(backend: AsyncBackend, fence: int, owner: str) -> int:
    count = 0
    while True:
        done: list[Head] = []
        hours: set[int] = set()
        seen: list[Any] = []
        while len(done) < _CHUNK:
            with backend.call(_CALL):
                heads = await _dirty(backend, _BATCH, seen)
                if not heads:
                    break
                hours |= await _write_rows(backend, heads)
                await _renew(backend, owner)
            done += heads
            seen += [head["_id"] for head in heads]
        if not done:
            return count
        await _write_sheets(backend, hours, fence)
        await _settle(backend, done)
        count += len(done)
        if len(done) < _CHUNK:
            return count


async def _dirty(backend: AsyncBackend, limit: int, seen: Sequence[Any] = ()) -> list[Head]:
    query: dict[str, Any] = {"dirty": {"$exists": True}}
    if seen:
        query["_id"] = {"$nin": list(seen)}
    return await backend.find("conversations", query, _FIELDS, comment=_CALL, limit=limit)


async def _write_rows(backend: AsyncBackend, heads: Sequence[Head]) -> set[int]:
    """Replace the rows of these conversations; the hours whose sheets changed."""
    hours: set[int] = set()
    fresh: list[dict[str, Any]] = []
    for head in heads:
        owner = {"_id": head["_id"], "user": head["user"]}
        records = await records_after(backend, owner, head, 0, comment=_CALL)
        rows = ledger.rows_of(head, [record for _, record in records])
        fresh += [ledger.row_document(head, row) for row in rows]
    rolled = [head["_id"] for head in heads if head.get("rolled")]
    if rolled:
        old = await backend.find("ledger", {"_id.c": {"$in": rolled}}, {"h": 1}, comment=_CALL)
        hours |= {row["h"] for row in old}
    # Also those of a runner that died before it could say that it had written rows.
    await backend.delete("ledger", {"_id.c": {"$in": [head["_id"] for head in heads]}}, comment=_CALL)
    for start in range(0, len(fresh), 5_000):
        await backend.insert_own("ledger", fresh[start : start + 5_000], comment=_CALL)
    return hours | {row["h"] for row in fresh}


async def _write_sheets(backend: AsyncBackend, hours: Iterable[int], fence: int) -> None:
    """Make the sheets of these hours anew from the rows."""
    ordered = sorted(hours)
    for start in range(0, len(ordered), _HOURS):
        part = ordered[start : start + _HOURS]
        with backend.call(_CALL):
            rows = await backend.find("ledger", {"h": {"$in": part}}, comment=_CALL)
            sheets = ledger.sheets_of(rows)
            writes = []
            for hour in part:
                sheet = {"_id": hour, "f": Int64(fence), **sheets.get(hour, {"t": {}, "s": []})}
                writes.append(ReplaceOne({"_id": hour, "f": {"$lte": fence}}, sheet, upsert=True))
            await backend.write_all("sheets", writes, comment=_CALL)


async def _settle(backend: AsyncBackend, heads: Sequence[Head]) -> None:
    """Unset the marks of conversations that did not change since they were read."""
    writes = [
        UpdateOne(
            {"_id": head["_id"], "user": head["user"], "version": head["version"]},
            {"$unset": {"dirty": ""}, "$set": {"rolled": True}},
        )
        for head in heads
    ]
    for start in range(0, len(writes), _BATCH):
        with backend.call(_CALL):
            await backend.write_all("conversations", writes[start : start + _BATCH], comment=_CALL)


async def _lease(backend: AsyncBackend) -> tuple[int, str]:
    owner = uuid.uuid4().hex
    with backend.call(_CALL):
        first = {"$setOnInsert": {"until": 0, "fence": 0}}
        await backend.put("meta", {"_id": "rollup"}, first, comment=_CALL)
    for attempt in range(1, 400):
        now = backend.now()
        query = {"_id": "rollup", "$or": [{"until": {"$lte": now}}, {"owner": owner}]}
        update = {"$set": {"until": now + _LEASE_MS, "owner": owner}, "$inc": {"fence": 1}}
        with backend.call(_CALL):
            try:
                held = await backend.modify("meta", query, update, comment=_CALL)
            except Unclear:
                held = None
        if held is not None:
            return int(held["fence"]), owner
        await _pace.pause(min(attempt, 8))
    raise UnavailableError("another roll-up is under way and takes long; try again later")


async def _renew(backend: AsyncBackend, owner: str) -> None:
    update = {"$set": {"until": backend.now() + _LEASE_MS}}
    if not await backend.update_many("meta", {"_id": "rollup", "owner": owner}, update, comment=_CALL):
        raise UnavailableError("the roll-up lost its lease to another one; try again later")


async def _release(backend: AsyncBackend, owner: str) -> None:
    query, update = {"_id": "rollup", "owner": owner}, {"$set": {"until": 0}}
    with backend.call(_CALL):
        await backend.update_many("meta", query, update, comment=_CALL)
