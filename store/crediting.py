"""Crediting: what change records add to the ledger, by quarter of an hour and model. Pure.

Sealed records carry their credits in the document that holds them (``sums``), so a roll-up never reads old
records again. A credit is a small document: ``h`` and ``q``, the hour and quarter since 1970, ``m`` the model
when known, the counters of :class:`Counts` by one letter each, and ``st``: changes of status that appends
made, ``[ms, status]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from bson.int64 import Int64

from convostore.schemas.periods import QUARTER_MS
from convostore.store import history
from convostore.store.codec import U64_MAX, decode_u64, encode_u64

__all__ = [
    "HOUR_QUARTERS",
    "LETTERS",
    "STATUSES",
    "Counts",
    "credited",
    "first_hour",
    "read_counts",
    "written_counts",
    "written_sums",
]

HOUR_QUARTERS: Final = 4
_NAMED: Final = 256
_SHORT_MOST: Final = 2**31 - 1


@dataclass(slots=True)
class Counts:
    """What was counted; each counter stops at 2^64-1.

    ``known`` are appends that gave their usage, ``unknown`` those with messages but without. ``by_creation``
    are imported messages without a time of their own, which count when their conversation was made;
    ``tokens_by_creation`` the tokens of imports whose messages were written at other times. ``appends`` wrote
    messages, ``edits`` changed stored ones. ``created``, ``imported`` and ``forked`` count conversations.
    """

    messages: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    requests: int = 0
    known: int = 0
    unknown: int = 0
    by_creation: int = 0
    tokens_by_creation: int = 0
    created: int = 0
    imported: int = 0
    forked: int = 0
    appends: int = 0
    edits: int = 0

    def add(self, letters: Mapping[str, Any]) -> None:
        """Add the counters of a document."""
        for short, count in letters.items():
            name = LETTERS.get(short)
            if name is not None:
                setattr(self, name, min(getattr(self, name) + decode_u64(count), U64_MAX))


LETTERS: Final = dict(zip("niocrkxezbgypd", (field.name for field in fields(Counts)), strict=True))
"""The counters by the letter that documents have for them."""

STATUSES: Final = {
    "submitted": "ss",
    "working": "sw",
    "idle": "si",
    "completed": "sc",
    "cancelled": "sx",
    "failed": "sf",
}
"""Conversations by their present status, counted where they were created: the letters of roll-ups."""

_SHORT: Final = {name: short for short, name in LETTERS.items()}


def written_counts(counts: Counts) -> dict[str, Any]:
    """Counts as a document holds them; those that are 0 are left out.

    A small number is a short one there: each Int64 is turned into an int one by one when it is read.
    """
    return written_sums({short: getattr(counts, name) for short, name in LETTERS.items()})


def written_sums(sums: Mapping[str, int]) -> dict[str, Any]:
    """As :func:`written_counts`, of counters that already go by their letters and may be too great."""
    return {short: n if n <= _SHORT_MOST else encode_u64(min(n, U64_MAX)) for short, n in sums.items() if n}


def read_counts(document: Mapping[str, Any]) -> Counts:
    """The counts of a document."""
    counts = Counts()
    counts.add(document)
    return counts


def credited(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The credits of these records, in order of quarters and models.

    Messages are credited to when they were written: to their own times where an import knows them, else to
    the record's. A splice writes the messages that it brings in under fresh ids; what undo and redo bring
    back was written before.
    """
    sums: dict[tuple[int, str], Counts] = {}
    states: dict[int, list[list[Any]]] = {}

    def at(quarter: int, model: str = "") -> Counts:
        return sums.setdefault((quarter, model), Counts())

    for record in records:
        quarter, model = int(record["at"]) // QUARTER_MS, str(record.get("md", ""))[:_NAMED]
        own = at(quarter, model)
        is_edit = "from" in record
        pushed = history.pushed(record)
        written = pushed
        if is_edit:
            own.edits += 1
            written = 0 if "undo" in record or "redo" in record else history.drawn(record)
        timed = record.get("qs", ())
        for place, count in timed:
            at(int(place), model).messages += int(count)
        rest = written - sum(int(count) for _, count in timed)
        own.messages += rest
        own.appends += pushed > 0
        if "qs" in record:
            own.by_creation += rest
        if "u" in record:
            usage = history.usage_of(record)
            own.add({"k": 1, **{_SHORT[name]: count for name, count in usage.items()}})
            if "qs" in record:
                tokens = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
                own.add({"z": min(tokens, U64_MAX)})
        elif pushed:
            own.unknown += 1
        if "st" in record:
            changes = states.setdefault(quarter, [])
            if not changes or changes[-1][1] != record["st"]:
                changes.append([Int64(record["at"]), record["st"]])
                at(quarter)
    return [_document(quarter, model, sums[quarter, model], states) for quarter, model in sorted(sums)]


def _document(
    quarter: int, model: str, counts: Counts, states: Mapping[int, list[list[Any]]]
) -> dict[str, Any]:
    document: dict[str, Any] = {"h": Int64(quarter // HOUR_QUARTERS), "q": Int64(quarter)}
    if model:
        document["m"] = model
    document |= {"n": 0, **written_counts(counts)}
    if not model and quarter in states:
        document["st"] = states[quarter]
    return document


def first_hour(records: Iterable[Mapping[str, Any]]) -> int | None:
    """The first hour that the records credit anything to; None without a record."""
    hours = []
    for record in records:
        hours.append(int(record["at"]) // (QUARTER_MS * HOUR_QUARTERS))
        hours += [int(quarter) // HOUR_QUARTERS for quarter, _ in record.get("qs", ())]
    return min(hours, default=None)
