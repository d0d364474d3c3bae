"""A saved session in a folder: logs under ``logs/NAME.jsonl``, files under ``files/`` (``spec/rig.md`` 7.1).

Blocking; both faces of the store use it. Writers of other processes are kept out by a lock on ``.lock``.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import portalocker

from convostore.schemas.errors import ConflictError, NotFoundError, SessionFormatError
from convostore.store.session_names import file_name, log_name

__all__ = ["SessionFolder", "is_session"]

_ENDING = ".jsonl"


def is_session(folder: Path) -> bool:
    """Whether the folder holds a saved session, of this layout or the older one."""
    return (folder / "logs").is_dir() or any(folder.glob(f"*{_ENDING}"))


class SessionFolder:
    """The calls of a session store on a folder, which need not be there yet; see ``AsyncSessionStore``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._logs = folder / "logs"
        self._files = folder / "files"

    def _log(self, name: str) -> Path:
        path = self._logs / (log_name(name) + _ENDING)
        self._refuse_old()
        return path

    def _file(self, name: str) -> Path:
        path = self._files.joinpath(*file_name(name).split("/"))
        self._refuse_old()
        return path

    def _refuse_old(self) -> None:
        old = next(self.folder.glob(f"*{_ENDING}"), None)
        if old is not None:
            reason = f"is of the older layout, one file a session; it has {_ENDING} files at its top"
            raise SessionFormatError(reason, file=str(self.folder))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / ".lock", "ab") as lock:
            portalocker.lock(lock, portalocker.LockFlags.EXCLUSIVE)
            yield

    def logs(self) -> list[str]:
        """The names of the logs."""
        self._refuse_old()
        return sorted(path.name.removesuffix(_ENDING) for path in self._logs.glob(f"*{_ENDING}"))

    def read_log(self, name: str) -> bytes:
        """The bytes of a log."""
        try:
            return self._log(name).read_bytes()
        except FileNotFoundError:
            raise NotFoundError("log", name) from None

    def append_log(self, name: str, length: int, data: bytes) -> None:
        """Append to a log that is ``length`` bytes long."""
        path = self._log(name)
        with self._locked():
            self._refuse_changed(path, name, length)
            is_new = not path.exists()
            path.parent.mkdir(exist_ok=True)
            with open(path, "ab") as log:
                log.write(data)
                log.flush()
                os.fsync(log.fileno())
            if is_new:
                _settle(path.parent)

    def replace_log(self, name: str, length: int, data: bytes) -> None:
        """Put other bytes in the place of a log that is ``length`` bytes long."""
        path = self._log(name)
        with self._locked():
            self._refuse_changed(path, name, length)
            _write_whole(path, data)

    def _refuse_changed(self, path: Path, name: str, length: int) -> None:
        size = path.stat().st_size if path.exists() else 0
        if size != length:
            reason = f"the log {name!a} has {size} bytes, not {length}: another writer was there; load again"
            raise ConflictError("log", expected=length, actual=size, reason=reason)

    def files(self) -> list[str]:
        """The names of the files."""
        self._refuse_old()
        found = (path.relative_to(self._files) for path in self._files.rglob("*") if path.is_file())
        return sorted(path.as_posix() for path in found if not path.name.startswith("."))

    def read_file(self, name: str) -> bytes:
        """The bytes of a file."""
        try:
            return self._file(name).read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise NotFoundError("file", name) from None

    def write_file(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all."""
        path = self._file(name)
        with self._locked():
            _write_whole(path, data)

    def remove_file(self, name: str) -> None:
        """Remove a file; one that is not there stays away."""
        path = self._file(name)
        with self._locked(), suppress(FileNotFoundError):
            path.unlink()

    def destroy(self) -> None:
        """Remove the session; what else lies in the folder stays."""
        self._refuse_old()
        if not self.folder.exists():
            return
        with self._locked():
            for part in (self._logs, self._files):
                shutil.rmtree(part, ignore_errors=True)
            (self.folder / ".lock").unlink()
        with suppress(OSError):
            self.folder.rmdir()


def _write_whole(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    _settle(path.parent)


def _settle(folder: Path) -> None:
    """Make the names in a folder last through a power cut, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
