"""Repairs how the entries of a transcript pair, keeping identities (``spec/rig.md`` 6.4). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.schemas.pairing.grammar import Block
from convostore.schemas.pairing.steps import Fault, Output, Piece, Step, pair, steps_of

__all__ = ["Normalized", "normalized"]


@dataclass(frozen=True, slots=True)
class Normalized:
    """What was repaired; true when anything was.

    ``faults`` are those found, with positions in the entries as they were. ``moved`` says for the id of each
    entry that is gone which one stands for it: the one it was merged into, or the one before it; none before
    the first.
    """

    faults: list[Fault] = field(default_factory=list)
    moved: dict[int, int | None] = field(default_factory=dict)
    reordered: bool = False

    def __bool__(self) -> bool:
        return bool(self.faults) or self.reordered


def normalized(entries: Sequence[Entry]) -> tuple[list[Entry], Normalized]:
    """The repaired entries, made-up ones without an id (-1), and what was repaired.

    User entries stay apart; a reply takes in the one behind it; a made-up result goes into the user entry
    that comes next where its dialect allows, else into an entry by rig.
    """
    wanted, moved = list(entries), dict[int, int | None]()
    paired = pair(steps_of(wanted))
    found, first = paired.faults, True
    while True:
        rebuilt = _rebuilt(wanted, paired.outputs, moved)
        merged = _merged(rebuilt, moved)
        changed = len(merged) != len(wanted) or any(a is not b for a, b in zip(merged, wanted, strict=True))
        if first:
            report = Normalized(found, moved, changed)
            first = False
        if not changed:
            break
        wanted, paired = merged, pair(steps_of(merged))
    for id in moved:
        heir = moved[id]
        while heir in moved:
            heir = moved[heir]
        moved[id] = heir
    return wanted, report


def _rebuilt(entries: list[Entry], outputs: list[Output], moved: dict[int, int | None]) -> list[Entry]:
    """The entries in the order of the outputs, each with the pieces that were kept of it."""
    kept: dict[int, list[Piece]] = {}
    for output in outputs:
        for piece in output.pieces:
            if piece.source is not None:
                kept.setdefault(piece.source.index, []).append(piece)
    rebuilt: list[Entry] = []
    placed: set[int] = set()
    turn: Step | None = None
    for output in outputs:
        if output.step is not None:
            turn = output.step if output.step.kind == "assistant" else turn
            rebuilt.append(entries[output.step.source.index])
            placed.add(output.step.source.index)
            continue
        made = [piece for piece in output.pieces if piece.source is None]
        sources = sorted({piece.source.index for piece in output.pieces if piece.source is not None} - placed)
        placed.update(sources)
        rebuilt.extend(_user_entries(entries, sources, kept, made, turn))
    for index in set(range(len(entries))) - placed:
        moved[entries[index].id] = entries[index - 1].id if index else None
    return rebuilt


def _user_entries(
    entries: list[Entry],
    sources: list[int],
    kept: dict[int, list[Piece]],
    made: list[Piece],
    turn: Step | None,
) -> list[Entry]:
    written = [_holding(entries[index], kept[index], []) for index in sources]
    if not made:
        return written
    grammar = made[0].grammar
    if sources and grammar.joins_users and kept[sources[0]][0].grammar is grammar:
        return [_holding(entries[sources[0]], kept[sources[0]], made), *written[1:]]
    dialect = entries[turn.source.index].dialect if turn is not None else None
    own = [
        Entry(-1, message, None, Author.rig(), dialect)
        for message in grammar.results_message([piece.block for piece in made])
    ]
    at = next(
        (n for n, index in enumerate(sources) if any(p.block.result is None for p in kept[index])),
        len(sources),
    )
    return [*written[:at], *own, *written[at:]]


def _holding(entry: Entry, kept: list[Piece], made: list[Piece]) -> Entry:
    """The entry with these pieces in the order they had, made-up results before the first that is none."""
    source = kept[0].source
    if source is None or (not made and len(kept) == len(source.blocks)):
        return entry
    left = {id(piece.block) for piece in kept}
    blocks: list[Block] = [block for block in source.blocks if id(block) in left]
    at = next((place for place, block in enumerate(blocks) if block.result is None), len(blocks))
    blocks[at:at] = [piece.block for piece in made]
    return replace(entry, message=source.grammar.holding(source.message, blocks))


def _merged(entries: list[Entry], moved: dict[int, int | None]) -> list[Entry]:
    """Replies side by side made one: identity of the first, outcome of the second."""
    merged: list[Entry] = []
    last: Step | None = None
    for entry, step in zip(entries, steps_of(entries), strict=True):
        if last is not None and last.kind == step.kind == "assistant" and step.follows_wrongly(last):
            message = step.source.grammar.merged(merged[-1].message, entry.message)
            merged[-1] = replace(merged[-1], message=message, unfinished=entry.unfinished)
            moved[entry.id] = merged[-1].id
            last = steps_of([merged[-1]])[0]
        else:
            merged.append(entry)
            last = step
    return merged
