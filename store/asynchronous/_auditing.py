"""The doctor's look at figures: rows against conversations, sheets against rows.

What is marked to be rolled up, or noted as owed, is not yet due to agree; nor is anything while a roll-up is
under way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bson.int64 import Int64

from convostore.store import ledger
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._rows import rows_for
from convostore.store.asynchronous._sheeting import note_stale
from convostore.store.asynchronous._totals import held_days, made_days
from convostore.store.codec import decode_u64
from convostore.store.days import HOURS, days_of
from convostore.store.heads import Head
from convostore.store.results import Finding
from convostore.store.sheets import sheets_of

__all__ = ["check_rows", "check_rows_without_heads", "check_sheets"]

_CALL = "check"
_MEND = "make the roll-ups anew: convostore stats rollup --rebuild"
_HOURS = 500
_DAYS = 30
_IDS = 1_000


async def check_rows(backend: AsyncBackend, head: Head) -> list[Finding]:
    """Whether the rows of a conversation are those that its records give."""
    if "dirty" in head or not head.get("rolled"):
        return []
    fresh = ledger.row_documents(head, await rows_for(backend, head, comment=_CALL))
    query = {"user": head["user"], "_id.c": head["_id"]}
    held = await backend.find("ledger", query, comment=_CALL)
    mine = {_place(row): row for row in held if "kept" not in row or row["_id"]["l"] == head["lineage"]}
    wrong = {int(row["h"]) for row in mine.values() if _place(row) not in set(map(_place, fresh))}
    for row in fresh:
        if _place(row) not in mine or not ledger.same_row(mine[_place(row)], row):
            wrong.add(int(row["h"]))
    if not wrong:
        return []
    detail = f"figures of {len(wrong)} hours from {min(wrong)} on are not those of its records; {_MEND}"
    return [Finding("broken", "ledger_rows", decode_u64(head["_id"]), detail)]


def _place(row: Mapping[str, Any]) -> tuple[int, int, str]:
    return int(row["_id"]["l"]), int(row["_id"]["q"]), row["_id"]["m"]


async def check_rows_without_heads(backend: AsyncBackend, user: str | None, *, repair: bool) -> list[Finding]:
    """Rows of conversations that are gone, and were not kept when they were deleted."""
    match: dict[str, Any] = {"kept": {"$exists": False}, **({} if user is None else {"user": user})}
    group = {"_id": {"c": "$_id.c", "user": "$user"}, "n": {"$sum": 1}}
    with backend.call(_CALL):
        found = await backend.aggregate("ledger", [{"$match": match}, {"$group": group}], comment=_CALL)
    findings = []
    for start in range(0, len(found), _IDS):
        part = found[start : start + _IDS]
        query: dict[str, Any] = {"_id": {"$in": [row["_id"]["c"] for row in part]}}
        if user is not None:
            query["user"] = user
        with backend.call(_CALL):
            heads = await backend.find("conversations", query, {"_id": 1}, comment=_CALL)
        there = {decode_u64(head["_id"]) for head in heads}
        for row in part:
            id = decode_u64(row["_id"]["c"])
            if id not in there:
                if repair:
                    await _remove(backend, row["_id"])
                detail = f"{row['n']} rows of figures belong to no conversation"
                findings.append(Finding("leftover", "ledger_rows", id, detail, repaired=repair))
    return findings


async def _remove(backend: AsyncBackend, owner: Mapping[str, Any]) -> None:
    query = {"_id.c": owner["c"], "user": owner["user"], "kept": {"$exists": False}}
    with backend.call(_CALL):
        hours = {int(row["h"]) for row in await backend.find("ledger", query, {"h": 1}, comment=_CALL)}
        await note_stale(backend, hours)
        await backend.delete("ledger", query, comment=_CALL)
        await note_stale(backend, hours)


async def check_sheets(backend: AsyncBackend) -> list[Finding]:
    """Whether the sheets are those that the rows give."""
    with backend.call(_CALL):
        stages = [{"$group": {"_id": "$h"}}]
        hours = {int(row["_id"]) for row in await backend.aggregate("ledger", stages, comment=_CALL)}
        of_hours: list[dict[str, Any]] = [{"$match": {"h": {"$exists": True}}}, *stages]
        hours |= {int(row["_id"]) for row in await backend.aggregate("sheets", of_hours, comment=_CALL)}
    ordered = sorted(hours)
    wrong: list[int] = []
    for start in range(0, len(ordered), _HOURS):
        part = ordered[start : start + _HOURS]
        differ = await _differing(backend, part)
        # What changed between the two looks agrees at the second.
        wrong += await _differing(backend, differ) if differ else []
    days = await _differing_days(backend, days_of(ordered))
    wrong_days = await _differing_days(backend, days) if days else []
    totals = [
        Finding("broken", "totals", day, f"the totals of day {day} are not those of its sheets; {_MEND}")
        for day in wrong_days
    ]
    return totals + [
        Finding("broken", "sheet", hour, f"the figures of hour {hour} are not those of its rows; {_MEND}")
        for hour in wrong
    ]


async def _differing(backend: AsyncBackend, hours: Sequence[int]) -> list[int]:
    with backend.call(_CALL):
        before = await _noted(backend)
        query = {"h": {"$in": list(map(Int64, hours))}}
        rows: dict[int, list[dict[str, Any]]] = {hour: [] for hour in hours}
        for row in await backend.find("ledger", query, comment=_CALL):
            rows[int(row["h"])].append(row)
        sheets: dict[int, list[dict[str, Any]]] = {hour: [] for hour in hours}
        for sheet in await backend.find("sheets", query, comment=_CALL):
            sheets[int(sheet["h"])].append(sheet)
        after = await _noted(backend)
    if before is None or after is None:
        return []
    return [
        hour
        for hour in hours
        if hour not in before | after and _said(sheets[hour]) != _said(sheets_of(hour, rows[hour]))
    ]


async def _differing_days(backend: AsyncBackend, days: Sequence[int]) -> list[int]:
    wrong = []
    for start in range(0, len(days), _DAYS):
        part = days[start : start + _DAYS]
        with backend.call(_CALL):
            before = await _noted(backend)
            fresh = await made_days(backend, part, comment=_CALL)
            held: dict[int, list[dict[str, Any]]] = {day: [] for day in part}
            first, last = part[0] * HOURS, part[-1] * HOURS
            for one in await held_days(backend, first, last, comment=_CALL):
                # A further one that became needless says nothing.
                if int(one["_id"]["d"]) in held and (len(one) > 1 or "p" not in one["_id"]):
                    held[int(one["_id"]["d"])].append(one)
            after = await _noted(backend)
        if before is not None and after is not None:
            noted = set(days_of(before | after))
            wrong += [day for day in part if day not in noted and held[day] != fresh[day]]
    return wrong


def _said(sheets: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The sheets of an hour without their fences, those that say nothing, and the order in their lists."""
    found = []
    for sheet in sorted(sheets, key=lambda sheet: int(sheet["_id"]["p"])):
        if sheet["t"]:
            said = {name: value for name, value in sheet.items() if name != "f"}
            parts = [said, *said["q"], *said["s"]]
            for part in parts:
                part["cs"] = sorted(part["cs"], key=decode_u64)
                part["us"] = sorted(part["us"])
            found.append(said)
    return found


async def _noted(backend: AsyncBackend) -> set[int] | None:
    """The hours whose sheets are owed; None while a roll-up is under way."""
    found = await backend.find_one("meta", {"_id": "rollup"}, comment=_CALL) or {}
    if found.get("rebuild") or int(found.get("until", 0)) > backend.now():
        return None
    return {int(hour) for name in ("hours", "stale") for hour in found.get(name, [])}
