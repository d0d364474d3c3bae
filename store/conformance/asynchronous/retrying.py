"""Contracts on repeated calls: a key makes a call be applied once."""

from __future__ import annotations

from convostore.schemas.errors import ConflictError, InvalidRecordError
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, refused, same
from convostore.store.conformance.samples import reply, said, series

group = Group("retries", 41, ("append",))


@group.contract(0)
async def a_repeated_key_is_applied_once(bench: AsyncBench) -> None:
    """The same append under the same key stores once and gives the first result, told as replayed."""
    record = await bench.create()
    first = await bench.store.append(record.id, [said("a"), reply("b")], key="k1", usage={"requests": 1})
    again = await bench.another().append(record.id, [said("a"), reply("b")], key="k1", usage={"requests": 1})
    equal((first.replayed, again.replayed), (False, True), "replayed")
    equal((again.ids, again.version), (first.ids, first.version), "the repeated result")
    found = await bench.store.get(record.id)
    same(found.messages, [said("a"), reply("b")], "the messages")
    equal(found.usage.requests, 1, "the usage")


@group.contract(1)
async def a_key_is_known_after_other_appends(bench: AsyncBench) -> None:
    """What came in between does not change what the repeated call is told."""
    record = await bench.create()
    first = await bench.store.append(record.id, said("a"), key="k1")
    await bench.store.append(record.id, series(5))
    again = await bench.store.append(record.id, said("a"), key="k1")
    equal((again.ids, again.version, again.replayed), (first.ids, first.version, True), "the result")
    equal((await bench.store.head(record.id)).message_count, 6, "the number of messages")


@group.contract(2, "seal")
async def a_key_is_known_as_long_as_the_history_is_kept(bench: AsyncBench) -> None:
    """A key whose change record left the conversation's document is found all the same."""
    record = await bench.create()
    first = await bench.store.append(record.id, [said("a"), reply("b")], key="k1")
    for number in range(60):
        await bench.store.append(record.id, said(str(number)))
    again = await bench.store.append(record.id, [said("a"), reply("b")], key="k1")
    equal((again.ids, again.version, again.replayed), (first.ids, first.version, True), "the result")
    equal((await bench.store.head(record.id)).message_count, 62, "the number of messages")


@group.contract(3)
async def a_key_with_other_content_is_refused(bench: AsyncBench) -> None:
    """The same key with other messages, usage or status is ``ConflictError``; nothing is written."""
    record = await bench.create()
    await bench.store.append(record.id, said("a"), key="k1")
    with refused(ConflictError, "other messages under the key") as refusal:
        await bench.store.append(record.id, said("b"), key="k1")
    equal(refusal.error.field, "key", "the field of the conflict")
    with refused(ConflictError, "other usage under the key"):
        await bench.store.append(record.id, said("a"), key="k1", usage={"requests": 1})
    head = await bench.store.head(record.id)
    equal((head.message_count, head.version), (1, 2), "what is stored")


@group.contract(4, "seal")
async def a_sealed_key_with_other_content_is_refused(bench: AsyncBench) -> None:
    """Also when the key's record left the conversation's document."""
    record = await bench.create()
    await bench.store.append(record.id, said("a"), key="k1")
    for number in range(60):
        await bench.store.append(record.id, said(str(number)))
    with refused(ConflictError, "other messages under an old key"):
        await bench.store.append(record.id, said("b"), key="k1")
    equal((await bench.store.head(record.id)).message_count, 61, "the number of messages")


@group.contract(5)
async def a_key_is_the_conversations_own(bench: AsyncBench) -> None:
    """The same key in another conversation is another call."""
    one, two = await bench.create(), await bench.create()
    await bench.store.append(one.id, said("a"), key="k1")
    done = await bench.store.append(two.id, said("b"), key="k1")
    holds(not done.replayed, "the second conversation's call was taken for the first's")
    same((await bench.store.get(two.id)).messages, [said("b")], "the messages")


@group.contract(6)
async def keys_of_messages_recognise_each(bench: AsyncBench) -> None:
    """With one key a message, known messages keep their ids and only new ones are stored."""
    record = await bench.create()
    first = await bench.store.append(record.id, [said("a"), said("b")], keys=["ka", "kb"])
    done = await bench.store.append(record.id, [said("b"), said("c"), said("a")], keys=["kb", "kc", "ka"])
    equal(done.ids, (first.ids[1], 2, first.ids[0]), "the ids")
    same((await bench.store.get(record.id)).messages, [said("a"), said("b"), said("c")], "the messages")
    again = await bench.store.append(record.id, [said("a"), said("c")], keys=["ka", "kc"])
    holds(again.replayed, "nothing new, and yet not told as replayed")


@group.contract(7)
async def keys_must_fit_the_messages(bench: AsyncBench) -> None:
    """Too few keys, a key twice, a blank one, or both ``key`` and ``keys``: refused, nothing written."""
    record = await bench.create()
    for keys in (["a"], ["a", "a"], ["a", ""], ["a", "b", "c"]):
        with refused(InvalidRecordError, f"the keys {keys}"):
            await bench.store.append(record.id, [said("a"), said("b")], keys=keys)
    with refused(InvalidRecordError, "key and keys"):
        await bench.store.append(record.id, said("a"), key="a", keys=["a"])
    equal((await bench.store.head(record.id)).version, 1, "the version")


@group.contract(8)
async def a_key_may_be_any_text(bench: AsyncBench) -> None:
    """Keys that look like operators, paths or ids are only texts."""
    record = await bench.create()
    keys = ["$ne", "a.b", "{'$gt': ''}", "0", "\u2603" * 256]
    for key in keys:
        await bench.store.append(record.id, said(key), key=key)
    for key in keys:
        done = await bench.store.append(record.id, said(key), key=key)
        holds(done.replayed, f"the key {key!a} was not recognised")
    equal((await bench.store.head(record.id)).message_count, len(keys), "the number of messages")


@group.contract(9)
async def a_large_batch_is_recognised_too(bench: AsyncBench) -> None:
    """A batch that goes to segments at once is applied once under its key."""
    record = await bench.create()
    first = await bench.store.append(record.id, series(80), key="batch")
    again = await bench.store.append(record.id, series(80), key="batch")
    equal((again.ids, again.replayed), (first.ids, True), "the result")
    same((await bench.store.get(record.id)).messages, series(80), "the messages")


@group.contract(10, "queues")
async def a_repeated_text_is_queued_once(bench: AsyncBench) -> None:
    """``steer`` and ``follow_up`` under one key queue once; with another text it is a conflict."""
    record = await bench.create()
    await bench.store.steer(record.id, "stop", key="s1")
    head = await bench.store.steer(record.id, "stop", key="s1")
    equal(head.steering_messages, ("stop",), "the queue")
    with refused(ConflictError, "another text under the key"):
        await bench.store.steer(record.id, "go", key="s1")
    with refused(ConflictError, "the key in the other queue"):
        await bench.store.follow_up(record.id, "stop", key="s1")
    equal((await bench.store.head(record.id)).steering_messages, ("stop",), "the queue")


@group.contract(11, "lineage")
async def a_repeated_continuation_is_the_same_child(bench: AsyncBench) -> None:
    """``continue_from`` under one key makes one child."""
    record = await bench.create(said("a"))
    first = await bench.store.continue_from(record.id, messages=[said("b")], key="c1")
    again = await bench.store.continue_from(record.id, messages=[said("b")], key="c1")
    equal(again.id, first.id, "the child")
    equal(await bench.store.count(user="alice"), 2, "the number of conversations")
