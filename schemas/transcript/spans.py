"""Where spans of a conversation begin and who owes what (``spec/rig.md`` 3.2, 3.3). Pure reads of a state."""

from __future__ import annotations

from collections.abc import Iterator

from convostore.schemas.entries import Entry
from convostore.schemas.transcript.asides import Aside
from convostore.schemas.transcript.roles import is_read, is_request, is_users
from convostore.schemas.transcript.state import State
from convostore.schemas.transcript.turns import TurnRecord

__all__ = [
    "aside_position",
    "asked",
    "index_of",
    "last_is_users",
    "request",
    "start_of",
    "turn_start",
    "turns",
]


def index_of(state: State, id: int) -> int | None:
    """Where an entry stands; none once it is taken out."""
    # The usual question is about one of the last entries.
    for index in range(len(state.entries) - 1, -1, -1):
        if state.entries[index].id == id:
            return index
    return None


def start_of(state: State, id: int) -> int:
    """Where the span from that id on begins.

    The end for an id not made yet; 0 for one that was taken out, as a summary is taken to stand for it.
    """
    if id >= state.next_entry:
        return len(state.entries)
    return index_of(state, id) or 0


def turn_start(state: State) -> int:
    """The id of the first of the user messages that end the conversation; without any, the next id.

    A failed reply at the end is not looked through.
    """
    start = state.next_entry
    for entry in reversed(state.entries):
        if not is_users(entry):
            break
        start = entry.id
    return start


def asked(state: State, start: int) -> Iterator[int]:
    """The positions from ``start_of(start)`` on, as long as they are user messages."""
    for index in range(start_of(state, start), len(state.entries)):
        if not is_users(state.entries[index]):
            return
        yield index


def request(state: State, start: int) -> int | None:
    """The position of the first of :func:`asked` that asks for something."""
    return next((index for index in asked(state, start) if is_request(state.entries[index])), None)


def last_is_users(state: State) -> bool:
    """Whether the last message a model would read is the user's: failed and unfinished replies are not."""
    last: Entry | None = next((entry for entry in reversed(state.entries) if is_read(entry)), None)
    return last is not None and is_users(last)


def aside_position(state: State, aside: Aside) -> int:
    """Where an aside is drawn: behind its entry, or behind what stands for it."""
    if aside.after is None:
        return 0
    return min(start_of(state, aside.after) + 1, len(state.entries))


def turns(state: State) -> list[tuple[int, TurnRecord]]:
    """The asides that hold turn records, oldest first."""
    read = ((id, TurnRecord.of(aside)) for id, aside in state.asides.items())
    return [(id, record) for id, record in read if record is not None]
