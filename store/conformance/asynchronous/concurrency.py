"""Contracts on writers at the same time: nothing lost, nothing twice, nothing torn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import ConflictError
from convostore.store.conformance.asynchronous._together import together
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, same
from convostore.store.conformance.samples import said, series, texts
from convostore.store.results import Appended

group = Group("concurrency", 381, ("concurrency", "append", "seal"))


def _raised(results: list[Any]) -> list[BaseException]:
    return [result for result in results if isinstance(result, BaseException)]


async def _all(calls: list[Callable[[], Any]]) -> list[Any]:
    """The results of the calls; the first error is raised."""
    results = await together(calls)
    for error in _raised(results):
        raise error
    return results


@group.contract(0)
async def writers_of_one_conversation_lose_nothing(bench: AsyncBench) -> None:
    """Six writers by twelve appends: all messages, dense ids, each writer's own order."""
    record = await bench.create()
    stores = [bench.another() for _ in range(6)]

    def writer(number: int) -> Callable[[], Any]:
        async def write() -> list[Appended]:
            return [await stores[number].append(record.id, said(f"{number}:{count}")) for count in range(12)]

        return write

    results = await _all([writer(number) for number in range(6)])
    found = texts((await bench.store.get(record.id)).messages)
    equal(len(found), 72, "the number of messages")
    for number, done in enumerate(results):
        own = [text for text in found if text.startswith(f"{number}:")]
        equal(own, [f"{number}:{count}" for count in range(12)], "a writer's order")
        told = [found[one.ids[0]] for one in done]
        equal(told, own, "the ids that a writer was told")
    equal((await bench.store.head(record.id)).version, 73, "the version")


@group.contract(1, "queues")
async def no_steering_is_lost_beside_appends_and_saves(bench: AsyncBench) -> None:
    """Texts queued while an agent appends, takes and saves are each taken once."""
    record = await bench.create()

    async def steer() -> None:
        for number in range(20):
            await bench.store.steer(record.id, str(number))

    async def agent() -> list[str]:
        store = bench.another()
        mine = await store.get(record.id)
        got: list[str] = []
        for number in range(20):
            taken = await store.take(record.id)
            got += taken.steering
            await store.append(mine, said(str(number)), took=taken.receipt)
            mine.label = str(number)
            await store.save(mine)
        return got

    _, got = await _all([steer, agent])
    rest = (await bench.store.take(record.id)).steering
    equal([*got, *rest], [str(number) for number in range(20)], "the texts")


@group.contract(2, "save")
async def of_two_saves_on_one_member_one_prevails(bench: AsyncBench) -> None:
    """Writers that change one member of one version: one holds, the others are told."""
    record = await bench.create(label="old")
    copies = [await bench.another().get(record.id) for _ in range(5)]

    def saver(number: int) -> Callable[[], Any]:
        async def save() -> str:
            copies[number].label = f"by {number}"
            await bench.store.save(copies[number])
            return f"by {number}"

        return save

    results = await together([saver(number) for number in range(5)])
    held = [result for result in results if isinstance(result, str)]
    equal(len(held), 1, "the number of saves that held")
    holds(all(isinstance(error, ConflictError) for error in _raised(results)), f"the errors: {results}")
    equal((await bench.store.get(record.id)).label, held[0], "the label")


@group.contract(3, "save")
async def saves_on_different_members_all_hold(bench: AsyncBench) -> None:
    """Writers that change different members, and one that appends, all prevail."""
    record = await bench.create(said("a"))
    copies = [await bench.another().get(record.id) for _ in range(4)]
    copies[0].label = "label"
    copies[1].thread = "thread"
    copies[2].extra = {"extra": 1}
    copies[3].append_messages(said("b"))

    def saver(copy: Conversation) -> Callable[[], Any]:
        async def save() -> Any:
            return await bench.store.save(copy)

        return save

    await _all([saver(copy) for copy in copies])
    found = await bench.store.get(record.id)
    equal((found.label, found.thread, found.extra), ("label", "thread", {"extra": 1}), "the members")
    same(found.messages, [said("a"), said("b")], "the messages")


