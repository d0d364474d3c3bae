"""CBOR from a stream of bytes, one value at a time: a sequence of values, or the items of one array. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, cast

import cbor2

from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.items import Found, Refused

__all__ = ["cbor_values", "looks_like_cbor", "peek_cbor"]

_SELF_DESCRIBED = b"\xd9\xd9\xf7"
_BREAK = b"\xff"
_ENDLESS = 31
_NO_CBOR = (cbor2.CBORDecodeError, RecursionError, ValueError, TypeError, OverflowError, MemoryError)


def looks_like_cbor(head: bytes) -> bool:
    """Whether the input begins with an array or a map in CBOR; no text in UTF-8 begins so."""
    return head.startswith(_SELF_DESCRIBED) or (bool(head) and 0x80 <= head[0] <= 0xBF)


def cbor_values(source: ByteInput) -> Iterator[Found | Refused]:
    """Every value, at its number from ``[0]`` on; an array at the beginning stands for its items.

    CBOR has no marks to begin again at: the first broken value ends the reading.
    """
    if source.peek(3) == _SELF_DESCRIBED:
        source.read(3)
    left = _array_size(source)
    index = 0
    while left is None or index < left:
        if left is None and not source.peek(1):
            return
        if left == _UNKNOWN and source.peek(1) == _BREAK:
            source.read(1)
            break
        position = f"[{index}]"
        try:
            # The reader is no file that can seek, so that nothing beyond the value is taken.
            value = cbor2.CBORDecoder(cast(IO[bytes], _Unseekable(source))).decode()
        except _NO_CBOR as error:
            yield Refused(position, _reason(error))
            return
        yield Found(position, value)
        index += 1
    if source.peek(1):
        yield Refused(f"[{index}]", "after the array there is more")


_UNKNOWN = 1 << 64


def _array_size(source: ByteInput) -> int | None:
    """The number of items when an array begins here, its head taken; None when something else does."""
    first = source.peek(1)
    if not first or first[0] >> 5 != 4:
        return None
    source.read(1)
    info = first[0] & 31
    if info < 24:
        return info
    if info == _ENDLESS:
        return _UNKNOWN
    return int.from_bytes(source.read(1 << (info - 24)), "big") if info < 28 else 0


class _Unseekable:
    """What cbor2 needs of a file."""

    def __init__(self, source: ByteInput) -> None:
        self._source = source

    def read(self, size: int) -> bytes:
        return self._source.read(size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def _reason(error: Exception) -> str:
    if isinstance(error, cbor2.CBORDecodeEOF):
        return "the input ends in the middle of this CBOR value"
    return f"no CBOR: {error}"


def peek_cbor(source: ByteInput) -> Any:
    """The first value, the input staying as it is; None when there is none."""
    size = 64 << 10
    while True:
        head = source.peek(size)
        first = next(cbor_values(ByteInput([head])), None)
        if isinstance(first, Found):
            return first.value
        if source.is_whole_within(size):
            return None
        size *= 4
