"""The embedded engine: one folder, one server, shared by all who use the folder."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from convostore.schemas.errors import UnavailableError
from convostore.store.engine.folder import EngineFolder
from convostore.store.engine.locks import FileLock
from convostore.store.engine.members import become_primary, shut_down, uri_for
from convostore.store.engine.server import START_SECONDS, is_up, launch, listens

__all__ = ["EmbeddedEngine"]

# Usually 0.1. When a stranger has the old port and does not answer, mongod itself waits 30 s for it.
_READY_SECONDS = 120
_STOP_SECONDS = 60
_WATCH_SECONDS = 0.5


class EmbeddedEngine:
    """A user of the server on ``folder``, which starts with its first user and stops, cleanly, with its last.

    The users may be stores of one process or of many; one that dies, however, has left. The server listens on
    loopback only and asks for a password, which the URI holds. A forked child does not inherit the use: it
    starts an engine of its own. Usable as a context manager, and from any thread.

    A start takes about a second, more after a crash, when the journal is replayed; joining takes some 50 ms.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser().absolute()
        self._files = EngineFolder(self.folder)
        self._use = FileLock(self._files.users)
        self._busy = threading.Lock()
        self._stopping = f"the server on {self.folder} to stop"

    def start(self) -> str:
        """Join the server, starting it if it does not run; the ``mongodb://`` URI to connect to.

        A repeated call is harmless, and starts a server that was killed meanwhile.

        Raises:
            EngineNotFoundError: no mongod that runs here, or a newer one wrote the data.
            UnavailableError: the folder cannot be used; the text says why and what to do.
        """
        with self._busy, _said_plainly(self.folder):
            self._files.create()
            with self._gate():
                self._files.fill()
                joined = not self._use.is_held
                if joined:
                    self._use.acquire(shared=True, seconds=_STOP_SECONDS, waiting_for=self._stopping)
                try:
                    return self._join_or_launch()
                except BaseException:
                    if joined:
                        self._use.release()
                    raise

    def stop(self) -> None:
        """Leave; the last user's call returns when the server has stopped. A repeated call does nothing."""
        with self._busy, _said_plainly(self.folder):
            if not self._use.is_held:
                return
            try:
                # Of two that leave at once, one would else take the other's last look for a use.
                with self._gate():
                    self._leave()
            finally:
                self._use.release()

    def wait(self) -> None:
        """Return when nobody listens on the server's port any more, whoever stopped it."""
        settings = self._files.read_settings()
        while settings is not None and listens(settings.port):
            time.sleep(_WATCH_SECONDS)

    def __enter__(self) -> EmbeddedEngine:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _gate(self) -> contextlib.AbstractContextManager[None]:
        gate = FileLock(self._files.gate)
        return gate.exclusively(seconds=START_SECONDS, waiting_for=f"a start on {self.folder} to end")

    def _join_or_launch(self) -> str:
        settings = self._files.read_settings()
        # A keeper that is there without a server has just been launched, by a process that was killed since.
        if settings is None or not (self._files.is_kept() and is_up(self._files, settings)):
            if not self._files.is_served():
                settings = launch(self._files)
            elif settings is None or not listens(settings.port):
                raise UnavailableError(
                    f"another mongod uses {self._files.data}: stop it, or name another folder"
                )
        secret = self._files.read_secret()
        become_primary(settings.port, secret, seconds=_READY_SECONDS)
        return uri_for(settings.port, secret)

    def _leave(self) -> None:
        self._use.release()
        if self._use.try_acquire(shared=False):
            self._shut_down()
        else:
            # Others use it, or the keeper was faster and holds its lock until the server has ended.
            self._use.acquire(shared=True, seconds=_STOP_SECONDS, waiting_for=self._stopping)

    def _shut_down(self) -> None:
        """Stop the server; while the caller holds the users' lock, exclusively, nobody can join."""
        settings = self._files.read_settings()
        if settings is not None and self._files.is_served():
            shut_down(settings.port, self._files.read_secret())
            deadline = time.monotonic() + _STOP_SECONDS
            while self._files.is_kept() or self._files.is_served():
                if time.monotonic() > deadline:
                    raise UnavailableError(f"gave up waiting for {self._stopping}; see {self._files.log}")
                time.sleep(0.01)


@contextlib.contextmanager
def _said_plainly(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnavailableError(
            f"cannot use {folder}: {reason}; name a folder you can write to, as embedded:PATH"
        ) from error
