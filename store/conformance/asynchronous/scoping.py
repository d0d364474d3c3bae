"""Contracts on tenancy: another user's conversation is not there, and no argument is a filter."""

from __future__ import annotations

from typing import Any

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import (
    ConflictError,
    ConvostoreError,
    InvalidRecordError,
    NotFoundError,
    TooLargeError,
)
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, refused, same
from convostore.store.conformance.samples import said

group = Group("scoping", 321, ("append", "records", "find"))


@group.contract(0)
async def another_users_conversation_is_not_found(bench: AsyncBench) -> None:
    """Every call on one conversation with the wrong user is ``NotFoundError`` and changes nothing."""
    record = await bench.create(said("secret"))
    id, store = record.id, bench.store
    calls: dict[str, Any] = {
        "get": lambda: store.get(id, user="bob"),
        "head": lambda: store.head(id, user="bob"),
        "append": lambda: store.append(id, said("x"), user="bob"),
        "a keyed append": lambda: store.append(id, said("x"), user="bob", key="k"),
        "edit": lambda: store.edit(id, 0, said("x"), user="bob"),
        "update": lambda: store.update(id, label="x", user="bob"),
        "an empty update": lambda: store.update(id, user="bob"),
        "messages": lambda: store.messages(id, user="bob"),
        "delta": lambda: store.delta(id, user="bob"),
        "steer": lambda: store.steer(id, "x", user="bob"),
        "follow_up": lambda: store.follow_up(id, "x", user="bob"),
        "take": lambda: store.take(id, user="bob"),
        "give_back": lambda: store.give_back(id, "x", user="bob"),
        "stop": lambda: store.stop(id, user="bob"),
        "set_status": lambda: store.set_status(id, "failed", user="bob"),
        "continue_from": lambda: store.continue_from(id, user="bob"),
    }
    for name, call in calls.items():
        with refused(NotFoundError, name):
            await call()
    with refused(NotFoundError, "entries"):
        holds([entry async for entry in store.entries(id, user="bob")] == [], "entries gave something")
    holds(not (await store.delete(id, user="bob")).existed, "delete found it")
    found = await store.get(id)
    same(found.messages, [said("secret")], "the messages")
    equal((await store.head(id)).version, 1, "the version")
    equal(await store.count(user="bob"), 0, "bob's conversations")


@group.contract(1)
async def a_record_in_hand_of_another_user_is_not_found(bench: AsyncBench) -> None:
    """``save`` and ``append`` of a record under another user write nothing."""
    record = await bench.create(said("a"))
    record.label = "x"
    with refused(NotFoundError, "save"):
        await bench.store.save(record, user="bob")
    with refused(NotFoundError, "append"):
        await bench.store.append(record, said("b"), user="bob")
    with refused(NotFoundError, "continue_from"):
        await bench.store.continue_from(record, user="bob")
    equal((await bench.store.head(record.id)).version, 1, "the version")


@group.contract(2)
async def a_users_view_leads_nowhere_else(bench: AsyncBench) -> None:
    """``for_user`` finds the user's own, nothing of others, and creates under no other name."""
    mine, theirs = await bench.create(said("mine")), await bench.create(said("theirs"), user="bob")
    view = bench.store.for_user("alice")
    equal((await view.get(mine.id)).id, mine.id, "the user's own")
    equal([head.id for head in await view.find()], [mine.id], "the list")
    equal(await view.count(), 1, "the count")
    equal([head.id async for head in view.scan()], [mine.id], "the scan")
    fetched = await view.batch_get([mine.id, theirs.id])
    equal([record.id for record in fetched], [mine.id], "fetched together")
    with refused(NotFoundError, "another user's"):
        await view.append(theirs.id, said("x"))
    with refused(InvalidRecordError, "another user's record"):
        await view.create(Conversation(user="bob"))
    with refused(NotFoundError, "a record of another user in hand"):
        await view.append(theirs, said("x"))


@group.contract(3)
async def no_user_is_no_scope(bench: AsyncBench) -> None:
    """None, "", filters, numbers and ids with control characters are ``InvalidRecordError``."""
    record = await bench.create(said("a"))
    user: Any
    for user in (None, "", {"$ne": None}, {"$gt": ""}, 5, True, ["alice"], "a\0b", "a\nb"):
        with refused(InvalidRecordError, f"get(user={user!r})"):
            await bench.store.get(record.id, user=user)
        with refused(InvalidRecordError, f"find(user={user!r})"):
            await bench.store.find(user=user)
        with refused(InvalidRecordError, f"for_user({user!r})"):
            bench.store.for_user(user)
        with refused(InvalidRecordError, f"delete(user={user!r})"):
            await bench.store.delete(record.id, user=user)
    with refused(TooLargeError, "a user of 257 characters"):
        await bench.store.find(user="x" * 257)
    equal((await bench.store.head(record.id)).version, 1, "the version")


@group.contract(4)
async def no_id_is_a_filter(bench: AsyncBench) -> None:
    """What is no u64 is a typed error for every call, never another conversation."""
    await bench.create(said("a"))
    store: Any = bench.store
    id: Any
    for id in ({"$ne": None}, {"$gt": 0}, [], True, 1.0, "1", None, -1, 2**64, 10**40, b"1"):
        calls: dict[str, Any] = {
            "get": lambda id=id: store.get(id),
            "append": lambda id=id: store.append(id, said("x")),
            "edit": lambda id=id: store.edit(id, 0, said("x")),
            "delete": lambda id=id: store.delete(id),
            "take": lambda id=id: store.take(id),
            "batch_get": lambda id=id: store.batch_get([id], user="alice"),
        }
        for name, call in calls.items():
            with refused(ConvostoreError, f"{name}({id!r})"):
                await call()
    equal(await bench.store.count(user="alice"), 1, "the number of conversations")


@group.contract(5)
async def a_conflict_over_an_id_does_not_say_whose(bench: AsyncBench) -> None:
    """A taken id is refused alike whoever holds it."""
    mine, theirs = await bench.create(), await bench.create(user="the-other-one")
    said_of = []
    for record in (mine, theirs):
        with refused(ConflictError, "a taken id") as refusal:
            await bench.create(id=record.id)
        said_of.append(str(refusal.error).replace(str(record.id), "N"))
        holds("the-other-one" not in repr(vars(refusal.error)), "the error says whose it is")
    equal(said_of[0], said_of[1], "what is said")


@group.contract(6)
async def users_are_only_texts(bench: AsyncBench) -> None:
    """Ids that look like operators, paths, patterns or each other are different users."""
    users = ["$ne", "a.b", "a.", ".*", "alice ", "alice", "Alice", "\u00e4", "a\u0308", "0", "null"]
    for user in users:
        await bench.create(said(user), user=user)
    for user in users:
        (head,) = (await bench.store.find(user=user)).items
        equal(head.user, user, "the user")
        same((await bench.store.get(head.id, user=user)).messages, [said(user)], f"of {user!a}")
