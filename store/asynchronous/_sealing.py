"""Sealing and merging: housekeeping that an append starts after it was acknowledged, and that may fail."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from pymongo.errors import DuplicateKeyError, PyMongoError

from convostore.store import sealing
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._records import has_record
from convostore.store.faults import Unclear
from convostore.store.heads import Head
from convostore.store.manifest import Item, Span, item_of, mergeable, segment_document
from convostore.store.runs import Segment, cut_into_segments

__all__ = ["keep_house", "merge", "seal_log", "seal_messages", "store_segments", "swap"]

_FACTS = {name: 1 for name in ("user", "lineage", "version", "structure", "revision", "log_start")}
_TOGETHER = 8
"""Segments of one insert, which holds them twice: at most 1 MiB each."""
_log = logging.getLogger("convostore")


async def keep_house(backend: AsyncBackend, owner: Mapping[str, Any], *, messages: bool, log: bool) -> None:
    """Seal what is over its bounds. A failure is counted and logged, never raised: the append was stored."""
    try:
        head = await backend.find_one("conversations", owner, sealing.seals(messages), comment="seal")
        if head is None:
            return
        if messages:
            sealed = await seal_messages(backend, owner, head)
            if sealed is not None:
                await merge(backend, owner, sealed)
        if log:
            await seal_log(backend, owner, head)
    except (PyMongoError, Unclear) as error:
        backend.failed_seals += 1
        _log.warning(
            "a seal of conversation %s failed and will be tried again: %s", owner["_id"], type(error).__name__
        )


async def store_segments(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, segments: list[Segment]
) -> list[Item]:
    """Insert segments under fresh random ids; their manifest items."""
    items: list[Item] = []
    for start in range(0, len(segments), _TOGETHER):
        some = segments[start : start + _TOGETHER]
        documents = [
            segment_document(
                segment,
                user=head["user"],
                conversation=owner["_id"],
                lineage=head["lineage"],
                structure=head["structure"],
            )
            for segment in some
        ]
        await backend.insert_own("segments", documents, comment="seal")
        items += [
            item_of(segment, document["_id"]) for segment, document in zip(some, documents, strict=True)
        ]
    return items


async def swap(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    query: Mapping[str, Any],
    update: Any,
    own: list[Item],
    *,
    structure: int,
    comment: str,
    key: Any = None,
) -> Head | None:
    """Send an update guarded by ``structure`` that puts the segments ``own`` into the manifest.

    Gives facts of the head afterwards, its version among them; None when the update did not fit.

    After an error without an answer the head tells, by a segment or by the key of the change record. Own
    segments that did not make it are deleted unless a try without an answer may still arrive, which only a
    higher structure rules out.
    """
    uncertain = False
    for attempt in backend.attempts():
        try:
            done = await backend.modify("conversations", query, update, _FACTS, comment=comment)
            if done is not None:
                return done
        except Unclear:
            if backend.is_last(attempt):
                raise
            uncertain = True
            await _pace.pause(attempt)
        if uncertain:
            head = await backend.find_one(
                "conversations", owner, {**_FACTS, "segments": 1, "log": 1}, comment=comment
            )
            if head is not None and await _holds(backend, owner, head, own, key, comment=comment):
                return head
            if head is not None and head["structure"] == structure:
                continue
        if own:
            ids = [item["i"] for item in own]
            await backend.delete("segments", {**_part(owner), "_id": {"$in": ids}}, comment=comment)
        return None
    return None


async def _holds(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, own: list[Item], key: Any, *, comment: str
) -> bool:
    if own and own[0]["i"] in {item["i"] for item in head["segments"]}:
        return True
    return key is not None and await has_record(backend, owner, head, key, comment=comment)


def _part(owner: Mapping[str, Any]) -> dict[str, Any]:
    return {"user": owner["user"], "c": owner["_id"]}


async def seal_messages(backend: AsyncBackend, owner: Mapping[str, Any], head: Head) -> Head | None:
    """Move the older part of the embedded run into segments; what a merge needs of the head afterwards.

    None when there is nothing to move or another writer was faster.
    """
    run = sealing.run_to_seal(head, backend.bounds)
    if not run:
        return None
    owner = {**owner, "user": head["user"]}
    items = await store_segments(backend, owner, head, cut_into_segments(run, backend.bounds))
    query, update = sealing.message_cut(owner, head, len(run), items)
    done = await swap(backend, owner, query, update, items, structure=head["structure"], comment="seal")
    # The manifest was as it was read, says the guard; read again after a lost reply, it comes with ``done``.
    return None if done is None else {**head, "segments": [*head["segments"], *items], **done}


async def merge(backend: AsyncBackend, owner: Mapping[str, Any], head: Head) -> bool:
    """Join neighbouring small segments; whether this call did."""
    span: Span | None = mergeable(head["segments"], backend.bounds)
    if span is None:
        return False
    owner = {**owner, "user": head["user"]}
    old = head["segments"][span.first : span.last]
    found = await backend.find(
        "segments", {**_part(owner), "_id": {"$in": [item["i"] for item in old]}}, comment="merge"
    )
    by_id = {document["_id"]: document["e"] for document in found}
    if len(by_id) != len(old):
        return False
    entries = [entry for item in old for entry in by_id[item["i"]]]
    joined = Segment(tuple(entries), sum(item["b"] for item in old))
    items = await store_segments(backend, owner, head, [joined])
    manifest = [*head["segments"][: span.first], *items, *head["segments"][span.last :]]
    query, update = sealing.replace_manifest(owner, head, manifest)
    if await swap(backend, owner, query, update, items, structure=head["structure"], comment="merge") is None:
        return False
    await backend.delete(
        "segments", {**_part(owner), "_id": {"$in": [item["i"] for item in old]}}, comment="merge"
    )
    return True


async def seal_log(backend: AsyncBackend, owner: Mapping[str, Any], head: Head) -> bool:
    """Move older change records into ``changes``; whether this call did."""
    records = sealing.records_to_seal(head, backend.bounds)
    if not records:
        return False
    document = sealing.change_document(owner["_id"], head, records)
    try:
        await backend.insert_new("changes", document, comment="seal")
    except DuplicateKeyError:
        # Another sealer of these revisions, who died before the cut: the same records, perhaps fewer or more.
        held = await backend.find_one("changes", {"_id": document["_id"]}, {"recs": 1}, comment="seal")
        if held is None:
            return False
        records = held["recs"]
    query, update = sealing.log_cut(owner, head, records, backend.now())
    return await backend.update_once("conversations", query, update, comment="seal")
