"""Times as Anda writes them, over its whole calendar, and read back."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas.anda_times import read_rfc3339, rfc3339, rfc3339_offset
from convostore.schemas.errors import InvalidRecordError

LAST = 8_210_266_876_799_999
FIRST = 2**64 - 8_334_601_228_800_000


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_700_000_000_000, "2023-11-14T22:13:20.000Z"),
        (1_700_000_102_250, "2023-11-14T22:15:02.250Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "+10000-01-01T00:00:00.000Z"),
        (LAST, "+262142-12-31T23:59:59.999Z"),
        (2**64 - 1, "1969-12-31T23:59:59.999Z"),
        (2**64 - 62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
        (2**64 - 62_167_219_200_001, "-0001-12-31T23:59:59.999Z"),
        (FIRST, "-262143-01-01T00:00:00.000Z"),
    ],
)
def test_time_is_written(ms: int, text: str) -> None:
    assert rfc3339(ms) == text


@pytest.mark.parametrize("ms", [LAST + 1, FIRST - 1, 2**63 - 1, 2**63])
def test_time_beyond_the_calendar_is_none(ms: int) -> None:
    assert rfc3339(ms) is None
    assert rfc3339_offset(ms) is None


def test_time_with_an_offset_has_digits_only_when_needed() -> None:
    assert rfc3339_offset(1_700_000_000_000) == "2023-11-14T22:13:20+00:00"
    assert rfc3339_offset(1_700_000_000_050) == "2023-11-14T22:13:20.050+00:00"


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2023-11-14T22:13:20.000Z", 1_700_000_000_000),
        ("2023-11-14T22:13:20Z", 1_700_000_000_000),
        ("2023-11-14t22:13:19.512873+00:00", 1_699_999_999_512),
        ("2023-11-15T03:43:20.9+05:30", 1_700_000_000_900),
        ("2023-11-14T17:13:20-05:00", 1_700_000_000_000),
    ],
)
def test_time_is_read(text: str, ms: int) -> None:
    assert read_rfc3339(text, "created_at") == ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2023-11-14",
        "2023-11-14T22:13:20",
        "2023-02-30T00:00:00Z",
        "2023-11-14T24:00:00Z",
        "1969-12-31T23:59:59Z",
        "2023-11-14T22:13:20.000Z ",
        "0001-01-01T00:00:00+23:59",
        "२०२३-11-14T22:13:20Z",
        1_700_000_000_000,
        None,
    ],
)
def test_what_is_no_time_is_refused_with_its_path(text: Any) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        read_rfc3339(text, "metadata.created_at")
    assert refused.value.path == "metadata.created_at"
