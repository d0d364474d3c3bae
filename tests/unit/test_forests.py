"""Which conversations an export tells in one tree."""

from __future__ import annotations

from convostore.schemas.formats.outgoing import Fork
from convostore.store.forests import Leaf, trees_of


def test_forks_are_told_behind_what_they_leave() -> None:
    origins = {2: (Fork(7, 5), "u"), 3: (Fork(2, 6), "u"), 4: (Fork(3, 9), "u"), 5: (Fork(7, 1), "u")}
    found = trees_of(origins, {7, 2, 3})
    assert found.forks == {
        7: [
            Leaf(2, "u", Fork(7, 5)),
            Leaf(5, "u", Fork(7, 1)),
            Leaf(3, "u", Fork(2, 6)),
            Leaf(4, "u", Fork(3, 9)),
        ]
    }
    assert found.points == {7: [5, 1], 2: [6], 3: [9]}
    assert found.inside == {2, 3, 4, 5}


def test_a_fork_leaves_the_one_that_had_the_messages_first() -> None:
    origins = {2: (Fork(1, 5), "u"), 3: (Fork(2, 5), "u"), 4: (Fork(3, 2), "u")}
    found = trees_of(origins, {1, 2, 3})
    assert [leaf.leaves for leaf in found.forks[1]] == [Fork(1, 5), Fork(1, 5), Fork(1, 2)]


def test_a_fork_of_what_is_not_there_is_a_tree_of_its_own() -> None:
    origins = {2: (Fork(1, 5), "u"), 3: (Fork(2, 4), "u"), 4: (Fork(2, 6), "u")}
    found = trees_of(origins, {2})
    # What the second has in common with the first it tells itself.
    assert {root: [leaf.id for leaf in leaves] for root, leaves in found.forks.items()} == {2: [3, 4]}
    assert found.points == {2: [4, 6]} and found.inside == {3, 4}


def test_a_circle_is_left_to_each_of_its_own() -> None:
    origins = {1: (Fork(2, 5), "u"), 2: (Fork(1, 5), "u"), 3: (Fork(1, 2), "u")}
    found = trees_of(origins, {1, 2})
    assert found.forks == {} and found.inside == set()