@group.contract(4, "queues")
async def of_many_takers_one_gets_the_texts(bench: AsyncBench) -> None:
    """What waits is leased to one taker, whole."""
    record = await bench.create()
    for number in range(3):
        await bench.store.steer(record.id, str(number))

    def taker() -> Callable[[], Any]:
        store = bench.another()

        async def take() -> tuple[str, ...]:
            return (await store.take(record.id)).steering

        return take

    results = await _all([taker() for _ in range(6)])
    equal([got for got in results if got], [("0", "1", "2")], "what was taken")


@group.contract(5, "edit")
async def readers_see_whole_versions(bench: AsyncBench) -> None:
    """While every message is rewritten, again and again in one save, a reader sees all of one writing."""
    record = await bench.create(*(said("0") for _ in range(40)))

    async def write() -> None:
        store = bench.another()
        mine = await store.get(record.id)
        for number in range(1, 12):
            mine.messages[:] = [said(str(number)) for _ in range(40)]
            await store.save(mine)

    async def read() -> list[set[str]]:
        store = bench.another()
        return [set(texts((await store.get(record.id)).messages)) for _ in range(25)]

    _, first, second = await _all([write, read, read])
    torn = [seen for seen in (*first, *second) if len(seen) != 1]
    equal(torn, [], "the mixtures")


@group.contract(6, "edit")
async def edits_beside_appends_all_hold(bench: AsyncBench) -> None:
    """Edits of old and new messages while others append: every edit is there, and every append."""
    record = await bench.long(30)

    async def edit() -> None:
        store = bench.another()
        for number in range(0, 30, 3):
            await store.edit(record.id, number, said(f"edited {number}"))

    async def append() -> None:
        store = bench.another()
        for number in range(30, 60):
            await store.append(record.id, said(f"message {number}"))

    await _all([edit, append])
    expected = series(60)
    for number in range(0, 30, 3):
        expected[number] = said(f"edited {number}")
    same((await bench.store.get(record.id)).messages, expected, "the messages")
    equal((await bench.store.check()).broken, (), "what is broken")


@group.contract(7)
async def ids_are_given_once(bench: AsyncBench) -> None:
    """Conversations created at the same time have different ids."""

    def creator() -> Callable[[], Any]:
        store = bench.another()

        async def create() -> list[int]:
            return [(await store.create(Conversation(user="alice"))).id for _ in range(10)]

        return create

    results = await _all([creator() for _ in range(5)])
    ids = [id for made in results for id in made]
    equal(len(set(ids)), 50, "the number of ids")
    equal(await bench.store.count(user="alice"), 50, "the number of conversations")


@group.contract(8)
async def one_key_at_the_same_time_is_one_append(bench: AsyncBench) -> None:
    """The same call from several workers under one key is stored once, and all are told its ids."""
    record = await bench.create(said("first"))

    def sender() -> Callable[[], Any]:
        store = bench.another()

        async def send() -> tuple[int, ...]:
            return (await store.append(record.id, said("once"), key="k")).ids

        return send

    results = await _all([sender() for _ in range(6)])
    equal(set(results), {(1,)}, "the ids told")
    same((await bench.store.get(record.id)).messages, [said("first"), said("once")], "the messages")


@group.contract(9, "lineage")
async def one_parent_gets_one_child(bench: AsyncBench) -> None:
    """Of continuations at the same time one becomes the parent's child; all are conversations."""
    parent = await bench.create(said("a"))

    def heir() -> Callable[[], Any]:
        store = bench.another()

        async def continued() -> int:
            return (await store.continue_from(parent.id)).id

        return continued

    children = await _all([heir() for _ in range(4)])
    head = await bench.store.head(parent.id)
    holds(head.child in children, f"the child {head.child} is none of {children}")
    equal((len(set(children)), head.version), (4, 2), "children and version")
