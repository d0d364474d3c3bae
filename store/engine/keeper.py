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

import portalocker

__all__ = ["main"]


def main(users: str, life: str, command: list[str]) -> None:
    """Run ``command`` until it ends or nobody holds ``users`` any more, and hold ``life`` as long as it runs.

    Returns at once where processes can fork: a child that belongs to nobody then looks after the server.
    """
    with open(life, "ab") as alive:
        # Waits for a keeper that is just leaving. A fork shares the lock, and keeps it when this one ends.
        portalocker.lock(alive, portalocker.LOCK_EX)
        if hasattr(os, "fork"):
            if os.fork():
                return
            os.setsid()
        server = subprocess.Popen(command)
        threading.Thread(target=_stop_when_unused, args=(users, server), daemon=True).start()
        server.wait()


def _stop_when_unused(users: str, server: subprocess.Popen[bytes]) -> None:
    with open(users, "ab") as file:
        portalocker.lock(file, portalocker.LOCK_EX)
        # Held until the server is gone: who comes now waits, and then starts another.
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
