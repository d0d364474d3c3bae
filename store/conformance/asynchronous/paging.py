"""Contracts on reading parts of a conversation: pages, the iterator, the delta."""

from __future__ import annotations

from typing import Any

from convostore.schemas.errors import QueryError
from convostore.schemas.resources import Resource
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, refused, same
from convostore.store.conformance.samples import said, series

group = Group("paging", 121, ("paging", "append"))


async def _backwards(bench: AsyncBench, id: int, limit: int) -> list[int]:
    """The ids of every entry, walked from the newest page on."""
    pages: list[list[int]] = []
    before: int | None = None
    while True:
        page = await bench.store.messages(id, limit=limit, before=before)
        pages.insert(0, [entry.id for entry in page])
        before = page.cursor
        if before is None or len(pages) > 500:
            return [entry for page_ids in pages for entry in page_ids]


async def _forwards(bench: AsyncBench, id: int, limit: int, after: int) -> list[int]:
    """The ids of every entry behind ``after``."""
    ids: list[int] = []
    last: int | None = after
    for _ in range(500):
        page = await bench.store.messages(id, limit=limit, after=last)
        ids += [entry.id for entry in page]
        last = page.cursor
        if last is None:
            break
    return ids


@group.contract(0)
async def the_newest_page_comes_first(bench: AsyncBench) -> None:
    """Without a bound the page holds the newest entries, oldest first, and names where to go on."""
    record = await bench.create(*series(6))
    page = await bench.store.messages(record.id, limit=4)
    equal([entry.id for entry in page], [2, 3, 4, 5], "the ids")
    same([entry.message for entry in page], series(4, 2), "the messages")
    equal(page.cursor, 2, "the cursor")


@group.contract(1)
async def a_page_that_holds_all_has_no_cursor(bench: AsyncBench) -> None:
    """Whoever has read the first entry is told that there is nothing before it."""
    record = await bench.create(*series(4))
    for limit in (4, 5, 50):
        page = await bench.store.messages(record.id, limit=limit)
        equal((len(page), page.cursor), (4, None), f"at a limit of {limit}")
    empty = await bench.create()
    page = await bench.store.messages(empty.id)
    equal((len(page), page.cursor), (0, None), "of an empty conversation")


@group.contract(2, "seal")
async def pages_backwards_give_each_entry_once(bench: AsyncBench) -> None:
    """Walking from the newest page to the first covers a long conversation without gap or repeat."""
    record = await bench.long(75)
    for limit in (1, 3, 7, 50, 74, 75, 76):
        equal(await _backwards(bench, record.id, limit), list(range(75)), f"at a limit of {limit}")


@group.contract(3, "seal")
async def pages_forwards_give_each_entry_once(bench: AsyncBench) -> None:
    """Walking on from an entry covers all behind it without gap or repeat."""
    record = await bench.long(75)
    for limit, after in ((1, 40), (3, 0), (7, 10), (50, 0), (74, 0), (75, 0), (9, 74), (9, 73)):
        found = await _forwards(bench, record.id, limit, after)
        equal(found, list(range(after + 1, 75)), f"at a limit of {limit} after {after}")


@group.contract(4, "seal")
async def appends_in_between_neither_repeat_nor_hide(bench: AsyncBench) -> None:
    """A walk backwards is not moved by what is appended and sealed meanwhile."""
    record = await bench.long(40)
    seen: list[int] = []
    before: int | None = None
    for _ in range(30):
        page = await bench.store.messages(record.id, limit=3, before=before)
        seen = [*(entry.id for entry in page), *seen]
        before = page.cursor
        await bench.store.append(record.id, said("more"))
        if before is None:
            break
    equal(seen, list(range(40)), "the ids")


@group.contract(5, "seal")
async def a_bound_that_was_removed_still_works(bench: AsyncBench) -> None:
    """Before or after an entry that is gone, a page holds the entries next to where it stood."""
    record = await bench.long(40)
    for gone in (35, 20, 3):
        del record.messages[record.messages.index(said(f"message {gone}"))]
        await bench.store.save(record)
        page = await bench.store.messages(record.id, limit=2, before=gone)
        equal([entry.id for entry in page], [gone - 2, gone - 1], f"before {gone}")
        page = await bench.store.messages(record.id, limit=2, after=gone)
        equal([entry.id for entry in page], [gone + 1, gone + 2], f"after {gone}")


@group.contract(6, "seal")
async def the_iterator_gives_all_in_order(bench: AsyncBench) -> None:
    """``entries`` gives every entry once, and from an entry on those behind it."""
    record = await bench.long(60)
    found = [entry async for entry in bench.store.entries(record.id)]
    same([entry.message for entry in found], series(60), "the messages")
    later = [entry.id async for entry in bench.store.entries(record.id, after=41)]
    equal(later, list(range(42, 60)), "the ids behind 41")


@group.contract(7, "seal")
async def a_delta_starts_at_its_offsets(bench: AsyncBench) -> None:
    """``delta`` gives the messages and artifacts from the offsets on with the present state."""
    record = await bench.long(50, artifacts=[Resource(id=1, name="a"), Resource(id=2, name="b")])
    await bench.store.set_status(record.id, "failed", reason="broke")
    for offset in (0, 1, 17, 46, 49, 50, 51, 2**40):
        delta = await bench.store.delta(record.id, offset, 1)
        same(delta.messages, series(50)[offset:], f"the messages from {offset}")
        equal([item.id for item in delta.artifacts], [2], "the artifacts")
        equal((delta.status.value, delta.failed_reason), ("failed", "broke"), "the state")


@group.contract(8)
async def a_bad_request_for_a_page_is_refused(bench: AsyncBench) -> None:
    """Limits that are no counts and both bounds at once are ``QueryError``."""
    record = await bench.create(said("a"))
    limit: Any
    for limit in (0, -1, 1.0, True, "10", 10**9, None):
        with refused(QueryError, f"a limit of {limit!r}"):
            await bench.store.messages(record.id, limit=limit)
    with refused(QueryError, "before and after"):
        await bench.store.messages(record.id, before=1, after=0)


@group.contract(9, "edit")
async def a_page_shows_edits(bench: AsyncBench) -> None:
    """An edited entry stands at its place with its new message on every page."""
    record = await bench.long(30)
    await bench.store.edit(record.id, 4, said("edited"))
    page = await bench.store.messages(record.id, limit=3, before=6)
    same([entry.message for entry in page], [*series(1, 3), said("edited"), *series(1, 5)], "the page")


@group.contract(10, "seal")
async def an_inserted_entry_is_found_by_its_id(bench: AsyncBench) -> None:
    """Ids need not rise along a conversation: a page before an inserted entry ends where that stands."""
    record = await bench.long(30)
    record.messages.insert(5, said("inserted"))
    await bench.store.save(record)
    entries = [entry async for entry in bench.store.entries(record.id)]
    equal(entries[5].message["content"], "inserted", "what stands at 5")
    page = await bench.store.messages(record.id, limit=3, before=entries[5].id)
    equal([entry.id for entry in page], [2, 3, 4], "before it")
    page = await bench.store.messages(record.id, limit=3, after=entries[5].id)
    equal([entry.id for entry in page], [5, 6, 7], "after it")
    holds(await _backwards(bench, record.id, 4) == [entry.id for entry in entries], "a walk differs")
