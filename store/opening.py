"""Compression and encoding of an input, told by content and undone in a stream: gzip, zstd, UTF-16. Pure.

Whatever an input unpacks to, no more of it is held than a piece.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Final, cast

import zstandard

from convostore.schemas.errors import ImportFormatError
from convostore.schemas.formats import ByteInput

__all__ = ["plain_input"]

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_UTF16: Final = {
    codecs.BOM_UTF16_LE: "UTF-16LE",
    codecs.BOM_UTF16_BE: "UTF-16BE",
}
_FIRST: Final = frozenset(' \t\r\n{[<"')
_CHUNK: Final = 256 << 10
# zstd brings a few bytes to 128 KiB: so many at a time unpack to no more than some 30 MiB.
_SLICE: Final = 1 << 10
_MOST_LAYERS: Final = 4


def plain_input(source: ByteInput, note: Callable[[str], object], *, file: str | None = None) -> ByteInput:
    """The input as UTF-8, or as it is where it is neither compressed nor UTF-16; ``note`` is told of that.

    Raises:
        ImportFormatError: it is compressed again and again; while reading: it is broken or cut off.

    """
    for _ in range(_MOST_LAYERS):
        head = source.peek(4)
        if head.startswith(_GZIP):
            source = ByteInput(_gunzipped(source, file))
        elif head == _ZSTD:
            source = ByteInput(_unpacked(source, file))
        elif head[:2] in _UTF16 and _begins_text(head):
            note(f"the input is {_UTF16[head[:2]]}, and was read as that")
            return ByteInput(_as_utf8(source, file))
        else:
            return source
    raise ImportFormatError(f"the input is compressed more than {_MOST_LAYERS - 1} times over", file=file)


def _begins_text(head: bytes) -> bool:
    """Whether what follows the mark of UTF-16 may be text; BSON may begin with the same bytes."""
    return head[2:].decode("utf-16-le" if head[0] == 0xFF else "utf-16-be", "replace")[:1] in _FIRST


def _gunzipped(source: ByteInput, file: str | None) -> Iterator[bytes]:
    stream = gzip.GzipFile(fileobj=cast(IO[bytes], _File(source)))
    while True:
        try:
            chunk = stream.read(_CHUNK)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ImportFormatError(f"broken compression: {error}", file=file) from None
        if not chunk:
            return
        yield chunk


def _unpacked(source: ByteInput, file: str | None) -> Iterator[bytes]:
    """The frames of zstd, one after the other; its own readers are silent where one is cut off."""
    frame = None
    while data := source.read(_SLICE):
        while data:
            frame = zstandard.ZstdDecompressor().decompressobj() if frame is None else frame
            try:
                yield frame.decompress(data)
            except zstandard.ZstdError as error:
                raise ImportFormatError(f"broken compression: {error}", file=file) from None
            data = frame.unused_data
            frame = None if frame.eof else frame
    if frame is not None:
        raise ImportFormatError("broken compression: it ends within a zstd frame", file=file)


def _as_utf8(source: ByteInput, file: str | None) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")("surrogatepass")
    try:
        while data := source.read(_CHUNK):
            yield decoder.decode(data).encode("utf-8", "surrogatepass")
        yield decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ImportFormatError(f"the input begins as UTF-16 and is not: {error.reason}", file=file) from None


class _File:
    """What gzip needs of a file."""

    def __init__(self, source: ByteInput) -> None:
        self._source = source

    def read(self, size: int = -1) -> bytes:
        return b"".join(self._source) if size < 0 else self._source.read(size)
