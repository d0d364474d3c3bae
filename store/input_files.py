"""Files of imports as chunks of bytes; compression, told by content, is undone."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

import zstandard

from convostore.schemas.errors import ImportFormatError

__all__ = ["read_chunks"]

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
        whole = zstandard.ZstdDecompressor().stream_reader(whole, read_across_frames=True)
    return _chunks(whole, name)


def _chunks(stream: IO[bytes], name: str) -> Iterator[bytes]:
    while True:
        try:
            chunk = stream.read(_CHUNK)
        except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
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
