"""Runs of stored entries: their sizes as measured together are those of each, and cuts keep to the bounds."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convostore.store.codec import document_size
from convostore.store.layout import KIB, Bounds
from convostore.store.runs import cut_into_segments, encode_entries, entries_size, newest_page, with_ids

NOW = 1_790_848_800_000


def stored(sizes: list[int]) -> list[dict[str, Any]]:
    return [{"id": place, "m": {"content": "x" * size}} for place, size in enumerate(sizes)]


@given(st.lists(st.integers(0, 300), max_size=120))
def test_size_of_entries_is_the_sum_of_their_documents(sizes: list[int]) -> None:
    entries = stored(sizes)
    assert entries_size(entries) == sum(map(document_size, entries))


@given(st.lists(st.integers(0, 900), max_size=200), st.integers(1, 70))
def test_segments_hold_all_entries_in_order_within_their_bounds(sizes: list[int], count: int) -> None:
    entries, bounds = stored(sizes), Bounds(segment_bytes=4 * KIB, segment_count=count)
    segments = cut_into_segments(entries, bounds)
    assert [entry for segment in segments for entry in segment.entries] == entries
    for segment in segments:
        assert segment.size == sum(document_size(entry) + 16 for entry in segment.entries)
        assert segment.size <= bounds.segment_bytes
        assert len(segment.entries) <= count
    for earlier, later in itertools.pairwise(segments):
        first = document_size(later.entries[0]) + 16
        assert earlier.size + first > bounds.segment_bytes or len(earlier.entries) == count


def test_entry_larger_than_a_segment_has_one_of_its_own() -> None:
    entries = stored([10, 5000, 10])
    segments = cut_into_segments(entries, Bounds(segment_bytes=4 * KIB))
    assert [len(segment.entries) for segment in segments] == [1, 1, 1]


@pytest.mark.parametrize(
    "facts",
    [
        {"made": NOW},
        {"made": None},
        {"made": [NOW, None]},
        {"made": NOW, "author": {"kind": "plugin", "name": "x"}, "dialect": "openai", "unfinished": True},
        {"made": None, "dialect": "anda"},
    ],
)
def test_size_of_an_encoded_entry_is_nearly_its_documents(facts: dict[str, Any]) -> None:
    encoded = encode_entries([{"role": "user", "content": "hi"}, ["é", 2**63]], **facts)
    for entry in encoded:
        assert abs(entry.size - document_size(entry.stored)) <= 16


def test_facts_of_an_entry_lie_beside_its_message() -> None:
    author = {"kind": "plugin", "name": "x"}
    (entry,) = encode_entries([{"a": 1}], made=NOW, author=author, dialect="rig", unfinished=True)
    assert entry.stored == {
        "made": NOW,
        "author": author,
        "dialect": "rig",
        "unfinished": True,
        "m": {"a": 1},
    }
    (plain,) = encode_entries([{"a": 1}], made=None)
    assert plain.stored == {"m": {"a": 1}}


def test_times_must_be_as_many_as_the_messages() -> None:
    with pytest.raises(ValueError, match="zip"):
        encode_entries([{}, {}], made=[NOW])


def test_trailing_entries_without_ids_have_the_last_ones() -> None:
    run = [{"id": 3, "m": 1}, {"m": 2}, {"m": 3}]
    assert [entry["id"] for entry in with_ids(run, 9)] == [3, 7, 8]


@pytest.mark.parametrize(
    ("sizes", "kept"), [([10] * 5, 4), ([10] * 3, 3), ([4000, 4000, 10], 2), ([9000], 1)]
)
def test_newest_page_is_a_page_or_what_half_the_soft_bound_holds(sizes: list[int], kept: int) -> None:
    assert newest_page(stored(sizes), Bounds(keep=4, soft_bytes=10 * KIB)) == kept
