"""Locks on files that the kernel releases at any death of their holder."""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import portalocker

from convostore.schemas.errors import UnavailableError

__all__ = ["FileLock", "is_locked"]

_POLL_SECONDS = 0.02


class FileLock:
    """A lock on the file at ``path``, shared or exclusive.

    It is this object's alone: two objects of one process compete like two processes. A forked child holds
    nothing, and the parent's lock is not touched when the child ends.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None
        _open_locks.add(self)

    @property
    def is_held(self) -> bool:
        """Whether this object holds the lock, either way."""
        return self._file is not None

    def acquire(self, *, shared: bool, seconds: float, waiting_for: str) -> None:
        """Take the lock; not held before.

        Raises:
            UnavailableError: others held it for ``seconds``; the text says ``waiting_for``.
            OSError: the file cannot be opened or created.
        """
        deadline = time.monotonic() + seconds
        while not self.try_acquire(shared=shared):
            if time.monotonic() > deadline:
                raise UnavailableError(f"waited {seconds:.0f} s for {waiting_for}; try again")
            time.sleep(_POLL_SECONDS)

    def try_acquire(self, *, shared: bool) -> bool:
        """Take the lock if nobody else has it; whether it is held now."""
        kind = portalocker.LOCK_SH if shared else portalocker.LOCK_EX
        file = self.path.open("ab", buffering=0)
        try:
            portalocker.lock(file, kind | portalocker.LOCK_NB)
        except portalocker.LockException:
            file.close()
            return False
        self._file = file
        return True

    def release(self) -> None:
        """Let go, if it is held."""
        file, self._file = self._file, None
        if file is not None:
            # Not by closing alone: a child forked just now has the file open for another moment.
            portalocker.unlock(file)
            file.close()

    def forget(self) -> None:
        """Close the file in a forked child; the lock itself is the parent's."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    @contextlib.contextmanager
    def exclusively(self, *, seconds: float, waiting_for: str) -> Iterator[None]:
        """Hold the lock, exclusively, for the length of a ``with`` statement."""
        self.acquire(shared=False, seconds=seconds, waiting_for=waiting_for)
        try:
            yield
        finally:
            self.release()


def is_locked(path: Path) -> bool:
    """Whether a process holds the file at ``path`` locked; a file that does not exist is not locked."""
    if not path.exists():
        return False
    probe = FileLock(path)
    try:
        return not probe.try_acquire(shared=False)
    except PermissionError:
        # Windows does not even open a file that mongod holds.
        return True
    finally:
        probe.release()


_open_locks: weakref.WeakSet[FileLock] = weakref.WeakSet()


def _forget_in_child() -> None:
    for lock in list(_open_locks):
        lock.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
