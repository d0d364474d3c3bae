"""Times of foreign sources: in milliseconds, or missing and said; nothing is guessed."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.formats.moments import Moments, clock_of
from convostore.schemas.formats.remarks import Remarks
from support.importing import ODD_VALUES
from support.json_strategies import json_values

Numbers = Literal["seconds", "milliseconds"] | None


def read(value: Any, numbers: Numbers = None) -> tuple[int | None, tuple[str, ...]]:
    remarks = Remarks()
    return Moments(remarks, numbers).read(value), remarks.lines()


@pytest.mark.parametrize(
    ("value", "numbers", "made"),
    [
        ("2026-01-02T03:04:05Z", None, 1767323045000),
        ("2026-01-02T03:04:05.006789+02:00", None, 1767315845006),
        ("20260102T030405Z", None, 1767323045000),
        ({"$date": "2026-01-02T03:04:05Z"}, None, 1767323045000),
        ({"$date": {"$numberLong": "1767323045000"}}, None, 1767323045000),
        ({"$date": 5}, None, 5),
        (1767323045, None, 1767323045000),
        (1767323045000, None, 1767323045000),
        (1767323045.0015, "seconds", 1767323045001),
        (1704629916.776371, "seconds", 1704629916776),
        (1.5, "seconds", 1500),
        (0, "seconds", 0),
        (7, "milliseconds", 7),
    ],
)
def test_time_in_one_way_only_is_read(value: Any, numbers: Numbers, made: int) -> None:
    assert read(value, numbers) == (made, ())


def test_milliseconds_where_seconds_were_expected_are_read_and_said() -> None:
    made, said = read(1767323045000, "seconds")
    assert made == 1767323045000 and "milliseconds" in said[0]


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-02T03:04:05", "2026-01-02", "2026-02-30T00:00:00Z", "03:04", "soon", "",
        "1969-12-31T23:59:59Z",
        5 * 10**10, 10**15, 7, -1, True, float("nan"), float("inf"), 10**400, [], {}, {"$date": None},
        {"$date": {"$numberLong": "x"}}, {"$date": -1}, {"$date": 5, "more": 1},
    ],
)  # fmt: skip
def test_time_that_is_ambiguous_or_none_is_missing_and_said(value: Any) -> None:
    made, said = read(value)
    assert made is None and len(said) == 1


def test_null_is_no_time_and_nothing_to_say() -> None:
    assert read(None) == (None, ())


@pytest.mark.parametrize(
    ("id", "made"),
    [
        ("65c5f9e00000000000000001", 1707473376000),
        ({"$oid": "65c5f9e00000000000000001"}, 1707473376000),
        ("0197b2e1-8c00-7000-8000-000000000000", 1751052815360),
        ("000000000000000000000001", None),
        ("7c9e6679-7425-40de-944b-e07fc1f90ae7", None),
        ("ffffffff-ffff-7fff-8fff-ffffffffffff", None),
        ("msg_1", None),
        (7, None),
        (None, None),
    ],
)
def test_clock_in_an_identifier_is_a_time_and_said(id: Any, made: int | None) -> None:
    assert clock_of(id) == made
    remarks = Remarks()
    assert Moments(remarks).read_or_clock(None, "no clock", id) == made
    assert bool(remarks.lines()) == (made is not None)
    assert Moments(remarks).read_or_clock("2026-01-02T03:04:05Z", id) == 1767323045000


@given(
    value=st.one_of(
        json_values, st.sampled_from(ODD_VALUES), st.from_regex(r"\d{4}-?\d\d-?\d\dT?[\d:.,]*Z?")
    ),
    numbers=st.sampled_from(["seconds", "milliseconds", None]),
)
def test_whatever_stands_there_is_a_time_or_said_to_be_none(value: Any, numbers: Numbers) -> None:
    made, said = read(value, numbers)
    assert made is None or (type(made) is int and 0 <= made < 2**63)
    assert bool(said) or made is not None or value is None
