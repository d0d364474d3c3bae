"""A conversation's history as the lines of a saved session, and a log as a conversation's history. Pure.

What a log says that the history has no place for lies beside the conversation, in ``unknown`` under
``rig-session``: its header, the places of its records among all of the session, saved values, retirement.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from convostore.schemas.authors import Author
from convostore.schemas.dialects import dialect_of
from convostore.schemas.entries import Entry
from convostore.schemas.json_values import JSON
from convostore.schemas.session_lines import (
    Header,
    Line,
    Record,
    Retired,
    SavedValue,
    Stamp,
    read_line,
    write_line,
)
from convostore.schemas.session_logs import Log
from convostore.schemas.transcript import (
    Aside,
    AsideChange,
    Change,
    ChangeRecord,
    Halt,
    HaltChange,
    PushChange,
    ResetChange,
    SpliceChange,
    State,
)
from convostore.schemas.translation import translated
from convostore.store import timeline

__all__ = [
    "BESIDE",
    "FORMAT",
    "Told",
    "beside",
    "changes_of",
    "header_of",
    "last_place",
    "lines_told",
    "source_id",
]

FORMAT: Final = "rig-session"
BESIDE: Final = "rig-session"
"""The member of ``unknown``."""


def source_id(log: Log) -> str:
    """What a log is recognised by: its name and lineage."""
    return f"{log.header.log}@{log.header.lineage}"


# From a log


def changes_of(log: Log) -> list[ChangeRecord]:
    """The changes of a log with their times; messages whose writer named no dialect are rig's."""
    return [
        ChangeRecord(_in_rig(line.record), line.by, line.stamp.t)
        for line in log.lines
        if not isinstance(line.record, Header | SavedValue | Retired)
    ]


def _in_rig(change: Change) -> Change:
    if isinstance(change, PushChange | SpliceChange):
        return replace(change, entries=tuple(map(_of_rig, change.entries)))
    if isinstance(change, ResetChange):
        state = change.state.copy()
        state.entries = list(map(_of_rig, state.entries))
        return ResetChange(state)
    return change


def _of_rig(entry: Entry) -> Entry:
    return entry if entry.dialect is not None else replace(entry, dialect="rig")


def beside(log: Log, session: str, lineage: int, more: Mapping[str, JSON]) -> dict[str, JSON]:
    """What lies beside the conversation that a log became, whose history got that lineage here.

    ``more`` is what the session's main agent carries for all: the lines of its own log, its files.
    """
    places: list[list[int]] = []
    others: list[JSON] = []
    for line in log.lines:
        if isinstance(line.record, SavedValue | Retired):
            others.append(json.loads(write_line(line)))
        elif places and places[-1][0] + places[-1][1] == line.stamp.n:
            places[-1][1] += 1
        else:
            places.append([line.stamp.n, 1])
    header = json.loads(write_line(Line(log.stamp, log.header)))
    return {
        "session": session,
        "header": header,
        "places": places,
        "others": others,
        "lineage": lineage,
        **more,
    }


# To a log


@dataclass(frozen=True, slots=True)
class Told:
    """One change record of the store with what it is about: the entries it brought, the states around it.

    ``removed`` are the ids it took out, in order, with the times those entries were made; ``length`` counts
    the entries before it; ``halt`` and ``next_entry`` are those after it.
    """

    record: Mapping[str, Any]
    brought: tuple[Entry, ...]
    removed: Mapping[int, int | None]
    length: int
    halt_before: str | None
    halt: str | None
    next_entry: int
    next_aside: int


def header_of(name: str, lineage: int, known: Mapping[str, Any] | None) -> tuple[Stamp | None, Header]:
    """The header of a conversation's log, with its stamp when it came from a session."""
    if known is None:
        return None, Header(name, lineage)
    line = read_line(json.dumps(known["header"]).encode(), name, 1)
    assert isinstance(line.record, Header)
    if known["lineage"] != lineage:
        # Rewritten since: what was loaded from the log of before must not be saved onto this one.
        return line.stamp, replace(line.record, lineage=lineage)
    return line.stamp, line.record


