"""Series of facts about conversations: statuses, failures, waits, durations; read from the ledger's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from convostore.schemas.conversations import ConversationStatus
from convostore.schemas.periods import Period, period_places
from convostore.store.asking import Asked, hours_of
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._tallies import span, tallies
from convostore.store.codec import decode_u64
from convostore.store.figures import DurationsRow, FailuresRow, QueuesRow, ReasonCount, StatusRow, WaitingRow
from convostore.store.heads import QUEUES
from convostore.store.measuring import percentiles

__all__ = ["durations", "failures", "queues", "statuses", "waiting"]

_PRESENT = {"$exists": True}


async def _periods(backend: AsyncBackend, asked: Asked, *, comment: str) -> list[Period]:
    between = await span(backend, asked, comment=comment)
    return [] if between is None else asked.periods(*between)


async def _rows(
    backend: AsyncBackend, asked: Asked, found: Sequence[Period], fields: Sequence[str], *, comment: str
) -> list[dict[str, Any]]:
    """The rows of the range that have the first of these members."""
    query = {**asked.rows(), "h": hours_of(found), fields[0]: _PRESENT}
    return await backend.find("ledger", query, {"_id": 1, **dict.fromkeys(fields, 1)}, comment=comment)


def _placed(found: Sequence[Period], rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Any]]:
    places = period_places(found, [row["_id"]["q"] for row in rows])
    return ((place, row) for place, row in zip(places, rows, strict=True) if place >= 0)


async def statuses(backend: AsyncBackend, asked: Asked, *, comment: str) -> list[StatusRow]:
    """Conversations by when they were created, by status."""
    found = await _periods(backend, asked, comment=comment)
    counted: list[Mapping[str, int]]
    if asked.is_plain:
        counted = [tally.statuses() for tally in await tallies(backend, asked, found, comment=comment)]
    else:
        counted = await _statuses_of_rows(backend, asked, found, comment=comment)
    names = [status.value for status in ConversationStatus]
    return [
        StatusRow(period.start, period.label, sum(one.values()), **{name: one[name] for name in names})
        for period, one in zip(found, counted, strict=True)
    ]


async def _statuses_of_rows(
    backend: AsyncBackend, asked: Asked, found: Sequence[Period], *, comment: str
) -> list[Mapping[str, int]]:
    if not found:
        return []
    query = {**asked.rows(), "h": hours_of(found), "status": _PRESENT}
    group = {"_id": {"q": "$_id.q", "s": "$status"}, "n": {"$sum": 1}}
    rows = await backend.aggregate("ledger", [{"$match": query}, {"$group": group}], comment=comment)
    counted = [Counter[str]() for _ in found]
    for place, row in _placed(found, rows):
        counted[place][row["_id"]["s"]] += row["n"]
    return list(counted)


async def failures(backend: AsyncBackend, asked: Asked, *, comment: str) -> list[FailuresRow]:
    """Failures by when they happened."""
    found = await _periods(backend, asked, comment=comment)
    if not found:
        return []
    reasons = [Counter[str | None]() for _ in found]
    conversations: list[set[int]] = [set() for _ in found]
    for place, row in _placed(found, await _rows(backend, asked, found, ["failures"], comment=comment)):
        reasons[place].update(row["failures"])
        conversations[place].add(decode_u64(row["_id"]["c"]))
    return [
        FailuresRow(
            period.start,
            period.label,
            counted.total(),
            len(failed),
            tuple(
                ReasonCount(reason, count)
                for reason, count in sorted(counted.items(), key=lambda item: (-item[1], item[0] or ""))
            ),
        )
        for period, counted, failed in zip(found, reasons, conversations, strict=True)
    ]


async def queues(backend: AsyncBackend, asked: Asked, *, comment: str) -> list[QueuesRow]:
    """Waits by when they ended."""
    found = await _periods(backend, asked, comment=comment)
    if not found:
        return []
    waits: list[list[int]] = [[] for _ in found]
    for place, row in _placed(found, await _rows(backend, asked, found, ["waits"], comment=comment)):
        waits[place] += map(decode_u64, row["waits"])
    return [
        QueuesRow(period.start, period.label, len(ended), **percentiles(ended))
        for period, ended in zip(found, waits, strict=True)
    ]


async def durations(backend: AsyncBackend, asked: Asked, *, comment: str) -> list[DurationsRow]:
    """How long conversations lasted, and the first answer took, by when they were created."""
    found = await _periods(backend, asked, comment=comment)
    if not found:
        return []
    lasted: list[list[int]] = [[] for _ in found]
    answered: list[list[int]] = [[] for _ in found]
    rows = await _rows(backend, asked, found, ["status", "lasted", "answered"], comment=comment)
    for place, row in _placed(found, rows):
        for name, values in (("lasted", lasted), ("answered", answered)):
            if name in row:
                values[place].append(int(row[name]))
    made = []
    for period, whole, first in zip(found, lasted, answered, strict=True):
        answers = {f"answer_{name}": value for name, value in percentiles(first).items()}
        row = DurationsRow(
            period.start, period.label, len(whole), answered=len(first), **percentiles(whole), **answers
        )
        made.append(row)
    return made


async def waiting(backend: AsyncBackend, asked: Asked, *, comment: str) -> list[WaitingRow]:
    """What waits now."""
    now = backend.now()
    query: dict[str, Any] = {"due": _PRESENT, "status": ConversationStatus.SUBMITTED.value}
    if asked.owner is not None:
        query["user"] = asked.owner
    if asked.label is not None:
        query["label"] = asked.label
    submitted = await backend.find("conversations", query, {"due": 1}, comment=comment)
    times = [max(now - decode_u64(head["due"]), 0) for head in submitted]
    rows = [WaitingRow("submitted", len(times), len(times), **percentiles(times))]
    held = await backend.find(
        "ledger", {**asked.rows(), "queued": _PRESENT}, {"queued": 1, "_id": 0}, comment=comment
    )
    for name in QUEUES:
        lists = [row["queued"][name] for row in held if name in row["queued"]]
        times = [max(now - decode_u64(at), 0) for one in lists for at in one]
        queue = name.removesuffix("_messages")
        rows.append(WaitingRow(queue, len(times), len(lists), **percentiles(times)))
    return rows
