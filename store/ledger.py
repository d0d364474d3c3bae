"""The ledger: who used what, quarter of an hour by quarter, out of the change records. Pure.

Every append leaves a change record with its time, its number of messages and, when known, its usage, in the
update that stores the messages: the records are the ledger, so a retry cannot count twice and a rebuild gives
the same numbers. A *row* sums one conversation's records of one quarter and model; it is replaced as a whole,
never added to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from convostore.schemas.periods import QUARTER_MS
from convostore.store import history
from convostore.store.codec import U64_MAX, decode_u64, encode_u64
from convostore.store.heads import Head
from convostore.store.timeline import kind_of

__all__ = ["HOUR_QUARTERS", "Counts", "Row", "read_counts", "row_document", "rows_of", "sheets_of"]

HOUR_QUARTERS: Final = 4


@dataclass(slots=True)
class Counts:
    """What was counted.

    ``known`` are appends that gave their usage, ``unknown`` those with messages but without; ``by_creation``
    are imported messages that have no time of their own and count when their conversation was made.
    """

    messages: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    requests: int = 0
    known: int = 0
    unknown: int = 0
    by_creation: int = 0
    created: int = 0

    def add(self, other: Counts) -> None:
        """Add another one's, each counter stopping at 2^64-1."""
        for one in _NAMES:
            setattr(self, one, min(getattr(self, one) + getattr(other, one), U64_MAX))


_NAMES: Final = tuple(field.name for field in fields(Counts))
_SHORT: Final = dict(zip(_NAMES, "niocrkxeb", strict=True))


@dataclass(frozen=True, slots=True)
class Row:
    """What one conversation counts in one quarter of an hour since 1970, for one model (empty: not known)."""

    quarter: int
    model: str
    counts: Counts


def rows_of(head: Head, records: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The rows of a conversation, in order of time, from all its records.

    Records that came along in a fork count where they were made, not again.
    """
    sums: dict[tuple[int, str], Counts] = {}

    def at(quarter: int, model: str = "") -> Counts:
        return sums.setdefault((quarter, model), Counts())

    at(decode_u64(head["created_at"]) // QUARTER_MS).created = 1
    copied = int(head["forked_from"]["revision"]) if "forked_from" in head else 0
    for record in records[copied:]:
        quarter, model = int(record["at"]) // QUARTER_MS, str(record.get("md", ""))
        pushed = history.pushed(record) if kind_of(record) == "push" else 0
        timed = record.get("qs")
        if timed is not None:
            for place, count in timed:
                at(int(place), model).messages += int(count)
            rest = pushed - sum(int(count) for _, count in timed)
            at(quarter, model).messages += rest
            at(quarter, model).by_creation += rest
        elif pushed:
            at(quarter, model).messages += pushed
        usage = history.usage_of(record)
        if "u" in record:
            given = Counts(known=1, **usage)
            at(quarter, model).add(given)
        elif pushed:
            at(quarter, model).unknown += 1
    return [Row(quarter, model, sums[quarter, model]) for quarter, model in sorted(sums)]


def written_counts(counts: Counts) -> dict[str, Any]:
    """Counts as a document holds them: one letter each, those that are 0 left out."""
    return {_SHORT[name]: encode_u64(getattr(counts, name)) for name in _NAMES if getattr(counts, name)}


def read_counts(document: Mapping[str, Any]) -> Counts:
    """The counts of a document."""
    return Counts(**{name: decode_u64(document.get(short, 0)) for name, short in _SHORT.items()})


def row_document(head: Head, row: Row) -> dict[str, Any]:
    """The document of a row."""
    return {
        "_id": {"c": head["_id"], "q": row.quarter, "m": row.model},
        "user": head["user"],
        "label": head.get("label"),
        "h": row.quarter // HOUR_QUARTERS,
        **written_counts(row.counts),
    }


def sheets_of(rows: Iterable[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """The sheets of the hours these rows lie in: everything of an hour over all users, in one small document.

    ``t`` are the hour's totals with distinct conversations and users; ``s`` the same by quarter, label and
    model, with the ids of the conversations and their users.
    """
    hours: dict[int, dict[tuple[int, str | None, str], tuple[Counts, dict[Any, str]]]] = {}
    for row in rows:
        place = (row["_id"]["q"], row.get("label"), row["_id"]["m"])
        counts, conversations = hours.setdefault(row["h"], {}).setdefault(place, (Counts(), {}))
        counts.add(read_counts(row))
        conversations[row["_id"]["c"]] = row["user"]
    sheets = {}
    for hour, slots in hours.items():
        total = Counts()
        everyone: dict[Any, str] = {}
        written = []
        for (quarter, label, model), (counts, conversations) in sorted(
            slots.items(), key=lambda item: (item[0][0], item[0][1] or "", item[0][2])
        ):
            total.add(counts)
            everyone |= conversations
            slot: dict[str, Any] = {"q": quarter, "m": model, **written_counts(counts)}
            if label is not None:
                slot["l"] = label
            slot["cs"], slot["us"] = list(conversations), list(conversations.values())
            written.append(slot)
        distinct = {"cs": len(everyone), "us": len(set(everyone.values()))}
        sheets[hour] = {"t": written_counts(total) | distinct, "s": written}
    return sheets
