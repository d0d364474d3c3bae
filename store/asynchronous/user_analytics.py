"""One user's figures: what services hand to request handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from convostore.schemas.periods import By
from convostore.schemas.prices import PriceTable
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

if TYPE_CHECKING:
    from convostore.store.asynchronous.store import AsyncConversationStore

__all__ = ["AsyncUserAnalytics"]


class AsyncUserAnalytics:
    """One user's figures: the questions of :class:`AsyncAnalytics` about the user alone."""

    def __init__(self, store: AsyncConversationStore, user: str) -> None:
        self.__store = store
        self.__user = user

    async def usage(
        self,
        *,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
        model: str | None = None,
        prices: PriceTable | None = None,
    ) -> list[UsageRow]:
        """As :meth:`AsyncAnalytics.usage`."""
        return await self.__store.analytics.usage(
            user=self.__user, since=since, until=until, by=by, tz=tz, label=label, model=model, prices=prices
        )

    async def conversations(
        self,
        *,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
    ) -> list[ConversationsRow]:
        """As :meth:`AsyncAnalytics.conversations`."""
        return await self.__store.analytics.conversations(
            user=self.__user, since=since, until=until, by=by, tz=tz, label=label
        )

    async def users(
        self,
        *,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
        model: str | None = None,
    ) -> list[UsersRow]:
        """As :meth:`AsyncAnalytics.users`."""
        return await self.__store.analytics.users(
            user=self.__user, since=since, until=until, by=by, tz=tz, label=label, model=model
        )

    async def messages(
        self,
        *,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
        model: str | None = None,
    ) -> list[MessagesRow]:
        """As :meth:`AsyncAnalytics.messages`."""
        return await self.__store.analytics.messages(
            user=self.__user, since=since, until=until, by=by, tz=tz, label=label, model=model
        )

    async def statuses(
        self,
        *,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
    ) -> list[StatusRow]:
        """As :meth:`AsyncAnalytics.statuses`."""
        return await self.__store.analytics.statuses(
            user=self.__user, since=since, until=until, by=by, tz=tz, label=label
        )

    async def failures(
        self,
        *,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
    ) -> list[FailuresRow]:
        """As :meth:`AsyncAnalytics.failures`."""
        return await self.__store.analytics.failures(
            user=self.__user, since=since, until=until, by=by, tz=tz, label=label
        )

    async def queues(
        self,
        *,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
    ) -> list[QueuesRow]:
        """As :meth:`AsyncAnalytics.queues`."""
        return await self.__store.analytics.queues(
            user=self.__user, since=since, until=until, by=by, tz=tz, label=label
        )

    async def waiting(self, *, label: str | None = None) -> list[WaitingRow]:
        """As :meth:`AsyncAnalytics.waiting`."""
        return await self.__store.analytics.waiting(user=self.__user, label=label)

    async def durations(
        self,
        *,
        since: int | None = None,
        until: int | None = None,
        by: By | str = By.DAY,
        tz: str = "UTC",
        label: str | None = None,
    ) -> list[DurationsRow]:
        """As :meth:`AsyncAnalytics.durations`."""
        return await self.__store.analytics.durations(
            user=self.__user, since=since, until=until, by=by, tz=tz, label=label
        )

    async def top(
        self,
        of: str,
        *,
        since: int | None = None,
        until: int | None = None,
        label: str | None = None,
        model: str | None = None,
        order: str = "tokens",
        limit: int = 10,
        prices: PriceTable | None = None,
    ) -> list[TopRow]:
        """As :meth:`AsyncAnalytics.top`."""
        return await self.__store.analytics.top(
            of,
            user=self.__user,
            since=since,
            until=until,
            label=label,
            model=model,
            order=order,
            limit=limit,
            prices=prices,
        )

    async def heat(
        self,
        *,
        since: int | None = None,
        until: int | None = None,
        tz: str = "UTC",
        label: str | None = None,
        model: str | None = None,
    ) -> list[HeatRow]:
        """As :meth:`AsyncAnalytics.heat`."""
        return await self.__store.analytics.heat(
            user=self.__user, since=since, until=until, tz=tz, label=label, model=model
        )
