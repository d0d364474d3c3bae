"""Contracts on append: order, ids, usage, what else goes into the same update."""

from __future__ import annotations

from typing import Any

from convostore.schemas.authors import Author
from convostore.schemas.errors import ConflictError, InvalidRecordError
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, refused, same
from convostore.store.conformance.samples import reply, said, series

group = Group("append", 21, ("append",))


@group.contract(0)
async def appends_keep_their_order_and_give_rising_ids(bench: AsyncBench) -> None:
    """One message or a list: they stand in the order given, under ids from 0 without a gap."""
    record = await bench.create()
    one = await bench.store.append(record.id, said("a"))
    two = await bench.store.append(record.id, [reply("b"), said("c")])
    three = await bench.store.append(record.id, reply("d"))
    equal((one.ids, two.ids, three.ids), ((0,), (1, 2), (3,)), "the ids")
    expected = [said("a"), reply("b"), said("c"), reply("d")]
    same((await bench.store.get(record.id)).messages, expected, "the messages")


@group.contract(1)
async def every_append_of_many_is_stored(bench: AsyncBench) -> None:
    """Sixty appends, one after the other, are sixty messages, and each raises the version by one."""
    record = await bench.long(60, step=1)
    same(record.messages, series(60), "the messages")
    head = await bench.store.head(record.id)
    equal((head.version, head.message_count), (61, 60), "version and count")


@group.contract(2)
async def an_append_is_all_or_nothing(bench: AsyncBench) -> None:
    """One message that cannot be stored refuses the whole call, with its index."""
    record = await bench.create(said("first"))
    with refused(InvalidRecordError, "a list with a set in it") as refusal:
        await bench.store.append(record.id, [said("a"), said("b"), {"bad": {1}}], usage={"requests": 1})
    equal(refusal.error.index, 2, "the index")
    found = await bench.store.get(record.id)
    same(found.messages, [said("first")], "the messages")
    equal(found.usage.requests, 0, "the usage")


@group.contract(3)
async def usage_is_added(bench: AsyncBench) -> None:
    """The counters given are added to those stored; None is unknown and adds nothing."""
    record = await bench.create(usage=Usage(input_tokens=5, requests=1))
    await bench.store.append(record.id, reply("a"), usage={"input_tokens": 10, "output_tokens": 3})
    await bench.store.append(record.id, reply("b"), usage=Usage(output_tokens=4, requests=2))
    await bench.store.append(record.id, reply("c"), usage=None)
    expected = Usage(input_tokens=15, output_tokens=7, requests=3)
    equal((await bench.store.get(record.id)).usage, expected, "the usage")


@group.contract(4)
async def a_bad_counter_is_refused_by_name(bench: AsyncBench) -> None:
    """A counter that is negative, NaN, text, a bool or unknown refuses the call; nothing is written."""
    record = await bench.create()
    wrong: Any
    for wrong in (-1, float("nan"), "5", True, 1.0, 2**64):
        with refused(InvalidRecordError, f"a counter of {wrong!r}") as refusal:
            await bench.store.append(record.id, reply("a"), usage={"output_tokens": wrong})
        holds("output_tokens" in refusal.error.path, f"the path is {refusal.error.path}")
    with refused(InvalidRecordError, "a counter that does not exist"):
        await bench.store.append(record.id, reply("a"), usage={"tokens": 1})
    equal((await bench.store.head(record.id)).message_count, 0, "the number of messages")


@group.contract(5)
async def a_bad_counter_can_be_reported_instead(bench: AsyncBench) -> None:
    """With ``usage_errors="report"`` the messages are stored and the counter is named in the result."""
    record = await bench.create()
    done = await bench.store.append(record.id, reply("a"), usage={"output_tokens": -1}, usage_errors="report")
    holds(any("output_tokens" in text for text in done.usage_errors), f"told: {done.usage_errors}")
    head = await bench.store.head(record.id)
    equal((head.message_count, head.usage), (1, Usage()), "what was stored")


@group.contract(6)
async def usage_may_come_without_messages(bench: AsyncBench) -> None:
    """An append of nothing but usage counts it and adds no message."""
    record = await bench.create(said("a"))
    done = await bench.store.append(record.id, [], usage={"requests": 3})
    equal(done.ids, (), "the ids")
    head = await bench.store.head(record.id)
    equal((head.message_count, head.usage.requests), (1, 3), "what was stored")


@group.contract(7)
async def updated_at_follows_the_clock_and_never_goes_back(bench: AsyncBench) -> None:
    """An append sets ``updated_at``; a clock that was turned back leaves it."""
    record = await bench.create()
    bench.clock.advance(5000)
    await bench.store.append(record.id, said("a"))
    equal((await bench.store.head(record.id)).updated_at, bench.clock.now, "after five seconds")
    latest = bench.clock.now
    bench.clock.advance(-60_000)
    await bench.store.append(record.id, said("b"))
    equal((await bench.store.head(record.id)).updated_at, latest, "after the clock went back")


