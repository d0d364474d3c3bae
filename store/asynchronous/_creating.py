"""Creating conversations: the head comes last, so what a crash leaves is never seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pymongo.errors import DuplicateKeyError

from convostore.schemas.conversations import Conversation, baseline_of
from convostore.schemas.entries import Source
from convostore.schemas.errors import ConflictError, InvalidRecordError, UnavailableError
from convostore.schemas.json_values import JSON
from convostore.store import history, parameters
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import store_pieces
from convostore.store.asynchronous._lifting import lift
from convostore.store.asynchronous._numbering import lift_counter, next_ids
from convostore.store.asynchronous._reading import read_record
from convostore.store.asynchronous._sealing import store_segments
from convostore.store.baselines import note
from convostore.store.births import first_records
from convostore.store.codec import decode_u64, encode_u64
from convostore.store.faults import Unclear
from convostore.store.heads import Head, new_head, record_fields
from convostore.store.layout import SCHEMA_VERSION
from convostore.store.migrations import older_than
from convostore.store.requests import attachments
from convostore.store.runs import (
    NewEntry,
    StoredEntry,
    cut_into_segments,
    encode_entries,
    entries_size,
    newest_page,
    numbered,
)

__all__ = ["Draft", "continuation_source", "continue_from", "create", "draft_of", "find_source", "insert"]

_SOURCE_KEY = "source"
_CONTINUATION = "continuation"
"""The source format under which a conversation that continues another is recognised when a call is repeated.
"""


@dataclass(frozen=True, slots=True)
class Draft:
    """A conversation ready to be inserted: everything is encoded, so nothing can be refused half way."""

    record: Conversation
    entries: tuple[NewEntry, ...]
    resources: tuple[NewEntry, ...]
    artifacts: tuple[NewEntry, ...]
    lineage: int
    now: int
    key: history.Key
    source: Source | None
    unknown: Mapping[str, JSON] | None

    @property
    def pieces(self) -> tuple[NewEntry, ...]:
        """Everything that may have pieces that lie apart."""
        return (*self.entries, *self.resources, *self.artifacts)


def draft_of(
    backend: AsyncBackend,
    record: Conversation,
    *,
    source: Source | None = None,
    unknown: Mapping[str, JSON] | None = None,
    entries: Sequence[NewEntry] | None = None,
) -> Draft:
    """The record as a draft; ``created_at`` and ``updated_at`` of 0 become the present.

    Raises:
        InvalidRecordError, TooLargeError: nothing was written.

    """
    if baseline_of(record) is not None:
        raise InvalidRecordError(
            "conversation", "is stored already: save it, or create a copy without its id"
        )
    Conversation.checked(record.members())  # its lists may have been changed in place since it was made
    checked_source = parameters.source(source)
    now = backend.now()
    record.give_times(now)
    if entries is None:
        entries = encode_entries(record.messages, made=now)
    return Draft(
        record,
        tuple(entries),
        attachments("resources", record.resources),
        attachments("artifacts", record.artifacts),
        backend.lineage(),
        now,
        backend.key(),
        checked_source,
        unknown,
    )


async def create(backend: AsyncBackend, draft: Draft, ids: Callable[[], int] | None) -> Conversation:
    """Insert the draft under its own id or a fresh one, once.

    Raises:
        ConflictError: the id, or the source identity, is held already.

    """
    wanted = draft.record.id
    if wanted:
        await lift_counter(backend, "conversation", wanted, comment="create")
        await insert(backend, draft, wanted, comment="create")
        return draft.record
    for attempt in backend.attempts():
        id = (await next_ids(backend, "conversation", 1, ids, comment="create"))[0]
        try:
            await insert(backend, draft, id, comment="create")
            return draft.record
        except ConflictError as error:
            # An honoured id is ahead of the counter, or the caller's function gave one twice.
            if error.field != "_id" or attempt == 3:
                raise
    raise AssertionError("unreachable")


async def insert(backend: AsyncBackend, draft: Draft, id: int, *, comment: str) -> None:
    """Insert what the draft holds under that id: pieces, segments, then the head.

    Raises:
        ConflictError: ``field`` is ``_id`` or ``source``; nothing of the draft stays.

    """
    record = draft.record
    owner = {"_id": encode_u64(id), "user": record.user}
    head, stored = await prepare(backend, draft, id, comment=comment)
    if not await _insert_head(backend, owner, head, comment=comment):
        await withdraw(backend, owner, draft.lineage, comment=comment)
        raise await _conflict(backend, owner, draft)
    await confirm(backend, head, comment=comment)
    record.id = id
    note(record, head, stored)


async def prepare(
    backend: AsyncBackend, draft: Draft, id: int, *, comment: str
) -> tuple[Head, list[StoredEntry]]:
    """The head that makes the draft a conversation once it is inserted; everything else is stored by this."""
    record = draft.record
    owner = {"_id": encode_u64(id), "user": record.user}
    facts: Head = {"user": record.user, "lineage": draft.lineage, "structure": 0}
    fields = record_fields(
        record,
        id=id,
        now=draft.now,
        attachments={
            "resources": [entry.stored for entry in draft.resources],
            "artifacts": [entry.stored for entry in draft.artifacts],
        },
        source=draft.source,
        unknown=draft.unknown,
    )
    await store_pieces(backend, owner, facts, draft.pieces, comment=comment)
    stored: list[StoredEntry] = [numbered(entry.stored, place) for place, entry in enumerate(draft.entries)]
    bounds = backend.bounds
    kept = len(stored)
    if kept > bounds.soft_count or sum(entry.size for entry in draft.entries) > bounds.soft_bytes:
        kept = newest_page(stored, bounds)
    older, run = stored[: len(stored) - kept], stored[len(stored) - kept :]
    items = await store_segments(backend, owner, facts, cut_into_segments(older, bounds))
    head = new_head(
        fields,
        lineage=draft.lineage,
        entries=run,
        size=entries_size(run),
        segments=items,
        next_entry=len(stored),
        record_log=first_records(record, [entry.stored.get("made") for entry in draft.entries], draft.key),
    )
    return head, stored


async def confirm(backend: AsyncBackend, head: Head, *, comment: str) -> None:
    """Make sure that nobody took the segments of a new conversation for leftovers before its head was there.

    Raises:
        UnavailableError: somebody did.

    """
    items = head["segments"]
    if items:
        part = {"user": head["user"], "c": head["_id"], "_id": {"$in": [item["i"] for item in items]}}
        found = await backend.find("segments", part, {"_id": 1}, comment=comment)
        if len(found) < len(items):
            raise UnavailableError(
                f"{comment}: segments of conversation {decode_u64(head['_id'])} were removed while it was "
                "made; delete it and repeat"
            )


async def _insert_head(backend: AsyncBackend, owner: Mapping[str, Any], head: Head, *, comment: str) -> bool:
    for attempt in backend.attempts():
        try:
            await backend.insert_new("conversations", head, comment=comment)
            return True
        except DuplicateKeyError:
            pass
        except Unclear:
            if backend.is_last(attempt):
                raise
            await _pace.pause(attempt)
            continue
        found = await backend.find_one("conversations", owner, {"lineage": 1}, comment=comment)
        return found is not None and found["lineage"] == head["lineage"]
    return False


async def withdraw(backend: AsyncBackend, owner: Mapping[str, Any], lineage: int, *, comment: str) -> None:
    """Delete what was stored of a conversation whose head could not be inserted."""
    query = {"user": owner["user"], "c": owner["_id"], "lin": lineage}
    for name in ("segments", "blobs"):
        await backend.delete(name, query, comment=comment)


async def _conflict(backend: AsyncBackend, owner: Mapping[str, Any], draft: Draft) -> ConflictError:
    if draft.source is not None:
        held = await find_source(backend, owner["user"], draft.source, comment="create")
        if held is not None:
            return ConflictError(
                _SOURCE_KEY,
                expected=draft.source.to_json(),
                actual=held,
                reason=f"{draft.source.format} {ascii(draft.source.id)[:80]} is stored as conversation "
                f"{held}",
            )
    id = decode_u64(owner["_id"])
    return ConflictError("_id", expected=id, reason=f"the id {id} is taken; give 0 to have one assigned")


async def find_source(backend: AsyncBackend, user: str, source: Source, *, comment: str) -> int | None:
    """The id of the user's conversation that came from there."""
    query = {"user": user, "source.format": source.format, "source.id": source.id}
    found = await backend.find_one("conversations", query, {"_id": 1}, comment=comment)
    return None if found is None else decode_u64(found["_id"])


