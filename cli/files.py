"""Files of imports and exports: opened, decompressed, and written whole or not at all."""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from convostore.schemas.errors import ImportFormatError

__all__ = ["Write", "read_chunks", "writing"]

Write = Callable[[bytes], Any]
_CHUNK = 256 << 10
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


@contextmanager
def read_chunks(path: str) -> Iterator[Iterator[bytes]]:
    """The bytes of a file, or of standard input for ``-``; gzip and zstd, told by content, are undone.

    Raises:
        OSError: the file cannot be read.
        ImportFormatError: while reading: it is compressed and broken or cut off.

    """
    if path == "-":
        yield _decompressed(sys.stdin.buffer, "standard input")
        return
    with open(path, "rb") as stream:
        yield _decompressed(stream, path)


def _decompressed(stream: IO[bytes], name: str) -> Iterator[bytes]:
    first = stream.read(4)
    # What was looked at is put back in front; standard input cannot seek.
    whole = cast(IO[bytes], _Prepended(first, stream))
    if first.startswith(_GZIP):
        whole = cast(IO[bytes], gzip.GzipFile(fileobj=whole))
    elif first == _ZSTD:
        import zstandard

        whole = zstandard.ZstdDecompressor().stream_reader(whole, read_across_frames=True)
    return _chunks(whole, name)


def _chunks(stream: IO[bytes], name: str) -> Iterator[bytes]:
    while True:
        try:
            chunk = stream.read(_CHUNK)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ImportFormatError(f"broken compression: {error}", file=name) from None
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            raise ImportFormatError(f"broken compression: {error}", file=name) from None
        if not chunk:
            return
        yield chunk


class _Prepended:
    def __init__(self, first: bytes, rest: IO[bytes]) -> None:
        self._first = first
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        if not self._first:
            return self._rest.read(size)
        taken = self._first if size < 0 else self._first[:size]
        self._first = self._first[len(taken) :]
        return taken + self._rest.read() if size < 0 else taken

    def close(self) -> None:
        pass


@contextmanager
def writing(path: Path | None) -> Iterator[Write]:
    """Write beside ``path``, compressed as the name says, and move it there at the end; None is stdout.

    When the block fails the file that ``path`` named before stays as it was.
    """
    if path is None:
        yield sys.stdout.buffer.write
        sys.stdout.buffer.flush()
        return
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as raw:
            with _compressing(raw, path) as stream:
                yield stream.write
            raw.flush()
            os.fsync(raw.fileno())
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, path)
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
