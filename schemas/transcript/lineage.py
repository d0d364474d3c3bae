"""Which log a value continues (``spec/rig.md`` 3.13). Pure data; the clock is given."""

from __future__ import annotations

import secrets

__all__ = ["DETACHED", "EMPTY", "continues", "fresh"]

EMPTY = 0
"""Begun here from nothing, never saved."""

DETACHED = 2**64 - 1
"""Read back from its own JSON form; continues no log."""


def fresh(now_ms: int) -> int:
    """A lineage for a log just started, never one of the two: the clock's low 40 bits, then 24 at random."""
    while True:
        made = (now_ms & (2**40 - 1)) << 24 | secrets.randbits(24)
        if made not in (EMPTY, DETACHED):
            return made


def continues(own: int, revision: int, unsaved: int, lineage: int, changes: int) -> bool:
    """Whether a value's unsaved records, appended to the log of that lineage and length, give the value.

    ``revision`` counts all records behind the value, ``unsaved`` those not saved yet.
    """
    if own == DETACHED:
        return False
    if own == EMPTY and changes == 0:
        return revision == unsaved
    return own == lineage and revision - unsaved == changes
