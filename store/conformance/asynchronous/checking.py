"""Contracts on check: content with what is sound, and not with what is not."""

from __future__ import annotations

from convostore.schemas.resources import Resource
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, same
from convostore.store.conformance.samples import HOUR_MS, full_record, said, series

group = Group("check", 361, ("check", "append"))


async def _damage(bench: AsyncBench, name: str, query: dict[str, object], update: dict[str, object]) -> None:
    """Change stored documents behind the store's back."""
    changed = await bench.backend.update_many(name, query, update, comment="conformance")
    holds(changed > 0, f"nothing of {name} was there to damage")


@group.contract(0, "seal", "edit", "save", "queues", "lineage", "delete")
async def a_store_in_use_is_sound(bench: AsyncBench) -> None:
    """After all kinds of calls ``check`` finds nothing broken and nothing left over."""
    record = await bench.long(70)
    await bench.store.append(record.id, said("x" * 150_000), usage={"requests": 2})
    await bench.store.edit(record.id, 3, said("y" * 30_000))
    await bench.store.edit(record.id, 69, said("edited"))
    record = await bench.store.get(record.id)
    record.messages[10:20] = [said("short")]
    record.append_messages(series(3))
    await bench.store.save(record)
    await bench.store.steer(record.id, "s")
    await bench.store.take(record.id)
    await bench.store.create(full_record())
    await bench.store.append(record.id, [], artifacts=[Resource(id=4, name="a", blob=b"z" * 80_000)])
    await bench.store.continue_from(record.id, messages=series(100))
    gone = await bench.long(30)
    await bench.store.delete(gone.id)
    report = await bench.store.check()
    equal([(found.kind, found.detail) for found in report.findings], [], "the findings")
    equal((report.conversations, report.messages), (3, 62 + 3 + 2 + 100), "what was looked at")


@group.contract(1, "seal")
async def a_missing_segment_is_found(bench: AsyncBench) -> None:
    """A hole in a conversation is told as broken, with the conversation."""
    record = await bench.long(40)
    removed = await bench.backend.delete("segments", {"user": "alice"}, comment="conformance")
    holds(removed > 0, "there was no segment")
    report = await bench.store.check()
    holds(not report, "the report says that all is well")
    equal(
        {(found.kind, found.id) for found in report.broken}, {("segment_missing", record.id)}, "the findings"
    )


@group.contract(2)
async def wrong_counts_are_found(bench: AsyncBench) -> None:
    """A head whose count is not that of its messages is told as broken."""
    record = await bench.create(*series(3))
    await _damage(bench, "conversations", {"user": "alice"}, {"$set": {"embedded_count": 5}})
    report = await bench.store.check()
    equal(
        [(found.kind, found.id) for found in report.broken], [("embedded_count", record.id)], "the findings"
    )


@group.contract(3)
async def a_gap_in_the_log_is_found(bench: AsyncBench) -> None:
    """Change records that are missing are told as broken."""
    record = await bench.create(said("a"))
    await bench.store.append(record.id, said("b"))
    await _damage(bench, "conversations", {"user": "alice"}, {"$pop": {"log": -1}})
    report = await bench.store.check()
    equal([found.kind for found in report.broken], ["log"], "the findings")


@group.contract(4, "blobs")
async def a_missing_piece_is_found(bench: AsyncBench) -> None:
    """A large message whose bytes are gone is told as broken."""
    await bench.create(said("x" * 100_000))
    await bench.backend.delete("blobs", {"user": "alice"}, comment="conformance")
    report = await bench.store.check()
    equal([found.kind for found in report.broken], ["blob_missing"], "the findings")


@group.contract(5, "seal")
async def leftovers_are_removed_when_they_are_old(bench: AsyncBench) -> None:
    """A segment that nothing names is no damage; ``repair`` removes it once it is an hour old."""
    record = await bench.long(40)
    (segment, *_) = await bench.backend.find("segments", {"user": "alice"}, comment="conformance")
    stray = {name: value for name, value in segment.items() if name != "_id"}
    await bench.backend.insert_own("segments", [stray], comment="conformance")
    report = await bench.store.check(repair=True)
    holds(bool(report), "a leftover was told as broken")
    equal([(found.kind, found.repaired) for found in report.leftovers], [("segment", False)], "at once")
    bench.clock.advance(2 * HOUR_MS)
    report = await bench.store.check(repair=True)
    equal([(found.kind, found.repaired) for found in report.leftovers], [("segment", True)], "later")
    equal((await bench.store.check()).findings, [], "after the repair")
    same((await bench.store.get(record.id)).messages, series(40), "the messages")


@group.contract(6)
async def a_check_can_be_one_users(bench: AsyncBench) -> None:
    """With a user only that user's conversations are looked at."""
    await bench.create(said("a"))
    await bench.create(said("b"), user="bob")
    await _damage(bench, "conversations", {"user": "bob"}, {"$set": {"embedded_count": 5}})
    report = await bench.store.check(user="alice")
    equal((report.conversations, list(report.findings)), (1, []), "alice's report")
    holds(not await bench.store.check(), "the whole report says that all is well")


@group.contract(7)
async def setting_up_again_changes_nothing(bench: AsyncBench) -> None:
    """``setup`` on a store that is set up makes nothing, and a dry run says so."""
    await bench.create(said("a"))
    holds(not await bench.store.setup(), "something was made")
    report = await bench.store.setup(dry_run=True)
    equal((bool(report), report.dry_run), (False, True), "the dry run")
    equal(await bench.store.count(user="alice"), 1, "the number of conversations")
