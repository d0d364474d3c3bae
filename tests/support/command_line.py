"""The installed ``convostore`` command, run as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

__all__ = ["COMMAND", "Command", "Outcome"]

COMMAND = Path(sys.executable).parent / "convostore"


@dataclass
class Outcome:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one strict JSON value."""
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))

    @property
    def lines(self) -> list[str]:
        """Lines of standard output."""
        return self.out.splitlines()


@dataclass
class Command:
    """Runs ``convostore``; ``uri`` is what ``CONVOSTORE_URI`` says, None leaves it out."""

    uri: str | None
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def environ(self, **more: str) -> dict[str, str]:
        kept = {
            name: os.environ[name] for name in ("PATH", "LANG", "CONVOSTORE_MONGOD") if name in os.environ
        }
        home = {"HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder / "data")}
        uri = {"CONVOSTORE_URI": self.uri} if self.uri is not None else {}
        return {**kept, **home, **uri, **self.environment, **more}

    def __call__(
        self, *arguments: object, stdin: str | bytes = "", env: dict[str, str] | None = None
    ) -> Outcome:
        """Run it to its end, off a terminal. Never may it show a traceback."""
        done = subprocess.run(
            [COMMAND, *map(str, arguments)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env=self.environ(**(env or {})),
            cwd=self.folder,
            timeout=120,
        )
        outcome = Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in outcome.err, outcome.err
        return outcome

    def fine(self, *arguments: object, stdin: str | bytes = "") -> Outcome:
        """Run it and expect success."""
        outcome = self(*arguments, stdin=stdin)
        assert outcome.code == 0, outcome.err
        return outcome

    def start(self, *arguments: object) -> subprocess.Popen[bytes]:
        """Start it; the caller ends it."""
        return subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environ(),
            cwd=self.folder,
        )
