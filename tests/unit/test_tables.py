"""Rows of figures as tables, CSV, JSON and files, without a store."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import ipc, parquet

from convostore.cli.tables import (
    cells,
    csv_text,
    headings,
    number_columns,
    remarks_of,
    rows_json,
    write_rows,
)
from convostore.store import DurationsRow, FailuresRow, ReasonCount, TopRow, UsageRow, members_of, to_arrow
from support.figure_rows import SERIES, made_rows

ZONE = "Australia/Lord_Howe"


@pytest.fixture
def rows() -> list[UsageRow]:
    found: list[UsageRow] = made_rows(UsageRow, 24, "hour", ZONE, "2026-04-05")
    return found


def test_a_file_is_what_its_name_says(rows: list[UsageRow], tmp_path: Path) -> None:
    for kind in ("parquet", "arrow", "csv", "JSON"):
        write_rows(tmp_path / f"rows.{kind}", rows, UsageRow, ZONE, by="hour", currency=None)
    table = to_arrow(rows, zone=ZONE)
    assert parquet.read_table(tmp_path / "rows.parquet").equals(table)
    with ipc.open_file(tmp_path / "rows.arrow") as file:
        assert file.read_all().equals(table)
    assert (tmp_path / "rows.csv").read_text("utf-8") == csv_text(rows, UsageRow)
    answer = json.loads((tmp_path / "rows.JSON").read_text("utf-8"))
    assert answer == {"rows": [members_of(row) for row in rows], "zone": ZONE, "by": "hour"}
    assert answer == json.loads(json.dumps(rows_json(rows, zone=ZONE, by="hour")))
    assert len(list(tmp_path.iterdir())) == 4


def test_csv_has_every_member_as_it_is(rows: list[UsageRow]) -> None:
    found = list(csv.DictReader(io.StringIO(csv_text(rows, UsageRow))))
    assert found == [
        {name: "" if value is None else str(value) for name, value in members_of(row).items()} for row in rows
    ]
    assert csv_text([], UsageRow).splitlines() == [csv_text(rows, UsageRow).splitlines()[0]]
    reasons = (ReasonCount('a "b", c', 2), ReasonCount(None, 1))
    (row,) = csv.DictReader(io.StringIO(csv_text([FailuresRow(0, "x", 3, 2, reasons)], FailuresRow)))
    assert json.loads(row["reasons"]) == [members_of(one) for one in reasons]


@pytest.mark.parametrize("kind", SERIES, ids=lambda kind: kind.__name__)
def test_every_series_has_a_table(kind: type) -> None:
    found: list[Any] = made_rows(kind, 3, "day")
    names = headings(found)
    assert names[0] == "PERIOD" and "START" not in names
    assert {len(row) for row in cells(found)} == {len(names)}
    assert [row[0] for row in cells(found)] == ["2026-01-01", "2026-01-02", "2026-01-03"]
    texts = {0} | ({names.index("REASONS")} if "REASONS" in names else set())
    assert number_columns(found) == [place for place in range(len(names)) if place not in texts]


def test_numbers_durations_and_what_is_missing_are_for_people() -> None:
    rows = [DurationsRow(0, "x", 1, 90_000, None, 0, 7_200_000, 1)]
    shown = dict(zip(headings(rows), cells(rows)[0], strict=True))
    assert (shown["P50"], shown["P90"], shown["P99"], shown["LONGEST"]) == ("1.5min", "-", "0", "2h")
    (top,) = cells([TopRow(None, 1, 1, 1_234_567, 0, 0, 0, 0)])
    assert top[0] == "none" and "1,234,567" in top
    (failed,) = cells([FailuresRow(0, "x", 3, 2, (ReasonCount("a", 2), ReasonCount(None, 1)))])
    assert failed[-1] == "a (2); no reason given (1)"


def test_remarks_say_what_a_table_leaves_out(rows: list[UsageRow]) -> None:
    assert remarks_of(rows) == [f"{sum(row.unknown for row in rows):,} appends did not say their usage"]
    row = UsageRow(0, "x", *([0] * 7), by_creation=2, tokens_by_creation=3, unpriced=4)
    assert [remark.split()[0] for remark in remarks_of([row, row])] == ["4", "6", "8"]
    assert remarks_of(made_rows(DurationsRow, 2, "day")) == []


def test_a_long_time_without_anything_is_one_line() -> None:
    used = UsageRow(0, "a", 1, 1, 2, 3, 4, 0, 1)
    nothing = [UsageRow(place, f"day {place}", 0, 0, 0, 0, 0, 0, 0) for place in range(9)]
    names = [line[0] for line in cells([used, *nothing[:7], used, *nothing[7:], used])]
    assert names == ["a", "7 idle", "a", "day 7", "day 8", "a"]
    assert len({len(line) for line in cells([used, *nothing])}) == 1
