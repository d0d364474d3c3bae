"""Contracts on delete: the conversation and all that belongs to it."""

from __future__ import annotations

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import NotFoundError
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, refused, same
from convostore.store.conformance.samples import said, series
from convostore.store.layout import COLLECTIONS

group = Group("delete", 221, ("delete", "append"))


async def _left(bench: AsyncBench, user: str) -> dict[str, int]:
    """How many documents of the user's each collection holds."""
    counts = {}
    for name in COLLECTIONS:
        if name != "meta":
            counts[name] = len(
                await bench.backend.find(name, {"user": user}, {"_id": 1}, comment="conformance")
            )
    return {name: count for name, count in counts.items() if count}


@group.contract(0)
async def what_is_deleted_is_not_found(bench: AsyncBench) -> None:
    """After ``delete`` every call on it is ``NotFoundError`` and no list has it."""
    record = await bench.create(said("a"))
    done = await bench.store.delete(record.id)
    holds(done.existed, "the call does not say that it was there")
    with refused(NotFoundError, "get"):
        await bench.store.get(record.id)
    with refused(NotFoundError, "append"):
        await bench.store.append(record.id, said("b"))
    with refused(NotFoundError, "save"):
        record.label = "x"
        await bench.store.save(record)
    equal(await bench.store.count(user="alice"), 0, "the count")


@group.contract(1)
async def a_second_delete_finds_nothing(bench: AsyncBench) -> None:
    """Deleting again, or what never was, is no error and says so."""
    record = await bench.create(said("a"))
    await bench.store.delete(record.id)
    holds(not (await bench.store.delete(record.id)).existed, "it says that it was still there")
    holds(not (await bench.store.delete(987_654)).existed, "it says that the unknown one was there")


@group.contract(2, "seal", "edit")
async def no_part_stays_behind(bench: AsyncBench) -> None:
    """Segments, large messages, history: nothing of a deleted conversation is left anywhere but its figures,
    and not even those when they are to be dropped.
    """
    record = await bench.long(60)
    await bench.store.append(record.id, said("x" * 200_000))
    await bench.store.edit(record.id, 3, said("y" * 100_000))
    holds(bool(await _left(bench, "alice")), "there was nothing to delete")
    await bench.store.delete(record.id)
    equal(list(await _left(bench, "alice")), ["ledger"], "what is left besides figures")
    await bench.store.delete(record.id, figures="drop")
    equal(await _left(bench, "alice"), {}, "what is left")


@group.contract(3, "seal")
async def others_are_untouched(bench: AsyncBench) -> None:
    """The user's other conversations, and other users', stay whole."""
    kept = await bench.long(30)
    theirs = await bench.long(30, user="bob")
    gone = await bench.long(30)
    await bench.store.delete(gone.id)
    for record in (kept, theirs):
        same((await bench.store.get(record.id)).messages, series(30), f"of {record.user}")


@group.contract(4, "seal")
async def an_id_used_again_begins_empty(bench: AsyncBench) -> None:
    """A conversation created under a deleted one's id has nothing of it: no message, no known key."""
    record = await bench.long(40)
    await bench.store.append(record.id, said("a"), key="k")
    await bench.store.delete(record.id)
    again = await bench.store.create(Conversation(id=record.id, user="alice", messages=[said("new")]))
    done = await bench.store.append(again.id, said("a"), key="k")
    holds(not done.replayed, "a key of the deleted one was recognised")
    same((await bench.store.get(again.id)).messages, [said("new"), said("a")], "the messages")


@group.contract(5, "save")
async def a_record_of_a_deleted_life_cannot_be_saved(bench: AsyncBench) -> None:
    """A record read before a delete does not overwrite what was created under its id afterwards."""
    record = await bench.create(said("old"))
    await bench.store.delete(record.id)
    await bench.store.create(Conversation(id=record.id, user="alice", messages=[said("new")]))
    record.label = "old"
    with refused(NotFoundError, "a save of the old record"):
        await bench.store.save(record)
    found = await bench.store.get(record.id)
    equal(found.label, None, "the label")
    same(found.messages, [said("new")], "the messages")
