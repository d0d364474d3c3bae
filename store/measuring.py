"""Measuring a conversation: how long it lasted, how soon the model answered. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from bson.objectid import ObjectId

from convostore.schemas.pairing.grammars import GRAMMARS
from convostore.store.codec import blob_of, decode_body

__all__ = ["FACTS", "Measures", "Turn", "measured", "percentiles", "turn_of"]

FACTS: Final = ("made", "dialect", "m.role", "m.type", "t", "blob")
"""What of a stored entry tells when it was said, and by which side."""


class Turn(NamedTuple):
    """When an entry was made, ms or None, and whose it is: ``user``, ``assistant`` or ``system``."""

    made: int | None
    side: str


class Measures(NamedTuple):
    """Of a conversation, ms: from its first to its last message, and from the user's first message to the
    first answer; None where times are missing.
    """

    lasted: int | None = None
    answered: int | None = None


def turn_of(stored: Mapping[str, Any], blobs: Mapping[ObjectId, bytes] = MappingProxyType({})) -> Turn:
    """The turn of a stored entry, of which :data:`FACTS` are enough; ``blobs`` hold what lies apart.

    A message that lies apart and is not among them takes no side.
    """
    made = stored.get("made")
    reference = blob_of(stored)
    if reference is not None and reference["b"] not in blobs:
        return Turn(made, "system")
    message = decode_body(stored, blobs) if "t" in stored or reference is not None else stored.get("m")
    role, kind = (message.get(name) if isinstance(message, dict) else None for name in ("role", "type"))
    by_items = stored.get("dialect") == "openai-responses" or (role is None and kind is not None)
    grammar = GRAMMARS["openai-responses" if by_items else "openai"]
    return Turn(made, grammar.kind({"role": role, **({"type": kind} if by_items else {})}))


def first_answer(turns: Iterable[Turn]) -> int | None:
    """From the first message of the user to the first of the model behind it, ms."""
    asked: int | None = None
    for turn in turns:
        if asked is None:
            asked = turn.made if turn.side == "user" else None
        elif turn.side == "assistant" and turn.made is not None:
            return max(turn.made - asked, 0)
    return None


def measured(first: Sequence[Turn], last: Sequence[Turn]) -> Measures:
    """The measures of a conversation of which these turns are the beginning and the end."""
    begun = [turn.made for turn in first if turn.made is not None]
    ended = [turn.made for turn in last if turn.made is not None]
    lasted = max(ended[-1] - begun[0], 0) if ended and len(begun) > 1 else None
    return Measures(lasted, first_answer(first))


def percentiles(values: Iterable[int]) -> dict[str, int | None]:
    """Nearest-rank percentiles of the values, as rows have them: ``p50``, ``p90``, ``p99``, ``longest``.

    >>> percentiles([30, 10, 20])
    {'p50': 20, 'p90': 30, 'p99': 30, 'longest': 30}
    >>> percentiles([])['p50'] is None
    True
    """
    ordered = sorted(values)

    def at(percent: int) -> int | None:
        return ordered[-(-percent * len(ordered) // 100) - 1] if ordered else None

    return {"p50": at(50), "p90": at(90), "p99": at(99), "longest": at(100)}
