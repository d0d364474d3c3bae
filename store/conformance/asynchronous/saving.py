"""Contracts on save: what changed in a record in hand, on top of what others changed meanwhile."""

from __future__ import annotations

from dataclasses import replace

from convostore.schemas.authors import Author
from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import ConflictError, InvalidRecordError
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, refused, same
from convostore.store.conformance.samples import HARD_VALUES, full_record, reply, said, series
from convostore.store.layout import Limits

group = Group("save", 101, ("save", "append"))


@group.contract(0)
async def nothing_changed_is_nothing_saved(bench: AsyncBench) -> None:
    """A save of an unchanged record changes no member, no version and no time."""
    record = await bench.store.create(full_record())
    bench.clock.advance(1000)
    done = await bench.store.save(record)
    equal((done.version, done.changed), (1, ()), "the result")
    equal((await bench.store.head(record.id)).updated_at, record.updated_at, "updated_at")


@group.contract(1)
async def every_member_that_may_change_is_saved(bench: AsyncBench) -> None:
    """Scalars, usage and lists are stored as they are in hand, in one change of the version."""
    record = await bench.store.create(full_record())
    record.thread, record.label, record.child = "thread-2", "work", 43
    record.status, record.failed_reason = "completed", None  # type: ignore[assignment]
    record.extra = {"changed": [None]}
    record.usage = Usage(input_tokens=1, output_tokens=2**40, requests=9)
    record.messages = [reply("hello"), said("new")]
    record.resources = []
    record.artifacts = [*record.artifacts, Resource(id=10, name="second")]
    done = await bench.store.save(record)
    equal(done.version, 2, "the version")
    found = await bench.store.get(record.id)
    holds(found == record, f"{found!r} is not {record!r}")


@group.contract(2)
async def members_can_be_cleared(bench: AsyncBench) -> None:
    """A member set to None in hand is absent afterwards."""
    record = await bench.store.create(full_record())
    record.thread = record.label = record.child = record.extra = None
    await bench.store.save(record)
    found = await bench.store.get(record.id)
    equal((found.thread, found.label, found.child, found.extra), (None,) * 4, "the members")


@group.contract(3)
async def appended_messages_are_saved(bench: AsyncBench) -> None:
    """Messages put at the end in hand are appended; the entries before them stay the same."""
    record = await bench.create(*series(3))
    record.append_messages([said("x"), reply("y")])
    await bench.store.save(record)
    entries = (await bench.store.messages(record.id)).items
    equal([entry.id for entry in entries], [0, 1, 2, 3, 4], "the ids")
    same([entry.message for entry in entries], [*series(3), said("x"), reply("y")], "the messages")


@group.contract(4)
async def messages_can_be_inserted_replaced_and_removed(bench: AsyncBench) -> None:
    """Any change of the list is stored; entries that did not change keep their ids."""
    record = await bench.create(*series(6))
    record.messages[1] = said("replaced")
    await bench.store.save(record)
    del record.messages[4]
    await bench.store.save(record)
    record.messages.insert(3, said("inserted"))
    await bench.store.save(record)
    expected = [said("message 0"), said("replaced"), *series(1, 2), said("inserted"), *series(1, 3)]
    expected += series(1, 5)
    entries = (await bench.store.messages(record.id)).items
    same([entry.message for entry in entries], expected, "the messages")
    kept = [entry.id for place, entry in enumerate(entries) if place != 3]
    equal(kept, [0, 1, 2, 3, 5], "the ids of what stayed")
    holds(entries[3].id >= 6, "the inserted message has an id that was used before")


