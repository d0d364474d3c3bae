"""Stores in memory, for unit tests of programs that use this library. Needs mongomock; nothing is kept.

A double, not the real thing: ``CAPABILITIES["mongomock"]`` says what it can do, and everything runs one call
at a time. What matters about concurrency and failures is to be tested on a real server, which ``embedded:``
runs.
"""

from __future__ import annotations

from collections.abc import Callable

from convostore.store.asynchronous.store import AsyncConversationStore
from convostore.store.synchronous.store import ConversationStore

__all__ = ["async_memory_store", "memory_store"]


def memory_store(
    *, clock: Callable[[], int] | None = None, ids: Callable[[], int] | None = None
) -> ConversationStore:
    """A store of its own on a fresh mongomock database, set up.

    >>> from convostore.schemas import Conversation
    >>> store = memory_store()
    >>> store.create(Conversation(user="alice", messages=[{"role": "user", "content": "hi"}])).id
    1
    """
    import mongomock

    store = ConversationStore(mongomock.MongoClient().convostore, clock=clock, ids=ids)
    store.setup()
    return store


async def async_memory_store(
    *, clock: Callable[[], int] | None = None, ids: Callable[[], int] | None = None
) -> AsyncConversationStore:
    """The same with the asynchronous face."""
    import mongomock

    store = AsyncConversationStore(mongomock.MongoClient().convostore, clock=clock, ids=ids)
    await store.setup()
    return store
