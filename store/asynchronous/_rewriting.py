"""Rewriting: taking something out of a conversation's messages and its whole history, for good."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bson.int64 import Int64

from convostore.schemas.json_values import JSON, dump_text, same_json
from convostore.store import sealing
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._asides import store_asides
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import read_blobs, store_pieces
from convostore.store.asynchronous._history import (
    Moved,
    present,
    records_after,
    removed_by,
    wait_until_settled,
)
from convostore.store.asynchronous._removing import PARTS
from convostore.store.asynchronous._sealing import store_segments
from convostore.store.asynchronous._splicing import gave_up
from convostore.store.codec import decode_body, decode_u64, encode_body, encode_u64
from convostore.store.faults import Unclear
from convostore.store.heads import Head
from convostore.store.history import HOUR_MS
from convostore.store.results import Rewritten
from convostore.store.runs import (
    NewEntry,
    StoredEntry,
    blob_references,
    cut_into_segments,
    entries_size,
    newest_page,
)
from convostore.store.splicing import removed_bodies
from convostore.store.timeline import Moment, aside_fields

__all__ = ["rewrite"]

_CALL = "rewrite"

Rewriter = Callable[[JSON], JSON]


@dataclass(slots=True)
class _Renewal:
    """Everything of a conversation under a new lineage, stored but for the head."""

    sets: dict[str, Any]
    changed: int


async def rewrite(backend: AsyncBackend, owner: Mapping[str, Any], rewriter: Rewriter) -> Rewritten:
    """Give every message, present and removed, and every aside's value to the rewriter and store what it
    gives.

    The conversation gets a new lineage, so what was loaded before cannot be saved over it. Nothing of the old
    one is left when this returns; a repeated call finishes what a crash left.
    """
    for attempt in backend.attempts():
        head, moment = await present(backend, owner, comment=_CALL)
        owner = {"_id": owner["_id"], "user": head["user"]}
        # Lineages that another rewriting, which died, left; seen before the head moves on, they are not those
        # of one that begins after this.
        stale = [int(head["lineage"]), *await _other_lineages(backend, owner, head)]
        facts: Head = {"user": head["user"], "lineage": backend.lineage(), "structure": 0}
        try:
            renewal = await _renewed(backend, owner, head, moment, facts, rewriter)
        except Moved as moved:
            await _remove_lineages(backend, owner, [facts["lineage"]])
            await wait_until_settled(backend, owner, moved, attempt, comment=_CALL)
            continue
        done = await _put_in_place(backend, owner, head, renewal)
        if done is not None:
            await _remove_lineages(backend, owner, stale)
            return Rewritten(int(done["version"]), renewal.changed, await _forks(backend, owner))
        await _remove_lineages(backend, owner, [int(renewal.sets["lineage"])])
        if backend.is_last(attempt):
            break
        await _pace.pause(attempt)
    raise gave_up(_CALL)


async def _put_in_place(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, renewal: _Renewal
) -> Head | None:
    """Let the head continue with the new lineage; None when another writer came in between, so that it never
    will.

    Raises:
        Unclear: the database did not come back to tell.

    """
    guards = {name: head[name] for name in ("lineage", "version", "structure")}
    update: dict[str, Any] = {
        "$set": renewal.sets,
        "$inc": {"version": 1, "structure": 1},
        "$max": {"updated_at": encode_u64(backend.now())},
        "$min": {"dirty": Int64(backend.now() // HOUR_MS)},  # rows are those of a lineage
        "$unset": {name: "" for name in ("asides", "asides_body") if name not in renewal.sets},
    }
    uncertain = False
    for attempt in backend.attempts():
        try:
            done = await backend.modify(
                "conversations", {**owner, **guards}, update, {"version": 1}, comment=_CALL
            )
            if done is not None or not uncertain:
                return done
            renewed = {**owner, "lineage": renewal.sets["lineage"]}
            return await backend.find_one("conversations", renewed, {"version": 1}, comment=_CALL)
        except Unclear:
            if backend.is_last(attempt):
                raise
            uncertain = True
            await _pace.pause(attempt)
    return None


async def _other_lineages(backend: AsyncBackend, owner: Mapping[str, Any], head: Head) -> set[int]:
    """The lineages, besides the head's, that parts of the conversation have."""
    query = {"user": owner["user"], "c": owner["_id"], "lin": {"$ne": head["lineage"]}}
    stages = [{"$match": query}, {"$group": {"_id": "$lin"}}]
    found = [row for name in PARTS for row in await backend.aggregate(name, stages, comment=_CALL)]
    return {int(row["_id"]) for row in found}


async def _remove_lineages(backend: AsyncBackend, owner: Mapping[str, Any], lineages: list[int]) -> None:
    query = {"user": owner["user"], "c": owner["_id"], "lin": {"$in": [Int64(one) for one in lineages]}}
    for name in PARTS:
        await backend.delete(name, query, comment=_CALL)


