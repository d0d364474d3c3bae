"""Figures over time: what was used, when and by whom; ``store.analytics``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from convostore.schemas.periods import QUARTER_MS, By, Period, period_places, periods, zone_named
from convostore.store import parameters
from convostore.store.asynchronous import _rollup
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.figures import UsageRow
from convostore.store.ledger import HOUR_QUARTERS, Counts, read_counts
from convostore.store.parameters import UserScope

__all__ = ["AsyncAnalytics"]

_CALL = "analytics"


@dataclass(slots=True)
class _Sum:
    counts: Counts = field(default_factory=Counts)
    conversations: set[Any] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    distinct: tuple[int, int] | None = None


class AsyncAnalytics:
    """Questions of operators and analysts, answered from the ledger; each first rolls up what changed."""

    def __init__(self, opened: Callable[[], Awaitable[AsyncBackend]]) -> None:
        self._opened = opened

    async def advance(self) -> int:
        """Roll up what changed since the last time; how many conversations that were."""
        backend = await self._opened()
        return await _rollup.advance(backend)

    async def rebuild(self) -> int:
        """Make the whole ledger anew from the conversations; how many there are."""
        backend = await self._opened()
        return await _rollup.rebuild(backend)

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
    ) -> list[UsageRow]:
        """Usage by period, in order, without gaps: a period in which nothing happened has zeros.

        ``since`` (included) and ``until`` (excluded), ms, default to the first and the last moment with
        something in it; periods at the edges are whole. Everything is credited to when it was written.

        Raises:
            QueryError: the zone is unknown, or the range empty or too long.

        """
        owner = parameters.many_users(user)
        zone = zone_named(tz)
        wanted = By(parameters.one_of(by, tuple(By), "by"))
        for value, name in ((since, "since"), (until, "until")):
            if value is not None:
                parameters.milliseconds(value, name)
        for text, name in ((label, "label"), (model, "model")):
            if text is not None:
                parameters.plain_text(text, name)
        backend = await self._opened()
        await _rollup.advance(backend)
        with backend.call("analytics.usage"):
            span = await _span(backend, owner, since, until)
            if span is None:
                return []
            found = periods(*span, wanted, zone)
            sums = [_Sum() for _ in found]
            if owner is not None:
                await _from_rows(backend, owner, found, sums, label, model)
            elif label is None and model is None and _are_hours(found):
                await _from_totals(backend, found, sums)
            else:
                await _from_sheets(backend, found, sums, label, model)
        return [_row(period, one) for period, one in zip(found, sums, strict=True)]


async def _span(
    backend: AsyncBackend, user: str | None, since: int | None, until: int | None
) -> tuple[int, int] | None:
    """The range asked for, its open ends where there is something."""
    ends: list[int | None] = [since, until]
    for place, order in ((0, 1), (1, -1)):
        if ends[place] is not None:
            continue
        query: dict[str, Any] = {} if user is None else {"user": user}
        name = "sheets" if user is None else "ledger"
        key = "_id" if user is None else "h"
        edge = await backend.find(name, query, {"h": 1}, comment=_CALL, sort=[(key, order)], limit=1)
        if not edge:
            return None
        hour = edge[0]["_id"] if user is None else edge[0]["h"]
        ends[place] = (int(hour) + place) * HOUR_QUARTERS * QUARTER_MS
    first, last = ends
    assert first is not None and last is not None
    return first, last


def _are_hours(found: Sequence[Period]) -> bool:
    """Whether each period is one hour of UTC, of which the sheets hold distinct counts."""
    hour = HOUR_QUARTERS * QUARTER_MS
    return all(period.start % hour == 0 and period.end - period.start == hour for period in found)


async def _from_totals(backend: AsyncBackend, found: Sequence[Period], sums: list[_Sum]) -> None:
    hour = HOUR_QUARTERS * QUARTER_MS
    first, last = found[0].start // hour, found[-1].end // hour
    sheets = await backend.find("sheets", {"_id": {"$gte": first, "$lt": last}}, {"t": 1}, comment=_CALL)
    for sheet in sheets:
        one = sums[sheet["_id"] - first]
        one.counts = read_counts(sheet["t"])
        one.distinct = (sheet["t"].get("cs", 0), sheet["t"].get("us", 0))


async def _from_sheets(
    backend: AsyncBackend, found: Sequence[Period], sums: list[_Sum], label: str | None, model: str | None
) -> None:
    first, last = found[0].start // QUARTER_MS, found[-1].end // QUARTER_MS
    hours = {"$gte": first // HOUR_QUARTERS, "$lte": last // HOUR_QUARTERS}
    sheets = await backend.find("sheets", {"_id": hours}, {"s": 1}, comment=_CALL)
    slots = [slot for sheet in sheets for slot in sheet["s"] if _fits(slot, label, model)]
    for slot, place in zip(slots, period_places(found, [slot["q"] for slot in slots]), strict=True):
        if place >= 0:
            _add(sums[place], slot, slot["cs"], slot["us"])


def _fits(slot: Mapping[str, Any], label: str | None, model: str | None) -> bool:
    return (label is None or slot.get("l") == label) and (model is None or slot["m"] == model)


async def _from_rows(
    backend: AsyncBackend,
    user: str,
    found: Sequence[Period],
    sums: list[_Sum],
    label: str | None,
    model: str | None,
) -> None:
    first, last = found[0].start // QUARTER_MS, found[-1].end // QUARTER_MS
    query: dict[str, Any] = {
        "user": user,
        "h": {"$gte": first // HOUR_QUARTERS, "$lte": last // HOUR_QUARTERS},
    }
    if label is not None:
        query["label"] = label
    if model is not None:
        query["_id.m"] = model
    rows = await backend.find("ledger", query, comment=_CALL)
    for row, place in zip(rows, period_places(found, [row["_id"]["q"] for row in rows]), strict=True):
        if place >= 0:
            _add(sums[place], row, [row["_id"]["c"]], [user])


def _add(one: _Sum, counted: Mapping[str, Any], conversations: Iterable[Any], users: Iterable[str]) -> None:
    one.counts.add(read_counts(counted))
    one.conversations.update(conversations)
    one.users.update(users)


def _row(period: Period, one: _Sum) -> UsageRow:
    counts = one.counts
    conversations, users = one.distinct or (len(one.conversations), len(one.users))
    return UsageRow(
        period.start,
        period.label,
        conversations,
        users,
        counts.messages,
        counts.input_tokens,
        counts.output_tokens,
        counts.cached_tokens,
        counts.requests,
        counts.created,
        counts.known,
        counts.unknown,
        counts.by_creation,
    )
