"""Reading: heads, whole conversations, pages. A reader sees one committed version whole
(``storage.md`` S4).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from bson.objectid import ObjectId

from convostore.schemas import pairing
from convostore.schemas.conversations import Conversation, ConversationDelta
from convostore.schemas.entries import Entry, Page
from convostore.schemas.errors import NotFoundError, UnavailableError
from convostore.store import paging
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import read_blobs
from convostore.store.asynchronous._lifting import is_present, present, with_version
from convostore.store.asynchronous._splicing import read_segments
from convostore.store.baselines import load
from convostore.store.codec import decode_u64
from convostore.store.heads import Head, embedded
from convostore.store.runs import StoredEntry, blob_references, to_entry
from convostore.store.saying import shown_to_model

__all__ = [
    "read_delta",
    "read_entries",
    "read_for_model",
    "read_head",
    "read_page",
    "read_record",
    "read_whole",
]

_REREADS = 20


async def read_head(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    fields: Mapping[str, Any] | None,
    *,
    comment: str,
) -> Head:
    """The head, as one of the present schema version; one that is older is lifted first for a call that
    writes.

    Raises:
        NotFoundError: there is none of that id for that user.
        SchemaVersionError: a newer release wrote it.

    """
    head = await backend.find_one("conversations", owner, with_version(fields), comment=comment)
    if head is not None and not is_present(head):
        head = await present(backend, owner, head, fields, comment=comment)
    if head is None:
        raise not_found(owner)
    return head


def not_found(owner: Mapping[str, Any]) -> NotFoundError:
    """The error for a conversation that is not there, or is another user's."""
    return NotFoundError("conversation", decode_u64(owner["_id"]))


async def read_whole(
    backend: AsyncBackend, owner: Mapping[str, Any], *, comment: str
) -> tuple[Head, list[StoredEntry]]:
    """The head and every entry of its version, with ids."""
    for attempt in range(1, _REREADS + 1):
        head = await read_head(backend, owner, {"log": 0, "recent": 0}, comment=comment)
        entries = await complete(backend, owner, head, comment=comment)
        if entries is not None:
            return head, entries
        await _pace.pause(attempt)
    raise _moving(owner)


async def complete(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, *, comment: str
) -> list[StoredEntry] | None:
    """Every entry of a head that was read; None when a segment was replaced meanwhile."""
    sealed = await read_segments(backend, owner, head["user"], head["segments"], comment=comment)
    return None if sealed is None else [*sealed, *embedded(head)]


async def read_record(backend: AsyncBackend, owner: Mapping[str, Any], *, comment: str) -> Conversation:
    """The whole record, with its baseline."""
    for attempt in range(1, _REREADS + 1):
        head, entries = await read_whole(backend, owner, comment=comment)
        blobs = await blobs_of(backend, owner, head, entries, comment=comment, attachments=True)
        if blobs is not None:
            return load(head, entries, blobs)
        await _pace.pause(attempt)
    raise _moving(owner)


async def blobs_of(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    head: Head,
    entries: Sequence[StoredEntry],
    *,
    comment: str,
    attachments: bool = False,
) -> dict[ObjectId, bytes] | None:
    """What these entries, and the record's resources, hold apart."""
    wanted = blob_references(entries)
    if attachments:
        wanted += blob_references(head.get("resources", ()))
        wanted += blob_references(head.get("artifacts", ()))
    if not wanted:
        return {}
    return await read_blobs(backend, head["user"], owner["_id"], wanted, comment=comment)


async def read_page(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    asked: paging.PageRequest,
    *,
    comment: str,
) -> Page[Entry]:
    """One page of entries; in one trip when it lies in the embedded run."""
    for attempt in range(1, _REREADS + 1):
        head = await read_head(backend, owner, paging.fields_for(asked), comment=comment)
        where = paging.window(head, asked)
        items = head["segments"][where.first : where.last]
        sealed = await read_segments(backend, owner, head["user"], items, comment=comment)
        if sealed is not None:
            entries, cursor = paging.cut(head, asked, where, sealed)
            blobs = await blobs_of(backend, owner, head, entries, comment=comment)
            if blobs is not None:
                return Page(tuple(to_entry(entry, blobs) for entry in entries), cursor)
        await _pace.pause(attempt)
    raise _moving(owner)


