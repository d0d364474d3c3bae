"""Tallies: the figures of a period while they are added up. Pure."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from convostore.schemas.periods import QUARTER_MS, Period
from convostore.schemas.prices import PriceTable
from convostore.store.codec import U64_MAX, decode_u64
from convostore.store.crediting import HOUR_QUARTERS, LETTERS, STATUSES, Counts
from convostore.store.days import HOURS, active_in, columns_between

__all__ = ["COUNTED", "Costs", "Tally", "add_days", "are_days", "cut_hours", "rounded"]

COUNTED: Final = frozenset({*LETTERS, *STATUSES.values()})
"""What adds up."""

_NOTHING: Final = Counts()
_MILLIONTH: Final = Decimal("0.000001")
_HOUR_MS: Final = QUARTER_MS * HOUR_QUARTERS


@dataclass(slots=True)
class Costs:
    """What tokens cost by a table, and how many have no price in it."""

    cost: Decimal = Decimal(0)
    unpriced: int = 0

    def add(self, prices: PriceTable, quarter: int, tokens: Iterable[Sequence[Any]]) -> None:
        """Add what was used in a quarter of an hour: ``[model, input, output, cached]`` each."""
        for model, *counters in tokens:
            given, made, cached = map(decode_u64, counters)
            price = prices.price(model, quarter * QUARTER_MS)
            if price is None:
                self.unpriced = min(self.unpriced + given + made, U64_MAX)
            else:
                self.cost += price.cost(given, made, cached)


def rounded(cost: Decimal) -> float:
    """The cost as rows have it."""
    return float(cost.quantize(_MILLIONTH))


@dataclass(slots=True)
class Tally:
    """What was found for one period.

    ``counted`` are conversations and users that are known by their number alone, and not among the others.
    """

    sums: dict[str, int] = field(default_factory=dict)
    conversations: set[int] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    costs: Costs = field(default_factory=Costs)
    counted: tuple[int, int] = (0, 0)

    def add(self, letters: Mapping[str, Any]) -> None:
        """Add the counters of a document, whatever else is in it."""
        sums = self.sums
        for short, count in letters.items():
            if short in COUNTED:
                sums[short] = sums.get(short, 0) + (count if type(count) is int else decode_u64(count))

    def meet(self, conversations: Iterable[Any], users: Iterable[str]) -> None:
        """Note conversations and users that were active."""
        self.conversations.update(map(decode_u64, conversations))
        self.users.update(users)

    def join(self, other: Tally) -> None:
        """Add what another tally counted and met."""
        for short, count in other.sums.items():
            self.sums[short] = self.sums.get(short, 0) + count
        self.conversations |= other.conversations
        self.users |= other.users

    def counts(self) -> Counts:
        """The counters, each stopping at 2^64-1."""
        if not self.sums:
            return _NOTHING
        return Counts(
            **{LETTERS[short]: min(count, U64_MAX) for short, count in self.sums.items() if short in LETTERS}
        )

    def statuses(self) -> dict[str, int]:
        """How many conversations were created, by their present status."""
        return {status: self.sums.get(short, 0) for status, short in STATUSES.items()}

    @property
    def distinct(self) -> tuple[int, int]:
        """How many conversations and users were active."""
        conversations, users = self.counted
        return conversations + len(self.conversations), users + len(self.users)


def cut_hours(found: Sequence[Period]) -> set[int]:
    """The hours that do not lie whole in one of the periods, but for those outside of all."""
    edges = [period.start for period in found] + [period.end for period in found[-1:]]
    return {edge // _HOUR_MS for edge in edges if edge % _HOUR_MS}


def add_days(
    documents: Sequence[Mapping[str, Any]], found: Sequence[Period], tallies: Sequence[Tally]
) -> None:
    """Add every hour that lies whole in a period, from the documents of days."""
    starts = [-(-period.start // _HOUR_MS) for period in found]
    # A period within an hour has no whole one.
    hours = [(start, max(period.end // _HOUR_MS, start)) for start, period in zip(starts, found, strict=True)]
    first, last = hours[0][0], max(hours[-1][1] - 1, hours[0][0])
    for short, column in columns_between(documents, first, last).items():
        if short in COUNTED:
            for (start, end), tally in zip(hours, tallies, strict=True):
                if count := sum(column[start - first : end - first]):
                    tally.add({short: count})
    for document in documents:
        day = int(document["_id"]["d"]) * HOURS
        place = max(bisect.bisect_right(starts, day) - 1, 0)
        while place < len(hours) and starts[place] < day + HOURS:
            tally = tallies[place]
            if hours[place] == (day, day + HOURS):
                if "dc" in document:
                    tally.counted = document["dc"], document["du"]
            else:
                conversations, users = active_in(document, *hours[place])
                tally.conversations.update(conversations)
                tally.users.update(users)
            place += 1


def are_days(found: Sequence[Period]) -> bool:
    """Whether each of the periods is one day of UTC."""
    day = HOURS * _HOUR_MS
    return all(period.start % day == 0 and period.end - period.start == day for period in found)
