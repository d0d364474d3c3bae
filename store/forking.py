"""Planning a fork: a prefix of a conversation's log, and the state that prefix leads to. Pure;
``spec/rig.md`` 7.7.

Ids, times and asides come along, so history and ``as_of`` work in the copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bson.objectid import ObjectId

from convostore.schemas.entries import Entry
from convostore.schemas.errors import NotFoundError
from convostore.schemas.pairing import may_cut, pending_calls
from convostore.schemas.pairing.grammars import grammar_of
from convostore.store import history, timeline
from convostore.store.runs import StoredEntry
from convostore.store.timeline import Moment

__all__ = ["Prefix", "boundary", "brings", "only_grew", "prefix", "with_new_blobs", "without_callers_keys"]


@dataclass(slots=True)
class Prefix:
    """A log's beginning: the moment it leads to, its records, and what each of them took out, by place."""

    moment: Moment
    records: list[history.Record] = field(default_factory=list)
    removed: dict[int, list[StoredEntry]] = field(default_factory=dict)


def boundary(entries: Sequence[Entry], id: int) -> int | None:
    """The id of the last entry of the latest turn that ends at or before the entry ``id``; None when none
    does.

    A turn ends with a reply whose calls all have results; a request is no boundary.

    Raises:
        NotFoundError: there is no entry of that id.

    """
    place = next((place for place, entry in enumerate(entries) if entry.id == id), None)
    if place is None:
        raise NotFoundError("entry", id)
    free = may_cut(entries)
    for stop in range(place + 1, 0, -1):
        if free[stop] and _ends_turn(entries[stop - 1]):
            return entries[stop - 1].id
    return None


def _ends_turn(entry: Entry) -> bool:
    return grammar_of(entry).kind(entry.message) == "assistant" and not pending_calls([entry])


def only_grew(head: Mapping[str, Any]) -> bool:
    """Whether nothing was ever taken out of the conversation, or put between; no segment lacks an id then."""
    return (
        not head["log_start"]
        and all(timeline.kind_of(record) in ("push", "usage") for record in head["log"])
        and all(item["hi"] - item["lo"] + 1 == item["n"] for item in head["segments"])
    )


def brings(record: Mapping[str, Any], next_entry: int, id: int) -> bool:
    """Whether the record, after which the counter is ``next_entry``, brings the entry in."""
    if timeline.kind_of(record) == "push":
        return next_entry - history.drawn(record) <= id < next_entry
    return id in record.get("with", ())


def prefix(found: Prefix, id: int) -> Prefix:
    """The prefix that ends with the entry where it first came in, and with what is said beside it.

    A change that brought entries behind it too is cut there; asides put next, before anything else changed,
    come along.
    """
    last, after = _bringing(found.records, id)
    end = last + 1
    moment = found.moment.copy()
    for place in range(len(found.records) - 1, last, -1):
        timeline.go_back(moment, found.records[place], found.removed.get(place, []))
    before = moment.copy()
    timeline.go_back(before, found.records[last], found.removed.get(last, []))
    stop = next(place for place, entry in enumerate(moment.entries) if entry["id"] == id) + 1
    records = [dict(record) for record in found.records[: last + 1]]
    removed = {place: entries for place, entries in found.removed.items() if place <= last}
    if stop < len(moment.entries):
        _cut_short(records[last], moment, before, stop, removed, last)
        moment = Moment(moment.entries[:stop], moment.asides, None, after, moment.next_aside)
        moment.next_entry = before.next_entry + history.drawn(records[last])
    else:
        while end < len(found.records) and timeline.kind_of(found.records[end]) == "aside":
            records.append(dict(found.records[end]))
            end += 1
        moment.asides = _asides_after(found, end)
    return Prefix(moment, records, removed)


def _bringing(records: Sequence[history.Record], id: int) -> tuple[int, int]:
    """The place of the first record that brings the entry in, and the counter after it."""
    after = 0
    for place, record in enumerate(records):
        after += history.drawn(record)
        if brings(record, after, id):
            return place, after
    raise NotFoundError("entry", id)


def _cut_short(
    record: history.Record,
    moment: Moment,
    before: Moment,
    stop: int,
    removed: dict[int, list[StoredEntry]],
    place: int,
) -> None:
    """Let the record bring what stands up to ``stop`` and take out all that stood behind it."""
    if timeline.kind_of(record) == "push":
        record["n"] = history.pushed(record) - (len(moment.entries) - stop)
        record["e"] = int(moment.entries[stop - 1]["id"]) + 1 - before.next_entry
        return
    record |= {
        "to": len(before.entries),
        "with": [entry["id"] for entry in moment.entries[record["from"] : stop]],
    }
    for name in ("rm", "rmi", "body"):
        record.pop(name, None)
    removed[place] = list(before.entries[record["from"] :])
    if before.halt is not None:
        record["hw"] = before.halt


def _asides_after(found: Prefix, end: int) -> dict[int, Any]:
    moment = found.moment.copy()
    for place in range(len(found.records) - 1, end - 1, -1):
        timeline.go_back(moment, found.records[place], found.removed.get(place, []))
    return moment.asides


def without_callers_keys(record: history.Record) -> history.Record:
    """The record for another conversation: no call of its users was made there, so none is a repeat."""
    if all(isinstance(key, ObjectId) for key in history.keys_of(record)):
        return record
    return {name: value for name, value in record.items() if name != "h"} | {"k": ObjectId()}


def with_new_blobs(
    entries: Sequence[StoredEntry], renamed: Callable[[ObjectId], ObjectId]
) -> list[StoredEntry]:
    """The entries with the references to what lies apart under new ids."""
    return [
        {**entry, "blob": {**entry["blob"], "b": renamed(entry["blob"]["b"])}} if "blob" in entry else entry
        for entry in entries
    ]
