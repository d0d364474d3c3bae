"""Reading a conversation's past: its records, what they took out, its state at any revision."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from convostore.schemas.errors import QueryError, UnavailableError
from convostore.store import timeline
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._asides import read_asides
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import read_blobs
from convostore.store.asynchronous._reading import complete, not_found, read_head
from convostore.store.codec import decode_u64
from convostore.store.heads import Head
from convostore.store.runs import StoredEntry, blob_references
from convostore.store.timeline import Moment

__all__ = [
    "Moved",
    "Numbered",
    "blobs_for",
    "moment_at",
    "past",
    "present",
    "records_after",
    "removed_by",
    "revision_before",
    "settled",
    "wait_until_settled",
]

T = TypeVar("T")

Numbered = tuple[int, dict[str, Any]]
_TRIES = 20


class Moved(UnavailableError):
    """Parts of a lineage were not there: it was rewritten or deleted while it was read, or it is broken."""

    def __init__(self, message: str, lineage: int) -> None:
        self.lineage = lineage
        super().__init__(message)


async def settled(
    backend: AsyncBackend, owner: Mapping[str, Any], read: Callable[[], Awaitable[T]], *, comment: str
) -> T:
    """What ``read`` gives, which is called again as often as the conversation was rewritten meanwhile.

    Raises:
        NotFoundError: it was deleted.
        Moved: it is broken.

    """
    for attempt in range(1, _TRIES + 1):
        try:
            return await read()
        except Moved as moved:
            await wait_until_settled(backend, owner, moved, attempt, comment=comment)
    raise AssertionError("unreachable")


async def wait_until_settled(
    backend: AsyncBackend, owner: Mapping[str, Any], moved: Moved, attempt: int, *, comment: str
) -> None:
    """Wait before try number ``attempt + 1`` to read what was rewritten meanwhile.

    Raises:
        NotFoundError: it was deleted.
        Moved: it was not rewritten, but is broken; or no try is left.

    """
    head = await backend.find_one("conversations", owner, {"lineage": 1}, comment=comment)
    if head is None:
        raise not_found(owner)
    if int(head["lineage"]) == moved.lineage or attempt >= _TRIES or backend.is_last(attempt):
        raise moved
    await _pace.pause(attempt)


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
        raise Moved(
            f"{comment}: the history of conversation {decode_u64(owner['_id'])} has a gap; run check",
            int(head["lineage"]),
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
        raise Moved(
            f"{comment}: removed entries of revision at {record['at']} are missing; run check",
            int(head["lineage"]),
        )
    return [entry for body in bodies for entry in found[body]]


class ReadEntries(Protocol):
    """Reads the entries of a head; None when some were replaced meanwhile."""

    async def __call__(
        self, backend: AsyncBackend, owner: Mapping[str, Any], head: Head, *, comment: str
    ) -> list[StoredEntry] | None: ...


async def present(
    backend: AsyncBackend, owner: Mapping[str, Any], *, comment: str, read: ReadEntries = complete
) -> tuple[Head, Moment]:
    """The head with its log, and the conversation as it is now, its entries as ``read`` gives them."""
    for attempt in range(1, _TRIES + 1):
        head = await read_head(backend, owner, {"recent": 0}, comment=comment)
        entries = await read(backend, owner, head, comment=comment)
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
    """What the moment's entries hold apart.

    Raises:
        Moved: some of it is not there.

    """
    wanted = blob_references(moment.entries)
    if not wanted:
        return {}
    found = await read_blobs(backend, head["user"], owner["_id"], wanted, comment=comment)
    if found is None:
        raise Moved(
            f"{comment}: a message of conversation {decode_u64(owner['_id'])} is missing; run check",
            int(head["lineage"]),
        )
    return found
