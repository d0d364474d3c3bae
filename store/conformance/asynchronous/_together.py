"""Doing things at the same time and for a limited time; the synchronous twin is written by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from convostore.store.conformance.expectations import Broken

__all__ = ["limited", "together"]


async def together(calls: Sequence[Callable[[], Awaitable[Any]]]) -> list[Any]:
    """The results of the calls, in their order, all under way at once; what one raised is its result."""
    return list(await asyncio.gather(*(call() for call in calls), return_exceptions=True))


async def limited(
    seconds: float, call: Callable[[], Awaitable[Any]], stop: Callable[[], Awaitable[None]]
) -> Any:
    """The result of the call; when it takes longer, ``stop`` is called, which must end it.

    Raises:
        Broken: it took longer.

    """
    task = asyncio.ensure_future(call())
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if not done:
        await stop()
        await asyncio.wait({task}, timeout=seconds)
        task.cancel()
        raise Broken(f"nothing came within {seconds} s")
    return task.result()
