"""Storing a conversation as a fork of another one, with what it has of its own, all in one insert."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.schemas.errors import ConflictError
from convostore.schemas.json_values import JSON, same_json
from convostore.schemas.usage import COUNTERS
from convostore.store import history
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import store_pieces
from convostore.store.asynchronous._creating import Draft, withdraw
from convostore.store.asynchronous._forking import copy_blobs, prefix_at
from convostore.store.asynchronous._history import blobs_for, present
from convostore.store.asynchronous._numbering import next_ids
from convostore.store.asynchronous._planting import plant
from convostore.store.asynchronous._reading import complete
from convostore.store.asynchronous._splicing import read_segments
from convostore.store.codec import encode_u64
from convostore.store.forking import Prefix, only_grew
from convostore.store.heads import Head, embedded, record_fields
from convostore.store.runs import StoredEntry, holding, numbered, to_entry

__all__ = ["graft"]

_TOGETHER = 4
"""Segments read at once: at most 1 MiB each."""


async def graft(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    draft: Draft,
    after: int,
    ids: Callable[[], int] | None,
    *,
    comment: str,
) -> int | None:
    """Store the draft as a fork of the conversation, exactly behind its first ``after`` messages; its id.

    The draft's entries are those behind them. None, and nothing is stored, when the first ``after`` messages
    of its record are not the conversation's. The head comes last and has the draft's source, so a crash
    leaves nothing that a repeat would find.

    Raises:
        NotFoundError: there is no such conversation.
        ConflictError: the source was taken meanwhile; nothing of the draft stays.

    """
    messages = draft.record.messages[:after]
    head, moment = await present(backend, owner, comment=comment, read=partial(_beginning, messages=messages))
    owner = {"_id": owner["_id"], "user": head["user"]}
    if not 0 < after <= len(moment.entries):
        return None
    at = int(moment.entries[after - 1]["id"])
    found = await prefix_at(backend, owner, head, moment, at, exact=True, comment=comment)
    blobs = await blobs_for(backend, owner, head, found.moment, comment=comment)
    if not _are(found.moment.entries, blobs, messages):
        return None
    origin = {
        "id": head["_id"],
        "lineage": head["lineage"],
        "revision": len(found.records),
        "entries": after,
    }
    id = (await next_ids(backend, "conversation", 1, ids, comment=comment))[0]
    fork_owner = {"_id": encode_u64(id), "user": head["user"]}
    facts: Head = {"user": head["user"], "lineage": draft.lineage, "structure": 0}
    attached = {
        "resources": [entry.stored for entry in draft.resources],
        "artifacts": [entry.stored for entry in draft.artifacts],
    }
    fields = record_fields(
        draft.record, id=id, now=draft.now, attachments=attached, source=draft.source, unknown=draft.unknown
    )
    if "source" in fields:
        fields["source"] = {**fields["source"], "version": Int64(1)}
    await copy_blobs(backend, owner, fork_owner, facts, found, {}, int(head["lineage"]), comment=comment)
    own = (*draft.entries, *draft.resources, *draft.artifacts)
    await store_pieces(backend, fork_owner, facts, own, comment=comment)
    _grow(found, draft)
    try:
        await plant(backend, fork_owner, facts, found, fields, {"forked_from": origin}, comment=comment)
    except ConflictError:
        await withdraw(backend, fork_owner, draft.lineage, comment=comment)
        raise
    draft.record.id = id
    return id


async def _beginning(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    head: Head,
    *,
    comment: str,
    messages: Sequence[JSON],
) -> list[StoredEntry] | None:
    """The entries of a head, in little memory beside that of ``messages``, which it may begin with.

    An entry of the message that stands at its place there holds that very one. Behind them, of a conversation
    to which was only appended, some are told by their ids alone.
    """
    items = list(head["segments"])
    if not only_grew(head):
        return await complete(backend, owner, head, comment=comment)
    entries: list[StoredEntry] = []
    while items and len(entries) < len(messages):
        some, items = items[:_TOGETHER], items[_TOGETHER:]
        held = await read_segments(backend, owner, head["user"], some, comment=comment)
        if held is None:
            return None
        entries += holding(held, messages[len(entries) :])
    entries += [{"id": id} for item in items for id in range(item["lo"], item["hi"] + 1)]
    return entries + holding(embedded(head), messages[len(entries) :])


def _are(entries: Sequence[StoredEntry], blobs: Mapping[ObjectId, bytes], messages: Sequence[JSON]) -> bool:
    """Whether the entries are these messages; compared one by one, since all together may be large."""
    return len(entries) == len(messages) and all(
        entry.get("m") is message or same_json(to_entry(entry, blobs).message, message)
        for entry, message in zip(entries, messages, strict=True)
    )


def _grow(found: Prefix, draft: Draft) -> None:
    """Let the prefix go on with the draft's own messages, as one append."""
    moment, own = found.moment, draft.entries
    usage = {name: getattr(draft.record.usage, name) for name in COUNTERS}
    if not own and not any(usage.values()):
        return
    stored = [numbered(entry.stored, moment.next_entry + place) for place, entry in enumerate(own)]
    at = max([draft.record.created_at, *(int(record["at"]) for record in found.records)])
    record = history.push_record(at, len(own), key=draft.key, usage=usage if any(usage.values()) else None)
    found.records.append(record | history.own_times([entry.get("made") for entry in stored], at))
    moment.entries.extend(stored)
    moment.next_entry += len(own)
