"""The ledger: who used what, quarter of an hour by quarter. Pure.

A *row* is what one conversation counts in one quarter and model; its document is replaced as a whole by
absolute sums, never added to. It is made from the credits of the change records (``store/crediting.py``), so
a retry cannot count twice and a rebuild gives the same numbers. Members of the document besides ``_id``
(``c`` conversation, ``l`` its lineage, ``q`` quarter, ``m`` model), ``user``, ``label``, ``h`` (hour), ``v``
(the conversation's version), ``kept`` (of a deleted conversation) and the counters by their letters:

============  =====================================================================================
``status``    in the row of the creation: the present status
``lasted``    there: from the first to the last message, ms
``answered``  there: from the user's first message to the first answer, ms
``queued``    there: since when texts wait, ``{steering_messages: [ms, ...], follow_up_messages: [...]}``
``waits``     waits as ``submitted`` that ended in the quarter, ms each
``failures``  failures in the quarter, the reason of each or None
============  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from bson.int64 import Int64

from convostore.schemas.periods import QUARTER_MS
from convostore.store.codec import decode_text, decode_u64, encode_u64
from convostore.store.crediting import HOUR_QUARTERS, Counts, credited, written_counts
from convostore.store.heads import QUEUES, Head, queue_items
from convostore.store.measuring import Measures

__all__ = [
    "FIELDS",
    "NAMED",
    "Row",
    "credits_of",
    "needs_records",
    "row_documents",
    "rows_of",
    "same_in_sheets",
    "same_row",
]

FIELDS: Final = (
    "user",
    "label",
    "created_at",
    "updated_at",
    "status",
    "failed_reason",
    "states",
    "source.format",
    "forked_from",
    "lineage",
    "version",
    "schema_version",
    "revision",
    "log",
    "log_start",
    "queue_bytes",
    "taken",
    "steering_messages.at",
    "follow_up_messages.at",
    "taken_steering.at",
    "taken_follow_ups.at",
    "dirty",
    "rolled",
)
"""What of a head its rows are made from, besides what tells its measures."""

NAMED: Final = 256
"""Characters of a label that figures tell apart."""

_ROWS_ONLY: Final = frozenset({"v", "kept", "lasted", "answered", "queued", "waits", "failures"})
_NOT_IMPORTED: Final = ("continuation", "convostore")
_SUBMITTED, _FAILED = "submitted", "failed"


@dataclass(slots=True)
class Row:
    """What one conversation counts in one quarter of an hour since 1970, for one model (empty: not known)."""

    quarter: int
    model: str
    counts: Counts = field(default_factory=Counts)
    more: dict[str, Any] = field(default_factory=dict)


class _State(NamedTuple):
    at: int
    status: str
    reason: str | None = None


def credits_of(head: Head, sealed: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The credits of a conversation: of its sealed records as their documents have them, and of its log.

    What came along in a fork counts where it was made. Of some documents (:func:`needs_records`) the records
    are needed.
    """
    copied = copied_revisions(head)
    found: list[dict[str, Any]] = []
    for document in sealed:
        first, last = int(document["_id"]["from"]), int(document["to"])
        if first > int(head["log_start"]) or last <= copied:
            continue
        if needs_records(head, document):
            found += credited(document["recs"][max(copied - first + 1, 0) :])
        else:
            found += document["sums"]
    return found + credited(head["log"][max(copied - int(head["log_start"]), 0) :])


def copied_revisions(head: Head) -> int:
    """How many of the conversation's records came along when it was forked."""
    return int(head["forked_from"]["revision"]) if "forked_from" in head else 0


def needs_records(head: Head, document: Mapping[str, Any]) -> bool:
    """Whether a document's sums do not tell its credits: the copied part of a fork ends within it, or an
    older release summed by hours.
    """
    copied = copied_revisions(head)
    within = int(document["_id"]["from"]) <= copied < int(document["to"])
    return within or any("q" not in row for row in document["sums"])


