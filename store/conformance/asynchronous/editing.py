"""Contracts on edit: one entry's message, wherever it lies."""

from __future__ import annotations

from convostore.schemas.authors import Author
from convostore.schemas.errors import ConflictError, NotFoundError
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, refused, same
from convostore.store.conformance.samples import HARD_VALUES, said, series

group = Group("edit", 81, ("edit", "append"))


@group.contract(0)
async def a_recent_message_is_replaced(bench: AsyncBench) -> None:
    """An edit of the newest message changes it and no other."""
    record = await bench.create(*series(3))
    done = await bench.store.edit(record.id, 1, said("edited"))
    equal((done.version, done.changed), (2, ("messages",)), "the result")
    expected = [said("message 0"), said("edited"), said("message 2")]
    same((await bench.store.get(record.id)).messages, expected, "the messages")


@group.contract(1, "seal")
async def a_sealed_message_is_replaced(bench: AsyncBench) -> None:
    """Edits of the first, a middle and the last message of a long conversation change just those."""
    record = await bench.long(60)
    expected = series(60)
    for place in (0, 29, 59):
        expected[place] = said(f"edited {place}")
        await bench.store.edit(record.id, place, expected[place])
        same((await bench.store.get(record.id)).messages, expected, f"after the edit of {place}")


@group.contract(2)
async def an_edited_entry_keeps_what_it_was(bench: AsyncBench) -> None:
    """Its id, author, time and dialect stay; only the message is another."""
    record = await bench.create()
    await bench.store.append(record.id, said("a"), author=Author.plugin("p"), dialect="openai")
    made = bench.clock.now
    bench.clock.advance(5)
    await bench.store.edit(record.id, 0, said("b"), author=Author.plugin("q"))
    (entry,) = (await bench.store.messages(record.id)).items
    facts = (entry.id, entry.made, entry.author, entry.dialect)
    equal(facts, (0, made, Author.plugin("p"), "openai"), "the entry")
    same(entry.message, said("b"), "the message")
    equal((await bench.store.head(record.id)).updated_at, bench.clock.now, "updated_at")


@group.contract(3)
async def an_equal_message_changes_nothing(bench: AsyncBench) -> None:
    """An edit to the same JSON leaves version and time; 1 and 1.0 are not the same."""
    record = await bench.create({"n": 1})
    done = await bench.store.edit(record.id, 0, {"n": 1})
    equal((done.version, done.changed), (1, ()), "the result")
    done = await bench.store.edit(record.id, 0, {"n": 1.0})
    equal(done.version, 2, "the version after an edit to 1.0")
    same((await bench.store.get(record.id)).messages, [{"n": 1.0}], "the message")


@group.contract(4, "seal")
async def an_entry_that_is_not_there_is_not_found(bench: AsyncBench) -> None:
    """An id that was never given out is ``NotFoundError``, in a short and in a long conversation."""
    for record in (await bench.create(said("a")), await bench.long(40)):
        with refused(NotFoundError, "an edit of entry 400") as refusal:
            await bench.store.edit(record.id, 400, said("b"))
        equal((refusal.error.kind, refusal.error.id), ("entry", 400), "the error")


@group.contract(5)
async def an_edit_on_a_past_version_is_refused(bench: AsyncBench) -> None:
    """``expected`` is the version to change; at another it is ``ConflictError``, nothing written."""
    record = await bench.create(said("a"))
    await bench.store.append(record.id, said("b"))
    with refused(ConflictError, "an edit on a past version"):
        await bench.store.edit(record.id, 0, said("c"), expected=1)
    same((await bench.store.get(record.id)).messages, [said("a"), said("b")], "the messages")
    await bench.store.edit(record.id, 0, said("c"), expected=2)


@group.contract(6)
async def a_streamed_answer_is_finished_by_an_edit(bench: AsyncBench) -> None:
    """``finished`` ends or sets the mark of an unfinished entry; an edit without it leaves the mark."""
    record = await bench.create()
    await bench.store.append(record.id, said("An"), unfinished=True)
    marks = []
    for text, finished in (("An ans", None), ("An answer", True), ("An answer!", False)):
        await bench.store.edit(record.id, 0, said(text), finished=finished)
        (entry,) = (await bench.store.messages(record.id)).items
        marks.append(entry.unfinished)
    equal(marks, [True, False, True], "the mark after each edit")


@group.contract(7, "seal")
async def edits_survive_later_appends_and_seals(bench: AsyncBench) -> None:
    """What was edited while embedded reads edited once it is sealed and merged."""
    record = await bench.create()
    expected = series(60)
    for number in range(60):
        await bench.store.append(record.id, expected[number])
        if number % 7 == 3:
            expected[number - 2] = said(f"edited {number - 2}")
            await bench.store.edit(record.id, number - 2, expected[number - 2])
    same((await bench.store.get(record.id)).messages, expected, "the messages")


@group.contract(8, "seal")
async def any_json_can_be_edited_in(bench: AsyncBench) -> None:
    """Hard values come back equal from an edit of an embedded and of a sealed entry."""
    record = await bench.long(30)
    for place in (0, 29):
        for name, value in HARD_VALUES.items():
            await bench.store.edit(record.id, place, {"content": value})
            same((await bench.store.get(record.id)).messages[place], {"content": value}, name)
    equal(len((await bench.store.get(record.id)).messages), 30, "the number of messages")


@group.contract(9)
async def an_edit_is_a_change_of_the_record(bench: AsyncBench) -> None:
    """It raises version and revision, and a record read before it is brought up to date by a save."""
    record = await bench.create(said("a"), said("b"))
    await bench.another().edit(record.id, 0, said("theirs"))
    record.label = "mine"
    done = await bench.store.save(record)
    holds(done.rebased, "the save did not notice the edit")
    same(record.messages, [said("theirs"), said("b")], "the messages in hand")
    head = await bench.store.head(record.id)
    equal((head.version, head.label), (3, "mine"), "what is stored")
