"""The state of a transcript and the one function that applies a change to it (``spec/rig.md`` 4.3). Pure.

Live edits and folds of a log both go through :func:`apply`, so folding the changes gives what the edits gave.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NoReturn

from convostore.schemas.entries import Entry
from convostore.schemas.errors import MismatchError
from convostore.schemas.transcript.asides import Aside
from convostore.schemas.transcript.changes import (
    AsideChange,
    Change,
    Halt,
    HaltChange,
    PushChange,
    ResetChange,
    SpliceChange,
)
from convostore.schemas.transcript.entries import same_entry

__all__ = ["State", "apply"]


@dataclass(slots=True, eq=False)
class State:
    """What a log determines: entries, asides by rising id, halt, the next ids.

    ``next_entry`` is above every id ever given out, so an id never comes back for other content.
    """

    entries: list[Entry] = field(default_factory=list)
    asides: dict[int, Aside] = field(default_factory=dict)
    halt: Halt | None = None
    next_entry: int = 0
    next_aside: int = 0

    def copy(self, *, unsaved_asides: bool = True) -> State:
        """A state of its own; messages and values are shared, as nobody changes them."""
        asides = {id: aside for id, aside in self.asides.items() if unsaved_asides or aside.saved}
        return State(list(self.entries), asides, self.halt, self.next_entry, self.next_aside)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return (
            self.halt == other.halt
            and len(self.entries) == len(other.entries)
            and all(map(same_entry, self.entries, other.entries))
            and _saved(self.asides) == _saved(other.asides)
        )

    __hash__ = None  # type: ignore[assignment]


def _saved(asides: dict[int, Aside]) -> dict[int, Aside]:
    return {id: aside for id, aside in asides.items() if aside.saved}


def apply(state: State, change: Change, at: int) -> None:
    """Apply a recorded change as it is; ``at`` is when an entry that names no time was made.

    Raises:
        MismatchError: it does not fit; the state is unchanged.

    """
    if isinstance(change, PushChange):
        _apply_push(state, change, at)
    elif isinstance(change, SpliceChange):
        _apply_splice(state, change, at)
    elif isinstance(change, HaltChange):
        state.halt = change.halt
    elif isinstance(change, AsideChange):
        _apply_aside(state, change)
    else:
        _apply_reset(state, change)


def _refuse(field: str, reason: str, *, expected: object = None, actual: object = None) -> NoReturn:
    raise MismatchError(field, expected=expected, actual=actual, reason=f"the change does not fit: {reason}")


def _apply_push(state: State, change: PushChange, at: int) -> None:
    lowest = state.next_entry
    for entry in change.entries:
        if entry.id < lowest:
            _refuse("push.id", f"id {entry.id} is not above {lowest - 1}", expected=lowest, actual=entry.id)
        lowest = entry.id + 1
    state.entries.extend(
        entry if entry.made is not None else replace(entry, made=at) for entry in change.entries
    )
    state.next_entry = lowest
    state.halt = None


def _apply_splice(state: State, change: SpliceChange, at: int) -> None:
    start, stop, length = change.start, change.stop, len(state.entries)
    if not 0 <= start <= stop <= length:
        _refuse("splice.range", f"there are {length} entries, not {start} to {stop}", actual=length)
    old = state.entries[start:stop]
    held = {entry.id: entry.made for entry in old}
    if tuple(held) != change.removed:
        _refuse("splice.removed", "other entries stand there", expected=change.removed, actual=tuple(held))
    ids = {entry.id for entry in change.entries}
    if len(ids) < len(change.entries) or min(ids, default=0) < 0:
        _refuse("splice.with", "an id comes twice or is below 0")
    # An id that is new or was in the range is not held outside it: the usual splice looks at nothing else.
    returning = {id for id in ids if id < state.next_entry} - held.keys()
    if returning:
        outside = (entry.id for part in (state.entries[:start], state.entries[stop:]) for entry in part)
        twice = returning.intersection(outside)
        if twice:
            _refuse("splice.with", f"id {min(twice)} is held outside the range", actual=min(twice))
    state.entries[start:stop] = [
        entry if entry.made is not None else replace(entry, made=held.get(entry.id, at))
        for entry in change.entries
    ]
    state.next_entry = max(state.next_entry, max(ids, default=-1) + 1)
    if stop == length:
        state.halt = None


def _apply_aside(state: State, change: AsideChange) -> None:
    held = state.asides.get(change.id)
    if change.id < 0 or (held is not None and not held.saved):
        _refuse("aside.id", f"aside {change.id} is one that is not saved", actual=change.id)
    if change.aside is None:
        state.asides.pop(change.id, None)
    elif not change.aside.saved:
        _refuse("aside.saved", "an aside that is not saved has no record")
    else:
        put(state.asides, change.id, change.aside)
    state.next_aside = max(state.next_aside, change.id + 1)


def put(asides: dict[int, Aside], id: int, aside: Aside) -> None:
    """Put or replace an aside; asides stand in the order of their ids, that is the order they were put."""
    behind = id not in asides and bool(asides) and id < next(reversed(asides))
    asides[id] = aside
    if behind:
        ordered = sorted(asides.items())
        asides.clear()
        asides.update(ordered)


def _apply_reset(state: State, change: ResetChange) -> None:
    new = change.state.copy(unsaved_asides=False)
    state.entries, state.asides, state.halt = new.entries, new.asides, new.halt
    state.next_entry, state.next_aside = new.next_entry, new.next_aside
