"""Pages against a plain list: whatever the layout, a page holds what a slice of the list would."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from convostore.store import paging
from convostore.store.paging import PageRequest
from support.layouts import Layout, layout_of, layouts

limits = st.integers(1, 30)


def page(layout: Layout, asked: PageRequest) -> tuple[list[int], int | None]:
    """The ids of a page and its cursor, from no more than a reader would have read."""
    head: dict[str, Any] = dict(layout.head)
    fields = paging.fields_for(asked)
    if isinstance(fields["messages"], dict):
        head["messages"] = head["messages"][fields["messages"]["$slice"] :]
    where = paging.window(head, asked)
    sealed = layout.read(head["segments"][where.first : where.last])
    entries, cursor = paging.cut(head, asked, where, sealed)
    assert [entry["m"] for entry in entries] == [f"entry {entry['id']}" for entry in entries]
    return [entry["id"] for entry in entries], cursor


@given(layouts(), limits)
def test_the_newest_page_is_the_end_of_the_list(layout: Layout, limit: int) -> None:
    ids, cursor = page(layout, PageRequest(limit))
    assert ids == layout.ids[-limit:]
    assert cursor == (ids[0] if len(layout.ids) > limit else None)


@given(layouts(), limits, st.integers(0, 30))
def test_a_page_before_an_entry_ends_where_it_stands(layout: Layout, limit: int, place: int) -> None:
    assume(place < len(layout.ids))
    ids, cursor = page(layout, PageRequest(limit, before=layout.ids[place]))
    assert ids == layout.ids[max(place - limit, 0) : place]
    assert cursor == (ids[0] if place > limit else None)


@given(layouts(), limits, st.integers(0, 30))
def test_a_page_after_an_entry_begins_where_it_stands(layout: Layout, limit: int, place: int) -> None:
    assume(place < len(layout.ids))
    ids, cursor = page(layout, PageRequest(limit, after=layout.ids[place], forwards=True))
    assert ids == layout.ids[place + 1 : place + 1 + limit]
    assert cursor == (ids[-1] if place + 1 + limit < len(layout.ids) else None)


@given(layouts(), limits)
def test_a_page_from_the_first_entry_is_the_beginning_of_the_list(layout: Layout, limit: int) -> None:
    ids, cursor = page(layout, PageRequest(limit, forwards=True))
    assert ids == layout.ids[:limit]
    assert cursor == (ids[-1] if limit < len(layout.ids) else None)


@given(layouts(rising=True), limits, st.integers(0, 60))
def test_beside_an_entry_that_is_gone_a_page_holds_its_neighbours(
    layout: Layout, limit: int, gone: int
) -> None:
    assume(gone not in layout.ids)
    earlier = [id for id in layout.ids if id < gone]
    later = [id for id in layout.ids if id > gone]
    ids, cursor = page(layout, PageRequest(limit, before=gone))
    assert ids == earlier[-limit:]
    assert (cursor is None) == (len(earlier) <= limit)
    ids, cursor = page(layout, PageRequest(limit, after=gone, forwards=True))
    assert ids == later[:limit]
    assert (cursor is None) == (len(later) <= limit)


@given(layouts(), limits)
def test_a_walk_in_either_direction_gives_each_entry_once(layout: Layout, limit: int) -> None:
    backwards, cursor = page(layout, PageRequest(limit))
    while cursor is not None:
        ids, cursor = page(layout, PageRequest(limit, before=cursor))
        backwards = [*ids, *backwards]
    assert backwards == layout.ids
    forwards, cursor = page(layout, PageRequest(limit, forwards=True))
    while cursor is not None:
        ids, cursor = page(layout, PageRequest(limit, after=cursor, forwards=True))
        forwards += ids
    assert forwards == layout.ids


@given(st.integers(2, 20), st.data())
def test_a_page_that_lies_in_the_run_needs_no_segment(run: int, data: st.DataObject) -> None:
    """One trip, as the call promises."""
    entries = [{"id": id, "m": f"entry {id}"} for id in range(10 + run)]
    layout = layout_of(entries, [4, 6], plain=data.draw(st.integers(0, run)))
    place = data.draw(st.integers(1, run - 1))
    limit = data.draw(st.integers(1, place))
    asked = PageRequest(limit, before=layout.ids[10 + place])
    where = paging.window(layout.head, asked)
    assert (where.last - where.first, where.run) == (0, True)
    assert page(layout, asked) == (
        layout.ids[10 + place - limit : 10 + place],
        layout.ids[10 + place - limit],
    )


@given(layouts(rising=True), limits, st.integers(0, 30))
def test_no_more_segments_are_read_than_a_page_can_touch(layout: Layout, limit: int, place: int) -> None:
    assume(place < len(layout.ids))
    where = paging.window(layout.head, PageRequest(limit, before=layout.ids[place]))
    items = layout.head["segments"][where.first : where.last]
    # The one that holds the bound, and of those before it as many as hold a page.
    inner = items[1:-1] if where.last < len(layout.head["segments"]) or not where.run else items[1:]
    assert sum(item["n"] for item in inner) < limit
