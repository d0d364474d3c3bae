#!/usr/bin/env python3
"""All that has to hold for a commit, in environments of its own; exits with 0 only when all of it does.

Runs the README's two commands, the linters, the type checker and the check of the generated code, builds
wheel and sdist from a clean export, and tests the wheel outside the tree. Needs git and a package index.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON_FILES = ("schemas", "store", "cli", "tests", "scripts")
# In folders of generated files, which are left out otherwise.
HAND_WRITTEN = ("store/synchronous/_pace.py", "store/conformance/synchronous/_together.py")

# All tests have run on the tree; these use each part of what is packed, and whatever file lies in it.
ON_THE_WHEEL = ("application", "figure_output", "import_samples", "migrating", "readme", "running")


@dataclass
class Outcome:
    """How a step went; ``last_line`` is the last that it printed."""

    name: str
    passed: bool
    seconds: float
    last_line: str


class Failed(Exception):
    """A step did not pass; the text is the last line that it printed."""


class Run:
    """Runs the steps one after the other, whatever becomes of them, and keeps how they went."""

    def __init__(self, folder: Path) -> None:
        self.outcomes: list[Outcome] = []
        self.variables = {
            **os.environ,
            "CONVOSTORE_REQUIRE_SHARED": "1",
            "CONVOSTORE_SHARED": os.environ.get("CONVOSTORE_SHARED", str(ROOT.parent / "shared")),
            "PYTHONUNBUFFERED": "1",
            # So that the default folder of the embedded engine is a fresh one.
            "XDG_DATA_HOME": str(folder / "data-home"),
        }
        self.variables.pop("CONVOSTORE_URI", None)

    def activate(self, environment: Path) -> str:
        """Make a virtual environment and put its programs first."""
        venv.create(environment, with_pip=True)
        self.variables["VIRTUAL_ENV"] = str(environment)
        self.variables["PATH"] = os.pathsep.join([str(environment / "bin"), os.environ["PATH"]])
        return str(environment)

    def step(self, name: str, *commands: list[str], cwd: Path = ROOT) -> None:
        """Run the commands until one fails."""
        self.do(name, lambda: [self._run(command, cwd) for command in commands][-1])

    def do(self, name: str, work: Callable[[], str]) -> None:
        """Do the work, which returns the last line that it printed."""
        print(f"\n=== {name}", flush=True)
        begun = time.monotonic()
        try:
            passed, last_line = True, work()
        except (Failed, OSError, subprocess.CalledProcessError) as failure:
            passed, last_line = False, str(failure)
        self.outcomes.append(Outcome(name, passed, time.monotonic() - begun, last_line))

    def report(self) -> bool:
        """Print how each step went; whether all of them passed."""
        print("\n=== summary")
        for one in self.outcomes:
            print(f"{'ok' if one.passed else 'FAILED':7}{one.seconds:7.1f} s  {one.name}: {one.last_line}")
        print(f"{sum(one.seconds for one in self.outcomes):14.1f} s  in all")
        return all(one.passed for one in self.outcomes)

    def _run(self, command: list[str], cwd: Path) -> str:
        """The last line that the command prints, all of which is passed on."""
        print("$", *command, flush=True)
        last_line = ""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(
            command, cwd=cwd, env=self.variables, text=True, start_new_session=True, **options
        ) as process:
            try:
                for line in process.stdout:
                    print(line, end="", flush=True)
                    last_line = line.strip() or last_line
            except BaseException:
                # Called off: what the command started goes with it.
                os.killpg(process.pid, signal.SIGTERM)
                raise
        if process.returncode != 0:
            raise Failed(last_line or f"exit code {process.returncode}")
        return last_line


def export(target: Path) -> str:
    """What is committed, without anything that lies about in the tree."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(target)
    return str(target)


def clean_tree() -> str:
    """Nothing in the tree may have changed, and nothing may have been left in it."""
    status = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    changed = status.stdout.decode()
    if changed:
        print(changed, end="")
        raise Failed("git status is not clean: " + ", ".join(changed.splitlines())[:200])
    return "clean"


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="convostore-ci-") as name:
        folder = Path(name)
        run = Run(folder)
        run.do("environment", lambda: run.activate(folder / "inside"))
        run.step("README: demo", ["python3", "scripts/try.py", "demo"])
        run.step("developer's tools", ["pip", "install", "--quiet", "--editable", ".[dev]"])
        run.step(
            "ruff",
            ["ruff", "check", *PYTHON_FILES, *HAND_WRITTEN],
            ["ruff", "format", "--check", *PYTHON_FILES, *HAND_WRITTEN],
        )
        run.step("mypy", ["mypy"])
        run.step("generated code", ["python", "scripts/generate_sync.py", "--check"])
        run.step("README: test", ["python3", "scripts/try.py", "test"])

        clean, built, outside = folder / "export", folder / "built", folder / "outside"
        run.do("clean export", lambda: export(clean))
        run.step("wheel and sdist", ["python", "-m", "build", "--outdir", str(built), str(clean)])
        run.do("environment outside the tree", lambda: run.activate(outside))
        wheel = next(built.glob("*.whl"), built / "missing.whl")
        run.step(
            "wheel installed",
            ["pip", "install", "--quiet", f"convostore[test] @ {wheel.as_uri()}"],
            cwd=clean,
        )
        # The tests and the configuration of pytest come along; the packages do not.
        for package in ("schemas", "store", "cli"):
            shutil.rmtree(clean / package, ignore_errors=True)
        names = [f"tests/cli/test_{name}.py" for name in ON_THE_WHEEL]
        run.step("tests/cli on the wheel", ["python", "-m", "pytest", "-n", "3", *names], cwd=clean)
        suite = ["python", "-m", "convostore.store.conformance", f"embedded:{folder / 'conformance'}"]
        run.step("conformance of the wheel", suite, cwd=clean)
        run.do("git status", clean_tree)
        return 0 if run.report() else 1


if __name__ == "__main__":
    # As Ctrl-C does, so that the temporary folder goes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
