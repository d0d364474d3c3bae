"""Days: what the sheets of 24 hours say in total, and who was active in which hour. Pure.

A document has ``_id`` ``{d: day}`` (of UTC, since 1970) and lies beside the sheets, so that a year is a few
hundred small documents. Members besides ``f``, the fence:

====================  =================================================================================
each of ``COLUMNS``   a column of 24 numbers: the counters by their letters, and the numbers of distinct
                      conversations and users (``cn``, ``un``); left out when all are 0
``cs``, ``ch``        ids of the active conversations, 8 bytes each, and the hours in which each was
                      active, 4 bytes each: bit 0 is the first hour; little-endian
``us``, ``uh``        names of the active users, and their hours
``dc``, ``du``        how many conversations and users were active in the whole day
====================  =================================================================================

A day of more than :data:`MOST` active conversations or users goes on in ``{d: day, p: 1}`` and so forth,
which have only the members of conversations and of users.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, islice
from typing import Any, Final

from bson.int64 import Int64

from convostore.store.codec import U64_MAX, decode_u64
from convostore.store.crediting import LETTERS, STATUSES

__all__ = [
    "COLUMNS",
    "DISTINCT",
    "HOURS",
    "MOST",
    "active_in",
    "columns_between",
    "day_documents",
    "days_of",
    "first_hours",
]

COLUMNS: Final = (*LETTERS, *STATUSES.values(), "cn", "un")
"""The counters by their letters, and the numbers of distinct conversations and users."""

DISTINCT: Final = ("dc", "du")

HOURS: Final = 24

MOST: Final = 10_000
"""Conversations, and users, of one document: a user's name may have 1,024 bytes."""


def days_of(hours: Iterable[int]) -> list[int]:
    """The days in which the hours lie."""
    return sorted({hour // HOURS for hour in hours})


def day_documents(day: int, sheets: Iterable[Mapping[str, Any]], most: int = MOST) -> list[dict[str, Any]]:
    """The documents of a day as its sheets give them, without a fence; at least one."""
    columns: dict[str, list[Any]] = {}
    conversations: dict[int, int] = {}
    users: dict[str, int] = {}
    for sheet in sheets:
        hour = int(sheet["h"]) % HOURS
        for name, count in sheet["t"].items():
            column = columns.setdefault(name, [0] * HOURS)
            # An hour in several parts: their counters add up.
            column[hour] = count if not column[hour] else column[hour] + decode_u64(count)
        for id in map(decode_u64, sheet["cs"]):
            conversations[id] = conversations.get(id, 0) | 1 << hour
        for name in sheet["us"]:
            users[name] = users.get(name, 0) | 1 << hour
    distinct = {"dc": len(conversations), "du": len(users)}
    found: list[dict[str, Any]] = [{"_id": {"d": Int64(day)}, **columns, **distinct}]
    for place, part in enumerate(_parts(conversations, users, most)):
        if place:
            found.append({"_id": {"d": Int64(day), "p": place}})
        found[-1] |= part
    return found


def _parts(conversations: Mapping[int, int], users: Mapping[str, int], most: int) -> Iterator[dict[str, Any]]:
    ids, names = iter(sorted(conversations)), iter(sorted(users))
    while True:
        some, named = list(islice(ids, most)), list(islice(names, most))
        if not some and not named:
            return
        yield {
            "cs": _packed("Q", some),
            "ch": _packed("I", map(conversations.__getitem__, some)),
            "us": named,
            "uh": _packed("I", map(users.__getitem__, named)),
        }


def columns_between(documents: Iterable[Mapping[str, Any]], first: int, last: int) -> dict[str, list[int]]:
    """The totals of the hours from ``first`` to ``last`` (included): a list for each of ``COLUMNS``."""
    start, end = first // HOURS * HOURS, last // HOURS * HOURS + HOURS
    columns: dict[str, list[Any]] = {name: [0] * (end - start) for name in COLUMNS}
    for document in documents:
        day = int(document["_id"]["d"]) * HOURS
        if start <= day < end:
            for name in COLUMNS:
                if name in document:
                    columns[name][day - start : day - start + HOURS] = document[name]
    return {name: _plain(column[first - start : last + 1 - start]) for name, column in columns.items()}


def _plain(column: list[Any]) -> list[int]:
    """The numbers of a column, of which few are large ones, if any."""
    if set(map(type, column)) == {int}:
        return column
    return [min(decode_u64(number), U64_MAX) for number in column]


def active_in(document: Mapping[str, Any], start: int, end: int) -> tuple[Iterable[int], Iterable[str]]:
    """The conversations and users of a document that were active from an hour to another, counted since 1970
    and excluded; of its own day those count.
    """
    first = int(document["_id"]["d"]) * HOURS
    start, end = max(start - first, 0), min(end - first, HOURS)
    if start >= end or "cs" not in document:
        return (), ()
    ids, names = _unpacked("Q", document["cs"]), document["us"]
    if end - start == HOURS:
        return ids, names
    hours = (1 << end) - (1 << start)
    return _in_hours(ids, document["ch"], hours), _in_hours(names, document["uh"], hours)


def first_hours(documents: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The first hour since 1970 in which each user was active; the documents by their days."""
    found: dict[str, int] = {}
    for document in documents:
        if "us" in document:
            day = int(document["_id"]["d"]) * HOURS
            for name, hours in zip(document["us"], _unpacked("I", document["uh"]), strict=True):
                if name not in found:
                    found[name] = day + (hours & -hours).bit_length() - 1
    return found


def _in_hours(items: Sequence[Any], packed: bytes, hours: int) -> Iterator[Any]:
    return compress(items, map(hours.__and__, _unpacked("I", packed)))


def _packed(kind: str, numbers: Iterable[int]) -> bytes:
    return _little(array(kind, numbers)).tobytes()


def _unpacked(kind: str, packed: bytes) -> array[int]:
    return _little(array(kind, packed))


def _little(numbers: array[int]) -> array[int]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
