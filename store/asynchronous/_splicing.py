"""Carrying out a splice: what it touches is read, the new runs are stored,
one guarded update makes it true.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from convostore.schemas.errors import UnavailableError
from convostore.store import sealing, splicing
from convostore.store.appending import needs_log_seal
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import store_pieces
from convostore.store.asynchronous._sealing import keep_house, store_segments, swap
from convostore.store.codec import document_size
from convostore.store.heads import Head, embedded
from convostore.store.manifest import Item, sealed_count
from convostore.store.runs import StoredEntry, cut_into_segments

__all__ = ["Spliced", "read_segments", "seal_up_to", "splice"]

_LARGE_RECORDS = 4096  # bytes: entries taken out lie in them


class Spliced(NamedTuple):
    """A splice that was carried out, the version it made, and the manifest since."""

    placed: splicing.Placed
    version: int
    manifest: list[Item]


async def read_segments(
    backend: AsyncBackend, owner: Mapping[str, Any], user: str, items: list[Item], *, comment: str
) -> list[Any] | None:
    """The entries of those segments in order; None when one is gone, so that the head must be read again."""
    if not items:
        return []
    query = {"user": user, "c": owner["_id"], "_id": {"$in": [item["i"] for item in items]}}
    found = await backend.find("segments", query, {"e": 1}, comment=comment)
    by_id = {document["_id"]: document["e"] for document in found}
    if len(by_id) < len(items):
        return None
    return [entry for item in items for entry in by_id[item["i"]]]


async def splice(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    head: Head,
    asked: splicing.Splice,
    *,
    comment: str,
    held: list[StoredEntry] | None = None,
) -> Spliced | None:
    """Carry out the splice on the head as read; None when another writer came in between.

    ``held`` are the entries of the segments it touches, when the caller has read them.

    Raises:
        Unclear: it may have been applied and the database did not come back to tell.

    """
    span = splicing.reach(head, asked)
    touched = head["segments"][span.first : span.last]
    if held is None:
        held = await read_segments(backend, owner, head["user"], touched, comment=comment)
    if held is None:
        return None
    placed = splicing.place(head, asked, held, backend.bounds)
    owner = {**owner, "user": head["user"]}
    await store_pieces(backend, owner, head, asked.entries, comment=comment)
    bodies = [] if asked.records else splicing.removed_bodies(placed.removed, head, owner["_id"])
    await backend.insert_own("bodies", bodies, comment=comment)
    items = await store_segments(backend, owner, head, list(placed.segments))
    query, update = splicing.update_for(
        owner, head, asked, placed, items, [document["_id"] for document in bodies]
    )
    done = await swap(
        backend, owner, query, update, items, structure=head["structure"], comment=comment, key=asked.key
    )
    if done is None:
        return None
    heavy = document_size(update["$push"]["log"]) > _LARGE_RECORDS
    if needs_log_seal(done, backend.bounds, heavy=heavy):
        await keep_house(backend, owner, messages=False, log=True)
    if touched:
        gone = [item["i"] for item in touched]
        await backend.delete(
            "segments", {"user": head["user"], "c": owner["_id"], "_id": {"$in": gone}}, comment=comment
        )
    return Spliced(placed, int(done["version"]), splicing.manifest_after(head, placed, items))


async def seal_up_to(backend: AsyncBackend, owner: Mapping[str, Any], head: Head, stop: int) -> None:
    """Seal the embedded run up to position ``stop``: an edit there then commutes with appends."""
    sealed = sealed_count(head["segments"])
    run = embedded(head)[: stop - sealed]
    if not run:
        return
    owner = {**owner, "user": head["user"]}
    items = await store_segments(backend, owner, head, cut_into_segments(run, backend.bounds))
    query, update = sealing.message_cut(owner, head, len(run), items)
    await swap(backend, owner, query, update, items, structure=head["structure"], comment="seal")


def gave_up(call: str) -> UnavailableError:
    """The error of a guarded write that lost to other writers at every try."""
    return UnavailableError(f"{call}: other writers were faster at every try; repeat the call")
