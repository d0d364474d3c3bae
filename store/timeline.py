"""A conversation's past: its state undone record by record from the present, and what undo and redo do. Pure.

A push record holds no message: going back, it takes the last ones away. A splice record holds what it
removed, so going back puts that in place again (``storage.md`` S6). Besides pushes and splices the log knows

=========  =====================================================================================
``halt``   ``{type: halt, halt?}``
``aside``  ``{type: aside, id, aside?, was?}``: put, replaced or, without ``aside``, removed
``reset``  ``{type: reset, from, to, with, rm, asides, was_asides}``: everything replaced
=========  =====================================================================================

and, in any of them, ``hw``: the halt that the change cleared or replaced, ``undo`` and ``redo``: the revision
that it takes back or brings again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from convostore.schemas.authors import Author
from convostore.schemas.errors import MismatchError
from convostore.schemas.json_values import JSON, dump_text
from convostore.schemas.transcript import Aside, Halt, State
from convostore.store import history
from convostore.store.runs import StoredEntry, to_entry

__all__ = [
    "Moment",
    "Revision",
    "aside_fields",
    "aside_of",
    "find_redo",
    "find_undo",
    "go_back",
    "revision_of",
    "state_of",
]


@dataclass(slots=True)
class Moment:
    """A conversation between two records: its entries as stored, with ids, its asides by id, its halt."""

    entries: list[StoredEntry]
    asides: dict[int, JSON] = field(default_factory=dict)
    halt: str | None = None
    next_entry: int = 0
    next_aside: int = 0

    def copy(self) -> Moment:
        """Another one to be changed; entries are shared."""
        return replace(self, entries=list(self.entries), asides=dict(self.asides))


@dataclass(frozen=True, slots=True)
class Revision:
    """One change of a conversation, as its history shows it.

    ``number`` counts from 1; ``kind`` is ``push``, ``splice``, ``halt``, ``aside``, ``reset`` or ``usage``
    (counters without a message); ``added`` and ``removed`` are entry ids, ``start`` the position of a splice;
    ``undoes`` and ``redoes`` name the revision it takes back or brings again.
    """

    number: int
    at: int
    kind: str
    by: Author | None = None
    added: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()
    start: int | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    undoes: int | None = None
    redoes: int | None = None


def kind_of(record: Mapping[str, Any]) -> str:
    """The kind of a change record."""
    if "type" in record:
        return str(record["type"])
    if "from" in record:
        return "splice"
    return "push" if history.pushed(record) else "usage"


def go_back(moment: Moment, record: Mapping[str, Any], removed: Sequence[StoredEntry]) -> list[StoredEntry]:
    """Undo one record on the moment just after it; what the record had brought in.

    ``removed`` are the entries it took out, read from the record or from where they lie. The id of the next
    entry goes back too, that of the next aside does not: no record says what it was.

    Raises:
        MismatchError: the moment is not the one after this record.

    """
    kind = kind_of(record)
    brought: list[StoredEntry] = []
    if kind == "push":
        count = history.pushed(record)
        if count > len(moment.entries):
            raise MismatchError("push", expected=count, actual=len(moment.entries))
        brought = moment.entries[len(moment.entries) - count :]
        del moment.entries[len(moment.entries) - count :]
    elif kind in ("splice", "reset"):
        start, placed = record["from"], list(record["with"])
        brought = moment.entries[start : start + len(placed)]
        if [entry["id"] for entry in brought] != placed:
            found = [entry["id"] for entry in brought]
            raise MismatchError("splice", expected=placed, actual=found)
        moment.entries[start : start + len(placed)] = removed
        if kind == "reset":
            moment.asides = {row["id"]: json.loads(row["aside"]) for row in record.get("was_asides", ())}
    elif kind == "aside":
        was = record.get("was")
        if was is None:
            moment.asides.pop(record["id"], None)
        else:
            moment.asides[record["id"]] = json.loads(was)
    moment.next_entry -= history.drawn(record)
    if kind in ("push", "splice", "halt", "reset"):
        moment.halt = _halt_before(moment, record, kind)
    return brought


def aside_of(value: JSON) -> Aside:
    """An aside from the JSON it is stored as."""
    return Aside.from_json(value)


def aside_fields(asides: Mapping[int, JSON]) -> list[dict[str, Any]]:
    """Asides as the head and records hold them: each as JSON text, whatever it says."""
    return [{"id": id, "aside": dump_text(aside)} for id, aside in sorted(asides.items())]


def state_of(moment: Moment, blobs: Mapping[Any, bytes]) -> State:
    """The moment as the state of a transcript."""
    return State(
        [to_entry(entry, blobs) for entry in moment.entries],
        {id: aside_of(value) for id, value in sorted(moment.asides.items())},
        None if moment.halt is None else Halt(moment.halt),
        moment.next_entry,
        moment.next_aside,
    )


def revision_of(number: int, record: Mapping[str, Any], next_entry: int) -> Revision:
    """The record as history shows it; ``next_entry`` is the counter after it."""
    kind = kind_of(record)
    added: tuple[int, ...] = ()
    if kind == "push":
        drawn = history.drawn(record)
        added = tuple(range(next_entry - drawn, next_entry))
    elif kind in ("splice", "reset"):
        added = tuple(record["with"])
    author = record.get("by")
    return Revision(
        number,
        int(record["at"]),
        kind,
        None if author is None else Author.from_json(author),
        added,
        tuple(int(entry["id"]) for entry in record.get("rm", ())) or tuple(record.get("rmi", ())),
        record.get("from"),
        history.usage_of(record),
        record.get("undo"),
        record.get("redo"),
    )


def find_undo(records: Sequence[tuple[int, Mapping[str, Any]]]) -> int | None:
    """The place of the newest change that is in force and can be taken back.

    ``records`` are the newest ones with their numbers, oldest first. None when it lies further back; -1 when
    there is none at all (the records begin with number 1).
    """
    undone: set[int] = set()
    for place in range(len(records) - 1, -1, -1):
        number, record = records[place]
        if "undo" in record:
            undone.add(record["undo"])
        elif "redo" in record:
            if record["redo"] in undone:
                undone.discard(record["redo"])
            elif number not in undone:
                return _place(records, record["redo"])
        elif number not in undone and kind_of(record) != "usage":
            return place
    return -1 if not records or records[0][0] == 1 else None


def find_redo(records: Sequence[tuple[int, Mapping[str, Any]]]) -> int | None:
    """The place of the undo record whose change a redo brings back: the newest not redone, with no other
    change since. -1 when there is nothing to redo, None when the records do not reach back far enough.
    """
    redone: set[int] = set()
    for place in range(len(records) - 1, -1, -1):
        _, record = records[place]
        if "redo" in record:
            redone.add(record["redo"])
        elif "undo" in record:
            if record["undo"] not in redone:
                return place
            redone.discard(record["undo"])
        elif kind_of(record) != "usage":
            return -1
    return -1 if not records or records[0][0] == 1 else None


def _place(records: Sequence[tuple[int, Mapping[str, Any]]], number: int) -> int | None:
    first = records[0][0]
    return number - first if number >= first else None


def _halt_before(moment: Moment, record: Mapping[str, Any], kind: str) -> str | None:
    if "hw" in record:
        halt: str | None = record["hw"]
        return halt
    return moment.halt if kind == "splice" else None
