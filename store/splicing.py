"""Planning a splice: replacing a range of a conversation's messages, wherever they lie (``storage.md`` S3).
Pure.

A splice that touches only sealed messages and draws no ids is guarded by lineage and structure alone and so
commutes with appends; any other is guarded by the version as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.store import history
from convostore.store.codec import encode_u64
from convostore.store.heads import Head, embedded, message_count
from convostore.store.history import HOUR_MS
from convostore.store.layout import Bounds, Limits
from convostore.store.manifest import Item, Span, sealed_count, touching
from convostore.store.runs import (
    NewEntry,
    Segment,
    StoredEntry,
    cut_into_segments,
    entries_size,
    newest_page,
    numbered,
)

__all__ = [
    "Placed",
    "Splice",
    "manifest_after",
    "place",
    "reach",
    "removed_bodies",
    "touches_run",
    "update_for",
]


@dataclass(frozen=True, slots=True)
class Splice:
    """A splice as asked for: ``entries`` stand where positions ``start`` to ``stop`` (excluded) stood.

    ``ids`` gives each entry the id it keeps, None where it draws a new one. ``sets``, ``gone`` and ``adds``
    are changes of the record's members that go into the same update.
    """

    start: int
    stop: int
    entries: tuple[NewEntry, ...]
    ids: tuple[int | None, ...]
    key: history.Key
    now: int
    author: Mapping[str, Any] | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    sets: Mapping[str, Any] = field(default_factory=dict)
    gone: Sequence[str] = ()
    adds: Mapping[str, Any] = field(default_factory=dict)
    pushes: Mapping[str, Any] = field(default_factory=dict)
    guard: Mapping[str, Any] = field(default_factory=dict)
    guard_version: bool = False
    records: tuple[history.Record, ...] = ()
    """The change records to leave instead of one of a splice: that of an append, those of a transcript."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A splice worked out against one head: what to store first and what the update then says."""

    span: Span
    segments: tuple[Segment, ...]
    """New segments, in place of the manifest's ``span``."""
    run: tuple[StoredEntry, ...] | None
    """The new embedded run; None when it is not touched."""
    removed: tuple[StoredEntry, ...]
    ids: tuple[int, ...]
    drawn: int


def reach(head: Head, splice: Splice) -> Span:
    """The manifest items whose segments must be read first."""
    sealed = sealed_count(head["segments"])
    if splice.start >= sealed:
        return Span(len(head["segments"]), len(head["segments"]), sealed)
    return touching(head["segments"], splice.start, min(splice.stop, sealed))


def touches_run(head: Head, splice: Splice) -> bool:
    """Whether the embedded run changes."""
    sealed = sealed_count(head["segments"])
    return splice.stop > sealed or splice.start >= sealed


def place(head: Head, splice: Splice, held: Sequence[StoredEntry], bounds: Bounds) -> Placed:
    """Work out the splice; ``held`` are the entries of the segments that :func:`reach` named, in order."""
    span = reach(head, splice)
    next_entry = int(head["next_entry"])
    ids: list[int] = []
    for id in splice.ids:
        ids.append(next_entry if id is None else id)
        next_entry += id is None
    fresh = [numbered(entry.stored, id) for entry, id in zip(splice.entries, ids, strict=True)]
    if touches_run(head, splice):
        whole = [*held, *embedded(head)]
        sealed = len(held)
    else:
        whole, sealed = list(held), len(held)
    first, last = splice.start - span.start, splice.stop - span.start
    spliced = [*whole[:first], *fresh, *whole[last:]]
    removed = tuple(whole[first:last])
    drawn = next_entry - int(head["next_entry"])
    if not touches_run(head, splice):
        # Where ids are drawn the run gets its own written: those of trailing entries follow from the counter.
        written = tuple(embedded(head)) if drawn or "next_entry" in splice.sets else None
        return Placed(span, tuple(cut_into_segments(spliced, bounds)), written, removed, tuple(ids), drawn)
    front = min(sealed, first) if sealed else 0
    run = spliced[front:]
    if len(run) > bounds.hard_count or entries_size(run) > bounds.hard_bytes:
        front = len(spliced) - newest_page(spliced, bounds)
        run = spliced[front:]
    segments = tuple(cut_into_segments(spliced[:front], bounds))
    return Placed(span, segments, tuple(run), removed, tuple(ids), drawn)


def removed_bodies(removed: Sequence[StoredEntry], head: Head, conversation: Any) -> list[dict[str, Any]]:
    """Documents of ``bodies`` for removed entries too large for a record; none when they fit."""
    if entries_size(removed) <= Limits.REMOVED_INLINE:
        return []
    return [
        {
            "_id": ObjectId(),
            "user": head["user"],
            "c": conversation,
            "lin": Int64(head["lineage"]),
            "g": head["structure"],
            "e": list(segment.entries),
        }
        for segment in cut_into_segments(removed, Bounds(segment_bytes=8 * 1024 * 1024, segment_count=10**9))
    ]


def manifest_after(head: Head, placed: Placed, items: Sequence[Item]) -> list[Item]:
    """The head's manifest with the new segments in place of those that the splice touched."""
    return [*head["segments"][: placed.span.first], *items, *head["segments"][placed.span.last :]]


def update_for(
    owner: Mapping[str, Any],
    head: Head,
    splice: Splice,
    placed: Placed,
    items: Sequence[Item],
    bodies: Sequence[ObjectId],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The guarded update that makes the splice true, its segments and bodies being stored."""
    query = {**owner, **splice.guard, "lineage": head["lineage"], "structure": head["structure"]}
    if placed.run is not None or placed.drawn or splice.guard_version:
        query["version"] = head["version"]
    records = splice.records
    sets, gone = dict(splice.sets), list(splice.gone)
    if not records:
        record = _record(splice, placed, bodies)
        halted = head.get("halt") if splice.stop == message_count(head) else None
        if halted is not None:
            # What reaches the end clears a halt (spec/rig.md 3.3).
            query["halt"] = record["hw"] = halted
            gone.append("halt")
        records = (record,)
    span = placed.span
    if span.last > span.first or items:
        sets["segments"] = manifest_after(head, placed, items)
    if placed.run is not None:
        sets |= {
            "messages": list(placed.run),
            "embedded_count": len(placed.run),
            "embedded_bytes": Int64(entries_size(placed.run)),
        }
    if placed.drawn:
        sets["next_entry"] = Int64(int(head["next_entry"]) + placed.drawn)
    update: dict[str, Any] = {
        "$push": {**splice.pushes, "log": {"$each": list(records)}},
        "$inc": {**splice.adds, "version": 1, "revision": len(records), "structure": 1},
        "$max": {"updated_at": encode_u64(splice.now)},
        "$min": {"dirty": Int64(splice.now // HOUR_MS)},
    }
    if sets:
        update["$set"] = sets
    if gone:
        update["$unset"] = dict.fromkeys(gone, "")
    return query, update


def _record(splice: Splice, placed: Placed, bodies: Sequence[ObjectId]) -> history.Record:
    return history.splice_record(
        splice.now,
        splice.key,
        splice.start,
        splice.stop,
        placed=placed.ids,
        drawn=placed.drawn,
        removed=None if bodies else placed.removed,
        body=bodies,
        usage=splice.usage,
        author=splice.author,
    )
