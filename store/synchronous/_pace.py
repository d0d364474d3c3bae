"""Time and concurrency of the synchronous face: the one module here that is written by hand.

The twin of ``store/asynchronous/_pace.py``; each name there means the same here.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from gridfs import GridFSBucket

from convostore.store.pacing import pause_before_next

__all__ = [
    "Lock",
    "binding",
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

Lock = threading.Lock
monotonic = time.monotonic


def sleep(seconds: float) -> None:
    """Let others run for ``seconds``."""
    time.sleep(seconds)


def pause(attempt: int) -> None:
    """Wait, with jitter, after try number ``attempt`` (from 1) and before the next one."""
    time.sleep(pause_before_next(attempt))


def gather(*calls: Callable[[], T]) -> list[T]:
    """The results of ``calls``, in their order, one after the other; the first error ends it."""
    return [call() for call in calls]


def collect(items: Iterable[T]) -> list[T]:
    """Everything that ``items`` yields."""
    return list(items)


def run_blocking(call: Callable[[], T]) -> T:
    """The result of ``call``."""
    return call()


def binding() -> tuple[int, object]:
    """What an open client belongs to, and is useless outside of: this process."""
    return os.getpid(), None


def settle(value: Any) -> Any:
    """What the driver gave."""
    return value


def iterate(cursor: Any) -> Iterator[Any]:
    """The documents of a driver's cursor."""
    yield from cursor


def bucket(engine: str, database: Any, name: str) -> Any:
    """The driver's GridFS bucket of a database."""
    return GridFSBucket(database, name)
