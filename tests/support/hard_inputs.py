"""The rows of the shared hard inputs, by the tests that are named after them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import check_json, dump_text
from support.shared import shared

NAMED = re.compile(r"test_HI_(?P<number>\d{3})_(?P<kind>\w+)")
"""The name of a row's test: its number and its kind, perhaps with more behind it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One input; ``field`` says what the value is (``message``, ``messages``, ``record``, ``op`` ...)."""

    id: str
    case: str
    kind: str
    field: str
    value: Any


@cache
def rows() -> dict[str, dict[str, Any]]:
    """Every row as it is written, by its id."""
    lines = shared("cases/hard_inputs.jsonl").read_text("ascii").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def row_of_test(name: str) -> Row:
    """The row that a test is named after, its value made for this call alone.

    Fails when there is no such row, or when the name says another kind than the row.
    """
    found = NAMED.match(name)
    assert found, f"{name} is not named after a row"
    row = rows()[f"HI-{found['number']}"]
    assert found["kind"].startswith(row["kind"]), f"{row['id']} is about {row['kind']}, not {found['kind']}"
    loader = _loader()
    return Row(row["id"], row["case"], row["kind"], loader.field(row), loader.value(row))


@cache
def _loader() -> ModuleType:
    spec = spec_from_file_location("load_hard_inputs", shared("cases/load_hard_inputs.py"))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def every_message(*, at_most: int) -> list[Any]:
    """The messages of all rows, also the first of those in their steps, that JSON says in so many bytes."""
    loader = _loader()
    found: list[Any] = []
    for row in rows().values():
        field = loader.field(row)
        if field == "message":
            found.append(loader.value(row))
        elif field == "op":
            steps = [step for step in loader.value(row) if "messages" in step or "message" in step]
            for step in steps:
                found += step.get("messages", [step.get("message")])[:8]
    return [message for message in found if _is_said_by_json(message, at_most)]


def _is_said_by_json(message: Any, at_most: int) -> bool:
    try:
        check_json(message, "message")
    except InvalidRecordError:
        return False
    return len(dump_text(message)) <= at_most
