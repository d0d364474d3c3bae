"""Bytes of an input that can be looked at before they are read. Pure over chunks; opens nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

__all__ = ["ByteInput"]

_PIECE = 256 << 10


class ByteInput:
    """Chunks of bytes, read once: whole by iteration, or piece by piece with :meth:`read`."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = bytearray()
        self._ended = False

    def peek(self, size: int) -> bytes:
        """The next ``size`` bytes, fewer only where the input ends; they stay to be read."""
        self._hold(size)
        return bytes(self._held[:size])

    def is_whole_within(self, size: int) -> bool:
        """Whether no more than ``size`` bytes are left."""
        self._hold(size + 1)
        return len(self._held) <= size

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes, taken; fewer only where the input ends."""
        taken = self.peek(size)
        del self._held[: len(taken)]
        return taken

    def __iter__(self) -> Iterator[bytes]:
        while self._held:
            piece = bytes(self._held[:_PIECE])
            del self._held[:_PIECE]
            yield piece
        yield from self._chunks

    def _hold(self, size: int) -> None:
        while len(self._held) < size and not self._ended:
            chunk = next(self._chunks, None)
            if chunk is None:
                self._ended = True
            else:
                self._held += chunk
