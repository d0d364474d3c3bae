"""Contracts on expiry: old conversations go whole, what is to be run stays."""

from __future__ import annotations

from typing import Any

from convostore.schemas.errors import InvalidRecordError, QueryError
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, refused
from convostore.store.conformance.samples import HOUR_MS, said, series
from convostore.store.parameters import ALL_USERS

group = Group("expiry", 241, ("expiry",))


async def _ids(bench: AsyncBench) -> list[int]:
    return [head.id async for head in bench.store.scan(user=ALL_USERS)]


@group.contract(0)
async def whole_hours_of_creation_expire(bench: AsyncBench) -> None:
    """What was created in an hour before that of the bound goes; that hour and later ones stay."""
    now = bench.clock.now // HOUR_MS * HOUR_MS
    times = [now - 2 * HOUR_MS, now - 1, now, now + HOUR_MS // 2, now + HOUR_MS]
    ids = [(await bench.create(status="completed", created_at=time)).id for time in times]
    equal(await bench.store.delete_expired(now + 5, user=ALL_USERS), 2, "the number")
    equal(await _ids(bench), ids[2:], "what stays")


@group.contract(1)
async def what_is_to_be_run_stays_unless_named(bench: AsyncBench) -> None:
    """Submitted and working conversations are spared; ``include`` names those that go too."""
    past = bench.clock.now - 10 * HOUR_MS
    statuses = ("submitted", "working", "idle", "completed", "cancelled", "failed")
    ids = {status: (await bench.create(status=status, created_at=past)).id for status in statuses}
    equal(await bench.store.delete_expired(bench.clock.now, user=ALL_USERS), 4, "the number")
    equal(await _ids(bench), [ids["submitted"], ids["working"]], "what stays")
    equal(await bench.store.delete_expired(bench.clock.now, user="alice", include=["working"]), 1, "then")
    equal(await _ids(bench), [ids["submitted"]], "what stays then")


@group.contract(2)
async def age_can_be_counted_from_the_last_change(bench: AsyncBench) -> None:
    """``by="updated"`` spares what was changed since."""
    past = bench.clock.now - 10 * HOUR_MS
    old = await bench.create(status="completed", created_at=past, updated_at=past)
    fresh = await bench.create(status="completed", created_at=past, updated_at=past)
    await bench.store.append(fresh.id, said("still here"))
    bound = bench.clock.now - HOUR_MS
    equal(await bench.store.delete_expired(bound, user=ALL_USERS, by="updated"), 1, "the number")
    equal(await _ids(bench), [fresh.id], f"what stays of {old.id} and {fresh.id}")


@group.contract(3)
async def one_users_expiry_leaves_the_others(bench: AsyncBench) -> None:
    """With a user only that user's conversations go."""
    past = bench.clock.now - 10 * HOUR_MS
    await bench.create(status="completed", created_at=past)
    theirs = await bench.create(status="completed", created_at=past, user="bob")
    equal(await bench.store.delete_expired(bench.clock.now, user="alice"), 1, "the number")
    equal(await _ids(bench), [theirs.id], "what stays")


@group.contract(4)
async def an_expired_conversation_goes_whole(bench: AsyncBench) -> None:
    """Its segments go with it."""
    past = bench.clock.now - 10 * HOUR_MS
    await bench.create(*series(80), status="completed", created_at=past)
    await bench.store.delete_expired(bench.clock.now, user=ALL_USERS)
    left = await bench.backend.find("segments", {}, {"_id": 1}, comment="conformance")
    equal(len(left), 0, "the number of segments left")


@group.contract(5)
async def a_bad_bound_is_refused(bench: AsyncBench) -> None:
    """Times that are none, other bases and no scope are typed errors; nothing goes."""
    await bench.create(status="completed", created_at=1)
    expire: Any = bench.store.delete_expired
    for bound in (-1, 1.5, "2026-01-01", None, True):
        with refused(QueryError, f"a bound of {bound!r}"):
            await expire(bound, user=ALL_USERS)
    with refused(QueryError, "another basis"):
        await expire(bench.clock.now, user=ALL_USERS, by="read")
    with refused(InvalidRecordError, "no user"):
        await expire(bench.clock.now, user=None)
    equal(len(await _ids(bench)), 1, "the number of conversations")
