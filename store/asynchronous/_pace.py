"""Time and concurrency of the asynchronous face: the only module of it that may import asyncio.

``store/synchronous/_pace.py`` is its twin, written by hand; each name here means the same there.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, Generic, TypeVar

from gridfs.asynchronous import AsyncGridFSBucket

from convostore.store.pacing import pause_before_next

__all__ = [
    "Beside",
    "Lock",
    "binding",
    "breathe",
    "bucket",
    "collect",
    "gather",
    "iterate",
    "monotonic",
    "pause",
    "run_blocking",
    "settle",
    "sleep",
]

T = TypeVar("T")

Lock = asyncio.Lock
monotonic = time.monotonic


async def sleep(seconds: float) -> None:
    """Let others run for ``seconds``."""
    await asyncio.sleep(seconds)


async def breathe() -> None:
    """Let others run before work goes on that waits for nothing."""
    await asyncio.sleep(0)


async def pause(attempt: int) -> None:
    """Wait, with jitter, after try number ``attempt`` (from 1) and before the next one."""
    await asyncio.sleep(pause_before_next(attempt))


async def gather(*calls: Callable[[], Awaitable[T]]) -> list[T]:
    """The results of ``calls``, in their order, run concurrently; the first error cancels the rest."""
    tasks = [asyncio.ensure_future(call()) for call in calls]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Beside(Generic[T]):
    """Calls that run beside the one who starts them; their results come in the order of starting."""

    def __init__(self) -> None:
        self._started: deque[asyncio.Future[T]] = deque()

    def __len__(self) -> int:
        """How many were started whose results were not taken."""
        return len(self._started)

    async def start(self, call: Callable[[], Awaitable[T]]) -> None:
        """Start one more."""
        self._started.append(asyncio.ensure_future(call()))
        await asyncio.sleep(0)

    async def next(self) -> T:
        """The result of the first one that was not taken, or its error."""
        return await self._started.popleft()

    async def close(self) -> None:
        """Wait for all; results and errors that were not taken are lost."""
        await asyncio.gather(*self._started, return_exceptions=True)
        self._started.clear()


async def collect(items: AsyncIterable[T]) -> list[T]:
    """Everything that ``items`` yields."""
    return [item async for item in items]


async def run_blocking(call: Callable[[], T]) -> T:
    """The result of ``call``, which blocks, from a thread of its own."""
    return await asyncio.to_thread(call)


def binding() -> tuple[int, object]:
    """What an open client belongs to, and is useless outside of: this process and its event loop."""
    return os.getpid(), asyncio.get_running_loop()


async def settle(value: Any) -> Any:
    """What the driver gave: awaited when it must be, as it is from a driver that answers at once."""
    return await value if inspect.isawaitable(value) else value


async def iterate(cursor: Any) -> AsyncIterator[Any]:
    """The documents of a driver's cursor, whether it is asynchronous or, as a test double's, not."""
    if hasattr(cursor, "__aiter__"):
        async for document in cursor:
            yield document
    else:
        for document in cursor:
            yield document


def bucket(engine: str, database: Any, name: str) -> Any:
    """The driver's GridFS bucket of a database: pymongo's, or Motor's."""
    if engine == "motor":
        from motor.motor_asyncio import AsyncIOMotorGridFSBucket

        return AsyncIOMotorGridFSBucket(database, name)
    return AsyncGridFSBucket(database, name)
