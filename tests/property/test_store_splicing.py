"""Splices and seals against a plain list: the layout changes, the list is what was asked for."""

from __future__ import annotations

from typing import Any

from bson.int64 import Int64
from bson.objectid import ObjectId
from hypothesis import given
from hypothesis import strategies as st

from convostore.store import sealing, splicing
from convostore.store.heads import embedded
from convostore.store.layout import Bounds
from convostore.store.manifest import item_of, sealed_count
from convostore.store.runs import NewEntry, cut_into_segments, entries_size
from convostore.store.splicing import Splice
from support.layouts import Layout, layouts

OWNER = {"_id": 1, "user": "alice"}
BOUNDS = Bounds(keep=3, soft_count=6, hard_count=10, segment_count=5)


def new_entries(texts: list[str]) -> tuple[NewEntry, ...]:
    return tuple(NewEntry({"m": text}, 20) for text in texts)


def applied(head: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    """The head after a plain update of a splice, as the server would leave it."""
    assert set(update) <= {"$set", "$unset", "$inc", "$push", "$max", "$min"}
    after = {**head, **update.get("$set", {})}
    for name in update.get("$unset", {}):
        after.pop(name, None)
    for name, by in update["$inc"].items():
        after[name] = after.get(name, 0) + by
    after["log"] = [*head["log"], *update["$push"]["log"]["$each"]]
    return after


def spliced(layout: Layout, start: int, stop: int, texts: list[str]) -> tuple[Layout, dict[str, Any]]:
    """The layout after the splice, and the change record it left."""
    head = layout.head
    asked = Splice(start, stop, new_entries(texts), (None,) * len(texts), ObjectId(), 5)
    span = splicing.reach(head, asked)
    placed = splicing.place(head, asked, layout.read(head["segments"][span.first : span.last]), BOUNDS)
    segments = dict(layout.segments)
    items = []
    for segment in placed.segments:
        id = ObjectId()
        segments[id] = list(segment.entries)
        items.append(item_of(segment, id))
    query, update = splicing.update_for(OWNER, head, asked, placed, items, [])
    assert (query["lineage"], query["structure"]) == (head["lineage"], head["structure"])
    if placed.run is not None or placed.drawn:
        assert query["version"] == head["version"]
    after = applied(head, update)
    sealed = [entry for item in after["segments"] for entry in segments[item["i"]]]
    return Layout([*sealed, *embedded(after)], after, segments), after["log"][-1]


ranges = st.tuples(st.integers(0, 30), st.integers(0, 6))
inserted = st.lists(st.sampled_from(["a", "b", "c"]), max_size=14)


@given(layouts(), ranges, inserted)
def test_a_splice_changes_the_list_as_asked_and_nothing_else(
    layout: Layout, at: tuple[int, int], texts: list[str]
) -> None:
    total = len(layout.entries)
    start = min(at[0], total)
    stop = min(start + at[1], total)
    after, record = spliced(layout, start, stop, texts)
    assert [entry["m"] for entry in after.entries] == [
        *(entry["m"] for entry in layout.entries[:start]),
        *texts,
        *(entry["m"] for entry in layout.entries[stop:]),
    ]
    assert after.ids[:start] == layout.ids[:start]
    assert after.ids[start + len(texts) :] == layout.ids[stop:]
    fresh = after.ids[start : start + len(texts)]
    first = int(layout.head["next_entry"])
    assert fresh == list(range(first, first + len(texts)))
    assert after.head["next_entry"] == first + len(texts)
    assert (record["from"], record["to"], record["with"]) == (start, stop, fresh)
    removed = [entry["id"] for entry in record.get("rm", [])]
    assert removed == layout.ids[start:stop]


@given(layouts(), ranges, inserted)
def test_what_a_splice_leaves_is_a_sound_layout(
    layout: Layout, at: tuple[int, int], texts: list[str]
) -> None:
    total = len(layout.entries)
    start = min(at[0], total)
    after, _ = spliced(layout, start, min(start + at[1], total), texts)
    head = after.head
    assert head["embedded_count"] == len(head["messages"])
    assert sealed_count(head["segments"]) + head["embedded_count"] == len(after.entries)
    assert len(set(after.ids)) == len(after.ids)
    for item in head["segments"]:
        ids = [entry["id"] for entry in after.segments[item["i"]]]
        assert (item["n"], item["lo"], item["hi"]) == (len(ids), min(ids), max(ids))
    bare = ["id" not in entry for entry in head["messages"]]
    assert bare == sorted(bare)
    assert head["structure"] == layout.head["structure"] + 1
    assert head["version"] == layout.head["version"] + 1


@given(layouts(), ranges)
def test_a_splice_of_sealed_entries_alone_leaves_the_run_to_appends(
    layout: Layout, at: tuple[int, int]
) -> None:
    sealed = sealed_count(layout.head["segments"])
    start = min(at[0], sealed)
    stop = min(start + at[1], sealed)
    asked = Splice(start, stop, (), (), ObjectId(), 5)
    if start == stop or splicing.touches_run(layout.head, asked):
        return
    span = splicing.reach(layout.head, asked)
    held = layout.read(layout.head["segments"][span.first : span.last])
    placed = splicing.place(layout.head, asked, held, BOUNDS)
    assert placed.run is None
    query, update = splicing.update_for(OWNER, layout.head, asked, placed, [], [])
    assert "version" not in query
    assert "messages" not in update["$set"]


@given(layouts(rising=True), st.integers(0, 4))
def test_a_seal_moves_the_older_run_and_spares_what_came_meanwhile(layout: Layout, meanwhile: int) -> None:
    head = layout.head
    run = sealing.run_to_seal(head, BOUNDS)
    if not run:
        assert len(head["messages"]) < BOUNDS.soft_count
        return
    assert len(head["messages"]) - len(run) <= BOUNDS.keep
    segments = cut_into_segments(run, BOUNDS)
    stored = {ObjectId(): list(segment.entries) for segment in segments}
    items = [item_of(segment, id) for segment, id in zip(segments, stored, strict=True)]
    query, [stage] = sealing.message_cut(OWNER, head, len(run), items)
    assert "version" not in query
    # Appends that came in after the head was read.
    later = [{"m": f"later {number}"} for number in range(meanwhile)]
    head = {
        **head,
        "messages": [*head["messages"], *later],
        "embedded_count": head["embedded_count"] + meanwhile,
        "next_entry": Int64(head["next_entry"] + meanwhile),
    }
    after = piped(head, stage["$set"])
    sealed = [entry for item in after["segments"] for entry in {**layout.segments, **stored}[item["i"]]]
    found = [*sealed, *embedded(after)]
    assert [entry["m"] for entry in found] == [entry["m"] for entry in [*layout.entries, *later]]
    first = int(layout.head["next_entry"])
    assert [entry["id"] for entry in found] == [*layout.ids, *range(first, first + meanwhile)]
    assert after["embedded_count"] == len(after["messages"])
    assert after["structure"] == layout.head["structure"] + 1


def piped(head: dict[str, Any], stage: dict[str, Any]) -> dict[str, Any]:
    """The head after the pipeline of a seal, which has these few operators."""

    def value(expression: Any) -> Any:
        if isinstance(expression, str) and expression.startswith("$"):
            return head[expression[1:]]
        if not isinstance(expression, dict):
            return expression
        ((operator, given),) = expression.items()
        parts = [value(part) for part in given]
        if operator == "$slice":
            return parts[0][parts[1] : parts[1] + parts[2]]
        if operator == "$concatArrays":
            return [item for part in parts for item in part]
        return {"$subtract": lambda a, b: a - b, "$add": lambda a, b: a + b, "$max": max}[operator](*parts)

    return {**head, **{name: value(expression) for name, expression in stage.items()}}


def test_large_removed_entries_lie_apart() -> None:
    head = {"user": "alice", "lineage": 7, "structure": 2}
    small = [{"id": 1, "m": "x" * 1000}]
    assert splicing.removed_bodies(small, head, 1) == []
    large = [{"id": id, "m": "x" * 9_000} for id in range(3)]
    (body,) = splicing.removed_bodies(large, head, 1)
    assert body["e"] == large
    assert entries_size(large) > 16 * 1024
