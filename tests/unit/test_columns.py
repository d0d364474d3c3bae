"""Rows of figures as Arrow: read back from Parquet they are the rows."""

from __future__ import annotations

import io
import sys
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow
import pytest
from pyarrow import parquet

from convostore.schemas.errors import InvalidRecordError, QueryError, UnavailableError
from convostore.store import (
    FailuresRow,
    HeatRow,
    ReasonCount,
    TopRow,
    UsageRow,
    WaitingRow,
    members_of,
    to_arrow,
)
from support.figure_rows import SERIES, heat_rows, made_rows, top_rows

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def through_parquet(table: Any) -> Any:
    stream = io.BytesIO()
    parquet.write_table(table, stream)
    stream.seek(0)
    return parquet.read_table(stream)


def back(table: Any) -> list[dict[str, Any]]:
    """The rows of a table as plain values, moments as ms."""
    return [
        {
            name: (value - EPOCH) // timedelta(milliseconds=1) if isinstance(value, datetime) else value
            for name, value in row.items()
        }
        for row in table.to_pylist()
    ]


def plain(rows: list[Any]) -> list[dict[str, Any]]:
    return [members_of(row) for row in rows]


@pytest.mark.parametrize("kind", SERIES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("zone", ["UTC", "Australia/Lord_Howe"])
def test_every_series_comes_back_from_parquet(kind: type, zone: str) -> None:
    rows = made_rows(kind, 30, "hour", zone, "2026-04-05")
    table = to_arrow(rows, zone=zone)
    read = through_parquet(table)
    assert read.schema.equals(table.schema)
    assert read.schema.field("start").type == pyarrow.timestamp("ms", zone)
    assert back(read) == plain(rows)
    local = read.column("start")[3].as_py()
    assert local.utcoffset() == datetime.fromtimestamp(rows[3].start / 1000, ZoneInfo(zone)).utcoffset()


@pytest.mark.parametrize(
    "rows",
    [top_rows(["alice", None]), heat_rows(), [WaitingRow("steering", 0)]],
    ids=["top", "heat", "waiting"],
)
def test_other_rows_come_back_too(rows: list[Any]) -> None:
    assert back(through_parquet(to_arrow(rows))) == plain(rows)


def test_the_greatest_counter_and_what_is_not_known_are_kept() -> None:
    most = 2**64 - 1
    rows = [UsageRow(0, "1970-01-01", 1, 1, most, most, 0, 0, 0), UsageRow(1, "x", *([0] * 7), cost=0.25)]
    read = through_parquet(to_arrow(rows))
    assert read.column("messages").to_pylist() == [most, 0]
    assert read.column("cost").to_pylist() == [None, 0.25]
    reasons = (ReasonCount(None, 2), ReasonCount("no credit", 1))
    read = through_parquet(to_arrow([FailuresRow(0, "x", 3, 3, reasons)]))
    assert read.column("reasons").to_pylist() == [[members_of(one) for one in reasons]]


def test_half_a_character_is_written_as_its_escape() -> None:
    read = through_parquet(to_arrow([FailuresRow(0, "x", 1, 1, (ReasonCount("é\ud83d", 1),))]))
    assert read.column("reasons").to_pylist() == [[{"reason": "é\\ud83d", "failures": 1}]]


def test_no_rows_are_a_table_of_their_kind() -> None:
    table = to_arrow([], kind=UsageRow, zone="Asia/Kolkata")
    assert table.num_rows == 0
    assert table.schema.equals(to_arrow(made_rows(UsageRow, 1, "day"), zone="Asia/Kolkata").schema)


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([], {}),
        ([HeatRow(0, 0, 0, 0, 0, 0, 0), TopRow("a", 0, 0, 0, 0, 0, 0, 0)], {}),
        ([{"start": 1}], {}),
        ([HeatRow(0, 0, 0, 0, 0, 0, 0)], {"kind": UsageRow}),
    ],
)
def test_rows_of_no_one_kind_are_refused(rows: list[Any], named: dict[str, Any]) -> None:
    with pytest.raises(InvalidRecordError):
        to_arrow(rows, **named)
    with pytest.raises(QueryError):
        to_arrow(made_rows(UsageRow, 1, "day"), zone="Mars/Olympus")


def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnavailableError, match=r"convostore\[analytics\]") as refused:
        to_arrow(made_rows(UsageRow, 1, "day"))
    assert refused.value.capability == "arrow"