@group.contract(5, "seal")
async def a_long_conversation_can_be_changed_anywhere(bench: AsyncBench) -> None:
    """Splices of sealed messages, of embedded ones and across both are stored as they are in hand."""
    record = await bench.long(60)
    for start, stop, items in ((0, 1, ["a"]), (20, 30, []), (45, 50, ["b", "c"]), (10, 10, ["d"])):
        record.messages[start:stop] = [said(text) for text in items]
        await bench.store.save(record)
        found = await bench.store.get(record.id)
        same(found.messages, record.messages, f"after the splice of {start} to {stop}")
    record.messages.clear()
    await bench.store.save(record)
    equal((await bench.store.head(record.id)).message_count, 0, "the count after clearing")


@group.contract(6)
async def a_record_without_a_baseline_is_refused(bench: AsyncBench) -> None:
    """What was built by hand cannot be saved, also under the id of a stored conversation."""
    record = await bench.create(said("a"))
    with refused(InvalidRecordError, "a record built by hand"):
        await bench.store.save(Conversation(id=record.id, user="alice", messages=[said("b")]))
    same((await bench.store.get(record.id)).messages, [said("a")], "the messages")


@group.contract(7)
async def different_members_are_both_saved(bench: AsyncBench) -> None:
    """Two writers that changed different members both prevail, and the later record holds both."""
    record = await bench.create(said("a"))
    other = await bench.another().get(record.id)
    record.label = "mine"
    other.thread = "theirs"
    await bench.another().save(other)
    done = await bench.store.save(record)
    holds(done.rebased, "the second save did not say that it was rebased")
    found = await bench.store.get(record.id)
    equal((found.label, found.thread), ("mine", "theirs"), "what is stored")
    holds(found == record, "the record in hand is not what is stored")


@group.contract(8)
async def the_same_member_is_a_conflict(bench: AsyncBench) -> None:
    """Two writers that changed one member differently: the second is told both values, nothing written."""
    record = await bench.create(label="old")
    other = await bench.another().get(record.id)
    record.label, record.thread = "mine", "mine"
    other.label = "theirs"
    await bench.another().save(other)
    with refused(ConflictError, "a second change of the label") as refusal:
        await bench.store.save(record)
    facts = (refusal.error.field, refusal.error.expected, refusal.error.actual)
    equal(facts, ("label", "old", "theirs"), "the conflict")
    found = await bench.store.get(record.id)
    equal((found.label, found.thread), ("theirs", None), "what is stored")


@group.contract(9)
async def the_same_change_by_two_is_no_conflict(bench: AsyncBench) -> None:
    """Two writers that brought a member to the same value agree."""
    record = await bench.create()
    other = await bench.another().get(record.id)
    record.label = other.label = "same"
    await bench.another().save(other)
    await bench.store.save(record)
    equal((await bench.store.get(record.id)).label, "same", "the label")


@group.contract(10)
async def what_others_appended_is_kept(bench: AsyncBench) -> None:
    """A save of members, and a save of appended messages, lands behind another writer's append."""
    record = await bench.create(said("a"))
    await bench.another().append(record.id, said("theirs"))
    record.label = "mine"
    record.append_messages(said("mine"))
    await bench.store.save(record)
    expected = [said("a"), said("theirs"), said("mine")]
    same((await bench.store.get(record.id)).messages, expected, "the messages stored")
    same(record.messages, expected, "the messages in hand")


@group.contract(11)
async def changes_of_different_messages_go_together(bench: AsyncBench) -> None:
    """Two writers that changed different places of the list both prevail; the same place is a conflict."""
    record = await bench.create(*series(6))
    other, third = [await bench.another().get(record.id) for _ in range(2)]
    record.messages[4] = said("mine")
    other.messages[1:2] = [said("theirs"), said("theirs too")]
    third.messages[4] = said("late")
    await bench.another().save(other)
    await bench.store.save(record)
    expected = [*series(1), said("theirs"), said("theirs too"), *series(2, 2), said("mine"), *series(1, 5)]
    same((await bench.store.get(record.id)).messages, expected, "the messages")
    with refused(ConflictError, "a second change of one message") as refusal:
        await bench.another().save(third)
    equal(refusal.error.field, "messages", "the field of the conflict")
    same((await bench.store.get(record.id)).messages, expected, "the messages after the conflict")


