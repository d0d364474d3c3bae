"""What a place for saved sessions must offer, and the two there are: a folder, a MongoDB database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from convostore.store.asynchronous import _pace
from convostore.store.session_folders import SessionFolder

__all__ = ["AsyncDirectorySessionStore", "AsyncSessionSource", "AsyncSessionStore"]


class AsyncSessionSource(Protocol):
    """One saved session to read from: a JSON Lines log for each agent, one named ``session``, and files."""

    async def logs(self) -> Sequence[str]:
        """The names of the logs, in any order."""
        ...

    async def read_log(self, name: str) -> bytes:
        """All bytes of a log.

        Raises:
            NotFoundError: there is none.

        """
        ...

    async def files(self) -> Sequence[str]:
        """The names of the files, in any order."""
        ...

    async def read_file(self, name: str) -> bytes:
        """All bytes of a file.

        Raises:
            NotFoundError: there is none.

        """
        ...


@runtime_checkable
class AsyncSessionStore(AsyncSessionSource, Protocol):
    """One saved session to read from and write to.

    Log names are one part of a path; file names may have several with ``/`` between. A bad name is
    ``InvalidRecordError``, whatever is called. ``check_session_store`` tells whether an implementation keeps
    all this.
    """

    async def append_log(self, name: str, length: int, data: bytes) -> None:
        """Append ``data`` if the log is exactly ``length`` bytes now; 0 starts one that does not exist.

        Check and write are one step for every writer, those of other processes included: of two at one
        length exactly one succeeds.

        Raises:
            ConflictError: it has another length; nothing was written.

        """
        ...

    async def replace_log(self, name: str, length: int, data: bytes) -> None:
        """Put ``data`` in the place of the whole log, under the same condition."""
        ...

    async def write_file(self, name: str, data: bytes) -> None:
        """Write a file, in place of one of that name."""
        ...

    async def remove_file(self, name: str) -> None:
        """Remove a file; one that is not there is no error."""
        ...

    async def destroy(self) -> None:
        """Remove the session."""
        ...


class AsyncDirectorySessionStore:
    """A session in a folder: ``logs/NAME.jsonl`` and ``files/``; nothing is made before the first write.

    Appends are on disk when they return. A folder of the older layout, one file a session, is refused
    untouched with ``SessionFormatError``.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = SessionFolder(Path(folder))

    @property
    def folder(self) -> Path:
        """Where it is."""
        return self._folder.folder

    async def logs(self) -> list[str]:
        """The names of the logs."""
        return await _pace.run_blocking(self._folder.logs)

    async def read_log(self, name: str) -> bytes:
        """All bytes of a log."""
        return await _pace.run_blocking(lambda: self._folder.read_log(name))

    async def append_log(self, name: str, length: int, data: bytes) -> None:
        """Append if the log is that long."""
        await _pace.run_blocking(lambda: self._folder.append_log(name, length, data))

    async def replace_log(self, name: str, length: int, data: bytes) -> None:
        """Replace if the log is that long."""
        await _pace.run_blocking(lambda: self._folder.replace_log(name, length, data))

    async def files(self) -> list[str]:
        """The names of the files."""
        return await _pace.run_blocking(self._folder.files)

    async def read_file(self, name: str) -> bytes:
        """All bytes of a file."""
        return await _pace.run_blocking(lambda: self._folder.read_file(name))

    async def write_file(self, name: str, data: bytes) -> None:
        """Write a file."""
        await _pace.run_blocking(lambda: self._folder.write_file(name, data))

    async def remove_file(self, name: str) -> None:
        """Remove a file."""
        await _pace.run_blocking(lambda: self._folder.remove_file(name))

    async def destroy(self) -> None:
        """Remove the session."""
        await _pace.run_blocking(self._folder.destroy)
