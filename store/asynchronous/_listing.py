"""Lists of conversations: pages, counts, scans, many at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final

from convostore.schemas.conversations import Conversation
from convostore.schemas.entries import Page
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._lifting import is_present, listed, with_version
from convostore.store.asynchronous._reading import blobs_of, complete, read_record
from convostore.store.baselines import load
from convostore.store.codec import decode_u64, encode_u64
from convostore.store.finding import Wanted, cursor_after, query_for
from convostore.store.heads import HEAD_FIELDS, Head, conversation_head
from convostore.store.results import ConversationHead

__all__ = ["batch_get", "count", "find", "scan_heads", "scan_ids", "walk"]

_SCANNED = 200
_PAGE_BYTES = 1 << 20
_NUMBERED: Final = {"_id": {"$gte": 0}}
"""Ids of conversations are numbers: what else somebody put there is in no list. It also lets an index be
counted, where the server would read the collection.
"""


async def find(
    backend: AsyncBackend, wanted: Wanted, limit: int, cursor: str | None
) -> Page[ConversationHead]:
    """One page of heads, the highest id first."""
    query = _NUMBERED | query_for(wanted, cursor)
    fields = None if backend.engine == "mongomock" else HEAD_FIELDS
    found = await backend.find(
        "conversations", query, with_version(fields), comment="find", sort=[("_id", -1)], limit=limit + 1
    )
    ids = [decode_u64(head["_id"]) for head in found]
    heads = await listed(backend, found[:limit], fields, comment="find")
    return Page(tuple(map(conversation_head, heads)), cursor_after(ids, limit))


async def count(backend: AsyncBackend, wanted: Wanted) -> int:
    """How many there are."""
    query = _NUMBERED | query_for(wanted)
    counted = await backend.aggregate("conversations", [{"$match": query}, {"$count": "n"}], comment="count")
    return int(counted[0]["n"]) if counted else 0


def scan_ids(
    backend: AsyncBackend,
    wanted: Wanted,
    *,
    fields: Any = None,
    after: int | None = None,
    batch: int = _SCANNED,
    weigh: Callable[[Head], int] | None = None,
) -> AsyncIterator[dict[str, Any]]:
    """Documents of conversations in order of id, as :func:`walk` gives them."""
    last = None if after is None else encode_u64(after)
    query = _NUMBERED | query_for(wanted)
    return walk(backend, "conversations", query, fields, comment="scan", after=last, batch=batch, weigh=weigh)


async def scan_heads(
    backend: AsyncBackend,
    wanted: Wanted,
    fields: Any = None,
    *,
    comment: str,
    batch: int = _SCANNED,
    weigh: Callable[[Head], int] | None = None,
    refused: Callable[[Any, Exception], None] | None = None,
) -> AsyncIterator[Head]:
    """The heads of conversations in order of id, as heads of the present schema version.

    ``weigh`` is as in :func:`walk`, ``refused`` is told of documents that are no conversations.
    """
    async for head in scan_ids(backend, wanted, fields=with_version(fields), batch=batch, weigh=weigh):
        if is_present(head):
            yield head
            continue
        with backend.call(comment):
            lifted = await listed(backend, [head], fields, comment=comment, refused=refused)
        for one in lifted:
            yield one


async def walk(
    backend: AsyncBackend,
    name: str,
    query: Mapping[str, Any],
    fields: Any = None,
    *,
    comment: str,
    after: Any = None,
    batch: int = _SCANNED,
    weigh: Callable[[dict[str, Any]], int] | None = None,
) -> AsyncIterator[dict[str, Any]]:
    """The documents of a query in order of ``_id``, page by page, each behind the last one given.

    No cursor stays open, so none is lost however long the caller takes over a page, and a page is one reply
    of the server: at most 16 MiB. The timeout is each page's. Of documents that are small, by the bytes that
    ``weigh`` gives for each, a page has more than ``batch``: as many as take 1 MiB.
    """
    last, size = after, batch
    while True:
        where = query if last is None else {**query, "_id": {"$gt": last}}
        with backend.call(comment):
            page = await backend.find(name, where, fields, comment=comment, sort=[("_id", 1)], limit=-size)
        if not page:
            return
        last = page[-1]["_id"]
        if weigh is not None:
            size = max(batch, _PAGE_BYTES * len(page) // max(sum(map(weigh, page)), 1))
        for document in page:
            yield document


async def batch_get(backend: AsyncBackend, user: str | None, ids: Sequence[int]) -> list[Conversation]:
    """The records of these ids that are the user's, in order of id; others are left out."""
    query: dict[str, Any] = {"_id": {"$in": [encode_u64(id) for id in sorted(set(ids))]}}
    if user is not None:
        query["user"] = user
    heads = await backend.find(
        "conversations", query, {"log": 0, "recent": 0}, comment="batch_get", sort=[("_id", 1)]
    )
    heads = await listed(backend, heads, {"log": 0, "recent": 0}, comment="batch_get")
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
