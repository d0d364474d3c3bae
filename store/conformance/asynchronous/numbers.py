"""Contracts on the whole range of unsigned 64-bit numbers: ids, counters, times."""

from __future__ import annotations

from convostore.schemas.conversations import Conversation
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, same
from convostore.store.conformance.samples import said, series

group = Group("u64", 301, ("u64", "append"))

_MOST = 2**64 - 1


@group.contract(0)
async def the_highest_ids_work_as_any_other(bench: AsyncBench) -> None:
    """Conversations of ids above 2^63 are created, appended to, edited, saved, listed and deleted."""
    for id in (2**63 - 1, 2**63, _MOST):
        record = await bench.create(said("a"), id=id)
        equal((record.id, type(record.id)), (id, int), "the id")
        await bench.store.append(record, said("b"))
        await bench.store.edit(id, 0, said("c"))
        found = await bench.store.get(id)
        found.label = "x"
        await bench.store.save(found)
        same((await bench.store.get(id)).messages, [said("c"), said("b")], f"of {id}")
        holds((await bench.store.delete(id)).existed, f"{id} was not deleted")


@group.contract(1)
async def ids_are_in_order_across_the_range(bench: AsyncBench) -> None:
    """Lists are in the order of numbers, and their cursors go on behind the highest."""
    ids = [1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, _MOST - 1, _MOST]
    for id in ids[::-1]:
        await bench.create(id=id)
    seen: list[int] = []
    cursor: str | None = None
    for _ in ids:
        page = await bench.store.find(user="alice", limit=3, cursor=cursor)
        seen += [head.id for head in page]
        cursor = page.cursor
        if cursor is None:
            break
    equal(seen, ids[::-1], "found")
    equal([head.id async for head in bench.store.scan(user="alice")], ids, "scanned")
    equal([one.id for one in await bench.store.batch_get(ids[::-1], user="alice")], ids, "fetched")


@group.contract(2)
async def counters_saturate(bench: AsyncBench) -> None:
    """A counter stops at 2^64-1, by one step or by many, and is exact up to there."""
    record = await bench.create()
    await bench.store.append(record.id, said("a"), usage={"input_tokens": 2**63 - 1})
    await bench.store.append(record.id, said("b"), usage={"input_tokens": 2**63 - 1})
    equal((await bench.store.head(record.id)).usage.input_tokens, 2**64 - 2, "the sum")
    await bench.store.append(record.id, said("c"), usage={"input_tokens": 2**62})
    equal((await bench.store.head(record.id)).usage.input_tokens, _MOST, "past the end")
    await bench.store.append(record.id, said("d"), usage=Usage(input_tokens=_MOST, requests=_MOST))
    usage = (await bench.store.get(record.id)).usage
    equal(usage, Usage(input_tokens=_MOST, requests=_MOST), "the usage")


@group.contract(3)
async def every_number_of_the_record_has_the_range(bench: AsyncBench) -> None:
    """Child, ancestors, times, usage and resource ids come back as the same whole numbers."""
    record = Conversation(
        user="alice",
        child=_MOST,
        ancestors=[0, 2**63, _MOST],
        created_at=_MOST,
        updated_at=_MOST,
        usage=Usage(input_tokens=_MOST, output_tokens=2**63, cached_tokens=2**53 + 1, requests=1),
        resources=[Resource(id=_MOST, name="r", size=_MOST)],
    )
    await bench.store.create(record)
    found = await bench.store.get(record.id)
    holds(found == record, f"{found!r} is not {record!r}")
    equal(found.period, _MOST // 3_600_000, "the period")


@group.contract(4)
async def the_counter_stays_clear_of_the_highest_ids(bench: AsyncBench) -> None:
    """An id brought near the end of the range does not use the counter up."""
    before = await bench.create()
    await bench.create(id=_MOST)
    after = await bench.create()
    equal(after.id, before.id + 1, "the next id")


@group.contract(5, "seal")
async def a_long_conversation_may_have_any_id(bench: AsyncBench) -> None:
    """Segments, history and large messages of the highest id are found and deleted."""
    record = await bench.long(40, id=_MOST)
    same(record.messages, series(40), "the messages")
    await bench.store.append(_MOST, said("x" * 100_000))
    await bench.store.delete(_MOST)
    left = await bench.backend.find("segments", {"user": "alice"}, {"_id": 1}, comment="conformance")
    equal(len(left), 0, "the number of segments left")
