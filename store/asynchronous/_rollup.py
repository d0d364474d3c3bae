"""Rolling up: the ledger's rows and hourly sheets brought up to date with what is marked dirty.

Rows and sheets are replaced by absolute sums, never added to. Before rows change, their hours are noted in
``meta``; ``dirty`` is unset last, only when the conversation has not changed since it was read: whatever a
crash leaves is done again. One runner at a time holds a lease; versions on rows and its fence on sheets keep
a slower one from overwriting what is newer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bson.int64 import Int64
from pymongo import ReplaceOne, UpdateOne

from convostore.store import ledger
from convostore.store.asynchronous import _sheeting
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._rows import HEAD, rows_for
from convostore.store.asynchronous._sheeting import Runner
from convostore.store.codec import decode_u64
from convostore.store.heads import Head

__all__ = ["advance", "rebuild"]

_CALL = "rollup"
_BATCH = 500
_CHUNK = 5_000
_MARKED = 5_000
_DIRTY: Final = {"dirty": {"$exists": True}}
_WRITTEN: Final = {"schema_version": {"$exists": True}}
"""Conversations, not what else somebody put there."""


async def advance(backend: AsyncBackend) -> int:
    """Roll up every conversation that is marked dirty; how many there were. Two looks when there is none."""
    with backend.call(_CALL):
        waiting = await backend.find_one("conversations", _DIRTY, {"_id": 1}, comment=_CALL)
        noted = await _sheeting.is_noted(backend)
    if waiting is None and not noted:
        return 0
    async with _sheeting.runner(backend) as held:
        # A rebuild that broke off has marked all conversations first.
        return await _finish(backend, held) if held.owes_all else await _all(backend, held)


async def rebuild(backend: AsyncBackend) -> int:
    """Make all rows and sheets anew from the conversations; rows of deleted ones that were kept stay.

    Broken off, it is finished by the next roll-up.
    """
    async with _sheeting.runner(backend) as held:
        await held.note_rebuild()
        last: Any = None
        while True:
            query = {} if last is None else {"_id": {"$gt": last}}
            with backend.call(_CALL):
                found = await backend.find(
                    "conversations", query, {"_id": 1}, comment=_CALL, sort=[("_id", 1)], limit=_MARKED
                )
                if not found:
                    break
                these = {"_id": {"$gte": found[0]["_id"], "$lte": found[-1]["_id"]}, **_WRITTEN}
                again = {"$min": {"dirty": Int64(0)}, "$unset": {"rolled": ""}}
                await backend.update_many("conversations", these, again, comment=_CALL)
            last = found[-1]["_id"]
            await held.renew()
        for name, query in (("ledger", {"kept": {"$exists": False}}), ("sheets", {})):
            await _sheeting.delete_slowly(backend, held, name, query)
        return await _finish(backend, held)


async def _finish(backend: AsyncBackend, held: Runner) -> int:
    count = await _all(backend, held)
    await _sheeting.write_every(backend, held)
    await held.forget_rebuild()
    return count


async def _all(backend: AsyncBackend, held: Runner) -> int:
    """Roll up whatever is marked, the oldest hours first: what lies close in time shares its sheets."""
    count = 0
    while True:
        with backend.call(_CALL):
            marked = await backend.find(
                "conversations", _DIRTY, {"_id": 1}, comment=_CALL, sort=[("dirty", 1)], limit=_CHUNK
            )
        done: list[Head] = []
        for start in range(0, len(marked), _BATCH):
            these = {**_DIRTY, "_id": {"$in": [head["_id"] for head in marked[start : start + _BATCH]]}}
            with backend.call(_CALL):
                heads = await backend.find("conversations", these, HEAD, comment=_CALL)
            await _write_rows(backend, held, heads)
            done += heads
        if not held.rebuilds:  # its sheets are made at its end
            await _sheeting.write_noted(backend, held)
        await _settle(backend, done)
        count += len(done)
        if len(marked) < _CHUNK:
            return count


async def _write_rows(backend: AsyncBackend, held: Runner, heads: Sequence[Head]) -> None:
    """Bring the rows of these conversations up to date: only those that differ are written."""
    ids = [head["_id"] for head in heads]
    with backend.call(_CALL):
        existing: dict[int, dict[Any, dict[str, Any]]] = {decode_u64(id): {} for id in ids}
        for row in await backend.find("ledger", {"_id.c": {"$in": ids}}, comment=_CALL):
            existing[decode_u64(row["_id"]["c"])][_key(row)] = row
    fresh: list[dict[str, Any]] = []
    changed: list[tuple[Head, dict[str, Any]]] = []
    obsolete: list[tuple[Head, dict[str, Any]]] = []
    hours: set[int] = set()
    for head in heads:
        with backend.call(_CALL):
            rows = await rows_for(backend, head, comment=_CALL)
        old = existing[decode_u64(head["_id"])]
        for document in ledger.row_documents(head, rows):
            was = old.pop(_key(document), None)
            if was is None:
                fresh.append(document)
            elif not ledger.same_row(was, document):
                changed.append((head, document))
                if not ledger.same_in_sheets(was, document):
                    hours.add(int(document["h"]))
        # Of an earlier life under this id figures are kept.
        obsolete += [(head, row) for row in old.values() if "kept" not in row]
    hours |= {int(row["h"]) for row in fresh} | {int(row["h"]) for _, row in obsolete}
    await held.note(hours)
    with backend.call(_CALL):
        for start in range(0, len(fresh), 5_000):
            # One that is there already is newer, or a try's of this very call.
            await backend.insert_own("ledger", fresh[start : start + 5_000], comment=_CALL)
    writes = [ReplaceOne(_older(row, row["v"]), row, upsert=True) for _, row in changed]
    for start in range(0, len(writes), _BATCH):
        with backend.call(_CALL):
            await backend.write_all("ledger", writes[start : start + _BATCH], comment=_CALL)
    for head, row in obsolete:
        with backend.call(_CALL):
            await backend.delete("ledger", _older(row, head["version"]), comment=_CALL)


def _older(row: dict[str, Any], version: int) -> dict[str, Any]:
    """The filter of the stored row unless it was made from a later version of the conversation."""
    return {"_id": row["_id"], "user": row["user"], "v": {"$not": {"$gt": version}}}


def _key(row: dict[str, Any]) -> tuple[int, int, str]:
    return int(row["_id"]["l"]), int(row["_id"]["q"]), row["_id"]["m"]


async def _settle(backend: AsyncBackend, heads: Sequence[Head]) -> None:
    """Unset the marks of conversations that did not change since they were read."""
    writes = [
        UpdateOne(
            {
                "_id": head["_id"],
                "user": head["user"],
                "version": head["version"],
                "schema_version": head["schema_version"],  # a migration may change what was read
                # Queues change without raising the version.
                "queue_bytes": head.get("queue_bytes"),
                "taken.receipt": head.get("taken", {}).get("receipt"),
            },
            {"$unset": {"dirty": ""}, "$set": {"rolled": True}},
        )
        for head in heads
    ]
    for start in range(0, len(writes), _BATCH):
        with backend.call(_CALL):
            await backend.write_all("conversations", writes[start : start + _BATCH], comment=_CALL)
