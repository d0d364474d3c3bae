"""Contracts on queued texts: steering and follow-up, taken under a lease."""

from __future__ import annotations

from typing import Any

from convostore.schemas.errors import InvalidRecordError, LeaseLostError, TooLargeError
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, refused, same
from convostore.store.conformance.samples import reply, said

group = Group("queues", 141, ("queues", "append"))


@group.contract(0)
async def texts_wait_in_their_order(bench: AsyncBench) -> None:
    """``steer`` and ``follow_up`` put texts at the end of two queues; both are part of the record."""
    record = await bench.create()
    await bench.store.steer(record.id, "one")
    await bench.store.follow_up(record.id, "two")
    head = await bench.store.steer(record.id, "three")
    equal((head.steering_messages, head.follow_up_messages), (("one", "three"), ("two",)), "the queues")
    found = await bench.store.get(record.id)
    queues = (found.steering_messages, found.follow_up_messages)
    equal(queues, (["one", "three"], ["two"]), "the queues of the record")


@group.contract(1)
async def queueing_raises_no_version(bench: AsyncBench) -> None:
    """Texts that wait are no change of the record: a running agent's expected version still holds."""
    record = await bench.create()
    await bench.store.steer(record.id, "one")
    await bench.store.take(record.id)
    await bench.store.append(record.id, reply("a"), expected=1)


@group.contract(2)
async def a_blank_text_is_refused(bench: AsyncBench) -> None:
    """Blank texts and what is no text are ``InvalidRecordError``; nothing is queued."""
    record = await bench.create()
    text: Any
    for text in ("", "  \n", None, 5, {"$ne": None}, ["a"]):
        with refused(InvalidRecordError, f"steer({text!r})"):
            await bench.store.steer(record.id, text)
        with refused(InvalidRecordError, f"follow_up({text!r})"):
            await bench.store.follow_up(record.id, text)
    head = await bench.store.head(record.id)
    equal((head.steering_messages, head.follow_up_messages), ((), ()), "the queues")


@group.contract(3)
async def what_is_taken_is_the_takers_alone(bench: AsyncBench) -> None:
    """``take`` gives all that waits; as long as the lease holds nobody else gets anything."""
    record = await bench.create()
    await bench.store.steer(record.id, "s")
    await bench.store.follow_up(record.id, "f")
    taken = await bench.store.take(record.id)
    equal((taken.steering, taken.follow_ups), (("s",), ("f",)), "what was taken")
    equal(taken.lease_until, bench.clock.now + 60_000, "the end of the lease")
    holds(not await bench.another().take(record.id), "a second taker got something")


@group.contract(4)
async def a_take_is_repeatable_under_its_key(bench: AsyncBench) -> None:
    """The same key gives the same texts and receipt as long as the lease holds."""
    record = await bench.create()
    await bench.store.steer(record.id, "s")
    first = await bench.store.take(record.id, key="t1")
    equal(await bench.another().take(record.id, key="t1"), first, "the repeated take")
    holds(not await bench.store.take(record.id, key="t2"), "another key got something")


@group.contract(5)
async def an_append_with_the_receipt_clears_what_was_taken(bench: AsyncBench) -> None:
    """What the texts became and their end are one update; what came meanwhile still waits."""
    record = await bench.create()
    await bench.store.steer(record.id, "first")
    taken = await bench.store.take(record.id)
    await bench.store.steer(record.id, "second")
    await bench.store.append(record.id, said("first"), took=taken.receipt)
    head = await bench.store.head(record.id)
    equal((head.message_count, head.steering_messages), (1, ("second",)), "what is stored")
    equal((await bench.store.take(record.id)).steering, ("second",), "what is taken next")


@group.contract(6)
async def a_lapsed_lease_puts_texts_back_at_the_front(bench: AsyncBench) -> None:
    """When the lease is over the next taker gets the same texts before newer ones."""
    record = await bench.create()
    await bench.store.steer(record.id, "first")
    await bench.store.take(record.id, lease_ms=1000)
    await bench.store.steer(record.id, "second")
    bench.clock.advance(1001)
    equal((await bench.store.head(record.id)).steering_messages, ("first", "second"), "the queue")
    equal((await bench.another().take(record.id)).steering, ("first", "second"), "what is taken")


