"""Doing things at the same time and for a limited time: the one module here that is written by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from typing import Any

from convostore.store.conformance.expectations import Broken

__all__ = ["limited", "together"]


def together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """The results of the calls, in their order, each in a thread of its own; what one raised is its
    result.
    """
    with ThreadPoolExecutor(max_workers=len(calls)) as threads:
        return [_outcome(future) for future in [threads.submit(call) for call in calls]]


def _outcome(future: Future[Any]) -> Any:
    error = future.exception()
    return future.result() if error is None else error


def limited(seconds: float, call: Callable[[], Any], stop: Callable[[], None]) -> Any:
    """The result of the call; when it takes longer, ``stop`` is called, which must end it.

    Raises:
        Broken: it took longer.

    """
    with ThreadPoolExecutor(max_workers=1) as threads:
        under_way = threads.submit(call)
        try:
            return under_way.result(seconds)
        except TookTooLong:
            stop()
            raise Broken(f"nothing came within {seconds} s") from None
