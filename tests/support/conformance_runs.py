"""The conformance suite in processes of its own, one a face and server, all at the same time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

COMMAND = [sys.executable, "-W", "error", "-m", "convostore.store.conformance"]


class ConformanceRun:
    """One run under way; ``outcome`` waits for its end."""

    def __init__(self, face: str, uri: str) -> None:
        # The URI has a password in it, so it is no argument.
        environment = {**os.environ, "CONVOSTORE_URI": uri}
        arguments = ["mongomock:"] if uri == "mongomock:" else []
        self._process = subprocess.Popen(
            [*COMMAND, *arguments, "--face", face, "--json"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._outcomes: Mapping[str, Mapping[str, Any]] | None = None
        self.errors = ""

    @property
    def outcomes(self) -> Mapping[str, Mapping[str, Any]]:
        """What became of each contract, by its id."""
        if self._outcomes is None:
            output, self.errors = self._process.communicate(timeout=300)
            assert output, f"the run ended with {self._process.returncode}: {self.errors}"
            contracts = json.loads(output)["contracts"]
            self._outcomes = {outcome["id"]: outcome for outcome in contracts}
        return self._outcomes

    @property
    def exit_code(self) -> int:
        """The exit code, once it ended."""
        assert self.outcomes
        return int(self._process.returncode)

    def end(self) -> None:
        """End it, if it still runs, and close its pipes."""
        if self._outcomes is None:
            self._process.kill()
            self._process.communicate()
