"""``scripts/mutate.py``: its places are there, and it tells a mutant that survives from one that does not."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from convostore.store.conformance import CONTRACTS
from support.tree import ROOT


def load() -> ModuleType:
    specification = importlib.util.spec_from_file_location("mutate", ROOT / "scripts" / "mutate.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["mutate"] = module  # its dataclasses look themselves up
    specification.loader.exec_module(module)
    return module


mutate = load()


def test_there_are_the_twelve_places() -> None:
    assert [mutant.name for mutant in mutate.MUTANTS] == [
        "version guard",
        "key check",
        "user filter",
        "seal order",
        "literal wrapping",
        "cancelled rule",
        "rebase",
        "manifest cut",
        "saturation",
        "period",
        "cursor",
        "take",
    ]


@pytest.mark.parametrize("mutant", mutate.MUTANTS, ids=lambda mutant: mutant.name)
def test_each_place_is_in_the_tree_and_breaks_into_other_code(mutant: Any) -> None:
    changed = mutate.broken(mutant, ROOT)
    assert set(changed) == {ROOT / name for name in mutant.files}
    for file, text in changed.items():
        compile(text, str(file), "exec")
        assert text != file.read_text("utf-8")


@pytest.mark.parametrize("mutant", mutate.MUTANTS, ids=lambda mutant: mutant.name)
def test_each_has_a_part_of_the_suite_that_exists(mutant: Any) -> None:
    assert mutant.contracts or mutant.tests
    assert set(mutant.contracts) <= {contract.id for contract in CONTRACTS}
    assert all((ROOT / test.split("::")[0]).is_file() for test in mutant.tests)


@pytest.mark.parametrize("text", ["absent", "twice"])
def test_a_text_that_is_not_there_exactly_once_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "module.py").write_text("twice = 'twice'\n")
    with pytest.raises(mutate.Unusable, match="not once"):
        mutate.broken(mutate.Mutant("any", ("module.py",), text, "other"), tmp_path)


SUM = "def total(a, b):\n    return a + b\n"
TEST = "from module import total\n\n\ndef test_total():\n    assert total(2, 2) == {}\n"


@pytest.fixture
def small_tree(tmp_path: Path) -> Path:
    """A tree with a sum and a test of it that does not look very closely."""
    (tmp_path / "module.py").write_text(SUM)
    (tmp_path / "test_module.py").write_text(TEST.format(4))
    return tmp_path


def test_a_mutant_is_killed_or_survives(small_tree: Path) -> None:
    product = mutate.Mutant("product", ("module.py",), "a + b", "a * b", tests=("test_module.py",))
    difference = mutate.Mutant("difference", ("module.py",), "a + b", "a - b", tests=("test_module.py",))
    survivor, killed = mutate.tried([product, difference], small_tree, "")
    assert survivor.killer is None
    assert killed.killer == "FAILED test_module.py::test_total - assert 0 == 4"
    assert (small_tree / "module.py").read_text() == SUM
    lines = mutate.table([survivor, killed]).splitlines()
    assert [line.split()[2] for line in lines] == ["verdict", "survived", "killed"]


def test_nothing_is_told_of_a_suite_that_fails_anyway(small_tree: Path) -> None:
    (small_tree / "test_module.py").write_text(TEST.format(5))
    product = mutate.Mutant("product", ("module.py",), "a + b", "a * b", tests=("test_module.py",))
    with pytest.raises(mutate.Unusable, match="without a mutant"):
        mutate.tried([product], small_tree, "")


def test_a_name_that_no_mutant_has_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutate.main(["nothing"]) == 2
    assert "no mutant is called nothing" in capsys.readouterr().err
