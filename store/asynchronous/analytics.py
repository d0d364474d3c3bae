"""Figures over time: what was used, when and by whom; ``store.analytics``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from convostore.schemas.errors import QueryError
from convostore.schemas.periods import By
from convostore.schemas.prices import PriceTable
from convostore.store import parameters
from convostore.store.asking import asked, price_table
from convostore.store.asynchronous import _activity, _ranking, _rollup, _series
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.figures import (
    ConversationsRow,
    DurationsRow,
    FailuresRow,
    HeatRow,
    MessagesRow,
    QueuesRow,
    StatusRow,
    TopRow,
    UsageRow,
    UsersRow,
    WaitingRow,
)
from convostore.store.parameters import UserScope

__all__ = ["AsyncAnalytics"]


class AsyncAnalytics:
    """Questions of operators and analysts, answered from roll-ups; each first rolls up what changed.

    Everything is credited to when it was written, quarter of an hour by quarter. ``since`` (included) and
    ``until`` (excluded), ms since 1970, default to the first and the last moment with something in it;
    periods and quarters at the edges are whole. ``by`` is ``hour``, ``day``, ``week`` (from Monday) or
    ``month`` in the zone ``tz``; a day has 23 or 25 hours when the clock changes. A series has no gaps: a
    period in which nothing happened has zeros. ``label`` and ``model`` take what has that label, or was used
    by that model (empty: an unknown one), alone; of a label the first 256 characters count.

    Every question takes a few round trips, and raises ``QueryError`` when a parameter makes no sense: an
    unknown zone, an empty range, more than 200,000 periods.
    """

    def __init__(self, opened: Callable[[], Awaitable[AsyncBackend]]) -> None:
        self._opened = opened

    async def advance(self) -> int:
        """Roll up what changed since the last time; how many conversations that were."""
        return await _rollup.advance(await self._opened())

    async def rebuild(self) -> int:
        """Make the whole ledger anew from the conversations; how many there are.

        Figures kept of deleted conversations stay. Broken off, it is finished by the next question.
        """
        return await _rollup.rebuild(await self._opened())

    async def usage(
        self,
        *,
        user: UserScope,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
        model: str | None = None,
        prices: PriceTable | None = None,
    ) -> list[UsageRow]:
        """Tokens, requests, messages, conversations and users by period; with ``prices`` also costs."""
        wanted = asked(user, since=since, until=until, by=by, tz=tz, label=label, model=model)
        table = price_table(prices)
        async with self._current("analytics.usage") as backend:
            return await _activity.usage(backend, wanted, table, comment=_CALL)

    async def conversations(
        self,
        *,
        user: UserScope,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
    ) -> list[ConversationsRow]:
        """Conversations made, and active, by period."""
        wanted = asked(user, since=since, until=until, by=by, tz=tz, label=label)
        async with self._current("analytics.conversations") as backend:
            return await _activity.conversations(backend, wanted, comment=_CALL)

    async def users(
        self,
        *,
        user: UserScope,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
        model: str | None = None,
    ) -> list[UsersRow]:
        """Active users by period: new ones, and those who came back."""
        wanted = asked(user, since=since, until=until, by=by, tz=tz, label=label, model=model)
        async with self._current("analytics.users") as backend:
            return await _activity.users(backend, wanted, comment=_CALL)

    async def messages(
        self,
        *,
        user: UserScope,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
        model: str | None = None,
    ) -> list[MessagesRow]:
        """Messages written by period, and changes of stored ones."""
        wanted = asked(user, since=since, until=until, by=by, tz=tz, label=label, model=model)
        async with self._current("analytics.messages") as backend:
            return await _activity.messages(backend, wanted, comment=_CALL)

    async def statuses(
        self,
        *,
        user: UserScope,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
    ) -> list[StatusRow]:
        """The conversations created in each period by their present status."""
        wanted = asked(user, since=since, until=until, by=by, tz=tz, label=label)
        async with self._current("analytics.statuses") as backend:
            return await _series.statuses(backend, wanted, comment=_CALL)

    async def failures(
        self,
        *,
        user: UserScope,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
    ) -> list[FailuresRow]:
        """Failures by when they happened, with their reasons; of a reason the first 500 characters count.

        Of the changes of a conversation's status by calls other than ``append`` the newest 100 are known.
        """
        wanted = asked(user, since=since, until=until, by=by, tz=tz, label=label)
        async with self._current("analytics.failures") as backend:
            return await _series.failures(backend, wanted, comment=_CALL)

    async def queues(
        self,
        *,
        user: UserScope,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
    ) -> list[QueuesRow]:
        """How long conversations had been ``submitted`` when work on them began, or they were stopped."""
        wanted = asked(user, since=since, until=until, by=by, tz=tz, label=label)
        async with self._current("analytics.queues") as backend:
            return await _series.queues(backend, wanted, comment=_CALL)

    async def waiting(self, *, user: UserScope, label: str | None = None) -> list[WaitingRow]:
        """What waits at this moment: conversations to be run, steering and follow-up texts to be taken."""
        wanted = asked(user, label=label)
        async with self._current("analytics.waiting") as backend:
            return await _series.waiting(backend, wanted, comment=_CALL)

    async def durations(
        self,
        *,
        user: UserScope,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
    ) -> list[DurationsRow]:
        """How long the conversations created in each period lasted, and how soon they were answered.

        By the messages as they stand: an edited conversation is measured by what is left of it.
        """
        wanted = asked(user, since=since, until=until, by=by, tz=tz, label=label)
        async with self._current("analytics.durations") as backend:
            return await _series.durations(backend, wanted, comment=_CALL)

    async def top(
        self,
        of: str,
        *,
        user: UserScope,
        since: int | None = None,
        until: int | None = None,
        label: str | None = None,
        model: str | None = None,
        order: str = "tokens",
        limit: int = 10,
        prices: PriceTable | None = None,
    ) -> list[TopRow]:
        """The ``users``, ``labels`` or ``models`` that used most, at most 10,000.

        ``order`` is ``tokens`` (input and output), ``requests``, ``messages``, ``conversations`` or ``cost``,
        which needs ``prices``.
        """
        wanted = asked(user, since=since, until=until, label=label, model=model)
        parameters.one_of(of, _ranking.NAMES, "of")
        parameters.one_of(order, _ranking.ORDERS, "order")
        parameters.page_limit(limit, most=10_000)
        table = price_table(prices)
        if order == "cost" and table is None:
            raise QueryError("order", "cost needs prices")
        async with self._current("analytics.top") as backend:
            return await _ranking.ranking(
                backend, wanted, of, order=order, limit=limit, prices=table, comment=_CALL
            )

    async def heat(
        self,
        *,
        user: UserScope,
        since: int | None = None,
        until: int | None = None,
        tz: str = "UTC",
        label: str | None = None,
        model: str | None = None,
    ) -> list[HeatRow]:
        """What was used in each hour of the week, in the zone: 168 rows."""
        wanted = asked(user, since=since, until=until, tz=tz, label=label, model=model)
        async with self._current("analytics.heat") as backend:
            return await _activity.heat(backend, wanted, comment=_CALL)

    @asynccontextmanager
    async def _current(self, call: str) -> AsyncIterator[AsyncBackend]:
        """The backend with roll-ups that are up to date."""
        backend = await self._opened()
        await _rollup.advance(backend)
        with backend.call(call):
            yield backend


_CALL = "analytics"
