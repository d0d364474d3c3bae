"""Lists of conversations: pages, counts, scans, many at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from convostore.schemas.conversations import Conversation
from convostore.schemas.entries import Page
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._reading import blobs_of, complete, read_record
from convostore.store.baselines import load
from convostore.store.codec import decode_u64, encode_u64
from convostore.store.finding import Wanted, cursor_after, query_for
from convostore.store.heads import HEAD_FIELDS, conversation_head
from convostore.store.results import ConversationHead

__all__ = ["batch_get", "count", "find", "scan_ids", "walk"]

_SCANNED = 200


async def find(
    backend: AsyncBackend, wanted: Wanted, limit: int, cursor: str | None
) -> Page[ConversationHead]:
    """One page of heads, the highest id first."""
    query = query_for(wanted, cursor)
    fields = None if backend.engine == "mongomock" else HEAD_FIELDS
    found = await backend.find(
        "conversations", query, fields, comment="find", sort=[("_id", -1)], limit=limit + 1
    )
    ids = [decode_u64(head["_id"]) for head in found]
    return Page(tuple(map(conversation_head, found[:limit])), cursor_after(ids, limit))


async def count(backend: AsyncBackend, wanted: Wanted) -> int:
    """How many there are."""
    # Without a condition an index is counted, where the server would read the collection.
    query = query_for(wanted) or {"_id": {"$gte": 0}}
    counted = await backend.aggregate("conversations", [{"$match": query}, {"$count": "n"}], comment="count")
    return int(counted[0]["n"]) if counted else 0


def scan_ids(
    backend: AsyncBackend,
    wanted: Wanted,
    *,
    fields: Any = None,
    after: int | None = None,
    batch: int = _SCANNED,
) -> AsyncIterator[dict[str, Any]]:
    """Documents of conversations in order of id, as :func:`walk` gives them."""
    last = None if after is None else encode_u64(after)
    return walk(backend, "conversations", query_for(wanted), fields, comment="scan", after=last, batch=batch)


async def walk(
    backend: AsyncBackend,
    name: str,
    query: Mapping[str, Any],
    fields: Any = None,
    *,
    comment: str,
    after: Any = None,
    batch: int = _SCANNED,
) -> AsyncIterator[dict[str, Any]]:
    """The documents of a query in order of ``_id``, page by page, each behind the last one given.

    No cursor stays open, so none is lost however long the caller takes over a page, and a page is one reply
    of the server: at most 16 MiB. The timeout is each page's.
    """
    last = after
    while True:
        where = query if last is None else {**query, "_id": {"$gt": last}}
        with backend.call(comment):
            page = await backend.find(name, where, fields, comment=comment, sort=[("_id", 1)], limit=-batch)
        for document in page:
            yield document
        if not page:
            return
        last = page[-1]["_id"]


async def batch_get(backend: AsyncBackend, user: str | None, ids: Sequence[int]) -> list[Conversation]:
    """The records of these ids that are the user's, in order of id; others are left out."""
    query: dict[str, Any] = {"_id": {"$in": [encode_u64(id) for id in sorted(set(ids))]}}
    if user is not None:
        query["user"] = user
    heads = await backend.find(
        "conversations", query, {"log": 0, "recent": 0}, comment="batch_get", sort=[("_id", 1)]
    )
    records = []
    for head in heads:
        owner = {"_id": head["_id"], "user": head["user"]}
        entries = await complete(backend, owner, head, comment="batch_get")
        blobs = None
        if entries is not None:
            blobs = await blobs_of(backend, owner, head, entries, comment="batch_get", attachments=True)
        if entries is None or blobs is None:
            records.append(await read_record(backend, owner, comment="batch_get"))
        else:
            records.append(load(head, entries, blobs))
    return records