@group.contract(7)
async def a_lapsed_receipt_writes_nothing(bench: AsyncBench) -> None:
    """An append with a receipt that lapsed or was used is ``LeaseLostError``."""
    record = await bench.create()
    await bench.store.steer(record.id, "first")
    taken = await bench.store.take(record.id, lease_ms=1000)
    bench.clock.advance(1001)
    with refused(LeaseLostError, "a lapsed receipt"):
        await bench.store.append(record.id, said("first"), took=taken.receipt)
    taken = await bench.store.take(record.id)
    await bench.store.append(record.id, said("first"), took=taken.receipt)
    with refused(LeaseLostError, "a used receipt"):
        await bench.store.append(record.id, said("again"), took=taken.receipt)
    with refused(LeaseLostError, "an invented receipt"):
        await bench.store.append(record.id, said("again"), took="invented")
    equal((await bench.store.head(record.id)).message_count, 1, "the number of messages")


@group.contract(8)
async def what_is_given_back_waits_at_the_front(bench: AsyncBench) -> None:
    """``give_back`` returns the texts before newer ones; a second time it changes nothing."""
    record = await bench.create()
    await bench.store.follow_up(record.id, "first")
    taken = await bench.store.take(record.id)
    await bench.store.follow_up(record.id, "second")
    holds(taken.receipt is not None, "no receipt was given")
    receipt = taken.receipt or ""
    head = await bench.store.give_back(record.id, receipt)
    equal(head.follow_up_messages, ("first", "second"), "the queue")
    head = await bench.store.give_back(record.id, receipt)
    equal(head.follow_up_messages, ("first", "second"), "the queue after a repeat")
    with refused(LeaseLostError, "an invented receipt"):
        await bench.store.give_back(record.id, "invented")


@group.contract(9)
async def a_take_for_good_leaves_nothing(bench: AsyncBench) -> None:
    """With ``lease_ms=0`` the texts are gone; the same key still gives the same answer."""
    record = await bench.create()
    await bench.store.steer(record.id, "s")
    taken = await bench.store.take(record.id, key="t", lease_ms=0)
    equal((taken.steering, taken.lease_until), (("s",), None), "what was taken")
    equal((await bench.store.head(record.id)).steering_messages, (), "the queue")
    equal((await bench.store.take(record.id, key="t", lease_ms=0)).steering, ("s",), "the repeated take")
    bench.clock.advance(10**9)
    await bench.store.steer(record.id, "later")
    equal((await bench.store.take(record.id)).steering, ("later",), "what is taken next")


@group.contract(10)
async def a_take_of_nothing_is_empty(bench: AsyncBench) -> None:
    """An empty queue gives nothing and no receipt."""
    record = await bench.create()
    taken = await bench.store.take(record.id)
    equal((bool(taken), taken.receipt), (False, None), "what was taken")


@group.contract(11)
async def texts_are_accepted_in_every_status(bench: AsyncBench) -> None:
    """Also a conversation that ended takes steering and follow-ups."""
    for status in ("submitted", "working", "idle", "completed", "cancelled", "failed"):
        record = await bench.create(status=status)
        await bench.store.steer(record.id, "s")
        head = await bench.store.follow_up(record.id, "f")
        equal((head.steering_messages, head.status.value), (("s",), status), f"in {status}")


@group.contract(12)
async def queued_texts_have_a_limit(bench: AsyncBench) -> None:
    """One text above 1 MiB, or the fifth of nearly that size, is ``TooLargeError``; the others wait.

    What is under a lease counts, since it may come back.
    """
    record = await bench.create()
    with refused(TooLargeError, "a text of 1 MiB and a letter"):
        await bench.store.steer(record.id, "x" * (2**20 + 1))
    for _ in range(4):
        await bench.store.steer(record.id, "x" * (2**20 - 1000))
    with refused(TooLargeError, "more than 4 MiB together"):
        await bench.store.follow_up(record.id, "x" * 10_000)
    equal(len((await bench.store.head(record.id)).steering_messages), 4, "the number of texts")
    taken = await bench.store.take(record.id)
    with refused(TooLargeError, "more than 4 MiB with what is leased"):
        await bench.store.follow_up(record.id, "x" * 10_000)
    await bench.store.append(record.id, {"role": "user", "content": "x"}, took=taken.receipt)
    await bench.store.follow_up(record.id, "x" * 10_000)


@group.contract(13)
async def any_text_can_be_queued(bench: AsyncBench) -> None:
    """Texts with NUL or the look of an operator come back as they were; half a surrogate pair is refused."""
    record = await bench.create()
    texts = ("$set", "a\0b", "{'$ne': 1}", " spaces ", "\u4f60\u597d")
    for text in texts:
        await bench.store.steer(record.id, text)
    with refused(InvalidRecordError, "half a surrogate pair"):
        await bench.store.steer(record.id, "\ud83d")
    equal((await bench.store.head(record.id)).steering_messages, texts, "the queue")
    taken = await bench.store.take(record.id)
    equal(taken.steering, texts, "what was taken")
    found = await bench.store.get(record.id)
    same(found.messages, [], "the messages")
