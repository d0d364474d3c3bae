"""``scripts/try.py`` where it cannot do what it is asked; that it can is what ``.ci/run`` shows."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.tree import ROOT


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A copy in a clone of its own, which has no ``.venv``."""
    (tmp_path / "scripts").mkdir()
    return Path(shutil.copy(ROOT / "scripts" / "try.py", tmp_path / "scripts"))


def run_outside(script: Path, *arguments: str, missing: str = "") -> subprocess.CompletedProcess[str]:
    """Run the script with the Python that this environment was made from, without the module ``missing``."""
    program = (
        "import runpy, sys\n"
        f"sys.modules[{missing!r}] = None\n"
        f"sys.argv = {['try.py', *arguments]!r}\n"
        f"runpy.run_path({str(script)!r}, run_name='__main__')\n"
    )
    python = Path(sys.base_prefix) / "bin" / "python3"
    return subprocess.run([python, "-I", "-c", program], capture_output=True, text=True)


@pytest.mark.parametrize("arguments", [[], ["everything"]])
def test_wrong_use_says_how_it_is_used(script: Path, arguments: list[str]) -> None:
    ran = run_outside(script, *arguments)
    assert ran.returncode == 2
    assert "python3 scripts/try.py demo" in ran.stderr


def test_a_python_without_ensurepip_is_told_what_to_install(script: Path) -> None:
    ran = run_outside(script, "demo", missing="ensurepip")
    assert ran.returncode == 1
    assert "apt-get install python3-venv" in ran.stderr
    assert not (script.parents[1] / ".venv").exists()


def test_an_old_python_reads_far_enough_to_be_refused() -> None:
    source = (ROOT / "scripts" / "try.py").read_text("utf-8")
    assert ast.parse(source, feature_version=(3, 7)).body
