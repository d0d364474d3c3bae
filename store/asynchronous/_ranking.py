"""Rankings over a range: the users, labels or models that used most. Summed up by the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from convostore.schemas.prices import PriceTable
from convostore.store.asking import Asked, quarters_between
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.codec import U64_MAX
from convostore.store.crediting import HOUR_QUARTERS
from convostore.store.figures import TopRow
from convostore.store.sheets import ACTIVE
from convostore.store.tallying import Costs, rounded

__all__ = ["NAMES", "ORDERS", "ranking"]

NAMES: Final = {"users": "$user", "labels": "$label", "models": "$_id.m"}
ORDERS: Final = ("tokens", "requests", "messages", "conversations", "cost")

_COUNTERS: Final = {
    "n": "messages",
    "i": "input_tokens",
    "o": "output_tokens",
    "c": "cached_tokens",
    "r": "requests",
}
_ACTIVE: Final = {"$or": [{short: {"$exists": True}} for short in ACTIVE]}


async def ranking(
    backend: AsyncBackend,
    asked: Asked,
    of: str,
    *,
    order: str,
    limit: int,
    prices: PriceTable | None,
    comment: str,
) -> list[TopRow]:
    """The first ``limit`` of the users, labels or models by what they used."""
    query = {**asked.rows(), **_time(quarters_between(asked.since, asked.until)), **_ACTIVE}
    rows = await backend.aggregate("ledger", _stages(query, of), comment=comment)
    costs: dict[Any, Costs] = {}
    if prices is not None:
        for start, end in _versions(prices, asked.since, asked.until):
            within = {**asked.rows(), **_time(quarters_between(start, end)), **_ACTIVE}
            group = {"_id": {"name": NAMES[of], "model": "$_id.m"}, **_sums("ioc")}
            found = await backend.aggregate(
                "ledger", [{"$match": within}, {"$group": group}], comment=comment
            )
            for row in found:
                tokens = [row["_id"].get("model", ""), *(_whole(row[short]) for short in "ioc")]
                quarter = (start or 0) // _QUARTER_MS
                costs.setdefault(row["_id"].get("name"), Costs()).add(prices, quarter, [tokens])
    made = [_row(row, None if prices is None else costs.get(row["_id"], Costs())) for row in rows]
    return sorted(made, key=lambda row: (-_rank(row, order), row.name is None, row.name or ""))[:limit]


_QUARTER_MS: Final = 3_600_000 // HOUR_QUARTERS


def _time(quarters: Mapping[str, int]) -> dict[str, Any]:
    """The filter of these quarters; that of their hours lets the server find them by its index."""
    if not quarters:
        return {}
    hours = {"$gte" if name == "$gte" else "$lte": at // HOUR_QUARTERS for name, at in quarters.items()}
    return {"h": hours, "_id.q": dict(quarters)}


def _versions(
    prices: PriceTable, since: int | None, until: int | None
) -> Iterator[tuple[int | None, int | None]]:
    """The parts of the range in which one version of the prices holds each."""
    starts = [None, *(version.valid_from for version in prices.versions)]
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        first = max((one for one in (start, since) if one is not None), default=None)
        last = min((one for one in (end, until) if one is not None), default=None)
        if first is None or last is None or first < last:
            yield first, last


def _stages(query: Mapping[str, Any], of: str) -> list[dict[str, Any]]:
    by_conversation = {"name": NAMES[of], "c": "$_id.c", "u": "$user"}
    by_user = {"name": "$_id.name", "u": "$_id.u"}
    passed_on = {short: {"$sum": f"${short}"} for short in _COUNTERS}
    return [
        {"$match": dict(query)},
        {"$group": {"_id": by_conversation, **_sums(_COUNTERS)}},
        {"$group": {"_id": by_user, "cn": {"$sum": 1}, **passed_on}},
        {"$group": {"_id": "$_id.name", "cn": {"$sum": "$cn"}, "un": {"$sum": 1}, **passed_on}},
    ]


def _sums(letters: Any) -> dict[str, Any]:
    """Sums that stay exact beyond 64 bits."""
    return {short: {"$sum": {"$toDecimal": {"$ifNull": [f"${short}", 0]}}} for short in letters}


def _whole(value: Any) -> int:
    return min(int(value.to_decimal()) if hasattr(value, "to_decimal") else int(value), U64_MAX)


def _row(row: Mapping[str, Any], costs: Costs | None) -> TopRow:
    counters = {name: _whole(row[short]) for short, name in _COUNTERS.items()}
    return TopRow(
        row["_id"] or None,
        int(row["cn"]),
        int(row["un"]),
        **counters,
        cost=None if costs is None else rounded(costs.cost),
        unpriced=0 if costs is None else costs.unpriced,
    )


def _rank(row: TopRow, order: str) -> float:
    if order == "tokens":
        return row.input_tokens + row.output_tokens
    return float(getattr(row, order) or 0) if order == "cost" else int(getattr(row, order))
