"""What a contract works with: an empty store, its clock, and further stores on the same data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from convostore.schemas.conversations import Conversation
from convostore.schemas.json_values import JSON
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend, wall_clock
from convostore.store.asynchronous.store import AsyncConversationStore
from convostore.store.conformance.samples import BOUNDS, HOUR_MS, series
from convostore.store.layout import COLLECTIONS, Bounds

__all__ = ["AsyncBench", "Clock"]


class Clock:
    """A clock that stands still until it is moved. It begins in the middle of the present hour."""

    def __init__(self) -> None:
        self.now = wall_clock() // HOUR_MS * HOUR_MS + HOUR_MS // 2

    def __call__(self) -> int:
        """The time, milliseconds since 1970."""
        return self.now

    def advance(self, ms: int) -> None:
        """Move it on, or with a negative number back."""
        self.now += ms


class AsyncBench:
    """One contract's bench. ``store`` has tiny bounds, so that a dozen messages are a long conversation.

    ``opener`` is :class:`AsyncConversationStore`, or whatever is to be tested in its place: it is called as
    that class is.
    """

    def __init__(
        self, database: Any, prefix: str, opener: Callable[..., AsyncConversationStore], *, timeout: float
    ) -> None:
        self._database = database
        self._prefix = prefix
        self._opener = opener
        self._timeout = timeout
        self.clock = Clock()
        self.backend = AsyncBackend(database, prefix=prefix, clock=self.clock, bounds=BOUNDS)
        self.store = self.another()

    def renewed(self) -> AsyncBench:
        """The same with a fresh clock and a fresh store."""
        return AsyncBench(self._database, self._prefix, self._opener, timeout=self._timeout)

    def another(
        self, *, bounds: Bounds = BOUNDS, ids: Callable[[], int] | None = None
    ) -> AsyncConversationStore:
        """One more store on the same data and clock, as another process would open it."""
        return self._opener(
            self._database,
            prefix=self._prefix,
            clock=self.clock,
            ids=ids,
            timeout=self._timeout,
            bounds=bounds,
        )

    async def create(self, *messages: JSON, **members: Any) -> Conversation:
        """A new conversation of alice's with these messages."""
        record = Conversation(**{"user": "alice", **members}, messages=list(messages))
        return await self.store.create(record)

    async def long(self, count: int, *, step: int = 3, **members: Any) -> Conversation:
        """A conversation that grew by so many messages in appends of ``step``, its older ones sealed."""
        record = await self.create(**members)
        for first in range(0, count, step):
            await self.store.append(record.id, series(min(step, count - first), first))
        return await self.store.get(record.id)

    async def clear(self) -> None:
        """Empty every collection of the store; what ``setup`` made stays."""
        for name in COLLECTIONS:
            kept = {"_id": {"$ne": "schema"}} if name == "meta" else {}
            await self.backend.delete(name, kept, comment="conformance")

    async def drop(self) -> None:
        """Remove every collection of the store."""
        names = await _pace.settle(self._database.list_collection_names())
        for name in names:
            if name.startswith(self._prefix):
                await _pace.settle(self._database.drop_collection(name))
