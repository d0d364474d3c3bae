"""Lists of messages checked and repaired (``spec/rig.md`` 6.2, 6.4). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from convostore.schemas.entries import Entry
from convostore.schemas.errors import PairingError
from convostore.schemas.json_values import JSON
from convostore.schemas.pairing.grammar import NO_RESULT
from convostore.schemas.pairing.steps import Fault, Output, Piece, Source, Step, pair, steps_of

__all__ = ["Repaired", "faults", "merged", "pair_messages", "repair", "validate", "written"]


class Repaired(NamedTuple):
    """The repaired messages and what was wrong; messages that nothing happened to are the same objects."""

    messages: list[JSON]
    faults: list[Fault]


def faults(messages: Sequence[JSON | Entry]) -> list[Fault]:
    """Where calls and results do not pair, in the order a walk finds it; empty for a list that is right."""
    return pair(steps_of(messages)).faults


def validate(messages: Sequence[JSON | Entry]) -> None:
    """Refuse messages whose calls and results do not pair.

    Results may stand in any order, over several user messages, around system messages; each occurrence of an
    id needs a result; a failed turn owes nothing; turns that cannot be merged may stand side by side.

    Raises:
        PairingError: the first fault, with its kind, index and call id.

    """
    found = faults(messages)
    if found:
        first = found[0]
        calls = () if first.call is None else (first.call,)
        raise PairingError(
            f"messages[{first.index}]", str(first), index=first.index, kind=first.kind, calls=calls
        )


def pair_messages(
    messages: Sequence[JSON | Entry], *, stored: bool = False, answers: bool = True, text: str = NO_RESULT
) -> Repaired:
    """One pass of pairing: results behind their calls, orphans dropped, missing ones made up if ``answers``.

    ``stored``: results before the first reply answer calls that the provider keeps; one an id stays.
    """
    paired = pair(steps_of(messages), stored=stored, answers=answers, text=text)
    return Repaired(written(paired.outputs), paired.faults)


def repair(messages: Sequence[JSON | Entry], *, text: str = NO_RESULT) -> Repaired:
    """A list that :func:`validate` accepts, no turn lost: paired, and replies side by side merged.

    Repairing it again changes nothing. Each message stays in its dialect.
    """
    steps = steps_of(messages)
    repaired = _repaired_once(steps, text)
    if not _speak_several(steps) or any(isinstance(given, Entry) and given.dialect for given in messages):
        return repaired
    # A shape that several dialects share is read as its neighbours are, and those may have gone.
    result = repaired.messages
    while True:
        again = _repaired_once(steps_of(result), text).messages
        if len(again) == len(result) and all(map(_is_same, again, result)):
            return Repaired(result, repaired.faults)
        result = again


def _speak_several(steps: Sequence[Step]) -> bool:
    return len({step.source.grammar.dialect for step in steps}) > 1


def _repaired_once(steps: Sequence[Step], text: str) -> Repaired:
    paired = pair(steps, text=text)
    return Repaired(written(merged(paired.outputs, text)), paired.faults)


def merged(outputs: list[Output], text: str) -> list[Output]:
    """Merge replies side by side and pair again, until there are none."""
    while True:
        steps: list[Step] = []
        found = False
        for output in outputs:
            step = _as_step(output)
            last = steps[-1] if steps else None
            if last is not None and last.kind == step.kind == "assistant" and step.follows_wrongly(last):
                steps[-1] = _one_turn(last, step)
                found = True
            else:
                steps.append(step)
        if not found:
            return outputs
        outputs = pair(steps, text=text).outputs


def _as_step(output: Output) -> Step:
    if output.step is not None:
        return output.step
    first = output.pieces[0]
    source = first.source or Source(-1, None, first.grammar)
    return Step("user", source, tuple(output.pieces))


def _one_turn(first: Step, second: Step) -> Step:
    grammar = first.source.grammar
    message = grammar.merged(first.source.message, second.source.message)
    source = replace(first.source, message=message)
    return Step("assistant", source, (), tuple(grammar.calls(message)), second.failed)


def written(outputs: Iterable[Output]) -> list[JSON]:
    """The outputs as messages, each in its dialect."""
    messages: list[JSON] = []
    for output in outputs:
        if output.step is not None:
            messages.append(output.step.source.message)
            continue
        for _, group in groupby(output.pieces, key=_written_with):
            messages.extend(_message_of(list(group)))
    return messages


def _written_with(piece: Piece) -> object:
    """Pieces of one key go into one message."""
    return piece.grammar.dialect if piece.grammar.joins_users else (piece.grammar.dialect, id(piece.source))


def _message_of(pieces: list[Piece]) -> list[JSON]:
    blocks = tuple(piece.block for piece in pieces)
    source = next((piece.source for piece in pieces if piece.source is not None), None)
    if source is None:
        return pieces[0].grammar.results_message(blocks)
    if len(blocks) == len(source.blocks) and all(map(_is_same, blocks, source.blocks)):
        return [source.message]
    return [source.grammar.holding(source.message, blocks)]


def _is_same(a: object, b: object) -> bool:
    return a is b
