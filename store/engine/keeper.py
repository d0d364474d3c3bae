"""The keeper of an embedded server: a process that runs mongod and stops it when its last user is gone.

Run as a file, in a session of its own, so that neither Ctrl-C nor a closed terminal reaches the server; it
imports nothing of Convostore, because it stays in memory as long as the server. Users hold a shared lock on
one file, which the kernel releases however they die; the keeper waits for the exclusive lock on it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import IO

import portalocker

__all__ = ["ANOTHER_IS_THERE", "main"]

ANOTHER_IS_THERE = 75
"""The exit code when another keeper looks after the folder."""

_PATIENCE_SECONDS = 5.0


def main(users: str, life: str, command: list[str]) -> int:
    """Run ``command`` until it ends or nobody holds ``users`` any more, and hold ``life`` as long as it runs.

    Returns at once where processes can fork: a child that belongs to nobody then looks after the server.
    Without another keeper it gives 0.
    """
    with open(life, "ab") as alive:
        # A fork shares the lock, and keeps it when this one ends.
        if not _locked(alive):
            return ANOTHER_IS_THERE
        if hasattr(os, "fork"):
            if os.fork():
                return 0
            os.setsid()
        server = subprocess.Popen(command)
        threading.Thread(target=_stop_when_unused, args=(users, server), daemon=True).start()
        server.wait()
    return 0


def _locked(file: IO[bytes]) -> bool:
    """Whether the lock was free, or its keeper was just leaving.

    One that stays was launched by a process killed since, and waits for all users, whoever launches this one.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
        except portalocker.LockException:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        else:
            return True


def _stop_when_unused(users: str, server: subprocess.Popen[bytes]) -> None:
    with open(users, "ab") as file:
        portalocker.lock(file, portalocker.LOCK_EX)
        # Held until the server is gone: who comes now waits, and then starts another.
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
