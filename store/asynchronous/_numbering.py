"""Ids of conversations and resources: a counter in ``meta``, one of the caller's, or one that came along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from convostore.schemas.errors import UnavailableError
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.faults import Unclear
from convostore.store.layout import SCHEMA_VERSION
from convostore.store.migrations import newer
from convostore.store.parameters import conversation_id

__all__ = ["lift_counter", "next_ids"]

_LIFTABLE = 2**53
"""Ids from here on do not lift the counter: it never gets there, and one hostile import would use it up."""


async def next_ids(
    backend: AsyncBackend, kind: str, count: int, ids: Callable[[], int] | None, *, comment: str
) -> list[int]:
    """``count`` ids that were given to nobody, in rising order from the counter, or as the caller's function
    gives.

    Raises:
        SchemaVersionError: a newer release migrated the database: its counters name the ``least`` schema
            version that may take ids.

    """
    if ids is not None:
        return [conversation_id(ids(), "ids()") for _ in range(count)]
    query, update = {"_id": f"{kind}_ids"}, {"$inc": {"last": count}}
    guarded = {**query, "least": {"$not": {"$gt": SCHEMA_VERSION}}}
    for attempt in backend.attempts():
        try:
            counter = await backend.modify("meta", guarded, update, comment=comment)
            if counter is not None:
                last = int(counter["last"])
                return list(range(last - count + 1, last + 1))
            await backend.put("meta", query, {"$setOnInsert": {"last": 0}}, comment=comment)
            found = await backend.find_one("meta", query, {"least": 1}, comment=comment)
            if found is not None and found.get("least", 0) > SCHEMA_VERSION:
                raise newer(found["least"], "the database")
        except Unclear:  # a reply lost costs some ids, which nobody misses
            if backend.is_last(attempt):
                raise
            await _pace.pause(attempt)
    raise UnavailableError(f"{comment}: no id could be had from the counter; repeat the call")


async def lift_counter(backend: AsyncBackend, kind: str, id: int, *, comment: str) -> None:
    """Make the counter give only ids above this one."""
    if id < _LIFTABLE:
        update: dict[str, Any] = {"$max": {"last": id}}
        await backend.put("meta", {"_id": f"{kind}_ids"}, update, comment=comment)
