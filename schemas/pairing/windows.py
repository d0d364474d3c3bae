"""Where a list of messages may be cut: never between a call and its results. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from convostore.schemas.entries import Entry
from convostore.schemas.json_values import JSON
from convostore.schemas.pairing.grammar import CallKey
from convostore.schemas.pairing.steps import steps_of

__all__ = ["matches", "may_cut", "window_start"]


def matches(messages: Sequence[JSON | Entry]) -> list[tuple[int, int]]:
    """The positions of each call and of the result that is its own, in the order of the results.

    A result belongs to the earliest call of its id before it that has none yet, however far back.
    """
    waiting: dict[CallKey, list[int]] = {}
    found: list[tuple[int, int]] = []
    for index, step in enumerate(steps_of(messages)):
        for call in step.calls:
            waiting.setdefault(call.key, []).append(index)
        for piece in step.pieces:
            calls = waiting.get(piece.block.result) if piece.block.result is not None else None
            if calls:
                found.append((calls.pop(0), index))
    return found


def may_cut(messages: Sequence[JSON | Entry]) -> list[bool]:
    """For each position 0 to the length: whether no call before it has its result at or behind it."""
    crossing = [0] * (len(messages) + 2)
    for call, result in matches(messages):
        crossing[call + 1] += 1
        crossing[result + 1] -= 1
    open_pairs, free = 0, []
    for position in range(len(messages) + 1):
        open_pairs += crossing[position]
        free.append(open_pairs == 0)
    return free


def window_start(messages: Sequence[JSON | Entry], limit: int) -> int:
    """Where the newest ``limit`` messages begin, drawn back to the first position where a cut may be.

    So the window may hold more than ``limit`` messages, never a result without its call.
    """
    free = may_cut(messages)
    start = max(0, len(messages) - max(0, limit))
    while not free[start]:
        start -= 1
    return start
