"""Sheets kept up to date with the ledger's rows: the runner's lease, and the hours noted in ``meta``.

The document ``rollup`` there has ``owner``, ``until`` and ``fence`` of the lease, ``hours`` whose sheets the
runner owes, ``stale`` those that deleting conversations left, ``rebuild`` while all is made anew, and
``format``: what sheets and days have in them. Those of an older one are made anew from the rows.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bson.int64 import Int64
from pymongo import ReplaceOne

from convostore.schemas.errors import UnavailableError
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._totals import write_days
from convostore.store.days import days_of
from convostore.store.faults import Unclear
from convostore.store.sheets import sheets_of

__all__ = ["Runner", "delete_slowly", "is_noted", "note_stale", "runner", "write_every", "write_noted"]

_CALL = "rollup"
_NAME = {"_id": "rollup"}
_LEASE_MS = 15_000
_CLOCKS_MS = 300_000
"""How far the clocks of two runners may differ: a lease longer than this ahead is of a clock that went back.
"""
_FORMAT = 2
_NEW = {"until": 0, "fence": 0, "format": _FORMAT}
_HOURS = 200
_ROWS = 50_000
_DELETED = 20_000


class Runner:
    """Whoever holds the lease; ``fence`` is greater than that of every runner before."""

    def __init__(self, backend: AsyncBackend, owner: str, found: Mapping[str, Any]) -> None:
        self._backend = backend
        self._owner = owner
        self.fence = int(found["fence"])
        self.rebuilds = "rebuild" in found
        self.owes_all = self.rebuilds or _is_old(found)
        self._noted: set[int] = set()

    async def _change(self, update: Mapping[str, Any]) -> None:
        """Change the document ``rollup`` and hold the lease longer.

        Raises:
            UnavailableError: another one holds it now.

        """
        sets = {**update.get("$set", {}), "until": self._backend.now() + _LEASE_MS}
        mine = {**_NAME, "owner": self._owner, "fence": self.fence}
        with self._backend.call(_CALL):
            changed = {**update, "$set": sets}
            if not await self._backend.update_many("meta", mine, changed, comment=_CALL):
                raise UnavailableError("the roll-up lost its lease to another one; try again later")

    async def renew(self) -> None:
        """Hold the lease longer."""
        await self._change({})

    async def note(self, hours: Iterable[int]) -> None:
        """Note hours whose sheets are owed, before their rows change; a rebuild owes all of them anyway."""
        fresh = set() if self.rebuilds else set(hours) - self._noted
        await self._change({"$addToSet": {"hours": {"$each": sorted(map(Int64, fresh))}}} if fresh else {})
        self._noted |= fresh

    async def owed(self) -> list[int]:
        """The hours whose sheets are owed, those of deleted conversations now among them."""
        with self._backend.call(_CALL):
            found = await self._backend.find_one("meta", _NAME, {"stale": 1}, comment=_CALL) or {}
        stale = found.get("stale", [])
        if stale:
            # Moved in one update: an hour noted once more from here on is there again.
            each = {"$each": list(map(Int64, stale))}
            await self._change({"$addToSet": {"hours": each}, "$pull": {"stale": {"$in": stale}}})
        with self._backend.call(_CALL):
            found = await self._backend.find_one("meta", _NAME, {"hours": 1}, comment=_CALL) or {}
        return [int(hour) for hour in found.get("hours", [])]

    async def forget(self) -> None:
        """The sheets that were owed are written."""
        self._noted.clear()
        await self._change({"$unset": {"hours": ""}})

    async def note_rebuild(self) -> None:
        """Note that everything is made anew."""
        self.rebuilds = self.owes_all = True
        await self._change({"$set": {"rebuild": True}})

    async def forget_rebuild(self) -> None:
        """Every sheet is new."""
        self.rebuilds = self.owes_all = False
        await self._change({"$unset": {"rebuild": "", "hours": ""}, "$set": {"format": _FORMAT}})


@asynccontextmanager
async def runner(backend: AsyncBackend) -> AsyncIterator[Runner]:
    """Hold the lease; waits for another runner.

    Raises:
        UnavailableError: another one takes too long.

    """
    owner = uuid.uuid4().hex
    found = await _lease(backend, owner)
    try:
        yield Runner(backend, owner, found)
    finally:
        query, update = {**_NAME, "owner": owner}, {"$set": {"until": 0}}
        with backend.call(_CALL):
            await backend.update_many("meta", query, update, comment=_CALL)


async def _lease(backend: AsyncBackend, owner: str) -> dict[str, Any]:
    with backend.call(_CALL):
        await backend.put("meta", _NAME, {"$setOnInsert": _NEW}, comment=_CALL)
    for attempt in range(1, 400):
        now = backend.now()
        lapsed = [{"until": {"$lte": now}}, {"until": {"$gt": now + _LEASE_MS + _CLOCKS_MS}}]
        query = {**_NAME, "$or": [*lapsed, {"owner": owner}]}
        update = {"$set": {"until": now + _LEASE_MS, "owner": owner}, "$inc": {"fence": 1}}
        fields = {"fence": 1, "rebuild": 1, "format": 1}
        with backend.call(_CALL):
            try:
                held = await backend.modify("meta", query, update, fields, comment=_CALL)
            except Unclear:
                held = None
        if held is not None:
            return held
        await _pace.pause(min(attempt, 8))
    raise UnavailableError("another roll-up is under way and takes long; try again later")


async def is_noted(backend: AsyncBackend) -> bool:
    """Whether sheets are owed."""
    fields = {"rebuild": 1, "format": 1, "hours": {"$slice": 1}, "stale": {"$slice": 1}}
    found = await backend.find_one("meta", _NAME, fields, comment=_CALL)
    if found is None:
        return False
    return bool(found.get("rebuild") or found.get("hours") or found.get("stale")) or _is_old(found)


def _is_old(found: Mapping[str, Any]) -> bool:
    return int(found.get("format", 1)) < _FORMAT


async def note_stale(backend: AsyncBackend, hours: Collection[int]) -> None:
    """Note hours whose rows changed because a conversation was deleted."""
    if hours:
        noted = {"$addToSet": {"stale": {"$each": sorted(map(Int64, hours))}}}
        await backend.put("meta", _NAME, {**noted, "$setOnInsert": _NEW}, comment=_CALL)


async def write_noted(backend: AsyncBackend, held: Runner) -> None:
    """Make the sheets that are owed anew from the rows."""
    hours = await held.owed()
    if hours:
        await _write(backend, held, hours)
        await held.forget()


async def write_every(backend: AsyncBackend, held: Runner) -> None:
    """Make the sheets of every hour that has rows."""
    with backend.call(_CALL):
        found = await backend.aggregate("ledger", [{"$group": {"_id": "$h"}}], comment=_CALL)
    await _write(backend, held, [int(row["_id"]) for row in found])


async def _portions(backend: AsyncBackend, hours: Iterable[int]) -> AsyncIterator[list[int]]:
    """The hours in order, so many at a time that their rows are few enough to be held at once."""
    ordered = sorted(hours)
    for start in range(0, len(ordered), _HOURS):
        some = ordered[start : start + _HOURS]
        match = {"$match": {"h": {"$in": list(map(Int64, some))}}}
        with backend.call(_CALL):
            counted = await backend.aggregate("ledger", [match, {"$sortByCount": "$h"}], comment=_CALL)
        counts = {int(one["_id"]): int(one["count"]) for one in counted}
        portion: list[int] = []
        rows = 0
        for hour in some:
            count = counts.get(hour, 0)
            if portion and rows + count > _ROWS:
                yield portion
                portion, rows = [], 0
            portion.append(hour)
            rows += count
        yield portion


async def _write(backend: AsyncBackend, held: Runner, hours: Iterable[int]) -> None:
    async for part in _portions(backend, hours):
        with backend.call(_CALL):
            these = {"h": {"$in": list(map(Int64, part))}}
            rows: dict[int, list[dict[str, Any]]] = {hour: [] for hour in part}
            for row in await backend.find("ledger", these, comment=_CALL):
                rows[int(row["h"])].append(row)
            sheets = [sheet for hour in part for sheet in sheets_of(hour, rows[hour])]
            fresh = {(int(sheet["h"]), sheet["_id"]["p"]) for sheet in sheets}
            for old in await backend.find("sheets", these, {"_id": 1}, comment=_CALL):
                hour, place = int(old["_id"]["h"]), old["_id"]["p"]
                if (hour, place) not in fresh:
                    empty = {"_id": {"h": Int64(hour), "p": place}, "h": Int64(hour)}
                    sheets.append({**empty, "t": {}, "cs": [], "us": [], "q": [], "s": []})
            fence = Int64(held.fence)
            await backend.write_all(
                "sheets",
                [
                    ReplaceOne(
                        {"_id": sheet["_id"], "f": {"$lte": fence}}, {**sheet, "f": fence}, upsert=True
                    )
                    for sheet in sheets
                ],
                comment=_CALL,
            )
            await write_days(backend, days_of(part), held.fence, comment=_CALL)
        await held.renew()


async def delete_slowly(backend: AsyncBackend, held: Runner, name: str, query: Mapping[str, Any]) -> None:
    """Delete every document that fits, so many at a time that each command is short."""
    while True:
        with backend.call(_CALL):
            found = await backend.find(name, query, {"_id": 1}, comment=_CALL, limit=_DELETED)
            if found:
                ids = [one["_id"] for one in found]
                await backend.delete(name, {"_id": {"$in": ids}}, comment=_CALL)
        await held.renew()
        if len(found) < _DELETED:
            return
