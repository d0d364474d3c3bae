"""Contracts on watch: what changes is seen, once and in order, and housekeeping is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from convostore.store.asynchronous._watching import AsyncWatch
from convostore.store.conformance.asynchronous._together import limited
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, same
from convostore.store.conformance.samples import said
from convostore.store.results import Change

group = Group("watch", 341, ("watch", "append"))

_POLL = 0.005
_PATIENCE = 20.0


async def _seen(watch: AsyncWatch, enough: Callable[[list[Change]], bool]) -> list[Change]:
    """The changes up to the first after which there are enough."""
    found: list[Change] = []

    async def look() -> list[Change]:
        async for change in watch:
            found.append(change)
            if enough(found):
                break
        return found

    seen: list[Change] = await limited(_PATIENCE, look, watch.close)
    return seen


def _texts(changes: list[Change]) -> list[Any]:
    return [entry.message["content"] for change in changes for entry in change.entries]


@group.contract(0)
async def appended_messages_are_seen_once_and_in_order(bench: AsyncBench) -> None:
    """A watcher of a conversation gets each entry appended from then on, and none from before."""
    record = await bench.create(said("before"))
    async with bench.store.watch(record.id, poll=_POLL) as watch:
        for number in range(5):
            await bench.another().append(record.id, said(str(number)))
        changes = await _seen(watch, lambda found: "4" in _texts(found))
    equal(_texts(changes), ["0", "1", "2", "3", "4"], "the texts")
    holds(all(change.kind == "appended" for change in changes), f"the kinds of {changes}")


@group.contract(1)
async def a_change_of_a_member_is_seen(bench: AsyncBench) -> None:
    """Status, label and edits are told as ``changed``, with the version."""
    record = await bench.create(said("a"))
    async with bench.store.watch(record.id, poll=_POLL) as watch:
        await bench.another().set_status(record.id, "working")
        (change,) = await _seen(watch, bool)
        equal((change.id, change.kind, change.version), (record.id, "changed", 2), "the status")
        await bench.another().edit(record.id, 0, said("b"))
        (change,) = await _seen(watch, bool)
        equal((change.kind, change.version), ("changed", 3), "the edit")


@group.contract(2, "delete")
async def a_deletion_is_seen(bench: AsyncBench) -> None:
    """What is deleted is told as ``deleted``."""
    record = await bench.create(said("a"))
    async with bench.store.watch(record.id, poll=_POLL) as watch:
        await bench.another().delete(record.id)
        (change,) = await _seen(watch, bool)
    equal((change.id, change.kind, change.entries), (record.id, "deleted", ()), "the change")


@group.contract(3)
async def a_watch_on_all_sees_new_conversations(bench: AsyncBench) -> None:
    """Without an id each new conversation is told as ``created``, with its entries."""
    await bench.create(said("before"))
    async with bench.store.watch(poll=_POLL) as watch:
        record = await bench.create(said("new"), user="carol")
        (change,) = await _seen(watch, bool)
    equal((change.id, change.kind), (record.id, "created"), "the change")
    same([entry.message for entry in change.entries], [said("new")], "its entries")


@group.contract(4)
async def a_users_watch_sees_no_other(bench: AsyncBench) -> None:
    """A watch for a user tells that user's conversations only."""
    mine, theirs = await bench.create(), await bench.create(user="bob")
    async with bench.store.for_user("alice").watch(poll=_POLL) as watch:
        await bench.another().append(theirs.id, said("theirs"))
        await bench.another().append(mine.id, said("mine"))
        changes = await _seen(watch, bool)
    equal([(change.id, change.kind) for change in changes], [(mine.id, "appended")], "the changes")


@group.contract(5)
async def a_watch_goes_on_behind_its_token(bench: AsyncBench) -> None:
    """With the token of a change a later watch tells what came after it, nothing again."""
    record = await bench.create()
    async with bench.store.watch(record.id, poll=_POLL) as watch:
        await bench.another().append(record.id, said("first"))
        (change,) = await _seen(watch, bool)
    await bench.another().append(record.id, said("second"))
    async with bench.store.watch(record.id, resume_after=change.token, poll=_POLL) as watch:
        await bench.another().append(record.id, said("third"))
        changes = await _seen(watch, lambda found: "third" in _texts(found))
    equal(_texts(changes), ["second", "third"], "the texts")


@group.contract(6, "seal")
async def housekeeping_is_not_seen(bench: AsyncBench) -> None:
    """Seals and queued texts are no changes: a watcher gets the entries and nothing else."""
    record = await bench.create()
    async with bench.store.watch(record.id, poll=_POLL) as watch:
        for number in range(40):
            await bench.another().append(record.id, said(str(number)))
        await bench.another().steer(record.id, "queued")
        await bench.another().append(record.id, said("end"))
        changes = await _seen(watch, lambda found: "end" in _texts(found))
    equal(_texts(changes), [*map(str, range(40)), "end"], "the texts")
    holds(all(change.kind == "appended" for change in changes), "something else was told")