async def _renewed(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    head: Head,
    moment: Moment,
    facts: Head,
    rewriter: Rewriter,
) -> _Renewal:
    """Store everything under the lineage that ``facts`` says.

    Raises:
        Moved: some of it is not there.

    """
    changed = 0

    async def anew(entries: list[StoredEntry]) -> list[StoredEntry]:
        nonlocal changed
        renewed = []
        for entry in entries:
            message = decode_body(entry, await _blobs(backend, owner, head, entry))
            given = rewriter(message)
            changed += not same_json(given, message)
            body = encode_body(given, "message")
            plain = {name: value for name, value in entry.items() if name not in ("m", "t", "blob")}
            await store_pieces(
                backend, owner, facts, [NewEntry(dict(body.fields), body.size, body.pieces)], comment=_CALL
            )
            renewed.append({**plain, **body.fields})
        return renewed

    entries = await anew(moment.entries)
    records = []
    for _, record in await records_after(backend, owner, head, 0, comment=_CALL):
        removed = await anew(await removed_by(backend, owner, head, record, comment=_CALL))
        kept = {name: value for name, value in record.items() if name not in ("rm", "rmi", "body", "h")}
        bodies = removed_bodies(removed, facts, owner["_id"])
        if bodies:
            await backend.insert_own("bodies", bodies, comment=_CALL)
            kept["body"] = [body["_id"] for body in bodies]
            kept["rmi"] = [int(entry["id"]) for entry in removed]
        elif removed:
            kept["rm"] = removed
        records.append(_without_secret(kept, rewriter))
    page = newest_page(entries, backend.bounds)
    older, run = entries[: len(entries) - page], entries[len(entries) - page :]
    items = await store_segments(backend, owner, facts, cut_into_segments(older, backend.bounds))
    sealed, log = sealing.sealed_at_birth(
        owner["_id"], {**facts, "next_entry": moment.next_entry}, records, backend.bounds
    )
    await backend.insert_own("changes", sealed, comment=_CALL)
    older_records = records[: len(records) - len(log)]
    sets: dict[str, Any] = {
        "lineage": Int64(facts["lineage"]),
        "segments": items,
        "messages": run,
        "embedded_count": len(run),
        "embedded_bytes": Int64(entries_size(run)),
        "log": log,
        "log_start": Int64(len(older_records)),
        "log_before": sealing.records_before(older_records, backend.now()),
    }
    sets |= await _attachments(backend, owner, head, facts)
    asides = {id: _aside(aside, rewriter) for id, aside in moment.asides.items()}
    sets |= await store_asides(backend, owner, facts, aside_fields(asides), comment=_CALL)
    return _Renewal(sets, changed)


async def _blobs(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, item: StoredEntry
) -> dict[Any, bytes]:
    """What the entry or attachment holds apart."""
    found = await read_blobs(backend, owner["user"], owner["_id"], blob_references([item]), comment=_CALL)
    if found is None:
        id = decode_u64(owner["_id"])
        raise Moved(f"{_CALL}: a message of conversation {id} is missing; run check", int(head["lineage"]))
    return found


def _aside(aside: JSON, rewriter: Rewriter) -> JSON:
    return {**aside, "value": rewriter(aside["value"])} if "value" in aside else aside


def _without_secret(record: dict[str, Any], rewriter: Rewriter) -> dict[str, Any]:
    for name in ("aside", "was"):
        if name in record and isinstance(record[name], str):
            record[name] = dump_text(_aside(json.loads(record[name]), rewriter))
    for name in ("asides", "was_asides"):
        if name in record:
            asides = {row["id"]: _aside(json.loads(row["aside"]), rewriter) for row in record[name]}
            record[name] = aside_fields(asides)
    return record


async def _attachments(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, facts: Head
) -> dict[str, Any]:
    """Resources and artifacts whose bytes lie apart, copied: the old lineage's pieces all go."""
    sets: dict[str, Any] = {}
    for name in ("resources", "artifacts"):
        items = []
        for item in head[name]:
            if blob_references([item]):
                body = encode_body(decode_body(item, await _blobs(backend, owner, head, item)), name)
                await store_pieces(
                    backend,
                    owner,
                    facts,
                    [NewEntry(dict(body.fields), body.size, body.pieces)],
                    comment=_CALL,
                )
                item = {**item, **body.fields}
            items.append(item)
        if any(blob_references(items)):
            sets[name] = items
    return sets


async def _forks(backend: AsyncBackend, owner: Mapping[str, Any]) -> tuple[int, ...]:
    query = {"user": owner["user"], "forked_from.id": owner["_id"]}
    found = await backend.find("conversations", query, {"_id": 1}, comment=_CALL)
    return tuple(sorted(decode_u64(one["_id"]) for one in found))
