"""Periods of any zone: without gaps, right across changes of the clock."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.errors import QueryError
from convostore.schemas.periods import QUARTER_MS, By, period_places, periods, zone_named

ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Europe/London", "Australia/Lord_Howe", "Asia/Kathmandu")


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000)


def hours(first: str, last: str, by: str, zone: str) -> list[float]:
    return [(one.end - one.start) / 3_600_000 for one in periods(ms(first), ms(last), by, ZoneInfo(zone))]


def test_a_day_has_25_hours_when_the_clock_goes_back_and_23_when_it_goes_on() -> None:
    assert hours("2024-11-03T04:00", "2024-11-04T05:00", "day", "America/New_York") == [25]
    assert hours("2024-03-10T05:00", "2024-03-11T04:00", "day", "America/New_York") == [23]
    assert hours("2024-04-06T13:00", "2024-04-07T13:30", "day", "Australia/Lord_Howe") == [24.5]


def test_the_hour_that_comes_twice_is_two_periods_with_different_labels() -> None:
    found = periods(ms("2024-11-03T05:00"), ms("2024-11-03T07:00"), "hour", ZoneInfo("America/New_York"))
    assert [one.label for one in found] == ["2024-11-03T01:00-04:00", "2024-11-03T01:00-05:00"]


def test_labels_are_those_of_the_zone() -> None:
    at = ms("2026-03-07T20:00")
    zone = ZoneInfo("Asia/Kolkata")
    labels = {by.value: periods(at, at + 1, by, zone)[0].label for by in By}
    assert labels == {
        "hour": "2026-03-08T01:00+05:30",
        "day": "2026-03-08",
        "week": "2026-W10",
        "month": "2026-03",
    }


@given(
    st.integers(0, 2_000_000_000_000),
    st.integers(1, 40 * 86_400_000),
    st.sampled_from(list(By)),
    st.sampled_from(ZONES),
)
def test_periods_cover_the_range_without_gaps_and_agree_with_the_calendar(
    since: int, length: int, by: By, name: str
) -> None:
    zone = ZoneInfo(name)
    found = periods(since, since + length, by, zone)
    assert found[0].start <= since < found[0].end
    assert found[-1].start < since + length <= found[-1].end
    assert all(one.end == two.start for one, two in itertools.pairwise(found))
    assert len({one.label for one in found}) == len(found)
    if by is By.DAY:
        for one in found:
            first = datetime.fromtimestamp(one.start / 1000, zone)
            last = datetime.fromtimestamp(one.end / 1000, zone) - timedelta(milliseconds=1)
            assert first.date().isoformat() == last.date().isoformat() == one.label


@given(st.integers(0, 2_000_000), st.sampled_from(ZONES))
def test_each_quarter_of_an_hour_lies_in_the_period_that_holds_it(quarter: int, name: str) -> None:
    at = quarter * QUARTER_MS
    found = periods(at, at + 3 * 86_400_000, "hour", ZoneInfo(name))
    (place, outside) = period_places(found, [quarter, found[-1].end // QUARTER_MS + 1])
    assert found[place].start <= at < found[place].end
    assert outside == -1


@pytest.mark.parametrize("name", ["Nowhere/City", "", "../etc/passwd", "UTC\0"])
def test_an_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(QueryError, match="tz"):
        zone_named(name)


def test_an_empty_range_and_one_of_too_many_periods_are_refused() -> None:
    with pytest.raises(QueryError):
        periods(5, 5, "day", ZoneInfo("UTC"))
    with pytest.raises(QueryError, match="200,000"):
        periods(0, 2**43, "hour", ZoneInfo("UTC"))
