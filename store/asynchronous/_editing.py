"""Editing one entry, found by its id, wherever it lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convostore.schemas.errors import ConflictError, NotFoundError
from convostore.schemas.json_values import JSON, same_json
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._reading import blobs_of, read_head
from convostore.store.asynchronous._records import has_record
from convostore.store.asynchronous._splicing import gave_up, read_segments, seal_up_to, splice
from convostore.store.codec import decode_body
from convostore.store.faults import Unclear
from convostore.store.heads import Head, embedded
from convostore.store.manifest import sealed_count
from convostore.store.results import Saved
from convostore.store.runs import NewEntry, StoredEntry, encode_entries, renewed
from convostore.store.splicing import Splice

__all__ = ["edit"]

_CALL = "edit"
_PATIENCE = 3
"""Tries lost to appends before the run is sealed up to the entry, where appends do not matter."""


async def edit(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    id: int,
    message: JSON,
    *,
    author: Mapping[str, Any] | None,
    expected: int | None,
    finished: bool | None,
) -> Saved:
    """Put another message in an entry's place; it keeps its id, author and time.

    Raises:
        NotFoundError: there is no such conversation, or no entry of that id in it.
        ConflictError: the version is not the expected one.

    """
    now, key = backend.now(), backend.key()
    fresh = encode_entries([message], made=None)[0]
    doubted = False
    for attempt in backend.attempts():
        head = await read_head(backend, owner, {"resources": 0, "artifacts": 0, "recent": 0}, comment=_CALL)
        if doubted and await has_record(backend, owner, head, key, comment=_CALL):
            return Saved(int(head["version"]), ("messages",))
        if expected is not None and head["version"] != expected:
            raise ConflictError("version", expected=expected, actual=head["version"])
        found = await _find(backend, owner, head, id)
        if found is None:
            continue
        place, entry, held = found
        changed = _replaced(entry, fresh, finished)
        if await _is_same(backend, owner, head, entry, changed, message):
            return Saved(int(head["version"]))
        if attempt > _PATIENCE and place >= sealed_count(head["segments"]) and expected is None:
            await seal_up_to(backend, owner, head, place + 1)
            continue
        asked = Splice(
            place, place + 1, (changed,), (id,), key, now, author=author, guard_version=expected is not None
        )
        try:
            done = await splice(backend, owner, head, asked, comment=_CALL, held=held)
            if done is not None:
                return Saved(done.version, ("messages",))
        except Unclear:
            if backend.is_last(attempt):
                raise
            doubted = True
        fresh = renewed(fresh)
        await _pace.pause(attempt)
    raise gave_up(_CALL)


async def _find(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, id: int
) -> tuple[int, StoredEntry, list[StoredEntry]] | None:
    """The entry's position, itself, and its segment's entries, none when it is embedded; None when a segment
    was replaced meanwhile.
    """
    sealed = sealed_count(head["segments"])
    for place, entry in enumerate(embedded(head), sealed):
        if entry["id"] == id:
            return place, entry, []
    position = 0
    for item in head["segments"]:
        if item["lo"] <= id <= item["hi"]:
            entries = await read_segments(backend, owner, head["user"], [item], comment=_CALL)
            if entries is None:
                return None
            for place, entry in enumerate(entries, position):
                if entry["id"] == id:
                    return place, entry, entries
        position += item["n"]
    raise NotFoundError("entry", id)


def _replaced(entry: StoredEntry, fresh: NewEntry, finished: bool | None) -> NewEntry:
    facts = {name: value for name, value in entry.items() if name not in ("id", "m", "t", "blob")}
    if finished is not None:
        facts.pop("unfinished", None)
        if not finished:
            facts["unfinished"] = True
    return NewEntry({**facts, **fresh.stored}, fresh.size, fresh.pieces)


async def _is_same(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    head: Head,
    entry: StoredEntry,
    changed: NewEntry,
    message: JSON,
) -> bool:
    if entry.get("unfinished", False) != changed.stored.get("unfinished", False):
        return False
    if ("blob" in entry) != ("blob" in changed.stored):
        return False
    blobs = await blobs_of(backend, owner, head, [entry], comment=_CALL)
    return blobs is not None and same_json(decode_body(entry, blobs), message)
