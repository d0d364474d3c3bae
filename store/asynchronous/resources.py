"""Resources: what conversations refer to by id, each kept once per user and content."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from bson.objectid import ObjectId
from pymongo.errors import DuplicateKeyError

from convostore.schemas.errors import InvalidRecordError, NotFoundError, UnavailableError
from convostore.schemas.resources import Resource
from convostore.store import parameters
from convostore.store.asynchronous import _files, _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._listing import walk
from convostore.store.asynchronous._numbering import next_ids
from convostore.store.codec import decode_body, decode_u64, encode_body, encode_u64
from convostore.store.faults import Unclear
from convostore.store.heads import named_resources
from convostore.store.layout import Limits
from convostore.store.parameters import UNSET, Unset, UserScope
from convostore.store.results import Collected

__all__ = ["AsyncResources"]

_COLLECT = "resources.collect"

GRACE_MS = 3_600_000
"""A resource nobody names stays this long, and as long again once it was marked."""


class AsyncResources:
    """``store.resources``: the bytes of inputs and outputs, deduplicated per user by SHA3-256."""

    def __init__(
        self, opened: Callable[[], Awaitable[AsyncBackend]], ids: Callable[[], int] | None = None
    ) -> None:
        self._opened = opened
        self._ids = ids

    async def add(self, resource: Resource, *, user: str) -> Resource:
        """Store a resource and give back the caller's reference to it: with its id, without its bytes.

        With bytes the hash is computed (a given one is replaced); content the user has already is not stored
        again, and the reference then has the first one's id but keeps the caller's name, tags and metadata
        (``spec/anda.md`` 4.4). A resource that has an id must be the user's. Round trips: 2, for content that
        is there already 4.

        Raises:
            NotFoundError: it has an id that the user has no resource of.
            InvalidRecordError: it holds what cannot be stored.

        """
        owner = _checked_user(user)
        parameters.resources([resource])
        backend = await self._opened()
        with backend.call("resources.add"):
            return await self._add(backend, resource, owner)

    async def add_all(self, resources: Sequence[Resource], *, user: str) -> list[Resource]:
        """As :meth:`add` for each, in order. Ids that do not exist are refused before anything is stored."""
        owner = _checked_user(user)
        parameters.resources(resources)
        backend = await self._opened()
        with backend.call("resources.add_all"):
            for resource in resources:
                if resource.id:
                    await _touch(backend, resource.id, owner)
            return [await self._add(backend, resource, owner) for resource in resources]

    async def get(self, id: int, *, user: str | Unset = UNSET, conversation: int | None = None) -> Resource:
        """The stored resource with its bytes; with ``conversation`` only when that conversation, one of the
        same user, names it.

        Round trips: 1, +1 with ``conversation``, +2 for bytes above 256 KiB.

        Raises:
            NotFoundError: there is none of that id for that user, or the conversation does not name it.

        """
        parameters.conversation_id(id)
        owner = parameters.one_user(user)
        query: dict[str, Any] = {"_id": encode_u64(id)} | ({"user": owner} if owner else {})
        backend = await self._opened()
        with backend.call("resources.get"):
            if conversation is not None:
                query["user"] = await _owner_naming(backend, id, conversation, owner)
            found = await backend.find_one("resources", query, comment="resources.get")
            if found is None:
                raise NotFoundError("resource", id)
            try:
                return await _whole(backend, found)
            except NotFoundError:
                if await backend.find_one("resources", query, {"_id": 1}, comment="resources.get") is None:
                    raise NotFoundError("resource", id) from None  # collected meanwhile
                raise

    async def collect(self, *, user: UserScope) -> Collected:
        """Mark what no conversation names and is older than an hour; remove what was marked an hour ago and
        still is named by none. Adding the same content again unmarks it.
        """
        return await _collect(await self._opened(), parameters.many_users(user))

    async def _add(self, backend: AsyncBackend, resource: Resource, user: str) -> Resource:
        if resource.id:
            await _touch(backend, resource.id, user)
            return resource.reference(resource.id)
        prepared = resource.model_copy().prepare(user, backend.now())
        for attempt in backend.attempts():
            stored, file = await _document(backend, prepared, user)
            try:
                return prepared.reference(await self._insert(backend, stored))
            except DuplicateKeyError:
                if file is not None:
                    await _files.delete(backend, file)
            id = await _unmarked(backend, user, prepared.hash)
            if id is not None:
                return prepared.reference(id)
            # The id is held, or a collection has just removed the content.
            if backend.is_last(attempt):
                break
            await _pace.pause(attempt)
        raise UnavailableError(
            "resources.add: at every try the id was held, or the same content was being removed; repeat the "
            "call"
        )

    async def _insert(self, backend: AsyncBackend, stored: dict[str, Any]) -> int:
        id = (await next_ids(backend, "resource", 1, self._ids, comment="resources.add"))[0]
        stored["_id"] = encode_u64(id)
        doubted = False
        for attempt in backend.attempts():
            try:
                await backend.insert_new("resources", stored, comment="resources.add")
                return id
            except DuplicateKeyError:
                mine = {"_id": stored["_id"], "mark": stored["mark"]}
                if doubted and await backend.find_one("resources", mine, {"_id": 1}, comment="resources.add"):
                    return id  # an earlier try of this call
                raise
            except Unclear:
                if backend.is_last(attempt):
                    raise
                doubted = True
                await _pace.pause(attempt)
        raise AssertionError("unreachable")


async def _document(
    backend: AsyncBackend, resource: Resource, user: str
) -> tuple[dict[str, Any], ObjectId | None]:
    blob = resource.blob
    facts = encode_body(resource.model_copy(update={"blob": None, "id": 0}).to_json(), "resource")
    if facts.pieces:
        raise InvalidRecordError("resource", f"without its bytes is above {Limits.INLINE:,} bytes")
    stored: dict[str, Any] = {
        "user": user,
        "added_at": backend.now(),
        "mark": ObjectId(),
        "resource": facts.fields,
    }
    if resource.hash is not None:
        stored["hash"] = resource.hash
    file = None
    if blob is not None and len(blob) > Limits.RESOURCE_INLINE:
        file = await _files.upload(backend, blob)
        stored["file"] = file
    elif blob is not None:
        stored["blob"] = blob
    return stored, file


async def _touch(backend: AsyncBackend, id: int, user: str) -> None:
    query = {"_id": encode_u64(id), "user": user}
    if not await backend.update_many("resources", query, {"$unset": {"marked": ""}}, comment="resources.add"):
        raise NotFoundError("resource", id)


async def _unmarked(backend: AsyncBackend, user: str, hash: bytes | None) -> int | None:
    """The id of the content that the user has, which stays from now on; None when there is none."""
    if hash is None:
        return None
    same = {"user": user, "hash": hash}
    held = await backend.find_one("resources", same, {"_id": 1}, comment="resources.add")
    if held is None:
        return None
    mine = {"_id": held["_id"], **same}
    kept = await backend.update_many("resources", mine, {"$unset": {"marked": ""}}, comment="resources.add")
    return decode_u64(held["_id"]) if kept else None


async def _whole(backend: AsyncBackend, found: Mapping[str, Any]) -> Resource:
    facts = decode_body(found["resource"], {})
    blob = found.get("blob")
    if "file" in found:
        blob = await _files.download(backend, found["file"])
    resource = Resource.model_validate({**facts, "_id": decode_u64(found["_id"])})
    return resource if blob is None else resource.model_copy(update={"blob": bytes(blob)})


async def _owner_naming(backend: AsyncBackend, id: int, conversation: int, user: str | None) -> str:
    """The user of that conversation, which must name the resource."""
    parameters.conversation_id(conversation, "conversation")
    names = encode_u64(id)
    query: dict[str, Any] = {
        "_id": encode_u64(conversation),
        "$or": [{"resources._id": names}, {"artifacts._id": names}],
    }
    if user is not None:
        query["user"] = user
    found = await backend.find_one("conversations", query, {"user": 1}, comment="resources.get")
    if found is None:
        raise NotFoundError("resource", id)
    owner: str = found["user"]
    return owner


async def _collect(backend: AsyncBackend, user: str | None) -> Collected:
    now = backend.now()
    examined = marked = removed = 0
    scope = {} if user is None else {"user": user}
    fields = {"user": 1, "marked": 1, "file": 1}
    old = {**scope, "added_at": {"$lt": now - GRACE_MS}}
    named: dict[str, set[int]] = {}
    async for found in walk(backend, "resources", old, fields, comment=_COLLECT):
        examined += 1
        owner, since = found["user"], found.get("marked")
        doomed = since is not None and since < now - GRACE_MS
        if owner not in named or doomed:
            named[owner] = await _named_by(backend, owner)
        if decode_u64(found["_id"]) in named[owner]:
            continue
        query = {"_id": found["_id"], "user": owner}
        with backend.call(_COLLECT):
            if since is None:
                update = {"$set": {"marked": now}}
                marked += await backend.update_many("resources", query, update, comment=_COLLECT)
            elif doomed:
                gone = await backend.delete("resources", {**query, "marked": since}, comment=_COLLECT)
                removed += gone
                if gone and "file" in found:
                    await _files.delete(backend, found["file"])
    return Collected(examined, marked, removed)


async def _named_by(backend: AsyncBackend, user: str) -> set[int]:
    """The ids of every resource the user's conversations name."""
    fields = {"resources._id": 1, "artifacts._id": 1}
    named: set[int] = set()
    async for head in walk(backend, "conversations", {"user": user}, fields, comment=_COLLECT):
        named |= named_resources(head)
    return named


def _checked_user(user: Any) -> str:
    found = parameters.one_user(user)
    if found is None:
        raise InvalidRecordError("user", "must be given: a resource belongs to a user")
    return found
