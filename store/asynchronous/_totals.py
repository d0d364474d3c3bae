"""The documents of days: written from the sheets, and read for a range of hours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from bson.int64 import Int64
from pymongo import ReplaceOne

from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.days import COLUMNS, DISTINCT, HOURS, day_documents

__all__ = ["NUMBERS", "USERS", "held_days", "made_days", "write_days"]

NUMBERS: Final = dict.fromkeys((*COLUMNS, *DISTINCT), 1)
USERS: Final = {"us": 1, "uh": 1}
"""Parts of the documents."""

_WHOLE: Final = {"f": 0}
_SHEET = {"h": 1, "t": 1, "cs": 1, "us": 1}


async def made_days(
    backend: AsyncBackend, days: Iterable[int], *, comment: str
) -> dict[int, list[dict[str, Any]]]:
    """The documents of these days as their sheets give them, without a fence."""
    sheets: dict[int, list[dict[str, Any]]] = {day: [] for day in days}
    hours = [Int64(day * HOURS + hour) for day in sheets for hour in range(HOURS)]
    for sheet in await backend.find("sheets", {"h": {"$in": hours}}, _SHEET, comment=comment):
        sheets[int(sheet["h"]) // HOURS].append(sheet)
    return {day: day_documents(day, found) for day, found in sheets.items()}


async def write_days(backend: AsyncBackend, days: Iterable[int], fence: int, *, comment: str) -> None:
    """Make the documents of these days anew from their sheets."""
    made = await made_days(backend, days, comment=comment)
    fresh = [document for documents in made.values() for document in documents]
    written = {_place(document) for document in fresh}
    further = {"_id": _span(min(made), max(made)), "_id.p": {"$gt": 0}}
    for old in await backend.find("sheets", further, {"_id": 1}, comment=comment):
        if _place(old)[0] in made and _place(old) not in written:
            fresh.append(old)  # not needed any more: it says nothing now
    writes = [
        ReplaceOne(
            {"_id": document["_id"], "f": {"$lte": Int64(fence)}},
            {**document, "f": Int64(fence)},
            upsert=True,
        )
        for document in fresh
    ]
    await backend.write_all("sheets", writes, comment=comment)


def _place(document: Mapping[str, Any]) -> tuple[int, int]:
    return int(document["_id"]["d"]), int(document["_id"].get("p", 0))


async def held_days(
    backend: AsyncBackend, first: int, last: int, *, comment: str, fields: Mapping[str, int] = _WHOLE
) -> list[dict[str, Any]]:
    """The documents of the days from one hour to another (included), in order; of each these members."""
    span = _span(first // HOURS, last // HOURS)
    return await backend.find("sheets", {"_id": span}, fields, comment=comment, sort=[("_id", 1)])


def _span(first: int, last: int) -> dict[str, Any]:
    return {"$gte": {"d": Int64(first)}, "$lt": {"d": Int64(last + 1)}}
