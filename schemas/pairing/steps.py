"""The walk that pairs calls with results, over steps of any dialect (``spec/rig.md`` 6.3). Pure.

A step is a message as pairing sees it; an output is a message as it will be, made of pieces that remember
their message, so that what nothing happened to can be given back as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from convostore.schemas.entries import Entry
from convostore.schemas.json_values import JSON
from convostore.schemas.pairing.grammar import NO_RESULT, Block, Call, CallKey, Grammar
from convostore.schemas.pairing.grammars import grammars_of

__all__ = ["Fault", "Output", "Paired", "Piece", "Source", "Step", "pair", "steps_of"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Where calls and results do not pair: the position of the message given, and the id of the call."""

    kind: Literal["consecutive_assistant", "unanswered_call", "orphan_result"]
    index: int
    call: str | None = None

    def __str__(self) -> str:
        if self.kind == "consecutive_assistant":
            return "follows another assistant message"
        named = f"the call {ascii(self.call)[:80]}"
        return (
            f"{named} has no result"
            if self.kind == "unanswered_call"
            else f"a result for {named}, not waiting"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A message given, and the pieces it had."""

    index: int
    message: JSON
    grammar: Grammar
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a user message and where it came from, none for one made up."""

    block: Block
    source: Source | None
    grammar: Grammar


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A message as pairing sees it: ``emptied`` stands for a turn that was left out and ends what waits."""

    kind: Literal["user", "assistant", "system", "emptied"]
    source: Source
    pieces: tuple[Piece, ...] = ()
    calls: tuple[Call, ...] = ()
    failed: bool = False

    def follows_wrongly(self, earlier: Step) -> bool:
        """Whether two turns side by side ought to be one; those that cannot be merged may stand so."""
        first, second = earlier.source, self.source
        if first.grammar is not second.grammar or earlier.failed != self.failed:
            return False
        return first.grammar.mergeable(first.message, second.message)


@dataclass(slots=True, eq=False)
class Output:
    """A message as it will be: a step passed on, or a user message of these pieces."""

    step: Step | None = None
    pieces: list[Piece] = field(default_factory=list)


class Paired(NamedTuple):
    """The messages as they will be, and the faults in the order found.

    ``orphans`` are the results dropped, ``unanswered`` the calls that got a made-up result, with their turn.
    """

    outputs: list[Output]
    faults: list[Fault]
    orphans: list[Piece]
    unanswered: list[tuple[Step, Call]]


def steps_of(messages: Sequence[JSON | Entry], *, for_model: bool = False) -> list[Step]:
    """The messages as steps; ``for_model`` empties the turns that failed or are unfinished."""
    grammars = enumerate(grammars_of(messages))
    return [
        _step(index, given, grammar, for_model)
        for (index, grammar), given in zip(grammars, messages, strict=True)
    ]


def _step(index: int, given: JSON | Entry, grammar: Grammar, for_model: bool) -> Step:
    message, unfinished = (given.message, given.unfinished) if isinstance(given, Entry) else (given, False)
    kind = grammar.kind(message)
    if kind == "user":
        source = Source(index, message, grammar, tuple(grammar.blocks(message)))
        return Step(kind, source, tuple(Piece(block, source, grammar) for block in source.blocks))
    source = Source(index, message, grammar)
    if kind == "system":
        return Step(kind, source)
    failed = unfinished or grammar.failed(message)
    calls = tuple(grammar.calls(message))
    return Step("emptied" if failed and for_model else kind, source, (), calls, failed)


def pair(
    steps: Sequence[Step], *, stored: bool = False, answers: bool = True, text: str = NO_RESULT
) -> Paired:
    """Pair the calls with their results.

    ``stored``: results before the first turn answer calls the provider keeps, one an id. ``answers``: make up
    the results that are missing.
    """
    walk = _Walk(stored, answers, text)
    for run in _runs(steps):
        walk.take(run)
    walk.close()
    return Paired(walk.outputs, walk.faults, walk.orphans, walk.unanswered)


def _runs(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """User messages side by side that are not empty make one step."""
    run: list[Step] = []
    for step in steps:
        if step.kind == "user" and step.pieces:
            run.append(step)
            continue
        if run:
            yield run
            run = []
        yield [step]
    if run:
        yield run


class _Walk:
    def __init__(self, stored: bool, answers: bool, text: str) -> None:
        self.outputs: list[Output] = []
        self.faults: list[Fault] = []
        self.orphans: list[Piece] = []
        self.unanswered: list[tuple[Step, Call]] = []
        self._stored, self._answers, self._text = stored, answers, text
        self._kept_keys: set[CallKey] = set()
        self._waiting: list[Call] = []
        self._turn: Step | None = None
        self._held: list[Step] = []
        self._pending: list[Piece] = []
        self._after_assistant = self._gap = False

    def take(self, run: list[Step]) -> None:
        step = run[0]
        if step.kind == "assistant":
            self._take_turn(step)
        elif step.kind == "emptied":
            self.close()
            self._stored, self._gap, self._after_assistant = False, True, False
        elif step.kind == "system":
            self._after_assistant = False
            if self._waiting:
                self._held.append(step)
            else:
                self._emit(Output(step))
        elif not step.pieces:
            self._after_assistant = False
            self.close()
            self._emit(Output(step))
        else:
            self._take_user([piece for each in run for piece in each.pieces])

    def _take_turn(self, step: Step) -> None:
        if self._after_assistant and self._turn is not None and step.follows_wrongly(self._turn):
            self.faults.append(Fault("consecutive_assistant", step.source.index))
        self.close()
        self._stored, self._after_assistant = False, True
        self._turn, self._waiting = step, [] if step.failed else list(step.calls)
        self._emit(Output(step))

    def _take_user(self, pieces: list[Piece]) -> None:
        self._after_assistant = False
        kept = [piece for piece in pieces if self._keeps(piece)]
        if not kept and not self._waiting:
            return
        self._pending.extend(kept)
        if not self._waiting or any(piece.block.result is None for piece in kept):
            self.close()

    def _keeps(self, piece: Piece) -> bool:
        key = piece.block.result
        if key is None:
            return True
        if self._stored:
            fresh = key not in self._kept_keys
            self._kept_keys.add(key)
            return fresh
        call = next((call for call in self._waiting if call.key == key), None)
        if call is not None:
            self._waiting.remove(call)
            return True
        index = piece.source.index if piece.source is not None else -1
        self.faults.append(Fault("orphan_result", index, key[1]))
        self.orphans.append(piece)
        return False

    def close(self) -> None:
        """End what waits: make up missing results, put results first, emit the user message."""
        if self._answers and self._turn is not None:
            grammar, index = self._turn.source.grammar, self._turn.source.index
            made = [Piece(grammar.made_up(call, self._text), None, grammar) for call in self._waiting]
            self.faults.extend(Fault("unanswered_call", index, call.id) for call in self._waiting)
            self.unanswered.extend((self._turn, call) for call in self._waiting)
            self._pending.extend(made)
        results = [piece for piece in self._pending if piece.block.result is not None]
        others = [piece for piece in self._pending if piece.block.result is None]
        if self._held:
            self._emit_user(results)
            for step in self._held:
                self._emit(Output(step))
            self._emit_user(others)
        else:
            self._emit_user(results + others)
        self._pending, self._waiting, self._held = [], [], []

    def _emit_user(self, pieces: list[Piece]) -> None:
        last = self.outputs[-1] if self.outputs else None
        if self._gap and pieces and last is not None and last.pieces:
            last.pieces.extend(pieces)
            self._gap = False
        elif pieces:
            self._emit(Output(pieces=pieces))

    def _emit(self, output: Output) -> None:
        self.outputs.append(output)
        self._gap = False
