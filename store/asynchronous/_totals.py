"""Totals of hours, day by day: a column of 24 numbers for each counter, from the sheets' own totals.

They lie beside the sheets, under ``_id`` ``{d: day}`` (of UTC, since 1970), so that a year by the hour is
a few hundred small documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from bson.int64 import Int64
from pymongo import ReplaceOne

from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.codec import decode_u64
from convostore.store.crediting import LETTERS

__all__ = ["COLUMNS", "columns_between", "day_documents", "days_of", "write_days"]

COLUMNS: Final = (*LETTERS, "cn", "un")
"""The counters by their letters, and the numbers of distinct conversations and users."""

_DAY: Final = 24


def days_of(hours: Iterable[int]) -> list[int]:
    """The days in which the hours lie."""
    return sorted({hour // _DAY for hour in hours})


async def day_documents(
    backend: AsyncBackend, days: Iterable[int], *, comment: str
) -> dict[int, dict[str, Any]]:
    """The documents of these days as their sheets give them, without a fence."""
    wanted = list(days)
    found: dict[int, dict[str, Any]] = {day: {"_id": {"d": Int64(day)}} for day in wanted}
    hours = [Int64(day * _DAY + hour) for day in wanted for hour in range(_DAY)]
    for sheet in await backend.find("sheets", {"h": {"$in": hours}}, {"h": 1, "t": 1}, comment=comment):
        day, hour = divmod(int(sheet["h"]), _DAY)
        for name, count in sheet["t"].items():
            column = found[day].setdefault(name, [0] * _DAY)
            # An hour in several parts: their counters add up.
            column[hour] = count if not column[hour] else column[hour] + decode_u64(count)
    return found


async def write_days(backend: AsyncBackend, days: Iterable[int], fence: int, *, comment: str) -> None:
    """Make the totals of these days anew from their sheets."""
    writes = []
    for day, document in (await day_documents(backend, days, comment=comment)).items():
        older = {"_id": {"d": Int64(day)}, "f": {"$lte": Int64(fence)}}
        writes.append(ReplaceOne(older, {**document, "f": Int64(fence)}, upsert=True))
    await backend.write_all("sheets", writes, comment=comment)


async def columns_between(
    backend: AsyncBackend, first: int, last: int, *, comment: str
) -> Mapping[str, list[Any]]:
    """The totals of the hours from ``first`` to ``last`` (included): a column for each of ``COLUMNS``."""
    span = {"$gte": {"d": Int64(first // _DAY)}, "$lte": {"d": Int64(last // _DAY)}}
    start = first // _DAY * _DAY
    columns: dict[str, list[Any]] = {name: [0] * (last // _DAY * _DAY + _DAY - start) for name in COLUMNS}
    for document in await backend.find("sheets", {"_id": span}, {"f": 0}, comment=comment):
        place = int(document.pop("_id")["d"]) * _DAY - start
        for name, column in document.items():
            columns[name][place : place + _DAY] = column
    return {name: column[first - start : last + 1 - start] for name, column in columns.items()}