def rows_of(head: Head, credits: Iterable[Mapping[str, Any]], measures: Measures) -> list[Row]:
    """The rows of a conversation, in order of quarters and models."""
    rows: dict[tuple[int, str], Row] = {}

    def at(quarter: int, model: str = "") -> Row:
        return rows.setdefault((quarter, model), Row(quarter, model))

    born = at(decode_u64(head["created_at"]) // QUARTER_MS)
    born.counts.created = 1
    born.counts.imported = head.get("source", {}).get("format", _NOT_IMPORTED[0]) not in _NOT_IMPORTED
    born.counts.forked = "forked_from" in head
    born.more = {"status": head["status"], **_measured(measures), **_waiting(head)}
    noted: list[_State] = []
    for credit in credits:
        at(int(credit["q"]), credit.get("m", "")).counts.add(credit)
        noted += [_State(int(when), status) for when, status in credit.get("st", ())]
    for quarter, name, value in _events(_states(head, noted)):
        at(quarter).more.setdefault(name, []).append(value)
    return [rows[place] for place in sorted(rows)]


def _measured(measures: Measures) -> dict[str, Any]:
    found = measures._asdict()
    return {name: Int64(ms) for name, ms in found.items() if ms is not None}


def _waiting(head: Head) -> dict[str, Any]:
    waits = {name: [item["at"] for item in queue_items(head, name) or ()] for name in QUEUES}
    found = {name: times for name, times in waits.items() if times}
    return {"queued": found} if found else {}


def _states(head: Head, noted: list[_State]) -> list[_State]:
    """All changes of status that are known, in order, each a change; the last is the present one."""
    for one in head.get("states", ()):
        reason = one.get("r")
        noted.append(_State(decode_u64(one["at"]), one["s"], None if reason is None else decode_text(reason)))
    ordered = sorted(noted, key=lambda state: state.at)
    if (ordered and ordered[-1].status != head["status"]) or (not ordered and head["status"] == _FAILED):
        # By a release that noted none, or an import that states it.
        ordered.append(_State(decode_u64(head["updated_at"]), head["status"]))
    changes: list[_State] = []
    for state in ordered:
        if not changes or changes[-1].status != state.status:
            changes.append(state)
    reason = head.get("failed_reason")
    if changes and changes[-1].status == _FAILED and reason is not None:
        changes[-1] = changes[-1]._replace(reason=decode_text(reason)[:_REASON])
    return changes


_REASON: Final = 500


def _events(states: Sequence[_State]) -> Iterable[tuple[int, str, Any]]:
    """Waits and failures: the quarter they count in, the row's member, the value."""
    for place, state in enumerate(states):
        quarter = state.at // QUARTER_MS
        if state.status == _FAILED:
            # Half a surrogate pair has no place in a report.
            reason = state.reason
            yield quarter, "failures", reason and reason.encode("utf-8", "replace").decode()
        if place and states[place - 1].status == _SUBMITTED:
            yield quarter, "waits", encode_u64(state.at - states[place - 1].at)


def same_row(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two documents of a row say the same, whatever versions they were made at."""
    return {**one, "v": 0} == {**other, "v": 0}


def same_in_sheets(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two documents of a row add the same to a sheet, which has nothing of what only rows tell."""
    names = (one.keys() | other.keys()) - _ROWS_ONLY
    return all(one.get(name) == other.get(name) for name in names)


def row_documents(head: Head, rows: Iterable[Row], *, kept: bool = False) -> list[dict[str, Any]]:
    """The documents of the rows; ``kept`` are those of a conversation that is deleted."""
    return [
        {
            "_id": {
                "c": head["_id"],
                "l": Int64(head["lineage"]),
                "q": Int64(row.quarter),
                "m": row.model,
            },
            "user": head["user"],
            "label": None if "label" not in head else head["label"][:NAMED],
            "h": Int64(row.quarter // HOUR_QUARTERS),
            "v": Int64(head["version"]),
            **({"kept": True} if kept else {}),
            **written_counts(row.counts),
            **row.more,
        }
        for row in rows
    ]
