"""The random attack on one conversation: schedules that interleave actors one command at a time.

Bounds are tiny, so that a schedule of some hundred steps seals, merges, edits what is sealed, seals its log
and collects many times over. The same seed gives the same schedule.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient

from convostore.store.asynchronous import _pace
from convostore.store.asynchronous.store import AsyncConversationStore
from convostore.store.layout import Bounds, Limits
from support.attackers import LEASE_MS, USER, Attackers, Work
from support.historians import Historians
from support.referee import Referee, Wrong
from support.stepping import Actor, Fate, SteppedDatabase

BOUNDS = Bounds(
    keep=3,
    soft_count=6,
    hard_count=10,
    step=1,
    bulk_count=8,
    merge_width=2,
    segment_count=12,
    log_soft=4,
    log_keep=2,
)
STEPS = 140
CROWDS = (3, 7, 7)
"""How many actors are at work at once; of few, one gets somewhere that takes many commands."""
INLINE = 200
"""Bytes of a message above which it lies apart, and of removed messages above which they do."""

_FATES = {
    Fate.ANSWERED: 84,
    Fate.LOST: 7,
    Fate.CUT: 3,
    Fate.LATE: 4,
    Fate.DEAD_BEFORE: 1,
    Fate.DEAD_AFTER: 1,
}


@dataclass
class Arena:
    """The database under attack: as the store gets it, and as the referee reads it by a client of its own."""

    stepped: SteppedDatabase
    plain: Any
    whole: AsyncConversationStore
    """A store that nobody disturbs."""


@asynccontextmanager
async def arena(uri: str, database: str, patch: pytest.MonkeyPatch) -> AsyncIterator[Arena]:
    """The arena on a server, set up. Pauses between tries are left out: the schedule says who waits."""

    async def no_pause(attempt: int) -> None:
        pass

    patch.setattr(_pace, "pause", no_pause)
    patch.setattr(Limits, "INLINE", INLINE)
    patch.setattr(Limits, "REMOVED_INLINE", INLINE)
    async with AsyncMongoClient[dict[str, Any]](uri) as client:
        with MongoClient[dict[str, Any]](uri) as referee:
            whole = AsyncConversationStore(client[database], bounds=BOUNDS)
            await whole.setup()
            yield Arena(SteppedDatabase(client[database]), referee[database], whole)


class Schedule:
    """One random run against the conversation ``seed + 1``; ``seed`` decides everything."""

    def __init__(self, arena: Arena, seed: int) -> None:
        self._arena = arena
        self._dice = random.Random(seed)
        self._now = 1_790_848_800_000
        self._late: list[Callable[[], Awaitable[None]]] = []
        self._alive: list[Actor] = []
        self._dead: list[Actor] = []
        self.referee = Referee(arena.plain, seed + 1)
        store = AsyncConversationStore(arena.stepped, bounds=BOUNDS, clock=lambda: self._now, timeout=None)
        actors = Historians if seed % 3 == 1 else Attackers
        self._attackers = actors(store, self.referee, self._dice, 2 * INLINE)
        works = self._attackers.works(with_deletes=seed % 3 == 0)
        self._crowd = self._dice.choice(CROWDS)
        self._works, self._weights = list(works), list(works.values())

    async def run(self) -> dict[str, int]:
        """Play it to its end, then look at what is left; gives what happened, by name.

        Raises:
            Wrong: the store did what it must never do.

        """
        try:
            await self._alone(self._attackers.create)
            for _ in range(STEPS):
                await self._step()
            await self._finish()
        finally:
            for actor in (*self._alive, *self._dead):
                await actor.dismiss()
            self._clear()
        return self.referee.seen

    async def _step(self) -> None:
        while len(self._alive) < self._crowd:
            await self._start(self._dice.choices(self._works, self._weights)[0])
        self._now += 1
        if self._late and self._dice.random() < 0.2:
            await self._late.pop(self._dice.randrange(len(self._late)))()
            self.referee.count("delivered late")
        if self._dice.random() < 0.02:
            self._now += LEASE_MS
        actor = self._dice.choice(self._alive)
        fate = self._dice.choices(list(_FATES), list(_FATES.values()))[0]
        await actor.step(fate)
        if fate is not Fate.ANSWERED:
            self.referee.count(fate.name.lower().replace("_", " "))
        if actor.dead:
            self._dead.append(actor)
        self._alive = [actor for actor in self._alive if not actor.done and not actor.dead]

    async def _start(self, work: Work) -> None:
        actor = Actor(work(), self.referee.watch, self._late)
        await actor.rested()
        if not actor.done:
            self._alive.append(actor)

    async def _alone(self, work: Work) -> None:
        await self._start(work)
        while self._alive:
            await self._alive[0].step(Fate.ANSWERED)
            self._alive = [actor for actor in self._alive if not actor.done]

    async def _finish(self) -> None:
        """Nobody else is there any more: everything is whole, and what is loose can be collected."""
        for actor in (*self._alive, *self._dead):
            await actor.dismiss()
        self._alive, self._dead = [], []
        while self._late:
            await self._late.pop()()
        one = self._attackers
        if self.referee.state is None:
            await self._alone(one.create)
        for work in (one.read, one.append, one.keep_house, one.collect, one.read):
            await self._alone(work)
        report = await self._arena.whole.check(user=USER)
        if report.broken:
            raise Wrong(f"the check found {report.broken}")
        state = self.referee.state
        assert state is not None
        held = {"c": self.referee.id, "lin": state.lineage}
        if self._arena.plain.segments.count_documents(held) != state.segments:
            raise Wrong("a conversation that was collected still has segments that nothing names")

    def _clear(self) -> None:
        plain = self._arena.plain
        plain.conversations.delete_many({"_id": self.referee.id})
        plain.meta.delete_many({"_id.deletion.c": self.referee.id})
        for name in ("segments", "blobs", "bodies", "changes"):
            plain[name].delete_many({"c": self.referee.id})
