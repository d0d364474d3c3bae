"""Documents of days: whatever the sheets say of any hours comes back, in however many parts."""

from __future__ import annotations

import itertools
from typing import Any
from zoneinfo import ZoneInfo

from bson import decode, encode
from bson.int64 import Int64
from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.periods import Period, periods
from convostore.store.codec import OPTIONS, U64_MAX, document_size, encode_u64
from convostore.store.days import (
    COLUMNS,
    DISTINCT,
    HOURS,
    MOST,
    active_in,
    columns_between,
    day_documents,
    first_hours,
)
from convostore.store.tallying import Tally, add_days, are_days, cut_hours

DAY = 19_700
HOUR_MS = 3_600_000

ids = st.integers(0, 12) | st.sampled_from([2**63 - 1, 2**63, U64_MAX])
hours = st.fixed_dictionaries(
    {
        "n": st.integers(0, 3) | st.just(2**40),
        "cs": st.sets(ids, max_size=6),
        "us": st.sets(st.sampled_from("abcd€")),
    }
)
days = st.dictionaries(st.integers(0, 2 * HOURS - 1), hours, max_size=12)


def stored(found: dict[int, Any], most: int) -> list[dict[str, Any]]:
    """The documents of two days, as the database gives them back."""
    documents = []
    for day in (0, 1):
        sheets = [
            {
                "h": Int64((DAY + day) * HOURS + hour % HOURS),
                "t": {"n": one["n"], "cn": len(one["cs"]), "un": len(one["us"])},
                "cs": [encode_u64(id) for id in one["cs"]],
                "us": list(one["us"]),
            }
            for hour, one in found.items()
            if hour // HOURS == day
        ]
        documents += day_documents(DAY + day, sheets, most)
    return [decode(encode(one, codec_options=OPTIONS), OPTIONS) for one in documents]


@given(days, st.integers(1, 4), st.integers(-3, 50), st.integers(0, 50))
def test_the_active_of_any_hours(found: dict[int, Any], most: int, start: int, length: int) -> None:
    documents = stored(found, most)
    conversations: set[int] = set()
    users: set[str] = set()
    first = DAY * HOURS
    for document in documents:
        assert len(document.get("us", ())) <= most
        some, named = active_in(document, first + start, first + start + length)
        conversations.update(some)
        users.update(named)
    within = [one for hour, one in found.items() if start <= hour < start + length]
    assert conversations == set().union(*(one["cs"] for one in within))
    assert users == set().union(*(one["us"] for one in within))


@given(days, st.integers(0, 47), st.integers(1, 48))
def test_the_columns_of_any_hours(found: dict[int, Any], start: int, length: int) -> None:
    first, last = DAY * HOURS + start, DAY * HOURS + min(start + length, 2 * HOURS) - 1
    columns = columns_between(stored(found, 2), first, last)
    assert set(columns) == set(COLUMNS)
    empty = {"n": 0, "cs": (), "us": ()}
    wanted = [found.get(hour - DAY * HOURS, empty) for hour in range(first, last + 1)]
    assert columns["n"] == [one["n"] for one in wanted]
    assert columns["cn"] == [len(one["cs"]) for one in wanted]
    assert columns["un"] == [len(one["us"]) for one in wanted]
    assert not any(columns["i"])


@given(days, st.lists(st.integers(0, 4 * 2 * HOURS), min_size=2, unique=True))
def test_whole_hours_go_into_the_period_they_lie_in(found: dict[int, Any], edges: list[int]) -> None:
    start = DAY * HOURS * HOUR_MS
    ends = [start + edge * HOUR_MS // 4 for edge in sorted(edges)]
    cut = [Period(one, two, "") for one, two in itertools.pairwise(ends)]
    tallies = [Tally() for _ in cut]
    add_days(stored(found, 3), cut, tallies)
    for period, tally in zip(cut, tallies, strict=True):
        within = [
            one
            for hour, one in found.items()
            if period.start <= start + hour * HOUR_MS and start + (hour + 1) * HOUR_MS <= period.end
        ]
        assert tally.counts().messages == sum(one["n"] for one in within)
        ids, named = (set().union(*(one[name] for one in within)) for name in ("cs", "us"))
        assert tally.distinct == (len(ids), len(named))


@given(days, st.integers(1, 4))
def test_whole_days_are_told_without_names(found: dict[int, Any], most: int) -> None:
    start = DAY * HOURS * HOUR_MS
    both = [Period(start + day * 24 * HOUR_MS, start + (day + 1) * 24 * HOUR_MS, "") for day in (0, 1)]
    assert are_days(both)
    tallies = [Tally(), Tally()]
    numbers = (*COLUMNS, *DISTINCT, "_id")
    bare = [
        {name: one for name, one in document.items() if name in numbers} for document in stored(found, most)
    ]
    add_days(bare, both, tallies)
    for day, tally in enumerate(tallies):
        within = [one for hour, one in found.items() if hour // HOURS == day]
        ids, named = (set().union(*(one[name] for one in within)) for name in ("cs", "us"))
        assert tally.distinct == (len(ids), len(named))
        assert tally.counts().messages == sum(one["n"] for one in within)


@given(days, st.integers(1, 4))
def test_the_first_hour_of_each_user(found: dict[int, Any], most: int) -> None:
    expected: dict[str, int] = {}
    for hour, one in sorted(found.items()):
        for name in one["us"]:
            expected.setdefault(name, DAY * HOURS + hour)
    assert first_hours(stored(found, most)) == expected


def test_only_days_of_utc_are_days() -> None:
    assert not are_days(periods(0, 86_400_000 * 9, "day", ZoneInfo("Europe/London")))
    assert not are_days(periods(0, 86_400_000 * 9, "week", ZoneInfo("UTC")))
    assert are_days(periods(0, 86_400_000 * 9, "day", ZoneInfo("UTC")))


def test_no_document_is_larger_than_it_may_be() -> None:
    users = [f"{id:05}" + "\N{GRINNING FACE}" * 251 for id in range(MOST + 10)]
    sheet = {"h": DAY * HOURS, "t": {"n": 1}, "cs": list(range(MOST + 10)), "us": users}
    documents = day_documents(DAY, [sheet])
    assert len(documents) == 2
    assert max(document_size(document) for document in documents) < 15 << 20


def test_hours_that_an_edge_cuts() -> None:
    quarter = HOUR_MS // 4
    periods = [
        Period(0, 5 * quarter, ""),
        Period(5 * quarter, 8 * quarter, ""),
        Period(8 * quarter, 9 * quarter, ""),
    ]
    assert cut_hours(periods) == {1, 2}
    assert cut_hours([Period(0, HOUR_MS, "")]) == set()
