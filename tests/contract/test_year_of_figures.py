"""A year of conversations: every question for figures equals a plain computation over what was made."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from convostore.schemas.prices import Price, PriceTable, PriceVersion
from convostore.store import ALL_USERS, ConversationStore
from support.scale import SCALE, scaled
from support.servers import Server
from support.year import (
    LENGTH,
    PERIODS,
    START,
    ZONES,
    Life,
    durations_of,
    failures_of,
    grouped,
    make_year,
    rank,
    store_year,
    usage_of,
    waits_of,
    writings,
)

# A year has 8,784 hours: at a small scale only where an hour is cut by the change of the clock.
SOME = [
    (by, zone)
    for by in PERIODS
    for zone in ZONES
    if by != "hour" or zone == "Australia/Lord_Howe" or SCALE >= 1
]


@dataclass(frozen=True)
class Year:
    store: ConversationStore
    lives: list[Life]
    database: Any

    def some(self, **members: Any) -> list[Life]:
        """The lives with these members."""
        wanted = members.items()
        return [life for life in self.lives if all(getattr(life, name) == value for name, value in wanted)]


@pytest.fixture(scope="module")
def year(replica_set: Server) -> Iterator[Year]:
    with replica_set.client() as client:
        database = client["a_year_of_figures"]
        store = ConversationStore(database, clock=lambda: START + LENGTH)
        store.setup()
        lives = make_year(scaled(100_000, at_least=200))
        store_year(database, lives)
        store.analytics.advance()
        yield Year(store, lives, database)
        client.drop_database(database.name)


def said(rows: list[Any], *members: str) -> dict[str, tuple[Any, ...]]:
    """The rows that say anything, by their label, as these members; and that the series has no gap."""
    assert all(one.start < two.start for one, two in itertools.pairwise(rows))
    assert len({row.label for row in rows}) == len(rows)
    found = {row.label: tuple(getattr(row, member) for member in members) for row in rows}
    return {label: values for label, values in found.items() if any(values)}


USAGE = (
    "conversations",
    "users",
    "messages",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "requests",
    "created",
    "known",
    "unknown",
)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("by", PERIODS)
def test_usage(year: Year, by: str, zone: str) -> None:
    rows = year.store.analytics.usage(user=ALL_USERS, by=by, tz=zone)
    assert said(rows, *USAGE) == usage_of(year.lives, by, zone)


@pytest.mark.parametrize("zone", ZONES)
def test_usage_of_one_user_label_and_model(year: Year, zone: str) -> None:
    analytics = year.store.analytics
    mine = usage_of(year.some(user="user-1"), "day", zone)
    assert said(analytics.usage(user="user-1", by="day", tz=zone), *USAGE) == mine
    assert said(year.store.for_user("user-1").analytics.usage(by="day", tz=zone), *USAGE) == mine
    work = usage_of(year.some(label="work"), "hour", zone)
    assert said(analytics.usage(user=ALL_USERS, by="hour", tz=zone, label="work"), *USAGE) == work
    large = usage_of(year.lives, "week", zone, "large")
    assert said(analytics.usage(user=ALL_USERS, by="week", tz=zone, model="large"), *USAGE) == large


@pytest.mark.parametrize(("by", "zone"), SOME)
def test_conversations_messages_and_users(year: Year, by: str, zone: str) -> None:
    analytics, usage = year.store.analytics, usage_of(year.lives, by, zone)
    rows: list[Any] = analytics.conversations(user=ALL_USERS, by=by, tz=zone)
    assert said(rows, "created", "active") == {label: (one[7], one[0]) for label, one in usage.items()}
    rows = analytics.messages(user=ALL_USERS, by=by, tz=zone)
    appends = grouped(
        [one for one in writings(year.lives) if one[1].messages], lambda one: one[1].at, by, zone
    )
    assert {label: one[:2] for label, one in said(rows, "messages", "appends", "conversations").items()} == {
        label: (one[2], len(appends[label])) for label, one in usage.items()
    }
    first: dict[str, int] = {}
    for life, one in writings(year.lives):
        first[life.user] = min(first.get(life.user, one.at), one.at)
    new = {label: len(group) for label, group in grouped(list(first.values()), int, by, zone).items()}
    rows = analytics.users(user=ALL_USERS, by=by, tz=zone)
    assert said(rows, "users", "new", "returning") == {
        label: (one[1], new.get(label, 0), one[1] - new.get(label, 0)) for label, one in usage.items()
    }


@pytest.mark.parametrize(("by", "zone"), SOME)
def test_statuses_failures_waits_and_durations(year: Year, by: str, zone: str) -> None:
    analytics = year.store.analytics
    statuses = ("submitted", "working", "completed", "cancelled", "failed")
    rows: list[Any] = analytics.statuses(user=ALL_USERS, by=by, tz=zone)
    assert said(rows, "conversations", *statuses) == {
        label: (len(group), *(sum(life.status == status for life in group) for status in statuses))
        for label, group in grouped(year.lives, lambda life: life.created, by, zone).items()
    }
    failed: list[Any] = analytics.failures(user=ALL_USERS, by=by, tz=zone)
    assert {
        row.label: (row.failures, row.conversations, {one.reason: one.failures for one in row.reasons})
        for row in failed
        if row.failures
    } == failures_of(year.lives, by, zone)
    rows = analytics.queues(user=ALL_USERS, by=by, tz=zone)
    assert said(rows, "waits", "p50", "p90", "p99", "longest") == {
        label: (len(waits), *(rank(waits, percent) for percent in (50, 90, 99, 100)))
        for label, waits in waits_of(year.lives, by, zone).items()
    }
    rows = analytics.durations(user=ALL_USERS, by=by, tz=zone)
    expected = durations_of(year.lives, by, zone)
    found = said(
        rows, "conversations", "p50", "p90", "p99", "longest", "answered", "answer_p50", "answer_longest"
    )
    assert found == {
        label: (
            len(lasted),
            *(rank(lasted, percent) for percent in (50, 90, 99, 100)),
            len(answered),
            rank(answered, 50),
            rank(answered, 100),
        )
        for label, (lasted, answered) in expected.items()
        if lasted
    }


def test_a_range_gives_whole_periods_and_nothing_else(year: Year) -> None:
    zone = "America/New_York"
    since = int(datetime(2024, 3, 9, 12, tzinfo=ZoneInfo(zone)).timestamp() * 1000)
    until = int(datetime(2024, 3, 11, 1, tzinfo=ZoneInfo(zone)).timestamp() * 1000)
    rows = year.store.analytics.usage(user=ALL_USERS, by="day", tz=zone, since=since, until=until)
    assert [row.label for row in rows] == ["2024-03-09", "2024-03-10", "2024-03-11"]
    whole = usage_of(year.lives, "day", zone)
    assert said(rows, *USAGE) == {row.label: whole[row.label] for row in rows if row.label in whole}
    hours = year.store.analytics.usage(user=ALL_USERS, by="hour", tz=zone, since=since, until=until)
    assert sum(row.label.startswith("2024-03-10") for row in hours) == 23


@pytest.mark.parametrize("zone", ZONES)
def test_the_hours_of_the_week(year: Year, zone: str) -> None:
    expected: Counter[tuple[int, int]] = Counter()
    for _, one in writings(year.lives):
        local = datetime.fromtimestamp(one.at / 1000, timezone.utc).astimezone(ZoneInfo(zone))
        expected[local.weekday(), local.hour] += one.messages
    rows = year.store.analytics.heat(user=ALL_USERS, tz=zone)
    assert len(rows) == 168
    assert {(row.weekday, row.hour): row.messages for row in rows if row.messages} == {
        place: count for place, count in expected.items() if count
    }


@pytest.mark.parametrize("of", ["users", "labels", "models"])
def test_the_first_ones_of_a_ranking(year: Year, of: str) -> None:
    since, until = START + 40 * 86_400_000, START + 200 * 86_400_000
    groups: dict[Any, list[Any]] = defaultdict(list)
    for life, one in writings(year.lives):
        name = {"users": life.user, "labels": life.label, "models": one.model}[of]
        if since <= one.at < until:
            groups[name].append((life, one))
    expected = []
    for name, group in groups.items():
        tokens = [one.tokens for _, one in group if one.tokens is not None]
        expected.append(
            (
                name,
                len({life.id for life, _ in group}),
                len({life.user for life, _ in group}),
                sum(one.messages for _, one in group),
                sum(one[0] for one in tokens),
                sum(one[1] for one in tokens),
                sum(one[2] for one in tokens),
                len(tokens),
            )
        )
    expected.sort(key=lambda row: (-row[4] - row[5], row[0] is None, row[0] or ""))
    rows = year.store.analytics.top(of, user=ALL_USERS, since=since, until=until)
    found = [
        (
            row.name,
            row.conversations,
            row.users,
            row.messages,
            row.input_tokens,
            row.output_tokens,
            row.cached_tokens,
            row.requests,
        )
        for row in rows
    ]
    assert found == expected[:10]


JULY = int(datetime(2024, 7, 1, tzinfo=timezone.utc).timestamp() * 1000)
PRICES = PriceTable(
    "USD",
    (
        PriceVersion(0, {"small": Price(Decimal("0.15"), Decimal("0.6"), Decimal("0.075"))}),
        PriceVersion(
            JULY,
            {
                "small": Price(Decimal("0.1"), Decimal("0.4"), Decimal("0.1")),
                "large": Price(Decimal("2.5"), Decimal(10), Decimal("1.25")),
            },
        ),
    ),
)


def cost_of(events: list[Any]) -> tuple[float, int]:
    """What the appends cost, and the tokens without a price."""
    cost, unpriced = Decimal(0), 0
    for _, one in events:
        if one.tokens is None:
            continue
        given, made, cached = one.tokens
        cached = min(cached, given)
        if one.model == "small":
            prices = (Decimal("0.15"), Decimal("0.6"), Decimal("0.075"))
            if one.at >= JULY:
                prices = (Decimal("0.1"), Decimal("0.4"), Decimal("0.1"))
        elif one.model == "large" and one.at >= JULY:
            prices = (Decimal("2.5"), Decimal(10), Decimal("1.25"))
        else:
            unpriced += given + made
            continue
        cost += ((given - cached) * prices[0] + made * prices[1] + cached * prices[2]) / 1_000_000
    return float(cost.quantize(Decimal("0.000001"))), unpriced


@pytest.mark.parametrize("user", [ALL_USERS, "user-1"], ids=["all", "one"])
def test_costs_follow_the_versions_of_the_table(year: Year, user: Any) -> None:
    lives = year.lives if user is ALL_USERS else year.some(user=user)
    rows: list[Any] = year.store.analytics.usage(user=user, by="month", tz="Europe/London", prices=PRICES)
    groups = grouped(writings(lives), lambda one: one[1].at, "month", "Europe/London")
    assert {row.label: (row.cost, row.unpriced) for row in rows if row.messages} == {
        label: cost_of(group) for label, group in groups.items() if sum(one.messages for _, one in group)
    }
    rows = year.store.analytics.top("models", user=user, order="cost", prices=PRICES)
    models = {
        model: cost_of([one for one in writings(lives) if one[1].model == model])
        for model in (None, "small", "large")
    }
    assert {row.name: (row.cost, row.unpriced) for row in rows} == models


def test_a_rebuild_gives_the_same_figures_and_the_doctor_agrees(year: Year) -> None:
    before = [year.database[name].find_one({}, sort=[("h", -1)]) for name in ("ledger", "sheets")]
    counted = [year.database[name].count_documents({}) for name in ("ledger", "sheets")]
    assert year.store.analytics.rebuild() == len(year.lives)
    after = [year.database[name].find_one({}, sort=[("h", -1)]) for name in ("ledger", "sheets")]
    assert counted == [year.database[name].count_documents({}) for name in ("ledger", "sheets")]
    for one, two in zip(before, after, strict=True):
        assert one["h"] == two["h"]
    rows = year.store.analytics.usage(user=ALL_USERS, by="week")
    assert said(rows, *USAGE) == usage_of(year.lives, "week", "UTC")
    assert [one for one in year.store.check().findings if "ledger" in one.kind or "sheet" in one.kind] == []
