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

__all__ = ["Prefix", "boundary", "brings", "prefix", "with_new_blobs"]


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


def brings(record: Mapping[str, Any], next_entry: int, id: int) -> bool:
    """Whether the record, after which the counter is ``next_entry``, brings the entry in."""
    if timeline.kind_of(record) == "push":
        return next_entry - history.pushed(record) <= id < next_entry
    return id in record.get("with", ())


def prefix(moment: Moment, before: Sequence[StoredEntry], found: Prefix, id: int) -> Prefix:
    """Cut the prefix that ends with the record which brought the entry in right behind that entry.

    ``moment`` is the state after that record, ``before`` the entries before it.
    """
    place = next(place for place, entry in enumerate(moment.entries) if entry["id"] == id)
    tail = len(moment.entries) - place - 1
    if tail:
        last = dict(found.records[-1])
        if timeline.kind_of(last) == "push":
            last["n"] = history.pushed(last) - tail
            if "e" in last:
                last["e"] -= tail
        else:
            kept = moment.entries[last["from"] : place + 1]
            last |= {"to": len(before), "with": [entry["id"] for entry in kept]}
            last.pop("rm", None)
            found.removed[len(found.records) - 1] = list(before[last["from"] :])
        found.records[-1] = last
    entries = moment.entries[: place + 1]
    ids = {entry["id"] for entry in entries}
    asides = {
        number: aside
        for number, aside in moment.asides.items()
        if aside.get("after") is None or aside["after"] in ids
    }
    found.moment = Moment(entries, asides, None, moment.next_entry, moment.next_aside)
    return found


def with_new_blobs(
    entries: Sequence[StoredEntry], renamed: Callable[[ObjectId], ObjectId]
) -> list[StoredEntry]:
    """The entries with the references to what lies apart under new ids."""
    return [
        {**entry, "blob": {**entry["blob"], "b": renamed(entry["blob"]["b"])}} if "blob" in entry else entry
        for entry in entries
    ]
