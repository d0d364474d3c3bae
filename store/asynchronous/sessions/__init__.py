"""Saved sessions, ``rig-session/4``: read, written, forked, rewritten (``spec/rig.md`` 7)."""

from convostore.store.asynchronous.sessions.copying import fork, rewrite
from convostore.store.asynchronous.sessions.database import AsyncMongoSessionStore
from convostore.store.asynchronous.sessions.reading import (
    Agent,
    AsyncSession,
    as_of,
    history,
    load,
    read_conversation,
)
from convostore.store.asynchronous.sessions.saving import save
from convostore.store.asynchronous.sessions.stores import AsyncDirectorySessionStore, AsyncSessionStore
from convostore.store.asynchronous.sessions.writing import AsyncSessionWriter

__all__ = [
    "Agent",
    "AsyncDirectorySessionStore",
    "AsyncMongoSessionStore",
    "AsyncSession",
    "AsyncSessionStore",
    "AsyncSessionWriter",
    "as_of",
    "fork",
    "history",
    "load",
    "read_conversation",
    "rewrite",
    "save",
]
