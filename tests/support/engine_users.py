"""Other processes that use an embedded engine's folder, and what runs on it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil

_PROGRAM = """
import sys
from convostore.store.engine import EmbeddedEngine
engine = EmbeddedEngine(sys.argv[1])
print(engine.start(), flush=True)
sys.stdin.readline()
engine.stop()
"""


class EngineUser:
    """A process that uses the engine on ``folder`` until it is told to leave, or killed.

    It leads a session of its own, as a command in a terminal of its own does.
    """

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def uri(self) -> str:
        """The URI it was given; waits for its start."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell_to_leave(self) -> None:
        """Have it stop using the engine, and do not wait."""
        assert self.process.stdin is not None
        self.process.stdin.write("leave\n")
        self.process.stdin.flush()

    def wait(self) -> None:
        """Wait for its end, which has to be a good one."""
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0

    def leave(self) -> None:
        """Have it stop using the engine, and wait for its end."""
        self.tell_to_leave()
        self.wait()

    def kill9(self) -> None:
        """End without a chance to say so."""
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=60)


def servers_on(folder: Path) -> list[psutil.Process]:
    """The mongod processes that run on an engine's folder."""
    wanted = ["--dbpath", str(folder / "data")]
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any((process.info["cmdline"] or [])[at : at + 2] == wanted for at in range(20))
        and "mongod" in process.info["cmdline"][0]
    ]
