"""Deleting and expiring. A tombstone in ``meta`` is written first, so a repeated call finishes what a crash
left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from bson.int64 import Int64

from convostore.schemas.conversations import ConversationStatus, period_of
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._keeping import drop_figures, keep_figures
from convostore.store.asynchronous._lifting import present
from convostore.store.asynchronous._rows import HEAD
from convostore.store.codec import encode_u64
from convostore.store.faults import Unclear
from convostore.store.heads import Head
from convostore.store.results import Deleted

__all__ = ["Figures", "delete", "delete_expired", "expired", "finish"]

Figures: TypeAlias = Literal["keep", "drop"]

PARTS = ("segments", "blobs", "bodies", "changes")
_BATCH = 200
_TRIES = 2
"""After so many the conversation goes although a writer does not rest; the reply has what came in."""


async def delete(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    guard: Mapping[str, Any] | None = None,
    *,
    figures: Figures = "keep",
) -> Deleted:
    """Remove the conversation and every part of it; what a crashed call left of it goes too."""
    keeps = figures == "keep"
    fields = HEAD if keeps else {"user": 1, "lineage": 1, "schema_version": 1}
    removed: Head | None = None
    for attempt in backend.attempts():
        head = await backend.find_one("conversations", {**owner, **(guard or {})}, fields, comment="delete")
        if head is not None:
            head = await present(backend, owner, head, fields, comment="delete")
        if head is None:
            break
        tombstone = {"deletion": {"user": head["user"], "c": owner["_id"], "lin": head["lineage"]}}
        noted = {"figures": figures, **({"head": head} if keeps else {})}
        await backend.put(
            "meta",
            {"_id": tombstone},
            {"$setOnInsert": {"at": backend.now()}, "$set": noted},
            comment="delete",
        )
        query = {**owner, **(guard or {}), "user": head["user"], "lineage": head["lineage"]}
        if keeps and attempt <= _TRIES:
            query["version"] = head["version"]  # the figures are those of this version
        removed = await _remove_head(backend, query, fields)
        if removed is not None:
            break
        guarded = {**owner, **(guard or {})}
        if guard and await backend.find_one("conversations", guarded, {"_id": 1}, comment="delete") is None:
            # It changed between the look and the delete and is to stay.
            await backend.delete("meta", {"_id": tombstone}, comment="delete")
            return Deleted(False)
        await _pace.pause(attempt)
    counts = Counter[str]()
    for left in await _tombstones(backend, owner):
        if removed and keeps and left["_id"]["deletion"]["lin"] == removed["lineage"]:
            left["head"] = removed
        counts += await _remove_parts(backend, left)
    if not keeps:
        await drop_figures(backend, owner)
    return Deleted(removed is not None, counts["segments"], counts["blobs"], counts["changes"])


async def finish(backend: AsyncBackend, deletion: Mapping[str, Any]) -> None:
    """Remove what a crash left of a conversation that was being deleted; one that is still there stays."""
    head = {"_id": deletion["c"], "user": deletion["user"], "lineage": deletion["lin"]}
    if await backend.find_one("conversations", head, {"_id": 1}, comment="delete") is None:
        left = await backend.find_one("meta", {"_id": {"deletion": deletion}}, comment="delete")
        if left is not None:
            await _remove_parts(backend, left)
    else:
        await backend.delete("meta", {"_id": {"deletion": deletion}}, comment="delete")


async def _remove_parts(backend: AsyncBackend, left: Mapping[str, Any]) -> Counter[str]:
    """Settle the figures, remove the parts and then the tombstone ``left``; how many there were of each."""
    deletion = left["_id"]["deletion"]
    if "head" in left:
        await keep_figures(backend, left["head"])
        # What they are made from goes next: they are not to be made again.
        settled = {"$unset": {"head": ""}}
        await backend.update_many("meta", {"_id": {"deletion": deletion}}, settled, comment="delete")
    counts = Counter[str]()
    part = {"user": deletion["user"], "c": deletion["c"], "lin": deletion["lin"]}
    for name in PARTS:
        # Counted first: a delete whose reply was lost does not tell how many went.
        counts[name] = len(await backend.find(name, part, {"_id": 1}, comment="delete"))
        if counts[name]:
            await backend.delete(name, part, comment="delete")
    if left.get("figures") == "drop":
        gone = {"_id": deletion["c"], "user": deletion["user"]}
        await drop_figures(backend, gone, Int64(deletion["lin"]))
    await backend.delete("meta", {"_id": {"deletion": deletion}}, comment="delete")
    return counts


async def _remove_head(
    backend: AsyncBackend, query: Mapping[str, Any], fields: Mapping[str, Any]
) -> Head | None:
    """The head that was removed, empty when the reply was lost; None when none fits."""
    for attempt in backend.attempts():
        try:
            return await backend.remove("conversations", query, fields, comment="delete")
        except Unclear:
            if backend.is_last(attempt):
                raise
            await _pace.pause(attempt)
            life = {name: query[name] for name in ("_id", "user", "lineage")}
            if await backend.find_one("conversations", life, {"_id": 1}, comment="delete") is None:
                return {}
    return None


async def _tombstones(backend: AsyncBackend, owner: Mapping[str, Any]) -> list[dict[str, Any]]:
    query = {"_id.deletion.c": owner["_id"]}
    if "user" in owner:
        query["_id.deletion.user"] = owner["user"]
    return await backend.find("meta", query, comment="delete")


def expired(
    user: str | None,
    before_ms: int,
    by: Literal["created", "updated"],
    include: Sequence[ConversationStatus],
) -> dict[str, Any]:
    """The filter of what has expired: whole hours, as Anda counts them, and nothing still to be run."""
    cutoff = period_of(before_ms)
    spared = {ConversationStatus.SUBMITTED, ConversationStatus.WORKING} - set(include)
    # What lies there as somebody put it does not expire before it was taken over.
    query: dict[str, Any] = {"period": {"$lt": encode_u64(cutoff)}, "schema_version": {"$exists": True}}
    if spared:
        query["status"] = {"$nin": sorted(member.value for member in spared)}
    if user is not None:
        query["user"] = user
    if by == "updated":
        query["updated_at"] = {"$lt": encode_u64(cutoff * 3_600_000)}
    return query


async def delete_expired(
    backend: AsyncBackend,
    user: str | None,
    before_ms: int,
    by: Literal["created", "updated"],
    include: Sequence[ConversationStatus],
    figures: Figures,
) -> int:
    """Delete what has expired, one conversation after the other; how many went.

    The timeout is each conversation's.
    """
    query = expired(user, before_ms, by, include)
    removed = 0
    kept: list[Any] = []
    while True:
        with backend.call("delete_expired"):
            batch = await backend.find(
                "conversations",
                {**query, "_id": {"$nin": kept}} if kept else query,
                {"_id": 1, "user": 1},
                comment="delete_expired",
                limit=_BATCH,
            )
        for found in batch:
            with backend.call("delete_expired"):
                owner = {"_id": found["_id"], "user": found["user"]}
                done = await delete(backend, owner, query, figures=figures)
            removed += done.existed
            if not done.existed:
                kept.append(found["_id"])
        if len(batch) < _BATCH:
            return removed
