"""Files of exports: compressed as they are named, and written whole or not at all."""

from __future__ import annotations

import errno
import gzip
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

__all__ = ["Write", "writing"]

Write = Callable[[bytes], Any]


@contextmanager
def writing(path: Path | None) -> Iterator[Write]:
    """Write beside ``path``, compressed as the name says, and move it there at the end; None is stdout.

    When the block fails the file that ``path`` named before stays as it was. A link stays and leads to the
    new file. What is there and no file (a pipe, ``/dev/null``) is written to as it is.
    """
    if path is None:
        yield sys.stdout.buffer.write
        sys.stdout.buffer.flush()
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file in it", str(path))
    if path.exists() and not path.is_file():
        with open(path, "wb") as raw, _compressing(raw, path) as stream:
            yield stream.write
        return
    place = path.resolve()
    if not place.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write into", str(path.parent))
    # Of a long name a part only, since the name beside must not be longer than a file system takes.
    handle, beside = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name:.40}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as raw:
            with _compressing(raw, path) as stream:
                yield stream.write
            raw.flush()
            os.fsync(raw.fileno())
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, place)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise


@contextmanager
def _compressing(raw: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    if path.suffix == ".gz":
        # Neither name nor time go into it, so that equal data give equal files.
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as stream:
            yield cast(IO[bytes], stream)
    elif path.suffix == ".zst":
        import zstandard

        with zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False) as stream:
            yield cast(IO[bytes], stream)
    else:
        yield raw


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
