"""Contracts on large messages: above 64 KiB they lie apart, and nobody notices."""

from __future__ import annotations

from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, same
from convostore.store.conformance.samples import said

group = Group("blobs", 281, ("blobs", "append"))

_LARGE = "0123456789" * 10_000


@group.contract(0)
async def a_large_message_comes_back_equal(bench: AsyncBench) -> None:
    """Around the bound of 64 KiB, and far above it, a message is the same message."""
    messages: list[JSON] = [said("x" * size) for size in (65_000, 65_500, 65_536, 66_000, 200_000)]
    record = await bench.create(*messages)
    same((await bench.store.get(record.id)).messages, messages, "created")
    other = await bench.create()
    for message in messages:
        await bench.store.append(other.id, message)
    same((await bench.store.get(other.id)).messages, messages, "appended")


@group.contract(1)
async def a_large_message_may_hold_hard_values(bench: AsyncBench) -> None:
    """Also what no driver keeps comes back equal above the bound."""
    message = {"content": _LARGE, "$ref": "x", "$id": 2**70, "nul\0": "\ud83d", "nan": float("nan")}
    record = await bench.create()
    await bench.store.append(record.id, message)
    same((await bench.store.get(record.id)).messages, [message], "the message")


@group.contract(2)
async def several_megabytes_are_no_problem(bench: AsyncBench) -> None:
    """Messages that together pass what one document may hold are stored in one call and one by one."""
    message = said(_LARGE * 60)
    record = await bench.create()
    await bench.store.append(record.id, [message, message, message])
    await bench.store.append(record.id, said("after"))
    found = await bench.store.get(record.id)
    equal(len(found.messages), 4, "the number of messages")
    holds(all(held == message for held in found.messages[:3]), "a message is not what it was")


@group.contract(3)
async def pages_and_deltas_hold_large_messages(bench: AsyncBench) -> None:
    """A page and a delta give the whole message; a head, one trip, does without it."""
    record = await bench.create(said("small"))
    await bench.store.append(record.id, said(_LARGE))
    page = await bench.store.messages(record.id, limit=1)
    same([entry.message for entry in page], [said(_LARGE)], "the page")
    same((await bench.store.delta(record.id, 1)).messages, [said(_LARGE)], "the delta")
    equal((await bench.store.head(record.id)).message_count, 2, "the count")


@group.contract(4, "edit")
async def an_edit_may_cross_the_bound(bench: AsyncBench) -> None:
    """From small to large, large to large, and back."""
    record = await bench.create(said("a"))
    for text in (_LARGE, _LARGE + "!", "small", _LARGE):
        await bench.store.edit(record.id, 0, said(text))
        same((await bench.store.get(record.id)).messages, [said(text)], f"of {len(text)} letters")


@group.contract(5, "edit")
async def an_equal_large_message_changes_nothing(bench: AsyncBench) -> None:
    """An edit to the same large message is noticed as none."""
    record = await bench.create(said(_LARGE))
    done = await bench.store.edit(record.id, 0, said(_LARGE))
    equal((done.version, done.changed), (1, ()), "the result")


@group.contract(6, "save")
async def a_save_may_hold_large_messages(bench: AsyncBench) -> None:
    """Large messages are saved, replaced and kept while their neighbours change."""
    record = await bench.create(said(_LARGE), said("a"))
    record.messages[1] = said(_LARGE + "2")
    record.append_messages(said(_LARGE + "3"))
    await bench.store.save(record)
    record.messages[0] = said("small now")
    await bench.store.save(record)
    expected = [said("small now"), said(_LARGE + "2"), said(_LARGE + "3")]
    same((await bench.store.get(record.id)).messages, expected, "the messages")


@group.contract(7)
async def bytes_of_attachments_come_back(bench: AsyncBench) -> None:
    """A resource inside a record keeps its bytes, small or large."""
    small = Resource(id=1, name="small", blob=b"\x00\xff")
    large = Resource(id=2, name="large", blob=bytes(range(256)) * 1024)
    record = await bench.create(resources=[small], artifacts=[large])
    await bench.store.append(record.id, [], artifacts=[Resource(id=3, name="more", blob=large.blob)])
    found = await bench.store.get(record.id)
    equal([item.blob for item in found.resources], [small.blob], "the resource")
    equal([item.blob for item in found.artifacts], [large.blob, large.blob], "the artifacts")
    equal([item.id for item in found.artifacts], [2, 3], "their ids")


@group.contract(8, "seal")
async def sealing_keeps_large_messages(bench: AsyncBench) -> None:
    """A large message that got old is read like a new one."""
    record = await bench.create()
    await bench.store.append(record.id, said(_LARGE))
    for number in range(30):
        await bench.store.append(record.id, said(str(number)))
    same((await bench.store.get(record.id)).messages[0], said(_LARGE), "the message")


@group.contract(9)
async def a_repeated_large_append_is_stored_once(bench: AsyncBench) -> None:
    """Under a key a large message is applied once too, and leaves no second copy."""
    record = await bench.create()
    first = await bench.store.append(record.id, said(_LARGE), key="k")
    again = await bench.store.append(record.id, said(_LARGE), key="k")
    equal((again.ids, again.replayed), (first.ids, True), "the result")
    pieces = await bench.backend.find("blobs", {"user": "alice"}, {"_id": 1}, comment="conformance")
    equal(len(pieces), 1, "the number of pieces")
