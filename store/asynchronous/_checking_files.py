"""The doctor's look at the bytes of large resources: those that are missing, and those that nothing names."""

from __future__ import annotations

from typing import Any

from bson.objectid import ObjectId

from convostore.store.asynchronous import _files
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._listing import walk
from convostore.store.codec import decode_u64
from convostore.store.results import Finding

__all__ = ["check_files"]

_CALL = "check"
_AT_ONCE = 500
_DAY = 86_400
"""Bytes that nothing names may be those of a call that goes on; older ones are a crash's."""


async def check_files(backend: AsyncBackend, user: str | None, *, repair: bool) -> list[Finding]:
    """Resources of the user, or of all, whose bytes are gone; of all, also bytes that no resource names."""
    if backend.engine == "mongomock":
        return []
    findings: list[Finding] = []
    named: set[Any] = set()
    batch: dict[Any, dict[str, Any]] = {}
    query: dict[str, Any] = {"file": {"$exists": True}, **({} if user is None else {"user": user})}
    async for row in walk(backend, "resources", query, {"file": 1, "user": 1}, comment=_CALL):
        named.add(row["file"])
        batch[row["file"]] = row
        if len(batch) == _AT_ONCE:
            findings += await _without_bytes(backend, batch)
            batch = {}
    findings += await _without_bytes(backend, batch)
    if user is None:
        findings += await _without_names(backend, named, repair=repair)
    return findings


async def _without_bytes(backend: AsyncBackend, rows: dict[Any, dict[str, Any]]) -> list[Finding]:
    findings = []
    with backend.call(_CALL):
        gone = rows.keys() - await _files.whole(backend, list(rows))
        for row in (rows[file] for file in gone):
            same = {"_id": row["_id"], "user": row["user"], "file": row["file"]}
            if await backend.find_one("resources", same, {"_id": 1}, comment=_CALL) is not None:
                detail = "its bytes are not there, or not all"
                findings.append(Finding("broken", "resource_bytes", decode_u64(row["_id"]), detail))
    return findings


async def _without_names(backend: AsyncBackend, named: set[Any], *, repair: bool) -> list[Finding]:
    findings = []
    with backend.call(_CALL):
        loose = await _files.every_id(backend) - named
    for id in sorted(one for one in loose if isinstance(one, ObjectId)):
        if backend.now() / 1000 - id.generation_time.timestamp() < _DAY:
            continue
        with backend.call(_CALL):
            if await backend.find_one("resources", {"file": id}, {"_id": 1}, comment=_CALL) is not None:
                continue
            if repair:
                await _files.delete(backend, id)
        findings.append(Finding("leftover", "file", str(id), "bytes that no resource names", repaired=repair))
    return findings
