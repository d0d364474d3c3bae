"""Contracts on records: created, read, refused, and every JSON value back as it came."""

from __future__ import annotations

import datetime
from typing import Any

from convostore.schemas.conversations import Conversation
from convostore.schemas.entries import Source
from convostore.schemas.errors import (
    ConflictError,
    ConvostoreError,
    InvalidRecordError,
    NotFoundError,
    TooLargeError,
)
from convostore.schemas.json_values import same_json
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, refused, same
from convostore.store.conformance.samples import HARD_VALUES, HOUR_MS, full_record, nested, reply, said
from convostore.store.parameters import ALL_USERS

group = Group("records", 1, ("records",))


@group.contract(0)
async def a_created_record_gets_an_id_times_and_a_version(bench: AsyncBench) -> None:
    """``create`` gives the same object back, now with an id, the store's time and version 1."""
    record = Conversation(user="alice", messages=[said("hi")])
    created = await bench.store.create(record)
    holds(created is record, "create gave another object back")
    holds(created.id > 0, "no id was given")
    equal((created.created_at, created.updated_at), (bench.clock.now, bench.clock.now), "its times")
    equal(created.period, bench.clock.now // HOUR_MS, "its period")
    equal((await bench.store.head(created.id)).version, 1, "its version")


@group.contract(1)
async def every_member_comes_back_equal(bench: AsyncBench) -> None:
    """``get`` gives the record that was created, member by member."""
    record = await bench.store.create(full_record())
    found = await bench.store.get(record.id)
    same(found.to_json_object(), record.to_json_object(), "the record")
    holds(found == record, "the records are not equal")


@group.contract(2)
async def absent_members_stay_absent(bench: AsyncBench) -> None:
    """What was not given is None afterwards, and empty lists are empty lists."""
    record = await bench.store.create(Conversation(user="alice", steering_messages=[], ancestors=[]))
    found = await bench.store.get(record.id)
    holds(found == record, f"{found!r} is not {record!r}")
    equal(found.steering_messages, [], "an empty queue")
    equal((found.follow_up_messages, found.label, found.child), (None, None, None), "what was not given")


@group.contract(3)
async def ids_rise(bench: AsyncBench) -> None:
    """Each conversation gets an id above those given before, also by another store."""
    other = bench.another()
    ids = []
    for number in range(6):
        store = bench.store if number % 2 else other
        ids.append((await store.create(Conversation(user="alice"))).id)
    holds(ids == sorted(set(ids)), f"the ids do not rise: {ids}")


@group.contract(4)
async def a_free_id_is_honoured_and_later_ones_lie_above(bench: AsyncBench) -> None:
    """A record that brings an id keeps it, and the counter goes on behind it."""
    first = await bench.create()
    kept = await bench.create(id=first.id + 1000)
    later = await bench.create()
    equal(kept.id, first.id + 1000, "the id that was brought")
    holds(later.id > kept.id, f"{later.id} is not above {kept.id}")


@group.contract(5)
async def a_taken_id_is_refused_and_changes_nothing(bench: AsyncBench) -> None:
    """A second record of one id is ``ConflictError``; the first stays as it was."""
    record = await bench.create(said("first"))
    with refused(ConflictError, "an id that is taken") as refusal:
        await bench.create(said("second"), id=record.id)
    equal(refusal.error.field, "_id", "the field of the conflict")
    same((await bench.store.get(record.id)).messages, [said("first")], "the first record")


@group.contract(6)
async def any_json_comes_back_equal_in_a_message(bench: AsyncBench) -> None:
    """Messages of every JSON value are given back as the same JSON: types, keys and their order."""
    messages = [{"role": "user", "content": value} for value in HARD_VALUES.values()]
    created = await bench.create(*messages)
    appended = await bench.create()
    await bench.store.append(appended.id, messages)
    for record in (created, appended):
        found = await bench.store.get(record.id)
        for name, message, held in zip(HARD_VALUES, messages, found.messages, strict=True):
            same(held, message, name)


@group.contract(7)
async def a_message_may_be_any_json(bench: AsyncBench) -> None:
    """A message need not be an object: texts, numbers, null and lists are kept too."""
    messages: list[Any] = [None, True, 1, 1.0, "text", [], [1, [2]], {}]
    record = await bench.create(*messages)
    same((await bench.store.get(record.id)).messages, messages, "the messages")


@group.contract(8)
async def any_json_comes_back_equal_in_extra(bench: AsyncBench) -> None:
    """``extra`` holds every JSON value, by ``create`` and by ``update``."""
    for name, value in HARD_VALUES.items():
        record = await bench.create(extra={"held": value})
        same((await bench.store.get(record.id)).extra, {"held": value}, f"created with {name}")
        changed = await bench.store.update(record.id, extra=[value])
        same(changed.extra, [value], f"updated to {name}")


@group.contract(9)
async def what_json_cannot_say_is_refused_with_its_path(bench: AsyncBench) -> None:
    """A date, set, tuple, bytes or object in a message is ``InvalidRecordError``; nothing is written."""
    record = await bench.create(said("first"))
    for value in (datetime.datetime.now(), {1}, (1,), b"x", object(), {1: 2}, 1j):
        with refused(InvalidRecordError, f"a {type(value).__name__}") as refusal:
            await bench.store.append(record.id, [said("fine"), {"role": "user", "content": [value]}])
        holds("messages[1].content[0]" in refusal.error.path, f"the path is {refusal.error.path}")
        equal(refusal.error.index, 1, "the index of the message")
    found = await bench.store.get(record.id)
    same(found.messages, [said("first")], "the messages")


@group.contract(10)
async def what_is_nested_too_deeply_is_refused(bench: AsyncBench) -> None:
    """A message deeper than JSON writers go is a typed error, never a crash of the interpreter's stack."""
    record = await bench.create()
    with refused(InvalidRecordError, "a message of 100,000 levels"):
        await bench.store.append(record.id, nested(100_000))
    equal((await bench.store.head(record.id)).message_count, 0, "the number of messages")


@group.contract(11)
async def a_head_is_the_record_without_its_lists(bench: AsyncBench) -> None:
    """``head`` has every other member, the counts of the lists, the first and the last entry."""
    record = await bench.store.create(full_record())
    head = await bench.store.head(record.id)
    for name in ("user", "thread", "status", "failed_reason", "usage", "child", "label", "period"):
        equal(getattr(head, name), getattr(record, name), name)
    for name in ("created_at", "updated_at"):
        equal(getattr(head, name), getattr(record, name), name)
    same(head.extra, record.extra, "extra")
    equal(list(head.ancestors), record.ancestors, "ancestors")
    equal(list(head.follow_up_messages), record.follow_up_messages, "follow_up_messages")
    equal((head.message_count, head.resource_count, head.artifact_count), (2, 1, 1), "the counts")
    holds(head.first is not None and head.last is not None, "first or last is missing")
    if head.first is not None and head.last is not None:
        same([head.first.message, head.last.message], [said("hi"), reply("hello")], "first and last")


@group.contract(12)
async def what_is_not_there_is_not_found(bench: AsyncBench) -> None:
    """A call on an id that nobody has is ``NotFoundError`` with that id."""
    with refused(NotFoundError, "get") as refusal:
        await bench.store.get(987_654)
    equal(refusal.error.id, 987_654, "the id of the error")
    with refused(NotFoundError, "head"):
        await bench.store.head(987_654)
    with refused(NotFoundError, "append"):
        await bench.store.append(987_654, said("hi"))


@group.contract(13)
async def what_update_is_not_given_stays_and_none_clears(bench: AsyncBench) -> None:
    """``update`` changes the members given, clears those given as None, and raises the version by one."""
    record = await bench.store.create(full_record())
    head = await bench.store.update(record.id, label="other", child=None)
    equal((head.label, head.child, head.version), ("other", None, 2), "what was given")
    found = await bench.store.get(record.id)
    expected = record.model_copy(update={"label": "other", "child": None, "updated_at": found.updated_at})
    holds(found == expected, f"{found!r} is not {expected!r}")


@group.contract(14)
async def merge_puts_keys_into_extra(bench: AsyncBench) -> None:
    """``merge`` sets its keys as they are, null too, keeps the others, and needs an object."""
    record = await bench.create(extra={"a": 1, "$b": {"c": 1}})
    head = await bench.store.update(record.id, merge={"$b": None, "d.e": [2]})
    same(head.extra, {"a": 1, "$b": None, "d.e": [2]}, "the merged extra")
    await bench.store.update(record.id, extra=[1])
    with refused(InvalidRecordError, "a merge into a list"):
        await bench.store.update(record.id, merge={"a": 1})


@group.contract(15)
async def a_source_is_unique_per_user_and_format(bench: AsyncBench) -> None:
    """A second conversation of one source is ``ConflictError`` naming the first; another user's is none."""
    source = Source("openai", "chat-1")
    first = await bench.store.create(Conversation(user="alice"), source=source)
    with refused(ConflictError, "the same source again") as refusal:
        await bench.store.create(Conversation(user="alice"), source=source)
    equal((refusal.error.field, refusal.error.actual), ("source", first.id), "the conflict")
    await bench.store.create(Conversation(user="bob"), source=source)
    await bench.store.create(Conversation(user="alice"), source=Source("anda", "chat-1"))
    equal((await bench.store.head(first.id)).source, source, "the source of the first")


@group.contract(16)
async def a_stored_record_is_not_created_again(bench: AsyncBench) -> None:
    """``create`` refuses what the store gave out: that is for ``save``."""
    record = await bench.create(said("hi"))
    with refused(InvalidRecordError, "a record that is stored"):
        await bench.store.create(record)
    equal(await bench.store.count(user=ALL_USERS), 1, "the number of conversations")


@group.contract(17)
async def what_is_too_large_is_refused(bench: AsyncBench) -> None:
    """A record whose members pass 4 MiB is ``TooLargeError`` with size and limit; nothing is written."""
    with refused(TooLargeError, "an extra of 5 MiB") as refusal:
        await bench.create(extra="x" * (5 * 2**20))
    holds(refusal.error.size > refusal.error.limit, "size and limit say nothing")
    equal(await bench.store.count(user=ALL_USERS), 0, "the number of conversations")


@group.contract(18)
async def reading_changes_nothing(bench: AsyncBench) -> None:
    """What a caller does to a record it read reaches the store by ``save`` alone."""
    record = await bench.create(said("hi"), extra={"a": [1]})
    read = await bench.store.get(record.id)
    read.messages[0]["content"] = "changed"
    read.extra["a"].append(2)
    read.label = "changed"
    found = await bench.store.get(record.id)
    holds(same_json(found.messages, [said("hi")]) and found.label is None, f"{found!r} was changed")
    same(found.extra, {"a": [1]}, "extra")


@group.contract(19)
async def every_error_is_of_the_tree(bench: AsyncBench) -> None:
    """Arguments of wrong kinds are errors of ``ConvostoreError``, none of Python's or the driver's."""
    record = await bench.create(said("hi"))
    wrong: Any
    for wrong in (None, "text", {"$gt": 0}, [], object()):
        with refused(ConvostoreError, f"create({wrong!r})"):
            await bench.store.create(wrong)
        with refused(ConvostoreError, f"save({wrong!r})"):
            await bench.store.save(wrong)
        with refused(ConvostoreError, f"get({wrong!r})"):
            await bench.store.get(wrong)
        with refused(ConvostoreError, f"messages(limit={wrong!r})"):
            await bench.store.messages(record.id, limit=wrong)
        if wrong is not None:
            with refused(ConvostoreError, f"append(usage={wrong!r})"):
                await bench.store.append(record.id, said("x"), usage=wrong if wrong != [] else [1])
    equal((await bench.store.head(record.id)).version, 1, "the version")
