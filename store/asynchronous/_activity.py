"""Series of what was written and used, and its heat map."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Final

from convostore.schemas.periods import QUARTER_MS, Period, period_places
from convostore.schemas.prices import PriceTable
from convostore.store.asking import HOUR_MS, Asked, quarters_between
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._tallies import first_quarters, pieces, span, tallies, totals
from convostore.store.figures import ConversationsRow, HeatRow, MessagesRow, UsageRow, UsersRow
from convostore.store.tallying import Tally, rounded

__all__ = ["conversations", "heat", "messages", "usage", "users"]


_USAGE: Final = ("cn", "un", *"niocrbkxez")
"""The columns of usage in the order of its rows' members."""


async def _series(backend: AsyncBackend, asked: Asked, *, comment: str) -> list[tuple[Period, Tally]]:
    between = await span(backend, asked, comment=comment)
    found = [] if between is None else asked.periods(*between)
    sums = await tallies(backend, asked, found, comment=comment)
    return list(zip(found, sums, strict=True))


async def usage(
    backend: AsyncBackend, asked: Asked, prices: PriceTable | None, *, comment: str
) -> list[UsageRow]:
    """Usage by period, with costs when there are prices."""
    between = await span(backend, asked, comment=comment)
    found = [] if between is None else asked.periods(*between)
    columns = None if prices else await totals(backend, asked, found, comment=comment)
    if columns is not None:
        # There are 8,784 hours in a year: straight from the columns.
        starts, labels = ([period[place] for period in found] for place in (0, 2))
        return list(map(UsageRow, starts, labels, *(columns[name] for name in _USAGE)))
    sums = await tallies(backend, asked, found, prices=prices, comment=comment)
    rows = []
    for period, tally in zip(found, sums, strict=True):
        counts = tally.counts()
        active, users = tally.distinct
        row = UsageRow(
            period.start,
            period.label,
            active,
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
            counts.tokens_by_creation,
            None if prices is None else rounded(tally.costs.cost),
            tally.costs.unpriced,
        )
        rows.append(row)
    return rows


async def conversations(backend: AsyncBackend, asked: Asked, *, comment: str) -> list[ConversationsRow]:
    """Conversations made and active by period."""
    rows = []
    for period, tally in await _series(backend, asked, comment=comment):
        counts = tally.counts()
        active, _ = tally.distinct
        rows.append(
            ConversationsRow(
                period.start, period.label, counts.created, active, counts.imported, counts.forked
            )
        )
    return rows


async def messages(backend: AsyncBackend, asked: Asked, *, comment: str) -> list[MessagesRow]:
    """Messages written by period."""
    rows = []
    for period, tally in await _series(backend, asked, comment=comment):
        counts = tally.counts()
        active, _ = tally.distinct
        rows.append(
            MessagesRow(
                period.start,
                period.label,
                counts.messages,
                counts.appends,
                counts.edits,
                active,
                counts.by_creation,
            )
        )
    return rows


async def users(backend: AsyncBackend, asked: Asked, *, comment: str) -> list[UsersRow]:
    """Active users by period; new in the one of their first activity."""
    between = await span(backend, asked, comment=comment)
    if between is None:
        return []
    found = asked.periods(*between)
    sums = await tallies(backend, asked, found, comment=comment)
    first = await first_quarters(backend, asked, found, comment=comment)
    new = [0] * len(found)
    for place in period_places(found, first):
        if place >= 0:
            new[place] += 1
    rows = []
    for period, tally, fresh in zip(found, sums, new, strict=True):
        _, count = tally.distinct
        rows.append(UsersRow(period.start, period.label, count, fresh, count - fresh))
    return rows


async def heat(backend: AsyncBackend, asked: Asked, *, comment: str) -> list[HeatRow]:
    """What was used by local hour of the week."""
    between = await span(backend, asked, comment=comment)
    sums = [Tally() for _ in range(7 * 24)]
    places: dict[int, int] = {}
    if between is not None:
        since, until = between
        hours = {"$gte": since // HOUR_MS, "$lte": (until - 1) // HOUR_MS}
        within = quarters_between(since, until)
        for piece in await pieces(backend, asked, {"h": hours}, comment=comment):
            quarter = int(piece["q"])
            if not within["$gte"] <= quarter < within["$lt"]:
                continue
            if quarter not in places:
                moment = datetime.fromtimestamp(quarter * QUARTER_MS / 1000, timezone.utc)
                local = moment.astimezone(asked.zone)
                places[quarter] = local.weekday() * 24 + local.hour
            sums[places[quarter]].add(piece)
    rows = []
    for place, tally in enumerate(sums):
        counts = tally.counts()
        rows.append(
            HeatRow(
                place // 24,
                place % 24,
                counts.messages,
                counts.input_tokens,
                counts.output_tokens,
                counts.cached_tokens,
                counts.requests,
            )
        )
    return rows
