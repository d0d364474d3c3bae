"""What becomes of a deleted conversation's figures: kept as its last rows in the ledger, or dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pymongo import ReplaceOne

from convostore.store import ledger
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._rows import rows_for
from convostore.store.asynchronous._sheeting import note_stale
from convostore.store.heads import Head

__all__ = ["drop_figures", "keep_figures"]

_CALL = "delete"
_BATCH = 500


async def keep_figures(backend: AsyncBackend, head: Head) -> None:
    """Bring the rows of a conversation that is gone up to date, from its last head, and mark them to stay.

    ``head`` was read with ``_rows.HEAD``; the conversation's other parts are still there.
    """
    rows = await rows_for(backend, head, comment=_CALL)
    fresh = {_key(row): row for row in ledger.row_documents(head, rows, kept=True)}
    old = await backend.find("ledger", _life(head), comment=_CALL)
    gone = [row for row in old if _key(row) not in fresh and "kept" not in row]
    hours = {int(row["h"]) for row in (*fresh.values(), *gone)}
    await note_stale(backend, hours)
    if gone:
        query = {"_id": {"$in": [row["_id"] for row in gone]}, "user": head["user"]}
        await backend.delete("ledger", query, comment=_CALL)
    writes = [
        ReplaceOne({"_id": row["_id"], "user": row["user"]}, row, upsert=True) for row in fresh.values()
    ]
    for start in range(0, len(writes), _BATCH):
        await backend.write_all("ledger", writes[start : start + _BATCH], comment=_CALL)
    # Noted before, for whoever dies here, and after: a roll-up may have looked in between.
    await note_stale(backend, hours)


async def drop_figures(backend: AsyncBackend, owner: Mapping[str, Any], lineage: Any = None) -> None:
    """Remove the rows of a conversation that is gone: of that lineage, and those that were kept of others."""
    query: dict[str, Any] = {"_id.c": owner["_id"], "$or": [{"kept": True}, {"_id.l": lineage}]}
    if "user" in owner:
        query["user"] = owner["user"]
    hours = {int(row["h"]) for row in await backend.find("ledger", query, {"h": 1}, comment=_CALL)}
    if hours:
        await note_stale(backend, hours)
        await backend.delete("ledger", query, comment=_CALL)
        await note_stale(backend, hours)


def _life(head: Head) -> dict[str, Any]:
    """Rows of this conversation, those that a rewriting has left behind among them."""
    return {"_id.c": head["_id"], "user": head["user"]}


def _key(row: Mapping[str, Any]) -> tuple[int, int, str]:
    return int(row["_id"]["l"]), int(row["_id"]["q"]), row["_id"]["m"]