def lines_told(
    told: Sequence[Told],
    header: Header,
    stamp: Stamp | None,
    known: Mapping[str, Any] | None,
    *,
    first: int,
    created_at: int,
) -> tuple[list[Line], int]:
    """The lines of a log, and how many messages had to be said in rig's words.

    Records that came from a session have their places there; all others go from ``first`` on.
    """
    placed = _places(known)
    unplaced: list[tuple[int, Record, Author | None]] = []
    lines: list[Line] = []
    said = 0
    for place, one in enumerate(told):
        author = one.record.get("by")
        by = None if author is None else Author.from_json(author)
        for change, count in _changes_told(one):
            said += count
            if place < len(placed):
                lines.append(Line(Stamp(0, placed[place], int(one.record["at"])), change, by))
            else:
                unplaced.append((int(one.record["at"]), change, by))
    for other in () if known is None else known["others"]:
        number = int(other["seq"]) + 1
        lines.append(read_line(json.dumps(other).encode(), header.log, number))
    lines.sort(key=lambda line: line.stamp.n)
    start = first if stamp is None else stamp.n
    head = Line(Stamp(0, start, created_at if stamp is None else stamp.t), header)
    n = first + (stamp is None)
    lines += [Line(Stamp(0, n + count, at), change, by) for count, (at, change, by) in enumerate(unplaced)]
    return [
        replace(line, stamp=line.stamp._replace(seq=seq)) for seq, line in enumerate([head, *lines])
    ], said


def _places(known: Mapping[str, Any] | None) -> list[int]:
    return (
        [] if known is None else [n for first, count in known["places"] for n in range(first, first + count)]
    )


def last_place(known: Mapping[str, Any] | None) -> int:
    """The last place in its session that a log from there uses; -1 for any other."""
    if known is None:
        return -1
    others = [int(other["n"]) for other in known["others"]]
    return max([int(known["header"]["n"]), *others, *_places(known)[-1:]])


def _changes_told(one: Told) -> Iterable[tuple[Change, int]]:
    record = one.record
    kind, at = timeline.kind_of(record), int(record["at"])
    expected = one.halt_before
    said = sum(_in_other_words(entry) for entry in one.brought)
    if kind == "push":
        yield PushChange(tuple(_written(entry, at, {}) for entry in one.brought)), said
        expected = None
    elif kind == "splice":
        start, stop = int(record["from"]), int(record["to"])
        entries = tuple(_written(entry, at, one.removed) for entry in one.brought)
        yield SpliceChange(start, stop, tuple(one.removed), entries), said
        expected = None if stop == one.length else expected
    elif kind == "aside":
        aside = record.get("aside")
        yield AsideChange(int(record["id"]), None if aside is None else Aside.from_json(json.loads(aside))), 0
    elif kind == "reset":
        asides = {row["id"]: Aside.from_json(json.loads(row["aside"])) for row in record.get("asides", ())}
        halt = None if one.halt is None else Halt(one.halt)
        entries = tuple(_written(entry, -1, {}) for entry in one.brought)
        yield ResetChange(State(list(entries), asides, halt, one.next_entry, one.next_aside)), said
        expected = one.halt
    if one.halt != expected:
        yield HaltChange(None if one.halt is None else Halt(one.halt)), 0


def _written(entry: Entry, at: int, held: Mapping[int, int | None]) -> Entry:
    """The entry as a line has it: without the time that follows from the line, with rig's words."""
    message = translated([entry], "rig")[0] if _in_other_words(entry) else entry.message
    made = None if entry.made == held.get(entry.id, at) else entry.made
    return Entry(entry.id, message, made, entry.author, None, entry.unfinished)


def _in_other_words(entry: Entry) -> bool:
    return (entry.dialect or dialect_of(entry.message)) not in (None, "rig")
