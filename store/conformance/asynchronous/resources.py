"""Contracts on resources: kept once per user and content, given to whom they belong."""

from __future__ import annotations

import hashlib

from convostore.schemas.errors import InvalidRecordError, NotFoundError
from convostore.schemas.resources import Resource
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, refused
from convostore.store.conformance.samples import HOUR_MS
from convostore.store.parameters import ALL_USERS

group = Group("resources", 261, ("resources",))


def _file(blob: bytes = b"\x89PNG picture", **members: object) -> Resource:
    return Resource.model_validate({"name": "picture.png", "tags": ["image"], "blob": blob, **members})


@group.contract(0)
async def bytes_come_back(bench: AsyncBench) -> None:
    """``add`` gives a reference with an id and the SHA3-256, ``get`` the resource with its bytes."""
    reference = await bench.store.resources.add(_file(description="a picture"), user="alice")
    equal(reference.blob, None, "the bytes in the reference")
    equal(reference.hash, hashlib.sha3_256(b"\x89PNG picture").digest(), "the hash")
    found = await bench.store.resources.get(reference.id, user="alice")
    facts = (found.id, found.blob, found.name, found.tags, found.description)
    expected = (reference.id, b"\x89PNG picture", "picture.png", ["image"], "a picture")
    equal(facts, expected, "the resource")


@group.contract(1)
async def the_same_content_is_kept_once(bench: AsyncBench) -> None:
    """Content the user has already gives the first id, with the caller's name and tags."""
    first = await bench.store.resources.add(_file(), user="alice")
    again = await bench.another().resources.add(_file(name="copy.png", tags=["copy"]), user="alice")
    equal(again.id, first.id, "the id")
    equal((again.name, again.tags), ("copy.png", ["copy"]), "the reference")
    equal((await bench.store.resources.get(first.id, user="alice")).name, "picture.png", "what is stored")


@group.contract(2)
async def users_do_not_share(bench: AsyncBench) -> None:
    """The same content of two users is two resources, and neither finds the other's."""
    mine = await bench.store.resources.add(_file(), user="alice")
    theirs = await bench.store.resources.add(_file(), user="bob")
    holds(mine.id != theirs.id, "both have one id")
    with refused(NotFoundError, "another user's resource"):
        await bench.store.resources.get(mine.id, user="bob")
    with refused(NotFoundError, "adding by another user's id"):
        await bench.store.resources.add(Resource(id=mine.id, name="stolen"), user="bob")


@group.contract(3)
async def a_resource_without_bytes_is_kept_too(bench: AsyncBench) -> None:
    """A link has no content to compare: each is a resource of its own."""
    link = Resource(name="page", uri="https://example.org", metadata={"$set": 1, "a.b": 2})
    first = await bench.store.resources.add(link, user="alice")
    second = await bench.store.resources.add(link, user="alice")
    holds(first.id != second.id, "both links have one id")
    found = await bench.store.resources.get(first.id, user="alice")
    equal((found.uri, found.blob), ("https://example.org", None), "the link")
    kept = {name: value for name, value in (found.metadata or {}).items() if name in ("$set", "a.b")}
    equal(kept, {"$set": 1, "a.b": 2}, "its metadata")


@group.contract(4)
async def a_conversation_gives_only_what_it_names(bench: AsyncBench) -> None:
    """``get`` with a conversation needs that conversation, the user's, to name the resource."""
    one = await bench.store.resources.add(_file(b"one"), user="alice")
    two = await bench.store.resources.add(_file(b"two"), user="alice")
    record = await bench.create(resources=[one])
    artist = await bench.create(artifacts=[two])
    found = await bench.store.resources.get(one.id, user="alice", conversation=record.id)
    equal(found.blob, b"one", "what is named")
    found = await bench.store.resources.get(two.id, user="alice", conversation=artist.id)
    equal(found.blob, b"two", "what is named as an artifact")
    with refused(NotFoundError, "what is not named"):
        await bench.store.resources.get(two.id, user="alice", conversation=record.id)
    with refused(NotFoundError, "another user's conversation"):
        await bench.store.resources.get(one.id, user="bob", conversation=record.id)


