"""A session that was read from one file, as a source to import from."""

from __future__ import annotations

from convostore.schemas.errors import NotFoundError
from convostore.schemas.formats.rig_session import Bundle
from convostore.store.session_names import file_name, log_name

__all__ = ["AsyncBundledSession"]


class AsyncBundledSession:
    """The logs and files of a bundle; it can only be read.

    Raises:
        InvalidRecordError: a name leads out of a session, or is none.

    """

    def __init__(self, bundle: Bundle) -> None:
        self._logs = {log_name(name): data for name, data in bundle.logs.items()}
        self._files = {file_name(name): data for name, data in bundle.files.items()}

    async def logs(self) -> list[str]:
        """The names of the logs."""
        return list(self._logs)

    async def read_log(self, name: str) -> bytes:
        """All bytes of a log."""
        if name not in self._logs:
            raise NotFoundError("log", name)
        return self._logs[name]

    async def files(self) -> list[str]:
        """The names of the files."""
        return list(self._files)

    async def read_file(self, name: str) -> bytes:
        """All bytes of a file."""
        if name not in self._files:
            raise NotFoundError("file", name)
        return self._files[name]