@group.contract(8)
async def an_entry_keeps_time_author_dialect_and_mark(bench: AsyncBench) -> None:
    """What an append says of its messages is on their entries; what it does not say is absent."""
    record = await bench.create()
    who = Author.plugin("compact")
    await bench.store.append(record.id, said("a"), author=who, dialect="openai", unfinished=True)
    bench.clock.advance(10)
    await bench.store.append(record.id, said("b"))
    first, second = (await bench.store.messages(record.id)).items
    equal((first.made, second.made), (bench.clock.now - 10, bench.clock.now), "made")
    equal((first.author, first.dialect, first.unfinished), (who, "openai", True), "the first entry")
    equal((second.author, second.dialect, second.unfinished), (None, None, False), "the second entry")


@group.contract(9)
async def attachments_go_with_the_messages(bench: AsyncBench) -> None:
    """Resources and artifacts given to an append stand behind those that are there."""
    record = await bench.create(artifacts=[Resource(id=1, name="old")])
    await bench.store.append(
        record.id,
        reply("done"),
        artifacts=[Resource(id=2, name="new", metadata={"$a": 1})],
        resources=Resource(id=3, name="input"),
    )
    found = await bench.store.get(record.id)
    equal([item.name for item in found.artifacts], ["old", "new"], "the artifacts")
    equal([item.id for item in found.resources], [3], "the resources")
    same(found.artifacts[1].metadata, {"$a": 1}, "the metadata")


@group.contract(10)
async def an_append_sets_the_status_in_the_same_update(bench: AsyncBench) -> None:
    """The status given is the status afterwards, and the version rises by one only."""
    record = await bench.create()
    done = await bench.store.append(record.id, reply("a"), status="completed")
    equal((done.status.value, done.version), ("completed", 2), "the result")
    equal((await bench.store.head(record.id)).status.value, "completed", "what is stored")


@group.contract(11)
async def an_expected_version_is_kept(bench: AsyncBench) -> None:
    """``expected`` lets an append through at that version, else it is ``ConflictError`` with both."""
    record = await bench.create()
    await bench.store.append(record.id, said("a"), expected=1)
    with refused(ConflictError, "an append on a version that is past") as refusal:
        await bench.store.append(record.id, said("b"), expected=1)
    facts = (refusal.error.field, refusal.error.expected, refusal.error.actual)
    equal(facts, ("version", 1, 2), "the conflict")
    equal((await bench.store.head(record.id)).message_count, 1, "the number of messages")


@group.contract(12)
async def a_record_in_hand_holds_what_is_stored(bench: AsyncBench) -> None:
    """After an append on a record it equals a fresh read, and can be saved and appended to again."""
    record = await bench.create(said("a"))
    bench.clock.advance(7)
    await bench.store.append(record, [reply("b"), said("c")], usage={"requests": 1}, status="working")
    holds(record == await bench.store.get(record.id), "the record differs from a fresh read")
    await bench.store.append(record, reply("d"))
    record.label = "later"
    equal((await bench.store.save(record)).changed, ("label",), "what the save changed")
    holds(record == await bench.store.get(record.id), "the record differs after the save")


@group.contract(13)
async def a_stale_record_is_brought_up_to_date(bench: AsyncBench) -> None:
    """An append on a record that others appended to is stored behind theirs, and the record holds all."""
    record = await bench.create(said("a"))
    await bench.another().append(record.id, said("theirs"))
    record.label = "mine"
    await bench.store.append(record, said("mine"))
    same(record.messages, [said("a"), said("theirs"), said("mine")], "the messages in hand")
    equal(record.label, "mine", "the unsaved member")
    await bench.store.save(record)
    found = await bench.store.get(record.id)
    same(found.messages, record.messages, "the messages stored")
    equal(found.label, "mine", "the label stored")


@group.contract(14)
async def unsaved_messages_are_refused(bench: AsyncBench) -> None:
    """An append on a record whose messages were changed and not saved is refused, nothing written."""
    record = await bench.create(said("a"))
    record.messages[0]["content"] = "changed"
    with refused(InvalidRecordError, "an append on changed messages"):
        await bench.store.append(record, said("b"))
    same((await bench.store.get(record.id)).messages, [said("a")], "the messages")


@group.contract(15)
async def a_large_batch_is_one_append(bench: AsyncBench) -> None:
    """More messages than are ever embedded go in at once: all, in order, with one change of the version."""
    record = await bench.create(said("first"))
    done = await bench.store.append(record.id, series(120))
    equal((done.ids, done.version), (tuple(range(1, 121)), 2), "the result")
    found = await bench.store.get(record.id)
    same(found.messages, [said("first"), *series(120)], "the messages")


@group.contract(16)
async def the_callers_list_is_left_alone(bench: AsyncBench) -> None:
    """Changing what was appended afterwards changes nothing stored, and the call changes nothing given."""
    record = await bench.create()
    given = [said("a")]
    await bench.store.append(record.id, given)
    same(given, [said("a")], "the list that was given")
    given[0]["content"] = "changed"
    same((await bench.store.get(record.id)).messages, [said("a")], "the messages")
