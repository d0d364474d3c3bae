"""The doctor: every invariant checked, what crashes left behind found and, when asked, removed behind a
fence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.schemas.errors import InvalidRecordError, TooLargeError
from convostore.store import checking
from convostore.store.asynchronous._auditing import check_rows, check_rows_without_heads, check_sheets
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._checking_files import check_files
from convostore.store.asynchronous._lifting import is_present, present
from convostore.store.asynchronous._listing import scan_ids
from convostore.store.asynchronous._removing import finish
from convostore.store.codec import blob_piece_ids, decode_u64
from convostore.store.finding import Wanted
from convostore.store.heads import Head, message_count
from convostore.store.migrations import version_of
from convostore.store.results import CheckReport, Finding

__all__ = ["check", "collect"]

_HOUR = 3600
_NAMELESS = 20
_DAY = 24 * _HOUR
"""Parts without a head, or of another lineage, may belong to one being created: only old ones are leftovers.
"""

_MADE: dict[str, Any] = {
    "segments": "$_id",
    "blobs": "$_id.b",
    "bodies": "$_id",
    # Their ids say nothing of time; the hours of their records do.
    "changes": {"$max": "$sums.h"},
}
"""What tells when a part was made, collection by collection."""


async def check(backend: AsyncBackend, user: str | None, *, repair: bool) -> CheckReport:
    """Look at every conversation of the user, or of all."""
    report = CheckReport()
    with backend.call("check"):
        unfinished = await _unfinished(backend, user)
    for name, tombstone in unfinished:
        found = Finding("leftover", "deletion", name, "a delete did not finish", repaired=repair)
        report.findings.append(found)
        if repair:
            with backend.call("check"):
                await finish(backend, tombstone)
    async for row in scan_ids(backend, Wanted(user), fields={"user": 1}):
        with backend.call("check"):
            await _check_one(backend, row, report, repair=repair)
    await _nameless(backend, user, report)
    for part in _MADE:
        await _headless(backend, part, user, report, repair=repair)
    report.findings += await check_files(backend, user, repair=repair)
    report.findings += await check_rows_without_heads(backend, user, repair=repair)
    if user is None:
        report.findings += await check_sheets(backend)
    return report


async def _unfinished(backend: AsyncBackend, user: str | None) -> list[tuple[int, dict[str, Any]]]:
    query: dict[str, Any] = {"_id.deletion.c": {"$exists": True}}
    if user is not None:
        query["_id.deletion.user"] = user
    found = await backend.find("meta", query, comment="check")
    return [(decode_u64(one["_id"]["deletion"]["c"]), one["_id"]["deletion"]) for one in found]


async def _check_one(
    backend: AsyncBackend, owner: Mapping[str, Any], report: CheckReport, *, repair: bool
) -> None:
    part = {"user": owner.get("user"), "c": owner["_id"]}
    # A conversation that is written meanwhile is read again: only what stays wrong is a finding.
    findings: list[Finding] = []
    head: Head | None = None
    for _ in range(3):
        head = await backend.find_one("conversations", owner, comment="check")
        older = head is not None and not is_present(head)
        if head is not None and older:
            head = await _older(backend, owner, head, report)
        if head is None:
            return
        findings = await _look(backend, head, part)
        if older:  # the release that wrote it summed in another way
            findings = [one for one in findings if one.kind != "ledger"]
        if not findings:
            break
        later = await backend.find_one(
            "conversations", owner, {"structure": 1, "version": 1}, comment="check"
        )
        if (
            later is not None
            and later["structure"] == head["structure"]
            and later["version"] == head["version"]
        ):
            break
    assert head is not None
    report.conversations += 1
    report.messages += message_count(head)
    report.segments += len(head["segments"])
    report.findings += findings
    report.findings += await _leftovers(backend, owner, head, part, repair=repair)


async def _older(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, report: CheckReport
) -> Head | None:
    """A document of an older schema version as one of the present; None when it is none."""
    id = decode_u64(owner["_id"])
    try:
        lifted = await present(backend, owner, head, None, comment="check")
    except (InvalidRecordError, TooLargeError) as error:
        report.findings.append(Finding("broken", "foreign", id, f"is no conversation: {error}"))
        return None
    if lifted is not None and not version_of(head):
        detail = "lies here as somebody put it; a migration takes it over"
        report.findings.append(Finding("leftover", "unmigrated", id, detail))
        return None
    return lifted


async def _nameless(backend: AsyncBackend, user: str | None, report: CheckReport) -> None:
    """Documents of the collection whose id is no number, and that are no conversations therefore."""
    query: dict[str, Any] = {"_id": {"$not": {"$type": "number"}}}
    if user is not None:
        query["user"] = user
    with backend.call("check"):
        found = await backend.find("conversations", query, {"_id": 1}, comment="check", limit=_NAMELESS)
    report.findings += [
        Finding("broken", "foreign", str(one["_id"])[:80], "is no conversation: its id is no number")
        for one in found
    ]


async def _look(backend: AsyncBackend, head: Head, part: Mapping[str, Any]) -> list[Finding]:
    findings = checking.check_head(head) + checking.check_usage(head)
    sealed: dict[Any, Any] = {}
    wanted: list[Any] = [*head["messages"], *head["resources"], *head["artifacts"]]
    for item in head["segments"]:
        for document in await backend.find("segments", {**part, "_id": item["i"]}, comment="check"):
            # Bodies of messages are not needed: ids and references are.
            sealed[document["_id"]] = [_facts(entry) for entry in document["e"]]
            wanted += sealed[document["_id"]]
    findings += checking.check_segments(head, sealed)
    changes = await backend.find("changes", {**part, "lin": head["lineage"]}, comment="check")
    findings += checking.check_ledger(head, changes)
    findings += await check_rows(backend, head)
    records = [record for document in changes for record in document["recs"]] + head["log"]
    bodies = [body for record in records for body in record.get("body", ())]
    bodies += [head["asides_body"]] if "asides_body" in head else []
    held: list[dict[str, Any]] = []
    if bodies:
        held = await backend.find("bodies", {**part, "_id": {"$in": bodies}}, {"e.blob": 1}, comment="check")
    gone = set(bodies) - {body["_id"] for body in held}
    detail = "what a change took out, or the asides, is missing"
    findings += [Finding("broken", "body_missing", decode_u64(head["_id"]), f"{id}: {detail}") for id in gone]
    wanted += [entry for record in records for entry in record.get("rm", ())]
    wanted += [entry for body in held for entry in body.get("e", ())]
    references = [one["blob"] for one in wanted if isinstance(one.get("blob"), dict)]
    for reference in references:
        ids = list(blob_piece_ids([reference]))
        pieces = await backend.find("blobs", {**part, "_id": {"$in": ids}}, {"_id": 1}, comment="check")
        if len(pieces) < len(ids):
            detail = f"blob {reference['b']} has {len(pieces)} of {len(ids)} pieces"
            findings.append(Finding("broken", "blob_missing", decode_u64(head["_id"]), detail))
    return findings


def _facts(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in ("id", "blob") if name in entry}


async def _leftovers(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, part: Mapping[str, Any], *, repair: bool
) -> list[Finding]:
    """Segments of this lineage that nothing names; in repair they are collected when older than an hour."""
    named = {item["i"] for item in head["segments"]}
    query = {**part, "lin": head["lineage"], "_id": {"$nin": list(named)}}
    loose = await backend.find("segments", query, {"_id": 1}, comment="check")
    found = [Finding("leftover", "segment", one["_id"], f"of conversation {owner['_id']}") for one in loose]
    old = [one["_id"] for one in loose if _age(backend, one["_id"]) > _HOUR]
    if repair and old:
        removed = await collect(backend, owner)
        found = [
            Finding(one.severity, one.kind, one.id, one.detail, repaired=one.id in old and removed > 0)
            for one in found
        ]
    return found


async def collect(backend: AsyncBackend, owner: Mapping[str, Any]) -> int:
    """Remove segments, blobs and bodies of the conversation that nothing refers to; how many went.

    The structure is raised first: a writer who stored a part for an earlier one can no longer bring it in.
    """
    query = {name: value for name, value in owner.items() if name in ("_id", "user")}
    head = await backend.modify("conversations", query, {"$inc": {"structure": 1}}, comment="collect")
    if head is None:
        return 0
    part = {"user": head["user"], "c": head["_id"], "lin": head["lineage"], "g": {"$lt": head["structure"]}}
    named = [item["i"] for item in head["segments"]]
    removed = await backend.delete("segments", {**part, "_id": {"$nin": named}}, comment="collect")
    own = {"user": head["user"], "c": head["_id"], "lin": head["lineage"]}
    records = list(head["log"])
    for document in await backend.find("changes", own, {"recs": 1}, comment="collect"):
        records += document["recs"]
    bodies = [body for record in records for body in record.get("body", ())]
    if "asides_body" in head:
        bodies.append(head["asides_body"])
    removed += await backend.delete("bodies", {**part, "_id": {"$nin": bodies}}, comment="collect")
    blobs = checking.referenced_blobs(head["messages"], head["resources"], head["artifacts"], records)
    for name, ids in (("segments", named), ("bodies", bodies)):
        for id in ids:
            held = await backend.find_one(
                name, {"user": head["user"], "c": head["_id"], "_id": id}, comment="collect"
            )
            if held is None:
                # Replaced since by one that names the same blobs: they are left to the next collection.
                return removed
            blobs |= checking.referenced_blobs(held["e"])
    removed += await backend.delete("blobs", {**part, "_id.b": {"$nin": list(blobs)}}, comment="collect")
    return removed


async def _headless(
    backend: AsyncBackend, name: str, user: str | None, report: CheckReport, *, repair: bool
) -> None:
    """Parts whose conversation is gone or has another lineage."""
    scope: dict[str, Any] = {} if user is None else {"user": user}
    group: dict[str, Any] = {
        "_id": {"user": "$user", "c": "$c", "lin": "$lin"},
        "n": {"$sum": 1},
        "newest": {"$max": _MADE[name]},
    }
    with backend.call("check"):
        rows = await backend.aggregate(name, [{"$match": scope}, {"$group": group}], comment="check")
    for row in rows:
        owner = {"_id": row["_id"]["c"], "user": row["_id"]["user"]}
        with backend.call("check"):
            head = await backend.find_one("conversations", owner, {"lineage": 1}, comment="check")
            if head is not None and head.get("lineage") == row["_id"]["lin"]:
                continue
            age = _age(backend, row["newest"])
            repaired = repair and age > _DAY
            if repaired:
                part = {"user": owner["user"], "c": owner["_id"], "lin": Int64(row["_id"]["lin"])}
                await backend.delete(name, part, comment="check")
        detail = f"{row['n']} of {name} belong to no conversation"
        report.findings.append(Finding("leftover", name, decode_u64(owner["_id"]), detail, repaired))


def _age(backend: AsyncBackend, made: Any) -> float:
    """Seconds since a random id was made, by its own clock, or since the end of an hour; 0 for what says
    neither.
    """
    if isinstance(made, int):
        return backend.now() / 1000 - (made + 1) * _HOUR
    if not isinstance(made, ObjectId):
        return 0.0
    return backend.now() / 1000 - made.generation_time.timestamp()
