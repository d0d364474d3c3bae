"""One guarded change of a head, applied once whatever happens to its replies.

The change puts its key into ``recent`` (calls that leave no change record) or into ``log``; a repeat that
finds the key there has been applied already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._reading import read_head
from convostore.store.asynchronous._records import has_record
from convostore.store.asynchronous._splicing import gave_up
from convostore.store.faults import Unclear
from convostore.store.heads import HEAD_FIELDS, WITHOUT_LISTS, Head
from convostore.store.history import Key
from convostore.store.layout import Limits

__all__ = ["Planned", "apply_once", "find_recent", "readable", "with_key"]

Planned: TypeAlias = tuple[dict[str, Any], dict[str, Any]]


def with_key(
    query: Mapping[str, Any], update: Mapping[str, Any], key: Key, digest: int | None = None
) -> Planned:
    """The query and update with the key's guard and the key noted among the newest."""
    noted = {"k": key} if digest is None else {"k": key, "h": digest}
    pushes = {**update.get("$push", {}), "recent": {"$each": [noted], "$slice": -Limits.RECENT}}
    return {**query, "recent.k": {"$ne": key}}, {**update, "$push": pushes}


def find_recent(head: Head, key: Key) -> dict[str, Any] | None:
    """What the head noted of the key."""
    return next((noted for noted in head.get("recent", ()) if noted["k"] == key), None)


async def apply_once(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    key: Key,
    plan: Callable[[Head | None], Planned | None],
    *,
    comment: str,
    fields: Mapping[str, Any] = HEAD_FIELDS,
    repeated: Callable[[Head], Head] | None = None,
    look_first: bool = False,
) -> Head:
    """Apply the change that ``plan`` gives and return the head afterwards, as ``fields`` reads it.

    ``plan`` is called with None first, then, when that did not fit, with the head read without its lists: it
    raises why it cannot be, gives another change, or None when there is nothing to change. With
    ``look_first`` it is never called with None. ``repeated`` checks a head in which the key was found.

    Raises:
        NotFoundError: there is no such conversation for that user.
        UnavailableError: other writers were faster at every try.
        Unclear: the database did not come back to tell.

    """
    seen: Head | None = None
    if look_first:
        seen = await read_head(backend, owner, WITHOUT_LISTS, comment=comment)
    for attempt in backend.attempts():
        planned = plan(seen)
        if planned is None:
            return await read_head(backend, owner, readable(backend, fields), comment=comment)
        query, update = planned
        try:
            head = await backend.modify(
                "conversations", query, update, readable(backend, fields), comment=comment
            )
            if head is not None:
                return head
        except Unclear:
            if backend.is_last(attempt):
                raise
            await _pace.pause(attempt)
        if seen is not None:
            if backend.is_last(attempt):
                break
            await _pace.pause(attempt)
        seen = await read_head(backend, owner, WITHOUT_LISTS, comment=comment)
        if find_recent(seen, key) is not None or await has_record(backend, owner, seen, key, comment=comment):
            if repeated is not None:
                repeated(seen)
            return await read_head(backend, owner, readable(backend, fields), comment=comment)
    raise gave_up(comment)


def readable(backend: AsyncBackend, fields: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The fields to read, or all where the engine cannot compute some."""
    # mongomock knows no expressions in a projection.
    return None if backend.engine == "mongomock" and "opening" in fields else fields
