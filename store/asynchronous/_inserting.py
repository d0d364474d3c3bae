"""Inserting many new conversations with one command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.codec import decode_u64
from convostore.store.faults import Unclear

__all__ = ["insert_heads"]


async def insert_heads(
    backend: AsyncBackend, heads: Sequence[Mapping[str, Any]], *, comment: str
) -> set[int]:
    """Insert the heads; the places of those whose id or source somebody else had.

    A repeat after an error without an answer finds its own by their lineage.
    """
    for attempt in backend.attempts():
        try:
            refused = await backend.insert_some("conversations", heads, comment=comment) if heads else []
            break
        except Unclear:
            if backend.is_last(attempt):
                raise
            await _pace.pause(attempt)
    if not refused:
        return set()
    ids = [heads[place]["_id"] for place in refused]
    query = {"_id": {"$in": ids}}
    found = await backend.find("conversations", query, {"lineage": 1}, comment=comment)
    ours = {(decode_u64(head["_id"]), int(head["lineage"])) for head in found}
    return {place for place in refused if _life(heads[place]) not in ours}


def _life(head: Mapping[str, Any]) -> tuple[int, int]:
    return decode_u64(head["_id"]), int(head["lineage"])
