"""Runs of entries, over generated ones: ids by the rule of the trailing ones, cuts that lose nothing."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.store import runs
from convostore.store.codec import document_size
from convostore.store.layout import Bounds

sizes = st.lists(st.integers(1, 400), max_size=30)


def entries_of(sizes: list[int]) -> list[dict[str, Any]]:
    return [{"id": id, "m": "x" * size} for id, size in enumerate(sizes)]


@given(st.lists(st.integers(0, 50), max_size=8), st.integers(0, 8), st.integers(0, 100))
def test_trailing_entries_get_the_last_ids_given_out(written: list[int], plain: int, given_out: int) -> None:
    next_entry = given_out + plain
    run: list[dict[str, Any]] = [{"id": id, "m": id} for id in written]
    run += [{"m": f"plain {place}"} for place in range(plain)]
    found = runs.with_ids(run, next_entry)
    assert [entry["id"] for entry in found] == [*written, *range(next_entry - plain, next_entry)]
    assert [entry["m"] for entry in found] == [entry["m"] for entry in run]
    # Whoever read only the end of the run counts from the end too.
    for start in range(len(run) + 1):
        assert runs.with_ids(run[start:], next_entry) == found[start:]


@given(sizes, st.integers(1, 10), st.integers(100, 2000))
def test_a_cut_into_segments_loses_and_moves_nothing(sizes: list[int], count: int, size: int) -> None:
    entries = entries_of(sizes)
    bounds = Bounds(segment_count=count, segment_bytes=size)
    segments = runs.cut_into_segments(entries, bounds)
    assert [entry for segment in segments for entry in segment.entries] == entries
    for segment in segments:
        assert 1 <= len(segment.entries) <= count
        assert segment.size <= size or len(segment.entries) == 1
        assert segment.size >= sum(map(document_size, segment.entries))


@given(sizes, st.integers(1, 10), st.integers(100, 4000))
def test_what_stays_embedded_is_a_page_or_what_the_bytes_allow(
    sizes: list[int], keep: int, soft_bytes: int
) -> None:
    entries = entries_of(sizes)
    kept = runs.newest_page(entries, Bounds(keep=keep, soft_bytes=soft_bytes))
    assert kept <= keep and (kept >= 1 or not entries)
    if kept > 1:
        assert runs.entries_size(entries[-kept:]) <= soft_bytes // 2
    if kept < min(keep, len(entries)):
        assert runs.entries_size(entries[-kept - 1 :]) > soft_bytes // 2


@given(
    st.lists(st.text(max_size=20), max_size=5),
    st.one_of(st.none(), st.integers(0, 2**62)),
    st.one_of(st.none(), st.sampled_from(["openai", "anda"])),
    st.booleans(),
)
def test_an_entry_says_what_it_was_given_and_nothing_else(
    texts: list[str], made: int | None, dialect: str | None, unfinished: bool
) -> None:
    author = Author.plugin("p")
    new = runs.encode_entries(
        texts, made=made, author=author.to_json(), dialect=dialect, unfinished=unfinished
    )
    for id, (entry, text) in enumerate(zip(new, texts, strict=True)):
        found = runs.to_entry(runs.numbered(entry.stored, id), {})
        assert found == Entry(id, text, made, author, dialect, unfinished)
        assert (made is None) == ("made" not in entry.stored)
        assert unfinished == ("unfinished" in entry.stored)
        # The bytes that are counted are those that are stored, give or take what one number takes.
        assert abs(entry.size - document_size(entry.stored)) <= 16


def test_pieces_lie_apart_under_one_id_and_get_another_when_renewed() -> None:
    (entry,) = runs.encode_entries(["x" * 9_000_000], made=1)
    pieces = runs.pieces_of([entry])
    assert {blob for blob, _, _ in pieces} == {entry.stored["blob"]["b"]}
    assert [place for _, place, _ in pieces] == list(range(entry.stored["blob"]["n"])) == [0, 1, 2]
    again = runs.renewed(entry)
    assert again.stored["blob"]["b"] != entry.stored["blob"]["b"]
    assert b"".join(again.pieces) == b"".join(entry.pieces)
    (small,) = runs.encode_entries(["x"], made=1)
    assert runs.renewed(small) is small


def test_a_resources_own_bytes_are_no_reference() -> None:
    assert runs.blob_references([{"name": "r", "blob": "b64:AAAA"}]) == []
