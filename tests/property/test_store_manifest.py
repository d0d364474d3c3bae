"""The manifest, over generated ones: positions are sums, merges join neighbours of a kind."""

from __future__ import annotations

from typing import Any

from bson.objectid import ObjectId
from hypothesis import given
from hypothesis import strategies as st

from convostore.store import manifest
from convostore.store.layout import Bounds
from convostore.store.runs import Segment

Item = dict[str, Any]
counts = st.lists(st.integers(1, 6), max_size=8)


def items_of(counts: list[int], size: int = 10) -> list[Item]:
    made, first = [], 0
    for count in counts:
        entries = tuple({"id": id, "m": id} for id in range(first, first + count))
        made.append(manifest.item_of(Segment(entries, size * count), ObjectId()))
        first += count
    return made


def positions(items: list[Item]) -> list[tuple[int, int]]:
    """Where each item begins and ends."""
    edges, position = [], 0
    for item in items:
        edges.append((position, position + item["n"]))
        position += item["n"]
    return edges


@given(counts)
def test_an_item_tells_count_bytes_and_ids(counts: list[int]) -> None:
    items = items_of(counts)
    assert manifest.sealed_count(items) == sum(counts)
    assert manifest.sealed_bytes(items) == 10 * sum(counts)
    for item, (first, last) in zip(items, positions(items), strict=True):
        assert (item["lo"], item["hi"]) == (first, last - 1)


@given(counts, st.integers(0, 50), st.integers(0, 50))
def test_a_range_touches_the_items_that_hold_it(counts: list[int], one: int, other: int) -> None:
    items = items_of(counts)
    total = sum(counts)
    start, stop = sorted((min(one, total), min(other, total)))
    span = manifest.touching(items, start, stop)
    edges = positions(items)
    if start < stop:
        holding = [place for place, (first, last) in enumerate(edges) if first < stop and last > start]
        assert list(range(span.first, span.last)) == holding
    else:
        inside = [place for place, (first, last) in enumerate(edges) if first < start < last]
        assert list(range(span.first, span.last)) == inside
    assert span.start == sum(item["n"] for item in items[: span.first])
    assert span.start <= start


@given(
    st.lists(st.tuples(st.sampled_from([1, 1, 1, 2, 4, 5, 16, 20]), st.integers(1, 400)), max_size=14),
    st.integers(2, 4),
    st.integers(4, 40),
    st.integers(100, 2000),
)
def test_only_neighbours_of_one_size_that_fit_a_segment_are_merged(
    shapes: list[tuple[int, int]], width: int, count: int, size: int
) -> None:
    bounds = Bounds(merge_width=width, segment_count=count, segment_bytes=size)
    items = [{"n": n, "b": b, "lo": 0, "hi": 0, "i": ObjectId()} for n, b in shapes]
    span = manifest.mergeable(items, bounds)
    if span is None:
        return
    joined = items[span.first : span.last]
    assert 2 <= len(joined) <= width
    assert sum(item["n"] for item in joined) <= count
    assert sum(item["b"] for item in joined) <= size
    assert span.start == sum(item["n"] for item in items[: span.first])
    classes = {_size_class(item["n"], width) for item in joined}
    assert len(classes) == 1


def _size_class(count: int, width: int) -> int:
    level = 0
    while count >= width:
        count //= width
        level += 1
    return level


@given(st.integers(1, 300), st.integers(2, 8))
def test_merging_whatever_can_be_keeps_segments_few(seals: int, width: int) -> None:
    """A conversation that only grows has a number of segments that grows with its logarithm."""
    bounds = Bounds(merge_width=width, segment_count=10**9, segment_bytes=10**9)
    items: list[Item] = []
    for _ in range(seals):
        items.append({"n": 1, "b": 1, "lo": 0, "hi": 0, "i": ObjectId()})
        while (span := manifest.mergeable(items, bounds)) is not None:
            count = sum(item["n"] for item in items[span.first : span.last])
            items[span.first : span.last] = [{"n": count, "b": count, "lo": 0, "hi": 0, "i": ObjectId()}]
    assert manifest.sealed_count(items) == seals
    levels = 1
    while width**levels <= seals:
        levels += 1
    assert len(items) <= levels * (width - 1)
