"""Messages that lie apart: their pieces are stored before the entry that refers to them, and joined on
reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.codec import blob_piece_ids
from convostore.store.heads import Head
from convostore.store.runs import NewEntry, blob_references, pieces_of

__all__ = ["drop_pieces", "read_blobs", "store_pieces", "store_raw"]

_TOGETHER = 8 << 20  # bytes of the pieces of one insert, which holds them twice
_PER_READ = 256


async def store_pieces(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    head: Head,
    entries: Iterable[NewEntry],
    *,
    comment: str,
) -> None:
    """Store every piece of these entries for the head's structure, so that the collector spares them.

    The write that refers to them must be guarded by that structure; when it has moved, they must be stored
    again under new ids (:func:`convostore.store.runs.renewed`).
    """
    await store_raw(backend, owner, head, pieces_of(entries), comment=comment)


async def store_raw(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    head: Head,
    pieces: Sequence[tuple[ObjectId, int, bytes]],
    *,
    comment: str,
) -> None:
    """Store pieces given by blob id, place and bytes."""
    documents: list[dict[str, Any]] = []
    size = 0
    for blob, place, data in pieces:
        if documents and size + len(data) > _TOGETHER:
            await backend.insert_own("blobs", documents, comment=comment)
            documents, size = [], 0
        size += len(data)
        documents.append(
            {
                "_id": {"b": blob, "k": place},
                "user": head["user"],
                "c": owner["_id"],
                "lin": Int64(head["lineage"]),
                "g": head["structure"],
                "data": data,
            }
        )
    await backend.insert_own("blobs", documents, comment=comment)


async def drop_pieces(
    backend: AsyncBackend, user: str, conversation: Any, entries: Iterable[NewEntry], *, comment: str
) -> None:
    """Delete pieces of entries that were not stored and, the structure having moved, never will be."""
    ids = list(blob_piece_ids(blob_references(entry.stored for entry in entries)))
    if ids:
        query = {"user": user, "c": conversation, "_id": {"$in": ids}}
        await backend.delete("blobs", query, comment=comment)


async def read_blobs(
    backend: AsyncBackend,
    user: str,
    conversation: Any,
    references: Iterable[Mapping[str, Any]],
    *,
    comment: str,
) -> dict[ObjectId, bytes] | None:
    """The joined bytes of each blob; None when a piece is missing, so that the head must be read again."""
    ids = list(blob_piece_ids(references))
    pieces: dict[ObjectId, dict[int, bytes]] = {}
    for start in range(0, len(ids), _PER_READ):
        wanted = ids[start : start + _PER_READ]
        query = {"user": user, "c": conversation, "_id": {"$in": wanted}}
        found = await backend.find("blobs", query, {"data": 1}, comment=comment)
        if len(found) < len(wanted):
            return None
        for piece in found:
            pieces.setdefault(piece["_id"]["b"], {})[piece["_id"]["k"]] = piece["data"]
    return {blob: b"".join(held[place] for place in sorted(held)) for blob, held in pieces.items()}
