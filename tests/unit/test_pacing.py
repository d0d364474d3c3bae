"""Pauses between tries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from convostore.store.asynchronous import _pace
from convostore.store.pacing import LONGEST_PAUSE, pause_before_next


def test_pauses_grow_with_the_attempts_and_are_bounded() -> None:
    ceilings = {1: 0.002, 4: 0.016, 7: 0.128, 50: LONGEST_PAUSE, 10_000: LONGEST_PAUSE}
    for attempt, ceiling in ceilings.items():
        pauses = [pause_before_next(attempt) for _ in range(300)]
        assert 0 <= min(pauses) < 0.1 * ceiling
        assert 0.9 * ceiling < max(pauses) <= ceiling


def test_two_writers_that_collide_do_not_pause_alike() -> None:
    assert len({pause_before_next(5) for _ in range(50)}) == 50


async def test_gathered_calls_run_together_and_keep_their_order() -> None:
    met = asyncio.Event()

    async def first() -> int:
        await met.wait()
        return 1

    async def second() -> int:
        met.set()
        return 2

    assert await _pace.gather(first, second) == [1, 2]


async def test_an_error_cancels_the_other_calls() -> None:
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("endless")

    async def failing() -> None:
        await asyncio.sleep(0)
        raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        await _pace.gather(endless, failing)
    assert ended == ["endless"]


async def test_collect_takes_everything() -> None:
    async def items() -> AsyncIterator[int]:
        for number in range(3):
            yield number

    assert await _pace.collect(items()) == [0, 1, 2]
