"""Reading a conversation's past: its records, what they took out, its state at any revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from convostore.schemas.errors import NotFoundError, QueryError, UnavailableError
from convostore.store import timeline
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._asides import read_asides
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import read_blobs
from convostore.store.asynchronous._reading import complete, read_head
from convostore.store.codec import decode_u64
from convostore.store.heads import Head
from convostore.store.runs import StoredEntry, blob_references
from convostore.store.timeline import Moment

__all__ = ["Numbered", "moment_at", "past", "present", "records_after", "removed_by"]

Numbered = tuple[int, dict[str, Any]]
_TRIES = 20


async def records_after(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, revision: int, *, comment: str
) -> list[Numbered]:
    """The records behind ``revision`` with their numbers, oldest first."""
    start = int(head["log_start"])
    found: list[Numbered] = []
    if revision < start:
        query = {"user": head["user"], "c": owner["_id"], "lin": head["lineage"], "to": {"$gt": revision}}
        sealed = await backend.find("changes", query, comment=comment)
        for document in sorted(sealed, key=lambda one: int(one["_id"]["from"])):
            first = int(document["_id"]["from"])
            rows = enumerate(document["recs"], first)
            found += [(number, row) for number, row in rows if revision < number <= start]
    found += [(number, record) for number, record in enumerate(head["log"], start + 1) if number > revision]
    if len(found) != int(head["revision"]) - max(revision, 0):
        raise UnavailableError(
            f"{comment}: the history of conversation {decode_u64(owner['_id'])} has a gap; run check"
        )
    return found


async def removed_by(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, record: Mapping[str, Any], *, comment: str
) -> list[StoredEntry]:
    """The entries a record took out, in their order, wherever they lie."""
    bodies = record.get("body")
    if not bodies:
        return list(record.get("rm", ()))
    query = {"user": head["user"], "c": owner["_id"], "_id": {"$in": list(bodies)}}
    found = {one["_id"]: one["e"] for one in await backend.find("bodies", query, comment=comment)}
    if len(found) < len(bodies):
        raise UnavailableError(
            f"{comment}: removed entries of revision at {record['at']} are missing; run check"
        )
    return [entry for body in bodies for entry in found[body]]


async def present(backend: AsyncBackend, owner: Mapping[str, Any], *, comment: str) -> tuple[Head, Moment]:
    """The head with its log, and the conversation as it is now."""
    for attempt in range(1, _TRIES + 1):
        head = await read_head(backend, owner, {"recent": 0}, comment=comment)
        entries = await complete(backend, owner, head, comment=comment)
        asides = await read_asides(backend, owner, head, comment=comment)
        if entries is not None and asides is not None:
            moment = Moment(
                entries, asides, head.get("halt"), int(head["next_entry"]), int(head.get("next_aside", 0))
            )
            return head, moment
        await _pace.pause(attempt)
    raise UnavailableError(f"{comment}: the conversation was being rewritten at every try; try again")


async def moment_at(
    backend: AsyncBackend, owner: Mapping[str, Any], revision: int, *, comment: str
) -> tuple[Head, Moment]:
    """The conversation as it was at a revision: the present, gone back.

    Raises:
        QueryError: there is no such revision.

    """
    head, moment = await present(backend, owner, comment=comment)
    if not 0 <= revision <= int(head["revision"]):
        raise QueryError("revision", f"must be from 0 to {head['revision']}, not {revision}")
    for _, record in reversed(await records_after(backend, owner, head, revision, comment=comment)):
        timeline.go_back(moment, record, await removed_by(backend, owner, head, record, comment=comment))
    return head, moment


async def past(
    backend: AsyncBackend, owner: Mapping[str, Any], *, comment: str
) -> tuple[Head, list[Numbered]]:
    """The head and all its records, oldest first."""
    head = await read_head(backend, owner, {"messages": 0, "recent": 0}, comment=comment)
    return head, await records_after(backend, owner, head, 0, comment=comment)


def revision_before(records: Sequence[Numbered], time: int) -> int:
    """The number of the last record made at or before a time."""
    return max((number for number, record in records if record["at"] <= time), default=0)


async def blobs_for(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, moment: Moment, *, comment: str
) -> dict[Any, bytes]:
    """What the moment's entries hold apart."""
    wanted = blob_references(moment.entries)
    if not wanted:
        return {}
    found = await read_blobs(backend, head["user"], owner["_id"], wanted, comment=comment)
    if found is None:
        raise NotFoundError("blob", decode_u64(owner["_id"]))
    return found
