"""Reading what a conversation's rows in the ledger are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from convostore.store import ledger, measuring
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import read_blobs
from convostore.store.heads import Head
from convostore.store.measuring import Measures, Turn

__all__ = ["HEAD", "rows_for"]

_FACTS: Final = {f"messages.{name}": 1 for name in measuring.FACTS}
_SEGMENT: Final = {f"e.{name}": 1 for name in measuring.FACTS}

HEAD: Final = {**dict.fromkeys(ledger.FIELDS, 1), **_FACTS, "segments.i": 1}
"""The fields of a head that its rows are made from."""


async def rows_for(backend: AsyncBackend, head: Head, *, comment: str) -> list[ledger.Row]:
    """The rows of a conversation whose head was read with :data:`HEAD`."""
    credits = ledger.credits_of(head, await _sealed(backend, head, comment=comment))
    return ledger.rows_of(head, credits, await _measures(backend, head, comment=comment))


async def _sealed(backend: AsyncBackend, head: Head, *, comment: str) -> list[dict[str, Any]]:
    """The sealed records' credits; the records only where the copied part of a fork ends."""
    if not head["log_start"]:
        return []
    query = {"user": head["user"], "c": head["_id"], "lin": head["lineage"]}
    sealed = await backend.find("changes", query, {"to": 1, "sums": 1}, comment=comment)
    for document in sealed:
        if ledger.needs_records(head, document):
            whole = await backend.find_one(
                "changes", {**query, "_id": document["_id"]}, {"recs": 1}, comment=comment
            )
            document["recs"] = [] if whole is None else whole["recs"]
    return sealed


async def _measures(backend: AsyncBackend, head: Head, *, comment: str) -> Measures:
    last = await _turns(backend, head, head.get("messages", ()), comment=comment)
    first: list[Turn] = []
    for item in head["segments"]:
        query = {"user": head["user"], "c": head["_id"], "_id": item["i"]}
        held = await backend.find_one("segments", query, _SEGMENT, comment=comment)
        entries = () if held is None else held["e"]  # replaced meanwhile: the change has marked it again
        first += await _turns(backend, head, entries, comment=comment)
        if measuring.first_answer(first) is not None:
            break
    else:
        first += last
    return measuring.measured(first, last)


async def _turns(
    backend: AsyncBackend, head: Head, entries: Sequence[Mapping[str, Any]], *, comment: str
) -> list[Turn]:
    """The turns of entries; a message that lies apart is read only while the answer is not found."""
    turns: list[Turn] = []
    answered = False
    for entry in entries:
        blobs: Mapping[Any, bytes] = {}
        if "blob" in entry and not answered:
            found = await read_blobs(backend, head["user"], head["_id"], [entry["blob"]], comment=comment)
            blobs = found or {}
        turns.append(measuring.turn_of(entry, blobs))
        answered = answered or turns[-1].side == "assistant"
    return turns
