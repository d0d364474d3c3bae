"""Asides: in the head while they are few, apart in ``bodies`` when they are many: appends must not carry them
along.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.schemas.errors import TooLargeError
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.codec import document_size
from convostore.store.heads import Head

__all__ = ["aside_rows", "read_asides", "store_asides"]

_INLINE = 16 * 1024
_MOST = 12 * 1024 * 1024


async def aside_rows(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, *, comment: str
) -> list[dict[str, Any]] | None:
    """The asides as they are stored, by id; None when they were replaced meanwhile."""
    if "asides_body" not in head:
        return list(head.get("asides", ()))
    query = {"user": head["user"], "c": owner["_id"], "_id": head["asides_body"]}
    body = await backend.find_one("bodies", query, comment=comment)
    return None if body is None else list(body["asides"])


async def read_asides(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, *, comment: str
) -> dict[int, Any] | None:
    """The asides by id, each as its JSON; None when they were replaced meanwhile."""
    rows = await aside_rows(backend, owner, head, comment=comment)
    return None if rows is None else {row["id"]: json.loads(row["aside"]) for row in rows}


async def store_asides(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    head: Head,
    rows: Sequence[Mapping[str, Any]],
    *,
    comment: str,
) -> dict[str, Any]:
    """The member of the head that says the asides: themselves, or where they are stored now; none for none.

    Raises:
        TooLargeError: together they are above 12 MiB.

    """
    size = document_size({"asides": list(rows)})
    if size > _MOST:
        raise TooLargeError("the asides of the conversation", size, _MOST)
    if size <= _INLINE:
        return {"asides": list(rows)} if rows else {}
    body = {
        "_id": ObjectId(),
        "user": head["user"],
        "c": owner["_id"],
        "lin": Int64(head["lineage"]),
        "g": head["structure"],
        "asides": list(rows),
        "e": [],
    }
    await backend.insert_own("bodies", [body], comment=comment)
    return {"asides_body": body["_id"]}
