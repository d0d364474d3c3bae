"""Leases in ``meta``: of many who would do one job, one does it, until it ends or dies.

A lease has a fence number that rises with each holder: what a holder notes for those after it carries the
number, and never goes over a later one's.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from bson.int64 import Int64

from convostore.schemas.errors import ConflictError, LeaseLostError
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.faults import Unclear

__all__ = ["Lease", "acquire"]

_LOOK_SECONDS = 0.2


@dataclass(slots=True)
class Lease:
    """A lease that was taken: its holder, its fence number, until when (ms)."""

    backend: AsyncBackend
    name: str
    owner: str
    fence: int
    length_ms: int
    until: int

    async def renew(self) -> None:
        """Hold it for its length again, once a third of that is over.

        Raises:
            LeaseLostError: it lapsed and another one has it.

        """
        now = self.backend.now()
        if now < self.until - self.length_ms * 2 // 3:
            return
        until = now + self.length_ms
        with self.backend.call(self.name):
            query = {"_id": self.name, "owner": self.owner, "fence": self.fence}
            update = {"$set": {"until": Int64(until)}}
            if not await self.backend.update_many("meta", query, update, comment=self.name):
                raise LeaseLostError(
                    "lease", reason=f"{self.name}: another runner took over; look at its state and run again"
                )
        self.until = until

    async def release(self) -> None:
        """Let the next one have it."""
        query = {"_id": self.name, "owner": self.owner, "fence": self.fence}
        with self.backend.call(self.name):
            await self.backend.update_many("meta", query, {"$set": {"until": Int64(0)}}, comment=self.name)


async def acquire(backend: AsyncBackend, name: str, length_ms: int) -> Lease:
    """Take the lease; one whose holder does not renew it is waited for until it lapses.

    Raises:
        ConflictError: its holder is alive.

    """
    owner = uuid.uuid4().hex
    with backend.call(name):
        first = {"$setOnInsert": {"until": Int64(0), "fence": Int64(0)}}
        await backend.put("meta", {"_id": name}, first, comment=name)
    patience = _pace.monotonic() + length_ms / 1000 + 5
    seen: Any = None
    while True:
        now = backend.now()
        query = {"_id": name, "$or": [{"until": {"$lte": Int64(now)}}, {"owner": owner}]}
        update = {"$set": {"until": Int64(now + length_ms), "owner": owner}, "$inc": {"fence": Int64(1)}}
        with backend.call(name):
            try:
                held = await backend.modify("meta", query, update, comment=name)
            except Unclear:
                if _pace.monotonic() > patience:
                    raise
                held = None
            if held is not None:
                return Lease(backend, name, owner, int(held["fence"]), length_ms, now + length_ms)
            other = await backend.find_one("meta", {"_id": name}, comment=name)
        state = None if other is None else (other["fence"], other["until"])
        if seen not in (None, state) or _pace.monotonic() > patience:
            reason = f"{name}: another runner is at work; wait for it, or run again later"
            raise ConflictError("lease", actual=name, reason=reason)
        seen = state
        await _pace.sleep(_LOOK_SECONDS)
