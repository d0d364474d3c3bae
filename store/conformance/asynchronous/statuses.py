"""Contracts on the status: which may follow which, and what sticks."""

from __future__ import annotations

from convostore.schemas.errors import ConflictError, InvalidRecordError, StatusError
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, refused, same
from convostore.store.conformance.samples import reply, said

group = Group("status", 161, ("status", "append"))

_STATUSES = ("submitted", "working", "idle", "completed", "cancelled", "failed")
_FOLLOWERS = {
    "submitted": set(_STATUSES),
    "working": {"working", "submitted", "idle", "completed", "cancelled", "failed"},
    "idle": {"idle", "submitted", "working", "completed", "cancelled", "failed"},
    "completed": {"completed", "submitted", "working"},
    "failed": {"failed", "submitted", "working", "completed"},
    "cancelled": {"cancelled"},
}


@group.contract(0)
async def only_what_may_follow_does(bench: AsyncBench) -> None:
    """``set_status`` follows the table of the design; else it is ``StatusError`` with both, unchanged."""
    for actual in _STATUSES:
        record = await bench.create(status=actual)
        for wanted in _STATUSES:
            await bench.store.set_status(record.id, actual, force=True)
            allowed = wanted in _FOLLOWERS[actual] or (actual, wanted) == ("cancelled", "submitted")
            if allowed:
                head = await bench.store.set_status(record.id, wanted)
                equal(head.status.value, wanted, f"{actual} to {wanted}")
                continue
            with refused(StatusError, f"{actual} to {wanted}") as refusal:
                await bench.store.set_status(record.id, wanted)
            equal((refusal.error.actual, refusal.error.wanted), (actual, wanted), "the error")
            equal((await bench.store.head(record.id)).status.value, actual, "the status")


@group.contract(1)
async def an_append_follows_the_same_table(bench: AsyncBench) -> None:
    """An append that brings a status that may not follow is refused whole, but for what sticks."""
    for actual in _STATUSES:
        for wanted in _STATUSES:
            record = await bench.create(status=actual)
            sticks = actual == "cancelled" and wanted in ("submitted", "working", "idle")
            if sticks or wanted in _FOLLOWERS[actual]:
                done = await bench.store.append(record.id, said("a"), status=wanted)
                equal(done.status.value, actual if sticks else wanted, f"{actual} to {wanted}")
            else:
                with refused(StatusError, f"an append from {actual} to {wanted}"):
                    await bench.store.append(record.id, said("a"), status=wanted)
                equal((await bench.store.head(record.id)).message_count, 0, f"{actual} to {wanted}")


@group.contract(2)
async def cancelled_sticks_under_an_append(bench: AsyncBench) -> None:
    """A running agent's append onto cancelled is stored, and the status stays and is told."""
    record = await bench.create(status="working")
    await bench.store.stop(record.id)
    done = await bench.store.append(record.id, reply("a"), status="working", usage={"requests": 1})
    equal(done.status.value, "cancelled", "the status told")
    found = await bench.store.get(record.id)
    equal((found.status.value, found.usage.requests), ("cancelled", 1), "what is stored")
    same(found.messages, [reply("a")], "the messages")


@group.contract(3)
async def cancelled_sticks_under_a_save(bench: AsyncBench) -> None:
    """A save that brings working onto cancelled stores the rest; the record then says cancelled."""
    record = await bench.create(status="submitted")
    await bench.another().stop(record.id)
    record.status = "working"  # type: ignore[assignment]
    record.label = "mine"
    await bench.store.save(record)
    equal((record.status.value, record.label), ("cancelled", "mine"), "the record in hand")
    found = await bench.store.get(record.id)
    equal((found.status.value, found.label), ("cancelled", "mine"), "what is stored")


@group.contract(4)
async def an_end_onto_cancelled_needs_force(bench: AsyncBench) -> None:
    """Completed or failed onto cancelled refuses the whole append and the whole save unless forced."""
    record = await bench.create(status="cancelled")
    with refused(StatusError, "an append of completed"):
        await bench.store.append(record.id, reply("a"), status="completed")
    record.status, record.label = "failed", "mine"  # type: ignore[assignment]
    with refused(StatusError, "a save of failed"):
        await bench.store.save(record)
    head = await bench.store.head(record.id)
    equal((head.message_count, head.status.value, head.label), (0, "cancelled", None), "what is stored")
    await bench.store.save(record, force=True)
    equal((await bench.store.head(record.id)).status.value, "failed", "after the forced save")


@group.contract(5)
async def a_forced_append_ends_a_cancelled_conversation(bench: AsyncBench) -> None:
    """With ``force`` any status follows any."""
    record = await bench.create(status="cancelled")
    done = await bench.store.append(record.id, reply("a"), status="completed", force=True)
    equal(done.status.value, "completed", "the status")


@group.contract(6)
async def stop_cancels_what_runs(bench: AsyncBench) -> None:
    """``stop`` cancels submitted, working and idle, with a reason; what ended stays as it is."""
    for status in _STATUSES:
        record = await bench.create(status=status)
        head = await bench.store.stop(record.id, reason="the user left")
        if status in ("submitted", "working", "idle"):
            facts = (head.status.value, head.failed_reason, head.version)
            equal(facts, ("cancelled", "the user left", 2), f"from {status}")
        else:
            equal((head.status.value, head.version), (status, 1), f"from {status}")


@group.contract(7)
async def leaving_failed_clears_its_reason(bench: AsyncBench) -> None:
    """``failed_reason`` goes with the status, whoever changes it, unless another is given."""
    ways = ("set_status", "append", "save")
    for way in ways:
        record = await bench.create(status="failed", failed_reason="broke")
        if way == "set_status":
            await bench.store.set_status(record.id, "working")
        elif way == "append":
            await bench.store.append(record, said("again"), status="working")
        else:
            record.status = "working"  # type: ignore[assignment]
            await bench.store.save(record)
        found = await bench.store.get(record.id)
        equal((found.status.value, found.failed_reason), ("working", None), f"by {way}")
        holds(way == "set_status" or record == found, f"the record in hand differs after {way}")
    record = await bench.create(status="failed", failed_reason="broke")
    head = await bench.store.set_status(record.id, "submitted", reason="once more")
    equal(head.failed_reason, "once more", "a reason that was given")


@group.contract(8)
async def an_expected_status_or_version_is_kept(bench: AsyncBench) -> None:
    """``expected`` names the status or version to come from; at another it is ``ConflictError``."""
    record = await bench.create()
    await bench.store.set_status(record.id, "working", expected="submitted")
    with refused(ConflictError, "a second worker") as refusal:
        await bench.store.set_status(record.id, "working", expected="submitted")
    facts = (refusal.error.field, refusal.error.expected, refusal.error.actual)
    equal(facts, ("status", "submitted", "working"), "the conflict")
    with refused(ConflictError, "a past version"):
        await bench.store.set_status(record.id, "idle", expected=1)
    equal((await bench.store.set_status(record.id, "idle", expected=2)).version, 3, "the version")


@group.contract(9)
async def an_unknown_status_is_refused(bench: AsyncBench) -> None:
    """What is none of the six is ``InvalidRecordError``; nothing is written."""
    record = await bench.create()
    for wanted in ("done", "", "SUBMITTED", None, 1, {"$ne": ""}):
        with refused(InvalidRecordError, f"set_status({wanted!r})"):
            await bench.store.set_status(record.id, wanted)  # type: ignore[arg-type]
    equal((await bench.store.head(record.id)).version, 1, "the version")
