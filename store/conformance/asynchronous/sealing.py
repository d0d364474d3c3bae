"""Contracts on long conversations: what lies in segments reads as if it did not."""

from __future__ import annotations

from convostore.schemas.entries import Entry
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, same
from convostore.store.conformance.samples import BOUNDS, said, series
from convostore.store.layout import Bounds

group = Group("seal", 61, ("seal", "append"))


@group.contract(0)
async def a_long_conversation_reads_whole(bench: AsyncBench) -> None:
    """After many seals ``get`` gives every message, once, in order."""
    record = await bench.long(90)
    same(record.messages, series(90), "the messages")


@group.contract(1)
async def the_run_in_the_document_stays_short(bench: AsyncBench) -> None:
    """The conversation's own document holds no more messages than the bounds allow; the rest is sealed."""
    record = await bench.long(60)
    query = {"user": "alice"}
    (head,) = await bench.backend.find("conversations", query, {"messages": 1}, comment="conformance")
    held = len(head["messages"])
    holds(held <= 2 * BOUNDS.soft_count, f"{held} messages are embedded")
    sealed = await bench.backend.find("segments", query, {"n": 1}, comment="conformance")
    holds(sum(one["n"] for one in sealed) == 60 - held, "the segments do not hold the rest")
    equal(len(record.messages), 60, "the number of messages")


@group.contract(2)
async def sealing_raises_no_version(bench: AsyncBench) -> None:
    """The version counts changes of the record; housekeeping is none."""
    record = await bench.long(30, step=1)
    equal((await bench.store.head(record.id)).version, 31, "the version after 30 appends")


@group.contract(3)
async def ids_of_entries_survive_sealing(bench: AsyncBench) -> None:
    """An entry has the same id embedded, sealed and merged."""
    record = await bench.create()
    given = [(await bench.store.append(record.id, said(str(number)))).ids[0] for number in range(60)]
    entries: list[Entry] = [entry async for entry in bench.store.entries(record.id)]
    equal([entry.id for entry in entries], given, "the ids")
    equal([entry.message["content"] for entry in entries], [str(number) for number in range(60)], "the texts")


@group.contract(4)
async def neighbouring_segments_are_merged(bench: AsyncBench) -> None:
    """A conversation grown by single messages lies in far fewer segments than it was sealed in."""
    record = await bench.long(90, step=2)
    segments = await bench.backend.find("segments", {"user": "alice"}, {"n": 1}, comment="conformance")
    most = 90 // BOUNDS.keep // 2
    holds(len(segments) <= most, f"there are {len(segments)} segments")
    same(record.messages, series(90), "the messages")


@group.contract(5)
async def a_long_record_can_be_created(bench: AsyncBench) -> None:
    """``create`` takes more messages than are ever embedded; ids and order are as after appends."""
    record = await bench.create(*series(200))
    found = await bench.store.get(record.id)
    same(found.messages, series(200), "the messages")
    done = await bench.store.append(record.id, said("next"))
    equal(done.ids, (200,), "the id after them")


@group.contract(6)
async def the_head_counts_what_is_sealed(bench: AsyncBench) -> None:
    """Counts and bytes of a head are those of all messages, and its last entry is the newest."""
    record = await bench.long(70)
    head = await bench.store.head(record.id)
    equal(head.message_count, 70, "the count")
    holds(head.message_bytes > 70 * 30, f"{head.message_bytes} bytes for 70 messages")
    holds(head.last is not None and head.last.id == 69, f"the last entry is {head.last}")


@group.contract(7)
async def old_change_records_leave_the_document(bench: AsyncBench) -> None:
    """The log in the conversation's document stays short; the revision counts every change."""
    record = await bench.long(40, step=1)
    (head,) = await bench.backend.find("conversations", {"user": "alice"}, {"log": 1}, comment="conformance")
    holds(len(head["log"]) <= 2 * BOUNDS.log_soft, f"{len(head['log'])} records are in the document")
    equal((await bench.store.head(record.id)).revision, 40, "the revision")


@group.contract(8)
async def stores_of_different_bounds_share_a_conversation(bench: AsyncBench) -> None:
    """How a conversation was sealed by one store is no matter to another."""
    record = await bench.long(40)
    usual = bench.another(bounds=Bounds())
    await usual.append(record.id, series(40, 40))
    await bench.store.append(record.id, series(40, 80))
    same((await usual.get(record.id)).messages, series(120), "read by one")
    same((await bench.store.get(record.id)).messages, series(120), "read by the other")


@group.contract(9)
async def large_messages_are_sealed_by_size(bench: AsyncBench) -> None:
    """A few large messages are sealed as many small ones are."""
    record = await bench.create()
    messages = [said(str(number) * 8000) for number in range(10)]
    for message in messages:
        await bench.store.append(record.id, message)
    same((await bench.store.get(record.id)).messages, messages, "the messages")
    (head,) = await bench.backend.find(
        "conversations", {"user": "alice"}, {"messages": 1}, comment="conformance"
    )
    holds(len(head["messages"]) < 10, "all of them are still embedded")
