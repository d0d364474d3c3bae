"""Identities are found again with their content, as in a dict."""

from __future__ import annotations

import random

from convostore.store.identities import Identities

ENDS = [0, 1, -1, 2**63 - 1, -(2**63)]


def test_identities_are_what_a_dict_would_hold() -> None:
    dice = random.Random(7)
    # Many of the same low bits, so that places are taken already.
    keys = ENDS + [dice.randrange(-(2**63), 2**63) & ~0xFF | dice.randrange(64) for _ in range(6_000)]
    held, noted = {}, Identities()
    for key in keys + keys[::7]:
        content = dice.choice([*ENDS, dice.randrange(-(2**63), 2**63)])
        expected = held.get(key or 1)
        assert noted.note(key, content) == expected
        held.setdefault(key or 1, content)
    assert len(noted) == len(held)
