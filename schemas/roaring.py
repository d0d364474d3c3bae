"""Sets of whole numbers in the portable form of 64-bit Roaring bitmaps, as AndaDB keeps its ids. Pure.

The form (RoaringFormatSpec): the count of 32-bit bitmaps, then for each the upper half of its numbers and the
bitmap: a head, a description of each container of 2^16 numbers, and the containers: sorted lists, bit fields
of 8 KiB, or runs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

__all__ = ["roaring_numbers"]

_NO_RUNS, _RUNS = 12_346, 12_347
_MOST_IN_A_LIST = 4_096
_FEWEST_WITH_OFFSETS = 4


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, form: str) -> tuple[int, ...]:
        size = struct.calcsize(f"<{form}")
        if self._at + size > len(self._data):
            raise ValueError("the set of ids is cut short")
        found = struct.unpack_from(f"<{form}", self._data, self._at)
        self._at += size
        return found


def roaring_numbers(data: bytes) -> Iterator[int]:
    """The numbers, the smallest first.

    Raises:
        ValueError: it is no such set, or cut short.

    """
    source = _Bytes(data)
    (bitmaps,) = source.take("Q")
    for _ in range(bitmaps):
        (high,) = source.take("I")
        for number in _bitmap(source):
            yield high << 32 | number


def _bitmap(source: _Bytes) -> Iterator[int]:
    (cookie,) = source.take("I")
    runs: set[int] = set()
    if cookie & 0xFFFF == _RUNS:
        count = (cookie >> 16) + 1
        flags = source.take(f"{(count + 7) // 8}B")
        runs = {place for place in range(count) if flags[place // 8] >> place % 8 & 1}
    elif cookie == _NO_RUNS:
        (count,) = source.take("I")
    else:
        raise ValueError(f"the set of ids begins with {cookie}, which is no mark of one")
    described = source.take(f"{2 * count}H")
    if (not runs and cookie == _NO_RUNS) or count >= _FEWEST_WITH_OFFSETS:
        source.take(f"{count}I")
    for place in range(count):
        high, size = described[2 * place] << 16, described[2 * place + 1] + 1
        yield from (high | low for low in _container(source, size, is_run=place in runs))


def _container(source: _Bytes, size: int, *, is_run: bool) -> Iterator[int]:
    if is_run:
        (count,) = source.take("H")
        pairs = source.take(f"{2 * count}H")
        for start, more in zip(pairs[::2], pairs[1::2], strict=True):
            yield from range(start, start + more + 1)
    elif size <= _MOST_IN_A_LIST:
        yield from source.take(f"{size}H")
    else:
        for place, word in enumerate(source.take("1024Q")):
            while word:
                lowest = word & -word
                yield place * 64 + lowest.bit_length() - 1
                word ^= lowest
