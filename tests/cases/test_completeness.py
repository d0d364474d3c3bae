"""No case and no row is left out: each has a test of its own name or a line in ``tests/cases_later.md``."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from support.hard_inputs import rows
from support.shared import shared

pytestmark = pytest.mark.shared

HERE = Path(__file__).parent
LATER = (HERE.parent / "cases_later.md").read_text("utf-8")
WITHOUT_A_TEST = {"## Taken by a later issue", "## Not ours"}


def names_of_tests() -> set[str]:
    """The names of all test functions of this folder."""
    trees = [ast.parse(path.read_text("utf-8")) for path in HERE.glob("test_*.py")]
    functions = [node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {name for name in functions if name.startswith("test_")}


def rows_with_a_test() -> set[str]:
    found = (re.match(r"test_HI_(\d{3})_\w+", name) for name in names_of_tests())
    return {f"HI-{match[1]}" for match in found if match}


def cases_with_a_test() -> set[str]:
    found = (re.match(r"test_([A-Z]\d{2})_\w+", name) for name in names_of_tests())
    return {match[1] for match in found if match}


def listed(*headings: str) -> set[str]:
    """The cases and rows in the first column of the tables under these headings, ranges spelled out."""
    found: set[str] = set()
    for section in re.split(r"^(?=## )", LATER, flags=re.MULTILINE):
        if section.splitlines()[0] not in headings:
            continue
        for first in re.findall(r"^\| ([A-Z][^|]*) \|", section, flags=re.MULTILINE):
            found |= set(re.findall(r"\b[A-Z]\d{2}\b|HI-\d{3}", first))
            for low, high in re.findall(r"HI-(\d{3}) to HI-(\d{3})", first):
                found |= {f"HI-{number:03}" for number in range(int(low), int(high) + 1)}
    return found


def test_every_row_has_a_test_of_its_own_name() -> None:
    assert len(rows()) == 124
    missing = rows().keys() - rows_with_a_test()
    assert not missing, f"rows without a test: {sorted(missing)}"
    assert rows_with_a_test() <= rows().keys(), "a test of a row that does not exist"


def test_every_case_has_a_test_or_is_listed_with_its_issue() -> None:
    headings = set(re.findall(r"^#### ([A-Z]\d{2})\b", shared("cases/failures.md").read_text("utf-8"), re.M))
    assert len(headings) > 90
    elsewhere = listed(*WITHOUT_A_TEST)
    assert not headings - cases_with_a_test() - elsewhere, "cases with neither a test nor a line"
    assert not cases_with_a_test() & elsewhere, "cases that are listed as untested and are not"
    assert cases_with_a_test() | elsewhere == headings, "a case that does not exist"


def test_what_is_listed_exists() -> None:
    every = set(re.findall(r"^## .*$", LATER, flags=re.MULTILINE))
    assert every > WITHOUT_A_TEST
    cases = {row["case"] for row in rows().values()} | cases_with_a_test()
    assert listed(*every - WITHOUT_A_TEST) <= cases | rows().keys()


def test_places_in_the_code_that_answer_a_case_exist() -> None:
    places = re.findall(r"`(convostore[\w.]*):([\w.]+)`", LATER)
    assert len(places) >= 4
    for module, name in places:
        found: object = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
