"""Looking for the change record of a call, wherever it lies: what tells that the call was applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.heads import Head
from convostore.store.history import Key, find_record

__all__ = ["has_record"]


async def has_record(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, key: Key, *, comment: str
) -> bool:
    """Whether a record with the key is stored: in the head's log, or, since, among the sealed ones.

    The head must have been read with ``user``, ``lineage``, ``log`` and ``log_start``.
    """
    if find_record(head["log"], [key]) is not None:
        return True
    if not head["log_start"]:
        return False
    query = {"user": head["user"], "c": owner["_id"], "lin": head["lineage"], "keys": key}
    return await backend.find_one("changes", query, {"_id": 1}, comment=comment) is not None