async def read_for_model(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    limit: int,
    before: int | None,
    dialect: str | None,
    *,
    comment: str,
) -> Page[Entry]:
    """The newest entries as a provider call may be given them, in their own dialects or in one.

    The page begins where no call is cut from its results, so it may hold more than ``limit``; failed and
    unfinished turns are left out. A message that was repaired or made up has the id -1.
    """
    width = limit
    while True:
        asked = paging.PageRequest(width, before)
        page = await read_page(backend, owner, asked, comment=comment)
        entries = list(page.items)
        start = pairing.window_start(entries, limit)
        if start > 0 or page.cursor is None:
            break
        width *= 2  # a call may lie further back
    shown = shown_to_model(entries[start:], dialect)
    more = start > 0 or page.cursor is not None
    return Page(tuple(shown), entries[start].id if entries and more else None)


async def read_delta(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    messages_from: int,
    artifacts_from: int,
    *,
    comment: str,
) -> ConversationDelta:
    """What came after the offsets, with the present state; only the segments behind the offset are read."""
    for attempt in range(1, _REREADS + 1):
        head = await read_head(backend, owner, {"log": 0, "recent": 0, "resources": 0}, comment=comment)
        first, start = 0, 0
        for item in head["segments"]:
            if start + item["n"] > messages_from:
                break
            first, start = first + 1, start + item["n"]
        sealed = await read_segments(backend, owner, head["user"], head["segments"][first:], comment=comment)
        if sealed is not None:
            entries = [*sealed, *embedded(head)][messages_from - start :]
            head["artifacts"] = head["artifacts"][artifacts_from:]
            blobs = await blobs_of(backend, owner, head, entries, comment=comment, attachments=True)
            if blobs is not None:
                return load({**head, "resources": []}, entries, blobs).to_delta()
        await _pace.pause(attempt)
    raise _moving(owner)


async def read_entries(
    backend: AsyncBackend, owner: Mapping[str, Any], *, after: int | None, comment: str
) -> AsyncIterator[Entry]:
    """Every entry in order, a segment at a time: memory does not grow with the conversation.

    What is appended meanwhile is seen too. After an edit the iteration goes on behind the id last given.
    """
    last, behind = after, None
    while True:
        # Each segment is a call of its own: what its reader does meanwhile counts to no timeout.
        with backend.call(comment):
            entries, behind = await _read_on(backend, owner, last, behind, comment=comment)
        for entry in entries:
            yield entry
        if behind is None:
            return
        if entries:
            last = entries[-1].id


async def _read_on(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    last: int | None,
    behind: ObjectId | None,
    *,
    comment: str,
) -> tuple[list[Entry], ObjectId | None]:
    """The next entries, and the segment they end with; None when they end the conversation.

    They follow the segment ``behind``, if it is still there, else the entry ``last``.
    """
    asked = paging.PageRequest(1, after=last, forwards=True)
    for attempt in range(1, _REREADS + 1):
        head = await read_head(backend, owner, paging.fields_for(asked), comment=comment)
        where, after = paging.window_behind(head, behind), None
        if where is None:
            where, after = paging.window(head, asked), last
        items = head["segments"][where.first : where.last]
        sealed = await read_segments(backend, owner, head["user"], items, comment=comment)
        if sealed is not None:
            found = paging.rest(head, after, where, sealed)
            blobs = await blobs_of(backend, owner, head, found, comment=comment)
            if blobs is not None:
                entries = [to_entry(entry, blobs) for entry in found]
                return entries, None if where.run else items[-1]["i"]
        await _pace.pause(attempt)
    raise _moving(owner)


def _moving(owner: Mapping[str, Any]) -> UnavailableError:
    return UnavailableError(
        f"conversation {decode_u64(owner['_id'])} was being rewritten at every try to read it; "
        "try again, and run check if it stays so"
    )
