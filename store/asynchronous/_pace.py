"""Time and concurrency of the asynchronous face: the only module of it that may import asyncio.

``store/synchronous/_pace.py`` is its twin, written by hand; each name here means the same there.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import TypeVar

from convostore.store.pacing import pause_before_next

__all__ = ["Lock", "binding", "collect", "gather", "monotonic", "pause", "run_blocking", "sleep"]

T = TypeVar("T")

Lock = asyncio.Lock
monotonic = time.monotonic


async def sleep(seconds: float) -> None:
    """Let others run for ``seconds``."""
    await asyncio.sleep(seconds)


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


async def collect(items: AsyncIterable[T]) -> list[T]:
    """Everything that ``items`` yields."""
    return [item async for item in items]


async def run_blocking(call: Callable[[], T]) -> T:
    """The result of ``call``, which blocks, from a thread of its own."""
    return await asyncio.to_thread(call)


def binding() -> tuple[int, object]:
    """What an open client belongs to, and is useless outside of: this process and its event loop."""
    return os.getpid(), asyncio.get_running_loop()
