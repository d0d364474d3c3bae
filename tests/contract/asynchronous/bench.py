"""What the tests of transcripts and history work with: a store on a real server, its clock, its commands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import bson
from pymongo import AsyncMongoClient, MongoClient

from convostore.schemas.conversations import Conversation
from convostore.store.asynchronous.store import AsyncConversationStore
from convostore.store.layout import Bounds
from support.command_log import CommandLog

USER = "alice"

BOUNDS = Bounds(
    keep=3,
    soft_count=6,
    hard_count=10,
    step=1,
    bulk_count=8,
    merge_width=2,
    segment_count=12,
    log_soft=6,
    log_keep=3,
)
"""So small that a few dozen changes seal messages and history, merge, and rewrite what is sealed."""


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_790_848_800_000

    def __call__(self) -> int:
        return self.now


@dataclass
class Bench:
    """A store that is set up. ``plain`` is a driver's database of the test's own."""

    store: AsyncConversationStore
    database: Any
    clock: Clock
    log: CommandLog
    plain: Any

    def another(self, bounds: Bounds = BOUNDS) -> AsyncConversationStore:
        """One more store on the same data, as another process would open it."""
        return AsyncConversationStore(self.database, clock=self.clock, bounds=bounds)

    async def create(self, *messages: Any, **members: Any) -> int:
        """A new conversation of alice's; its id."""
        record = Conversation(**{"user": USER, **members}, messages=list(messages))
        return (await self.store.create(record)).id

    def holding(self, text: str) -> list[str]:
        """The collections with a document whose bytes hold the text."""
        wanted = text.encode()
        names = self.plain.list_collection_names()
        return sorted(name for name in names if any(wanted in raw for raw in self.raw(name)))

    def raw(self, name: str) -> Iterator[bytes]:
        """Every document of a collection as BSON."""
        return (bson.encode(document) for document in self.plain[name].find())

    def count(self) -> dict[str, int]:
        """How many documents each collection has."""
        return {name: self.plain[name].count_documents({}) for name in self.plain.list_collection_names()}


@asynccontextmanager
async def bench(uri: str, database: str, bounds: Bounds = BOUNDS) -> AsyncIterator[Bench]:
    """A bench on a server."""
    log, clock = CommandLog(), Clock()
    async with AsyncMongoClient[dict[str, Any]](uri, event_listeners=[log]) as client:
        with MongoClient[dict[str, Any]](uri) as plain:
            store = AsyncConversationStore(client[database], clock=clock, bounds=bounds)
            await store.setup()
            yield Bench(store, client[database], clock, log, plain[database])
