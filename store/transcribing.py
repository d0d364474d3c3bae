"""A transcript's changes as change records of the store, and what they make of a conversation. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.schemas.entries import Entry
from convostore.schemas.errors import MismatchError
from convostore.schemas.json_values import dump_text
from convostore.schemas.transcript import (
    AsideChange,
    ChangeRecord,
    HaltChange,
    PushChange,
    ResetChange,
    SpliceChange,
)
from convostore.store import history
from convostore.store.runs import NewEntry, StoredEntry, encode_entries, numbered
from convostore.store.timeline import Moment, aside_fields

__all__ = ["Folded", "fold", "inverse", "span_between"]


@dataclass(slots=True)
class Folded:
    """What changes make of a moment: the moment after them, their records, entries with pieces to be stored.

    ``fresh`` are all entries that any of the changes brings, also those that a later one takes out again;
    ``removed`` holds, by the place of a record, the entries it takes out: they go into the record or apart.
    """

    moment: Moment
    records: list[history.Record] = field(default_factory=list)
    fresh: list[NewEntry] = field(default_factory=list)
    removed: dict[int, list[StoredEntry]] = field(default_factory=dict)


def fold(moment: Moment, changes: Iterable[ChangeRecord], now: int, keys: Iterable[ObjectId]) -> Folded:
    """Apply a transcript's records to the stored state they continue.

    Raises:
        MismatchError: they do not fit it.
        InvalidRecordError: a message holds what cannot be stored.

    """
    folded = Folded(moment.copy())
    for row, key in zip(changes, keys, strict=False):
        made = row.made()
        at = now if made is None else made
        record: history.Record = {"at": Int64(at), "k": key}
        halted = folded.moment.halt
        change = row.change
        if isinstance(change, PushChange):
            _push(folded, record, change.entries, at)
        elif isinstance(change, SpliceChange):
            _splice(folded, record, change, at)
        elif isinstance(change, HaltChange):
            record["type"] = "halt"
            folded.moment.halt = None if change.halt is None else change.halt.value
            if change.halt is not None:
                record["halt"] = change.halt.value
        elif isinstance(change, AsideChange):
            _aside(folded.moment, record, change)
        else:
            _reset(folded, record, change, at)
        if record.get("type") == "reset" or (halted is not None and halted != folded.moment.halt):
            record["hw"] = halted
        if row.by is not None:
            record["by"] = row.by.to_json()
        folded.records.append(record)
    return folded


def _stored(folded: Folded, entry: Entry, at: int) -> StoredEntry:
    author = None if entry.author is None else entry.author.to_json()
    made = at if entry.made is None else entry.made
    encoded = encode_entries(
        [entry.message], made=made, author=author, dialect=entry.dialect, unfinished=entry.unfinished
    )[0]
    folded.fresh.append(encoded)
    return numbered(encoded.stored, entry.id)


def _push(folded: Folded, record: history.Record, entries: Sequence[Entry], at: int) -> None:
    moment = folded.moment
    stored = [_stored(folded, entry, at) for entry in entries]
    # A reset in a log from elsewhere may have put the counter back; here it never falls.
    drawn = max(entries[-1].id + 1 - moment.next_entry, 0)
    if len(entries) != 1:
        record["n"] = len(entries)
    if drawn != len(entries):
        record["e"] = drawn
    moment.entries += stored
    moment.next_entry += drawn
    moment.halt = None


def _splice(folded: Folded, record: history.Record, change: SpliceChange, at: int) -> None:
    moment = folded.moment
    old = moment.entries[change.start : change.stop]
    if [entry["id"] for entry in old] != list(change.removed):
        raise MismatchError(
            "splice.removed", expected=change.removed, actual=tuple(entry["id"] for entry in old)
        )
    held = {entry["id"]: entry for entry in old}
    placed = []
    for entry in change.entries:
        before = held.get(entry.id)
        made = entry.made if entry.made is not None or before is None else before.get("made")
        given = Entry(entry.id, entry.message, made, entry.author, entry.dialect, entry.unfinished)
        placed.append(_stored(folded, given, at))
    reaches_end = change.stop == len(moment.entries)
    moment.entries[change.start : change.stop] = placed
    next_entry = max([moment.next_entry, *(entry["id"] + 1 for entry in placed)])
    record |= {"from": change.start, "to": change.stop, "with": [entry["id"] for entry in placed]}
    if next_entry != moment.next_entry:
        record["e"] = next_entry - moment.next_entry
    moment.next_entry = next_entry
    if reaches_end:
        moment.halt = None
    folded.removed[len(folded.records)] = old


def _aside(moment: Moment, record: history.Record, change: AsideChange) -> None:
    record |= {"type": "aside", "id": change.id}
    before = moment.asides.get(change.id)
    if before is not None:
        record["was"] = dump_text(before)
    if change.aside is None:
        moment.asides.pop(change.id, None)
    else:
        moment.asides[change.id] = change.aside.to_json()
        record["aside"] = dump_text(moment.asides[change.id])
        moment.next_aside = max(moment.next_aside, change.id + 1)


def _reset(folded: Folded, record: history.Record, change: ResetChange, at: int) -> None:
    moment, state = folded.moment, change.state
    old, was = moment.entries, moment.asides
    moment.entries = [_stored(folded, entry, at) for entry in state.entries]
    moment.asides = {id: aside.to_json() for id, aside in state.asides.items() if aside.saved}
    moment.halt = None if state.halt is None else state.halt.value
    record |= {
        "type": "reset",
        "from": 0,
        "to": len(old),
        "with": [entry["id"] for entry in moment.entries],
        "asides": aside_fields(moment.asides),
        "was_asides": aside_fields(was),
    }
    if state.next_entry > moment.next_entry:
        record["e"] = state.next_entry - moment.next_entry
    moment.next_entry = max(moment.next_entry, state.next_entry)
    moment.next_aside = max(moment.next_aside, state.next_aside)
    folded.removed[len(folded.records)] = old


def inverse(
    before: Moment, after: Moment, undone: Mapping[str, Any], now: int, key: ObjectId
) -> tuple[history.Record, list[StoredEntry]]:
    """The record that takes ``undone`` back, making ``after`` of ``before``, and the entries it removes."""
    record: history.Record = {"at": Int64(now), "k": key}
    start, stop, placed = span_between(before.entries, after.entries)
    removed = before.entries[start:stop]
    kind = undone.get("type")
    if kind == "reset":
        record |= {
            "type": "reset",
            "from": 0,
            "to": len(before.entries),
            "with": [entry["id"] for entry in after.entries],
            "asides": aside_fields(after.asides),
            "was_asides": aside_fields(before.asides),
        }
        removed = list(before.entries)
    elif kind == "aside":
        record |= {"type": "aside", "id": undone["id"]}
        for name, moment in (("aside", after), ("was", before)):
            if undone["id"] in moment.asides:
                record[name] = dump_text(moment.asides[undone["id"]])
    elif kind == "halt":
        record["type"] = "halt"
        if after.halt is not None:
            record["halt"] = after.halt
    else:
        record |= {"from": start, "to": stop, "with": [entry["id"] for entry in placed]}
    if before.halt is not None and before.halt != after.halt:
        record["hw"] = before.halt
    elif kind is None and before.halt != after.halt:
        # Taking a push back brings the halt back that the push had cleared.
        record["hw"] = None
        record["halt"] = after.halt
    return record, removed


def span_between(
    before: Sequence[StoredEntry], after: Sequence[StoredEntry]
) -> tuple[int, int, list[StoredEntry]]:
    """The smallest range of ``before`` that differs, and what stands there in ``after``."""
    shorter = min(len(before), len(after))
    start = 0
    while start < shorter and _same(before[start], after[start]):
        start += 1
    tail = 0
    while tail < shorter - start and _same(before[-1 - tail], after[-1 - tail]):
        tail += 1
    return start, len(before) - tail, list(after[start : len(after) - tail])


def _same(a: StoredEntry, b: StoredEntry) -> bool:
    return a is b