@group.contract(12)
async def queues_are_no_part_of_a_save(bench: AsyncBench) -> None:
    """A record whose queue was changed in hand is refused; texts queued meanwhile stay under a save."""
    record = await bench.create()
    record.label = "mine"
    await bench.another().steer(record.id, "left")
    await bench.store.save(record)
    equal((await bench.store.head(record.id)).steering_messages, ("left",), "the queue after a save")
    record = await bench.store.get(record.id)
    record.follow_up_messages = ["mine"]
    with refused(InvalidRecordError, "a changed queue") as refusal:
        await bench.store.save(record)
    equal(refusal.error.path, "follow_up_messages", "the path")
    equal((await bench.store.head(record.id)).follow_up_messages, (), "the queue")


@group.contract(13)
async def what_is_fixed_at_creation_is_refused(bench: AsyncBench) -> None:
    """Id, user, ancestors and time of creation cannot be changed by a save."""
    for name, value in (("user", "mallory"), ("created_at", 5), ("ancestors", [1]), ("id", 77)):
        record = await bench.create(said("a"))
        held = record.id
        setattr(record, name, value)
        with refused(InvalidRecordError, f"a changed {name}"):
            await bench.store.save(record)
        found = await bench.store.get(held)
        equal((found.user, found.ancestors, found.id), ("alice", None, held), f"after {name}")


@group.contract(14)
async def a_save_can_follow_a_save(bench: AsyncBench) -> None:
    """A record stays good for further saves, each against what the last one stored."""
    record = await bench.create()
    for number in range(12):
        record.append_messages(said(str(number)))
        record.label = str(number)
        equal((await bench.store.save(record)).version, number + 2, "the version")
    found = await bench.store.get(record.id)
    same(found.messages, [said(str(number)) for number in range(12)], "the messages")
    holds(found == record, "the record in hand is not what is stored")


@group.contract(15)
async def equal_means_equal_json(bench: AsyncBench) -> None:
    """A change from 1 to 1.0 or True, or of the order of keys, is a change."""
    record = await bench.create({"n": 1, "m": 2}, extra={"n": 1})
    record.messages[0] = {"m": 2, "n": 1}
    record.extra = {"n": True}
    done = await bench.store.save(record)
    equal(done.changed, ("extra", "messages"), "what changed")
    found = await bench.store.get(record.id)
    same([found.messages[0], found.extra], [{"m": 2, "n": 1}, {"n": True}], "what is stored")


@group.contract(16, "seal")
async def old_entries_beside_a_change_stay_what_they_were(bench: AsyncBench) -> None:
    """Saves that change an old message leave each entry beside it with its id, time, author, dialect and
    message, whatever form that is stored in; so do later ones, after appends to the same record.
    """
    record = await bench.create()
    beside = [{"content": value} for value in (*HARD_VALUES.values(), "x" * (Limits.INLINE + 1))]
    await bench.store.append(record.id, beside, author=Author.plugin("p"), dialect="openai")
    bench.clock.advance(5)
    for first in range(0, 30, 3):
        await bench.store.append(record.id, series(3, first))
    record = await bench.store.get(record.id)
    before = [entry async for entry in bench.store.entries(record.id)]
    for number in range(3):
        record.messages[len(beside)] = said(f"changed {number}")
        await bench.store.save(record)
        await bench.store.append(record, said(f"later {number}"))
    after = [entry async for entry in bench.store.entries(record.id)]
    same(after[len(beside)].message, said("changed 2"), "the changed message")
    after[len(beside)] = replace(after[len(beside)], message=before[len(beside)].message)
    for old, new in zip(before, after, strict=False):
        same(new.message, old.message, f"the message of entry {old.id}")
        equal(replace(new, message=None), replace(old, message=None), f"entry {old.id}")
    same([entry.message for entry in after[len(before) :]], [said(f"later {n}") for n in range(3)], "the end")
