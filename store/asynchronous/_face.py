"""What all calls of the store need: the opened database, and the filter that names one conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from convostore.store import parameters
from convostore.store.asynchronous import (
    _reading,
)
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._connecting import AsyncConnection
from convostore.store.codec import encode_u64

__all__ = ["StoreFace"]


class StoreFace:
    """A database, opened or to be opened at first use."""

    _connection: AsyncConnection | None
    _backend: AsyncBackend | None
    _ids: Callable[[], int] | None

    async def _opened(self) -> AsyncBackend:
        if self._connection is not None:
            return await self._connection.open()
        assert self._backend is not None
        return self._backend

    async def _owner(self, id: Any, user: Any, call: str) -> tuple[AsyncBackend, dict[str, Any]]:
        """The database and the filter that names one conversation."""
        checked = parameters.conversation_id(id)
        owner = parameters.one_user(user)
        backend = await self._opened()
        query: dict[str, Any] = {"_id": encode_u64(checked)}
        if owner is not None:
            query["user"] = owner
        elif backend.is_sharded():
            with backend.call(call):
                head = await _reading.read_head(backend, query, {"user": 1}, comment=call)
            query["user"] = head["user"]
        return backend, query
