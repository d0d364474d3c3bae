"""Tallies of periods: read from the sheets, or from the ledger's rows for one user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from convostore.schemas.periods import By, Period, period_places
from convostore.schemas.prices import PriceTable
from convostore.store.asking import CALENDAR_HOURS, HOUR_MS, Asked, hours_of
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._totals import columns_between
from convostore.store.crediting import HOUR_QUARTERS, LETTERS
from convostore.store.sheets import is_active
from convostore.store.tallying import Tally

__all__ = ["pieces", "span", "tallies", "totals"]

_QUARTER_MS = HOUR_MS // HOUR_QUARTERS


async def span(backend: AsyncBackend, asked: Asked, *, comment: str) -> tuple[int, int] | None:
    """The range asked for, its open ends where there is something; None when there is nothing."""
    ends: list[int | None] = [asked.since, asked.until]
    calendar = {"$lt": CALENDAR_HOURS}
    query: dict[str, Any] = {"h": calendar, "t": {"$ne": {}}}
    name = "sheets"
    if asked.owner is not None:
        name, query = "ledger", {"user": asked.owner, "h": calendar}
    for place, order in ((0, 1), (1, -1)):
        if ends[place] is None:
            edge = await backend.find(name, query, {"h": 1}, comment=comment, sort=[("h", order)], limit=1)
            if not edge:
                return None
            ends[place] = (int(edge[0]["h"]) + place) * HOUR_MS
    first, last = ends
    assert first is not None and last is not None
    return first, last


async def tallies(
    backend: AsyncBackend,
    asked: Asked,
    found: Sequence[Period],
    *,
    prices: PriceTable | None = None,
    comment: str,
) -> list[Tally]:
    """The tally of each period."""
    sums = [Tally() for _ in found]
    if not found:
        return sums
    plain = asked.is_plain and prices is None
    split = {period.start // HOUR_MS for period in found if period.start % HOUR_MS}
    split |= {period.end // HOUR_MS for period in found[-1:] if period.end % HOUR_MS}
    query: dict[str, Any] = {"h": hours_of(found)}
    if plain and len(split) * 4 < (found[-1].end - found[0].start) // HOUR_MS:
        await _add_hours(backend, found, sums, split, comment=comment)
        if not split:
            return sums
        query = {"h": {"$in": sorted(split)}}
    parts = await pieces(backend, asked, query, comment=comment)
    for part, place in zip(parts, period_places(found, [part["q"] for part in parts]), strict=True):
        if place >= 0:
            sums[place].add(part)
            sums[place].meet(part["cs"], part["us"])
            if prices is not None:
                sums[place].costs.add(prices, part["q"], part.get("tk", ()))
    return sums


async def totals(
    backend: AsyncBackend, asked: Asked, found: Sequence[Period], *, comment: str
) -> Mapping[str, list[Any]] | None:
    """A column for each counter, and of distinct conversations and users, when each period is an hour of UTC
    and everything counts; None otherwise.
    """
    if not found or not asked.is_plain or asked.by is not By.HOUR:
        return None
    first, last = found[0].start // HOUR_MS, found[-1].end // HOUR_MS - 1
    if last - first + 1 != len(found) or any(period.start % HOUR_MS for period in found):
        return None
    return await columns_between(backend, first, last, comment=comment)


async def _add_hours(
    backend: AsyncBackend,
    found: Sequence[Period],
    sums: Sequence[Tally],
    split: Set[int],
    *,
    comment: str,
) -> None:
    """Hours that lie in one period each: all but the split ones."""
    first, last = found[0].start // HOUR_MS, (found[-1].end - 1) // HOUR_MS
    quarters = range(first * HOUR_QUARTERS, (last + 1) * HOUR_QUARTERS, HOUR_QUARTERS)
    places = period_places(found, quarters)
    columns = await columns_between(backend, first, last, comment=comment)
    for short in LETTERS:
        for hour, place, count in zip(range(first, last + 1), places, columns[short], strict=True):
            if count and place >= 0 and hour not in split:
                sums[place].add({short: count})
    query = {"h": {**hours_of(found), "$nin": sorted(split)}}
    for sheet in await backend.find("sheets", query, {"_id": 0, "h": 1, "cs": 1, "us": 1}, comment=comment):
        place = places[sheet["h"] - first]
        if place >= 0:
            sums[place].meet(sheet["cs"], sheet["us"])


async def pieces(
    backend: AsyncBackend, asked: Asked, hours: Mapping[str, Any], *, comment: str
) -> list[dict[str, Any]]:
    """What was counted in the quarters of these hours (a filter on ``h``), a document each or several.

    Each has ``q``, the counters by their letters, ``cs`` and ``us`` (active conversations and their users)
    and ``tk`` (tokens by model).
    """
    if asked.owner is not None:
        rows = await backend.find("ledger", {**asked.rows(), **hours}, comment=comment)
        return [_piece(row) for row in rows]
    if asked.label is None and asked.model is None:
        sheets = await backend.find("sheets", hours, {"_id": 0, "q": 1}, comment=comment)
        return [part for sheet in sheets for part in sheet["q"]]
    wanted: list[dict[str, Any]] = []
    if asked.label is not None:
        wanted.append({"$eq": ["$$this.l", {"$literal": asked.label}]})
    if asked.model is not None:
        wanted.append({"$eq": ["$$this.m", {"$literal": asked.model}]})
    fitting = {"$filter": {"input": "$s", "cond": {"$and": wanted}}}
    stages: list[dict[str, Any]] = [{"$match": hours}, {"$project": {"_id": 0, "s": fitting}}]
    sheets = await backend.aggregate("sheets", stages, comment=comment)
    return [{**slot, "tk": [_tokens(slot["m"], slot)]} for sheet in sheets for slot in sheet["s"]]


def _piece(row: Mapping[str, Any]) -> dict[str, Any]:
    active = is_active(row)
    return {
        **row,
        "q": int(row["_id"]["q"]),
        "cs": [row["_id"]["c"]] if active else [],
        "us": [row["user"]] if active else [],
        "tk": [_tokens(row["_id"]["m"], row)],
    }


def _tokens(model: str, counters: Mapping[str, Any]) -> list[Any]:
    return [model, counters.get("i", 0), counters.get("o", 0), counters.get("c", 0)]