async def continue_from(
    backend: AsyncBackend, parent: int, draft: Draft, ids: Callable[[], int] | None
) -> Conversation:
    """Insert the draft as the conversation that follows ``parent``, then link the parent to it if it has no
    child.

    A repeat under the same key finds the one made first, and mends a link that a crash left out.
    """
    try:
        record = await create(backend, draft, ids)
    except ConflictError as error:
        if error.field != _SOURCE_KEY:
            raise
        first = {"_id": encode_u64(int(str(error.actual))), "user": draft.record.user}
        record = await read_record(backend, first, comment="continue_from")
    query = {"_id": encode_u64(parent), "user": draft.record.user, "child": {"$exists": False}}
    update = {
        "$set": {"child": encode_u64(record.id)},
        "$inc": {"version": 1},
        "$max": {"updated_at": encode_u64(draft.now)},
    }
    for attempt in backend.attempts():
        try:
            if not await backend.update_once("conversations", query, update, comment="continue_from"):
                older = {**query, **older_than(SCHEMA_VERSION)}
                if await backend.find_one("conversations", older, {"_id": 1}, comment="continue_from"):
                    await lift(backend, older, comment="continue_from")
                    await backend.update_once("conversations", query, update, comment="continue_from")
            return record
        except Unclear:
            if backend.is_last(attempt):
                raise
            await _pace.pause(attempt)
    return record


def continuation_source(parent: int, key: history.Key) -> Source:
    """The identity under which a continuation of ``parent`` asked for with ``key`` is unique."""
    return Source(_CONTINUATION, f"{parent}:{key}")
