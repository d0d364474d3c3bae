"""Which change an edit of the entries is: ids given out, ranges clamped, the smallest middle found. Pure.

From a state and what the caller gave to a change and what it did; nothing is applied here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from convostore.schemas.entries import Entry
from convostore.schemas.errors import QueryError
from convostore.schemas.transcript.changes import PushChange, SpliceChange
from convostore.schemas.transcript.entries import same_entry
from convostore.schemas.transcript.state import State

__all__ = ["Spliced", "clamped", "pushed", "spliced", "wanted_middle"]


@dataclass(frozen=True, slots=True)
class Spliced:
    """What a splice did, as message ids in order.

    ``restored`` were taken out before and are back as they were; ``removed`` are gone; ``added`` are new. An
    entry that kept its id is in none of them.
    """

    restored: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)


def clamped(at: int | slice, length: int) -> tuple[int, int]:
    """The range a position names: an int is the one entry there, negative ones count from the end.

    Ends beyond the entries are drawn in, and a start behind the end is the end.

    Raises:
        QueryError: a slice with a step, or positions that are no whole numbers.

    """
    if isinstance(at, slice):
        if at.step not in (None, 1):
            raise QueryError("at", "a range of entries has no step")
        try:
            start, stop, _ = at.indices(length)
        except TypeError as error:
            raise QueryError("at", "a position is a whole number") from error
        return min(start, stop), stop
    if type(at) is not int:
        raise QueryError("at", "a position is a whole number or a slice")
    start = max(0, at + length) if at < 0 else min(at, length)
    return start, min(start + 1, length)


def pushed(state: State, entries: Sequence[Entry]) -> PushChange:
    """The push of these entries under new ids."""
    return PushChange(
        tuple(replace(entry, id=state.next_entry + place, made=None) for place, entry in enumerate(entries))
    )


def spliced(
    state: State, start: int, stop: int, given: Sequence[tuple[int | None, Entry]], *, restoring: bool
) -> tuple[SpliceChange | None, Spliced]:
    """The splice of a range, and what it does; no change when there is nothing to do.

    An entry keeps its id while it is in the range, once. When ``restoring``, an id this conversation gave out
    and that stands nowhere comes back too, with the time the entry was made.
    """
    old = [entry.id for entry in state.entries[start:stop]]
    if not old and not given:
        return None, Spliced()
    left = set(old)
    elsewhere = (
        {entry.id for part in (state.entries[:start], state.entries[stop:]) for entry in part}
        if restoring
        else set()
    )
    report, taken, fresh = Spliced(), [], state.next_entry
    used: set[int] = set()
    for id, entry in given:
        if id in left:
            left.discard(id)
            made = None
        elif (
            restoring and id is not None and _was_given_out(id, state) and not (id in elsewhere or id in used)
        ):
            report.restored.append(id)
            made = entry.made
        else:
            id, made, fresh = fresh, None, fresh + 1
            report.added.append(id)
        used.add(id)
        taken.append(replace(entry, id=id, made=made))
    report.removed.extend(id for id in old if id not in used)
    return SpliceChange(start, stop, tuple(old), tuple(taken)), report


def _was_given_out(id: int, state: State) -> bool:
    return type(id) is int and 0 <= id < state.next_entry


def wanted_middle(
    state: State, given: Sequence[tuple[int | None, Entry]]
) -> tuple[int, int, Sequence[tuple[int | None, Entry]]]:
    """The range in which the entries differ from the wished ones, and the wished ones for it."""
    held = state.entries
    shorter = min(len(held), len(given))
    start = 0
    while start < shorter and same_entry(held[start], given[start][1]):
        start += 1
    back = 0
    while back < shorter - start and same_entry(held[-1 - back], given[-1 - back][1]):
        back += 1
    return start, len(held) - back, given[start : len(given) - back]
