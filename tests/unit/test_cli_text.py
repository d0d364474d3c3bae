"""Times and texts of the command line, without a process."""

from __future__ import annotations

from datetime import timezone
from zoneinfo import ZoneInfo

import pytest

from convostore.cli.dates import parse_moment, show_moment, zone_named
from convostore.cli.output import error_json, plain
from convostore.schemas.errors import NotFoundError, QueryError

NOW = 1_772_971_200_000  # 2026-03-08 12:00 UTC
NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-03-08", 1_772_928_000_000),
        ("2026-03-08T12:00:00Z", NOW),
        ("2026-03-08T12:00:00.250z", NOW + 250),
        ("2026-03-08 13:00+01:00", NOW),
        (" 2026-03-08T12:00:00 ", NOW),
        ("1772971200000", NOW),
        ("0", 0),
        ("90d", NOW - 90 * 86_400_000),
        ("2w", NOW - 14 * 86_400_000),
        ("36h", NOW - 36 * 3_600_000),
        ("5m", NOW - 300_000),
        ("30s", NOW - 30_000),
        ("999999999d", 0),
    ],
)
def test_moment_in_every_form(text: str, ms: int) -> None:
    assert parse_moment(text, "since", timezone.utc, NOW) == ms


def test_date_is_the_midnight_of_its_zone_also_where_the_clock_changes() -> None:
    midnight = parse_moment("2026-03-08", "since", NEW_YORK, NOW)
    assert midnight == 1_772_946_000_000
    assert parse_moment("2026-03-09", "since", NEW_YORK, NOW) - midnight == 23 * 3_600_000


@pytest.mark.parametrize(
    "text", ["", "soon", "2026-02-30", "2026-13-01", "1969-12-31", "-5", "1e3", "9d9", "d"]
)
def test_what_is_no_moment_is_refused_with_its_option(text: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse_moment(text, "since", timezone.utc, NOW)
    assert refused.value.parameter == "since"


def test_moment_is_shown_in_its_zone() -> None:
    assert show_moment(NOW, NEW_YORK) == "2026-03-08 08:00:00-04:00"
    assert show_moment(None, NEW_YORK) == "-"
    assert show_moment(2**64 - 1, NEW_YORK) == "18446744073709551615 ms"


@pytest.mark.parametrize("name", ["Mars/Phobos", "", "../etc/passwd", "/etc/localtime", "\x00"])
def test_zone_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(QueryError):
        zone_named(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\r\nc", "a b  c"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\ud800", "\\ud800"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\U0001f469\u200d\U0001f467", "\U0001f469\u200d\U0001f467"),
        ("\u05e9\u200f", "\u05e9\u200f"),
        ("\x9b\x7f", "\\x9b\\x7f"),
    ],
)
def test_text_of_others_is_shown_without_what_a_terminal_obeys(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_cut_text_keeps_to_its_limit() -> None:
    assert plain("x" * 100, 10) == "x" * 9 + "\u2026"
    assert plain("x" * 10, 10) == "x" * 10


def test_error_as_json_has_its_facts() -> None:
    error = NotFoundError("conversation", 2**70)
    assert error_json(error, "NotFoundError", "gone") == (
        f'{{"error":{{"type":"NotFoundError","message":"gone","kind":"conversation","id":{2**70}}}}}'
    )
