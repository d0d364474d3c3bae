"""Tallies of periods: read from the sheets, or from the ledger's rows for one user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from convostore.schemas.periods import By, Period, period_places
from convostore.schemas.prices import PriceTable
from convostore.store.asking import CALENDAR_HOURS, HOUR_MS, Asked, hours_of
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._totals import NUMBERS, USERS, held_days
from convostore.store.crediting import HOUR_QUARTERS
from convostore.store.days import columns_between, first_hours
from convostore.store.sheets import ACTIVE, is_active
from convostore.store.tallying import Tally, add_days, are_days, cut_hours

__all__ = ["first_quarters", "pieces", "span", "tallies", "totals"]


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
    query: dict[str, Any] = {"h": hours_of(found)}
    if asked.is_plain and prices is None:
        cut = cut_hours(found)
        first, last = query["h"]["$gte"], query["h"]["$lte"]
        if len(cut) * 4 < last - first + 1:
            fields = {"fields": NUMBERS} if are_days(found) else {}
            add_days(await held_days(backend, first, last, comment=comment, **fields), found, sums)
            if not cut:
                return sums
            query = {"h": {"$in": sorted(cut)}}
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
) -> Mapping[str, list[int]] | None:
    """A column for each counter, and of distinct conversations and users, when each period is an hour of UTC
    and everything counts; None otherwise.
    """
    if not found or not asked.is_plain or asked.by is not By.HOUR:
        return None
    first, last = found[0].start // HOUR_MS, found[-1].end // HOUR_MS - 1
    if last - first + 1 != len(found) or any(period.start % HOUR_MS for period in found):
        return None
    documents = await held_days(backend, first, last, comment=comment, fields=NUMBERS)
    return columns_between(documents, first, last)


async def first_quarters(
    backend: AsyncBackend, asked: Asked, found: Sequence[Period], *, comment: str
) -> list[int]:
    """The quarter of an hour in which each user was active for the first time ever, or the first one of that
    hour where no period needs to know.
    """
    if asked.is_plain and not cut_hours(found):
        documents = await held_days(backend, 0, found[-1].end // HOUR_MS, comment=comment, fields=USERS)
        return [hour * HOUR_QUARTERS for hour in first_hours(documents).values()]
    active: dict[str, Any] = {**asked.rows(), "$or": [{short: {"$exists": True}} for short in ACTIVE]}
    group = {"_id": "$user", "q": {"$min": "$_id.q"}}
    rows = await backend.aggregate("ledger", [{"$match": active}, {"$group": group}], comment=comment)
    return [int(row["q"]) for row in rows]


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
