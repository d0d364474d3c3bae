"""Messages that name their parents, cut into lines, whatever form the links have."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.formats.trees import Forest, Line, Node


def forest(**parents: str | None) -> Forest:
    return Forest({id: Node(parent) for id, parent in parents.items()})


def test_active_line_is_whole_and_the_others_begin_where_they_leave() -> None:
    tree = forest(a=None, b="a", c="b", d="b", e="d", f="d")
    assert tree.lines(["c"]) == [
        Line(None, 0, ("a", "b", "c")),
        Line(0, 2, ("d", "e")),
        Line(1, 3, ("f",)),
    ]


def test_order_of_the_source_does_not_matter() -> None:
    nodes = {f"n{n}": Node(None if n == 0 else f"n{(n - 1) // 2}", made=n) for n in range(31)}
    wanted = {line.own for line in Forest(nodes).lines(["n30"])}
    for seed in range(20):
        shuffled = list(nodes.items())
        random.Random(seed).shuffle(shuffled)
        assert {line.own for line in Forest(dict(shuffled)).lines(["n30"])} == wanted


def test_nodes_that_are_no_messages_link_and_are_not_counted() -> None:
    nodes = {
        "root": Node(None, is_message=False),
        "a": Node("root"),
        "gap": Node("a", is_message=False),
        "b": Node("gap"),
        "other": Node("gap", is_message=False),
        "c": Node("other"),
        "d": Node("other"),
        "nothing": Node("b", is_message=False),
    }
    assert Forest(nodes).lines(["b"]) == [Line(None, 0, ("a", "b")), Line(0, 1, ("c",)), Line(0, 1, ("d",))]


def test_two_roots_are_two_lines() -> None:
    assert forest(a=None, b="a", x=None, y="x").lines(["b"]) == [
        Line(None, 0, ("a", "b")),
        Line(None, 0, ("x", "y")),
    ]


def test_missing_parent_begins_a_line_and_is_named() -> None:
    tree = forest(a=None, b="lost", c="b")
    assert tree.orphans == ["b"]
    assert tree.lines(["a"]) == [Line(None, 0, ("a",)), Line(None, 0, ("b", "c"))]


def test_circle_is_cut_before_its_first_node() -> None:
    tree = forest(d="c", a="c", b="a", c="b", me="me")
    assert tree.circles == ["a", "me"]
    assert tree.lines(["d"])[0] == Line(None, 0, ("a", "b", "c", "d"))


def test_line_that_ends_within_another_leaves_nothing_of_its_own() -> None:
    tree = forest(a=None, b="a", c="b")
    assert tree.lines(["b"]) == [Line(None, 0, ("a", "b")), Line(0, 2, ("c",))]
    assert tree.lines(["c", "b"]) == [Line(None, 0, ("a", "b", "c")), Line(0, 2, ())]


def test_newest_leaf_is_that_of_the_latest_time_then_the_last() -> None:
    assert Forest({"a": Node(None, 5), "b": Node("a", 9), "c": Node("a", 7)}).newest_leaf() == "b"
    assert Forest({"a": Node(None, 5), "b": Node("a", 9), "c": Node("a", 9)}).newest_leaf() == "c"
    assert (
        Forest({"a": Node(None, 5), "b": Node("a"), "c": Node("b", 4), "d": Node("a")}).newest_leaf() == "d"
    )
    assert forest(a=None, b="a", c="a").newest_leaf() == "c"
    assert Forest({"a": Node(None, is_message=False)}).newest_leaf() is None


def test_branch_stays_when_a_later_child_comes() -> None:
    nodes = {"a": Node(None, 1), "b": Node("a", 2), "x": Node("a", 3), "y": Node("x", 4)}
    before = Forest(nodes).lines(["b"])
    later = {"z": Node("x", 9), **nodes, "zz": Node("y", 10)}
    assert Forest(later).lines(["b"]) == [before[0], Line(0, 1, ("x", "y", "zz")), Line(1, 2, ("z",))]


def test_long_chain_and_wide_tree_take_no_recursion_and_no_square_time() -> None:
    size = 50_000
    nodes = {"n0": Node(None), **{f"n{n}": Node(f"n{n - 1}") for n in range(1, size)}}
    nodes |= {f"leaf{n}": Node(f"n{n}") for n in range(size)}
    tree = Forest(nodes)
    assert tree.newest_leaf() == f"leaf{size - 1}"
    lines = tree.lines([f"n{size - 1}"])
    assert len(lines) == size + 1 and len(lines[0].own) == size


@given(
    st.lists(
        st.tuples(st.integers(0, 12) | st.none(), st.booleans(), st.integers(0, 3) | st.none()), max_size=12
    )
)
def test_every_message_is_in_exactly_one_line_after_the_one_it_leaves(
    links: list[tuple[int | None, bool, int | None]],
) -> None:
    nodes = {
        str(n): Node(None if parent is None else str(parent), made, is_message)
        for n, (parent, is_message, made) in enumerate(links)
    }
    tree = Forest(nodes)
    leaf = tree.newest_leaf()
    lines = tree.lines([] if leaf is None else [leaf])
    own = [id for line in lines for id in line.own]
    assert sorted(own) == sorted(id for id, node in nodes.items() if node.is_message)
    wholes: list[list[str]] = []
    for line in lines:
        before = [] if line.parent is None else wholes[line.parent]
        assert line.own and line.after <= len(before)
        wholes.append(before[: line.after] + list(line.own))
        path = [id for id in tree.path(line.own[-1]) if nodes[id].is_message]
        assert wholes[-1] == path
