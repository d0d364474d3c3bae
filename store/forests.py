"""Which conversations are told in one tree: each with the forks of it, and of those. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from convostore.schemas.formats.outgoing import Fork

__all__ = ["Leaf", "Trees", "trees_of"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A fork in a tree: whose it is, and what of the tree it leaves."""

    id: int
    user: str
    leaves: Fork


@dataclass(slots=True)
class Trees:
    """``forks`` by the conversation at the root, each behind what it leaves; ``points`` where forks leave."""

    forks: dict[int, list[Leaf]] = field(default_factory=dict)
    points: dict[int, list[int]] = field(default_factory=dict)
    inside: set[int] = field(default_factory=set)
    """Forks that are in the tree of another conversation."""


def trees_of(origins: Mapping[int, tuple[Fork, str]], present: Collection[int]) -> Trees:
    """The trees of the forks whose origin is present; a fork of what a fork copied leaves that one's origin.

    >>> trees_of({2: (Fork(1, 5), "u"), 3: (Fork(2, 4), "u"), 4: (Fork(9, 1), "u")}, {1, 2}).points
    {1: [5, 4]}
    """
    found = Trees()
    left: dict[int, Fork] = {}
    for id, (fork, _) in origins.items():
        if fork.id in present:
            left[id] = _first_holder(fork, origins, present)
    for id in sorted(left):
        root = id
        seen = {id}
        while root in left and left[root].id not in seen:
            root = left[root].id
            seen.add(root)
        if root in left:
            continue  # a circle, which no store makes: each by itself
        found.forks.setdefault(root, []).append(Leaf(id, origins[id][1], left[id]))
        found.points.setdefault(left[id].id, []).append(left[id].entries)
        found.inside.add(id)
    for root, forks in found.forks.items():
        found.forks[root] = _in_order(root, forks)
    return found


def _first_holder(fork: Fork, origins: Mapping[int, tuple[Fork, str]], present: Collection[int]) -> Fork:
    """What holds the messages in common that was there first."""
    seen = {fork.id}
    while fork.id in origins:
        above = origins[fork.id][0]
        if above.entries < fork.entries or above.id not in present or above.id in seen:
            break
        seen.add(above.id)
        fork = Fork(above.id, fork.entries)
    return fork


def _in_order(root: int, forks: list[Leaf]) -> list[Leaf]:
    """Each behind what it leaves, else by id."""
    by_origin: dict[int, list[Leaf]] = {}
    for leaf in forks:
        by_origin.setdefault(leaf.leaves.id, []).append(leaf)
    ordered: list[Leaf] = []
    waiting = [root]
    while waiting:
        children = by_origin.get(waiting.pop(0), [])
        ordered += children
        waiting += [leaf.id for leaf in children]
    return ordered
