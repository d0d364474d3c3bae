"""Time and concurrency of the synchronous face: the one module here that is written by hand.

The twin of ``store/asynchronous/_pace.py``; each name there means the same here.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, Generic, TypeVar

from gridfs import GridFSBucket

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

Lock = threading.Lock
monotonic = time.monotonic


def sleep(seconds: float) -> None:
    """Let others run for ``seconds``."""
    time.sleep(seconds)


def breathe() -> None:
    """Nothing: others have threads of their own."""


def pause(attempt: int) -> None:
    """Wait, with jitter, after try number ``attempt`` (from 1) and before the next one."""
    time.sleep(pause_before_next(attempt))


def gather(*calls: Callable[[], T]) -> list[T]:
    """The results of ``calls``, in their order, one after the other; the first error ends it."""
    return [call() for call in calls]


class Beside(Generic[T]):
    """Calls that run beside the one who starts them; their results come in the order of starting."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._started: deque[Future[T]] = deque()

    def __len__(self) -> int:
        """How many were started whose results were not taken."""
        return len(self._started)

    def start(self, call: Callable[[], T]) -> None:
        """Start one more."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(thread_name_prefix="convostore")
        self._started.append(self._threads.submit(copy_context().run, call))

    def next(self) -> T:
        """The result of the first one that was not taken, or its error."""
        return self._started.popleft().result()

    def close(self) -> None:
        """Wait for all; results and errors that were not taken are lost."""
        wait(self._started)
        self._started.clear()
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None


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
