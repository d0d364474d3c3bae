"""Rows of figures as a table for people, as CSV, as JSON, and as files; a file's name says its kind."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from convostore.cli.charts.shapes import Unit
from convostore.cli.charts.units import short
from convostore.cli.files import writing
from convostore.schemas.json_output import foreign_json
from convostore.store import members_of

__all__ = [
    "cells",
    "csv_text",
    "headings",
    "number_columns",
    "remarks_of",
    "rows_json",
    "says_something",
    "write_rows",
]

_HEADINGS = {
    "label": "PERIOD",
    "input_tokens": "INPUT",
    "output_tokens": "OUTPUT",
    "cached_tokens": "CACHED",
    "follow_up": "FOLLOW-UP",
}
_IDLE = 2
_DURATIONS = frozenset({"p50", "p90", "p99", "longest"})
# Left out of the tables: what a remark below says, or what a period's name says.
_ASIDE = frozenset({"start", "known", "unknown", "by_creation", "tokens_by_creation", "unpriced"})


def headings(rows: Sequence[Any]) -> list[str]:
    """The columns of a table of the rows, the name of each row first."""
    return [_HEADINGS.get(name, name.replace("_", " ").upper()) for name in _shown(rows)]


def cells(rows: Sequence[Any]) -> list[list[str]]:
    """The rows as texts for people, in the columns of :func:`headings`.

    More than two periods after each other in which nothing happened are one line.
    """
    names = _shown(rows)
    lines: list[list[str]] = []
    for is_idle, run in groupby(rows, _is_idle):
        periods = list(run)
        if is_idle and len(periods) > _IDLE:
            lines.append([f"{len(periods):,} idle", *[""] * (len(names) - 1)])
        else:
            lines += [[_cell(name, getattr(row, name)) for name in names] for row in periods]
    return lines


def _is_idle(row: Any) -> bool:
    """Whether it is a period in which nothing happened."""
    return hasattr(row, "label") and not says_something(row)


def says_something(row: Any) -> bool:
    """Whether anything but the period's name is in a row."""
    return any(value for name, value in row._asdict().items() if name not in ("start", "label"))


def number_columns(rows: Sequence[Any]) -> list[int]:
    """Which columns of :func:`headings` hold numbers."""
    first = rows[0]
    texts = (str, tuple)
    return [
        place
        for place, name in enumerate(_shown(rows))
        if name != "name" and not isinstance(getattr(first, name), texts)
    ]


def remarks_of(rows: Sequence[Any]) -> list[str]:
    """What a table does not show: how much of it is not known."""

    def total(member: str) -> int:
        return sum(getattr(row, member, 0) for row in rows)

    remarks = []
    if unknown := total("unknown"):
        remarks.append(f"{unknown:,} appends did not say their usage")
    if undated := total("by_creation"):
        remarks.append(f"{undated:,} imported messages have no time of their own: they count when created")
    if whole := total("tokens_by_creation"):
        remarks.append(f"{whole:,} tokens of imports are known as a whole only: they count when created")
    if unpriced := total("unpriced"):
        remarks.append(f"{unpriced:,} tokens have no price")
    return remarks


def _shown(rows: Sequence[Any]) -> list[str]:
    names = [name for name in rows[0]._fields if name not in _ASIDE]
    return [name for name in names if name != "cost" or any(row.cost is not None for row in rows)]


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "none" if name == "name" else "-"
    if name.removeprefix("answer_") in _DURATIONS:
        return short(value, Unit.DURATION)
    if isinstance(value, tuple):
        return "; ".join(f"{one.reason or 'no reason given'} ({one.failures:,})" for one in value)
    if isinstance(value, float):
        return f"{value:,.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def csv_text(rows: Sequence[Any], kind: Any) -> str:
    """A line of names and one for each row: numbers as they are, what is not known empty, lists as JSON."""
    text = io.StringIO()
    writer = csv.DictWriter(text, kind._fields, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        members = members_of(row).items()
        writer.writerow(
            {name: foreign_json(value) if isinstance(value, list) else value for name, value in members}
        )
    return text.getvalue()


def rows_json(rows: Sequence[Any], **named: Any) -> dict[str, Any]:
    """The rows as JSON with the zone and whatever else names the answer; what is None is left out of that."""
    return {
        "rows": [members_of(row) for row in rows],
        **{name: value for name, value in named.items() if value is not None},
    }


def write_rows(path: Path, rows: Sequence[Any], kind: Any, zone: str, **named: Any) -> None:
    """Write the rows into a file that ends with .csv, .json, .parquet or .arrow, whole or not at all."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        content = csv_text(rows, kind).encode(errors="backslashreplace")
    elif suffix == ".json":
        content = foreign_json(rows_json(rows, zone=zone, **named)).encode() + b"\n"
    else:
        content = _columnar(suffix, rows, kind, zone)
    with writing(path) as write:
        write(content)


def _columnar(suffix: str, rows: Sequence[Any], kind: Any, zone: str) -> bytes:
    from convostore.store import to_arrow

    table = to_arrow(rows, zone=zone, kind=kind)
    import pyarrow
    from pyarrow import parquet

    sink = pyarrow.BufferOutputStream()
    if suffix == ".parquet":
        parquet.write_table(table, sink)
    else:
        with pyarrow.ipc.new_file(sink, table.schema) as file:
            file.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content
