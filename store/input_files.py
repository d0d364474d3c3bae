"""Files of imports as chunks of bytes: as they are, or with compression undone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from convostore.schemas.formats import ByteInput
from convostore.store.opening import plain_input

__all__ = ["read_chunks", "read_plain"]

_CHUNK = 256 << 10


@contextmanager
def read_chunks(path: str) -> Iterator[Iterator[bytes]]:
    """The bytes of a file as they are, or of standard input for ``-``.

    Raises:
        OSError: the file cannot be read.

    """
    if path == "-":
        yield _chunks(sys.stdin.buffer)
        return
    with open(path, "rb") as stream:
        yield _chunks(stream)


@contextmanager
def read_plain(path: str, note: Callable[[str], object] = lambda text: None) -> Iterator[ByteInput]:
    """The bytes of a file without compression (:func:`~.opening.plain_input`).

    Raises:
        OSError: the file cannot be read.
        ImportFormatError: it is compressed and broken or cut off; also while reading.

    """
    with read_chunks(path) as chunks:
        yield plain_input(ByteInput(chunks), note, file=None if path == "-" else path)


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    # What is there at once, so that a slow pipe is shown as it comes.
    read = getattr(stream, "read1", stream.read)
    return iter(lambda: read(_CHUNK), b"")