@group.contract(5)
async def all_or_none_of_a_list_is_added(bench: AsyncBench) -> None:
    """``add_all`` keeps the order and refuses ids that do not exist before it stores anything."""
    one = await bench.store.resources.add(_file(b"one"), user="alice")
    added = await bench.store.resources.add_all([_file(b"two"), one], user="alice")
    holds(added[0].id != one.id and added[1].id == one.id, f"the ids are {[item.id for item in added]}")
    with refused(NotFoundError, "a list with an unknown id"):
        await bench.store.resources.add_all([_file(b"three"), Resource(id=999, name="no")], user="alice")
    stored = await bench.backend.find("resources", {}, {"_id": 1}, comment="conformance")
    equal(len(stored), 2, "the number of resources")


@group.contract(6)
async def what_no_conversation_names_is_collected(bench: AsyncBench) -> None:
    """``collect`` marks what is unnamed and over an hour old, and removes it an hour later."""
    named = await bench.store.resources.add(_file(b"named"), user="alice")
    loose = await bench.store.resources.add(_file(b"loose"), user="alice")
    await bench.create(resources=[named])
    equal((await bench.store.resources.collect(user=ALL_USERS)).marked, 0, "marked at once")
    bench.clock.advance(HOUR_MS + 1)
    equal((await bench.store.resources.collect(user="alice")).marked, 1, "marked after an hour")
    equal((await bench.store.resources.collect(user="alice")).removed, 0, "removed right after")
    bench.clock.advance(HOUR_MS + 1)
    equal((await bench.store.resources.collect(user="alice")).removed, 1, "removed an hour later")
    equal((await bench.store.resources.get(named.id, user="alice")).blob, b"named", "what is named")
    with refused(NotFoundError, "what was collected"):
        await bench.store.resources.get(loose.id, user="alice")


@group.contract(7)
async def adding_again_saves_from_collection(bench: AsyncBench) -> None:
    """A marked resource that is added again, or named again, stays."""
    added = await bench.store.resources.add(_file(b"added"), user="alice")
    named = await bench.store.resources.add(_file(b"named"), user="alice")
    bench.clock.advance(HOUR_MS + 1)
    equal((await bench.store.resources.collect(user="alice")).marked, 2, "marked")
    await bench.store.resources.add(_file(b"added"), user="alice")
    await bench.create(resources=[named])
    bench.clock.advance(HOUR_MS + 1)
    equal((await bench.store.resources.collect(user="alice")).removed, 0, "removed")
    for reference in (added, named):
        await bench.store.resources.get(reference.id, user="alice")


@group.contract(8, "gridfs")
async def large_bytes_come_back(bench: AsyncBench) -> None:
    """Bytes above 256 KiB are kept beside the resource, once per user, and go when it is collected."""
    blob = bytes(range(256)) * 8192
    reference = await bench.store.resources.add(_file(blob), user="alice")
    equal((await bench.store.resources.add(_file(blob), user="alice")).id, reference.id, "the id")
    equal((await bench.store.resources.get(reference.id, user="alice")).blob, blob, "the bytes")
    for _ in range(2):
        bench.clock.advance(HOUR_MS + 1)
        await bench.store.resources.collect(user="alice")
    with refused(NotFoundError, "what was collected"):
        await bench.store.resources.get(reference.id, user="alice")


@group.contract(9)
async def a_resource_needs_a_user(bench: AsyncBench) -> None:
    """None and "" own nothing."""
    for user in (None, "", {"$ne": None}):
        with refused(InvalidRecordError, f"add(user={user!r})"):
            await bench.store.resources.add(_file(), user=user)  # type: ignore[arg-type]
