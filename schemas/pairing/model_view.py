"""What a provider call may be given of a conversation: paired, in order, with ids it accepts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from convostore.schemas.entries import Entry
from convostore.schemas.json_values import JSON
from convostore.schemas.pairing.grammar import NO_RESULT, Call
from convostore.schemas.pairing.repairs import Repaired, merged, written
from convostore.schemas.pairing.steps import Output, Piece, Step, pair, steps_of

__all__ = ["for_model"]


def for_model(messages: Sequence[JSON | Entry], *, text: str = NO_RESULT) -> Repaired:
    """What a provider call may be given: failed and unfinished turns left out, then repaired.

    Beyond ``repair``, a real result that stands elsewhere is used before one is made up, results come in
    the order of their calls, and calls of one turn whose ids repeat, are empty or are missing get ids of
    their own, the same in their results. What was stored is not touched; the view of a view is the same.
    """
    steps = steps_of(messages, for_model=True)
    paired = pair(steps, text=text)
    moved = _gathered(steps, paired.orphans, paired.unanswered)
    outputs = merged(pair(moved, text=text).outputs if moved else paired.outputs, text)
    for turn, answer in pairwise(outputs):
        if turn.step is not None and turn.step.calls and answer.pieces:
            _settle(turn, turn.step, answer)
    return Repaired(written(outputs), paired.faults)


def _settle(turn: Output, step: Step, answer: Output) -> None:
    """Put the results behind a turn into the order of its calls, and give calls that need it an id."""
    left, ordered = list(answer.pieces), list[Piece]()
    message, grammar = step.source.message, step.source.grammar
    taken: set[str] = set()
    given = {call.id for call in step.calls if call.key[0] != "name"}
    for number, call in enumerate(step.calls, 1):
        found = next((piece for piece in left if piece.block.result == call.key), None)
        if found is not None:
            left.remove(found)
        id = _own_id(call, number, taken, given)
        taken.add(id)
        if found is not None and id != call.id and grammar.renames(call):
            message = grammar.renamed(message, call, id)
            found = replace(found, block=found.grammar.answering(found.block, id))
        if found is not None:
            ordered.append(found)
    answer.pieces = ordered + left
    if message is not step.source.message:
        turn.step = replace(step, source=replace(step.source, message=message))


def _own_id(call: Call, number: int, taken: set[str], given: set[str]) -> str:
    """The call's id, or one that no other call of the turn has where that is taken, empty or missing."""
    if call.key[0] != "name" and call.id and call.id not in taken:
        return call.id
    base = call.id if call.key[0] != "name" and call.id else "call"
    while f"{base}_{number}" in taken | given:
        number += 1
    return f"{base}_{number}"


def _gathered(
    steps: list[Step], orphans: list[Piece], unanswered: Iterable[tuple[Step, Call]]
) -> list[Step] | None:
    """The steps with results moved behind the calls that lack them; none when there is nothing to move.

    The first such result after the call is taken, else the last before it. A result of a turn that was left
    out is no other call's.
    """
    left_out = {call.key for step in steps if step.kind == "emptied" for call in step.calls}
    homes: dict[int, list[Piece]] = {}
    free = [piece for piece in orphans if piece.block.result not in left_out]
    for step, call in unanswered:
        fits = [piece for piece in free if piece.block.result == call.key]
        after = [
            piece for piece in fits if piece.source is not None and piece.source.index > step.source.index
        ]
        if fits:
            taken = after[0] if after else fits[-1]
            free.remove(taken)
            homes.setdefault(step.source.index, []).append(taken)
    if not homes:
        return None
    gone = {id(piece) for pieces in homes.values() for piece in pieces}
    moved: list[Step] = []
    for step in steps:
        left = tuple(piece for piece in step.pieces if id(piece) not in gone)
        if left or not step.pieces:
            moved.append(step if len(left) == len(step.pieces) else replace(step, pieces=left))
        if step.source.index in homes and step.kind == "assistant":
            home = homes[step.source.index]
            moved.append(Step("user", home[0].source or step.source, tuple(home)))
    return moved
