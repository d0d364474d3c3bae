"""What an import has read so far, each by two hashes, in a fraction of the memory of a dict. Pure."""

from __future__ import annotations

from array import array

__all__ = ["Identities"]

_FIRST = 1 << 12
_WORD = 8


class Identities:
    """Hashes of identities, each with the hash of the content it came with.

    A table with open addressing: 16 bytes a place, of which at most two thirds are used.
    """

    def __init__(self) -> None:
        self._count = 0
        self._keys = array("q", bytes(_WORD * _FIRST))
        self._contents = array("q", bytes(_WORD * _FIRST))

    def __len__(self) -> int:
        return self._count

    def note(self, key: int, content: int) -> int | None:
        """The content that the key came with before; None when it is new, and noted now.

        Both are whole numbers of 64 bits with a sign, as ``hash`` gives them.
        """
        key = key or 1  # 0 is a place that is free
        place = self._place(key)
        if self._keys[place]:
            return self._contents[place]
        self._keys[place], self._contents[place] = key, content
        self._count += 1
        if 3 * self._count > 2 * len(self._keys):
            self._grow()
        return None

    def _place(self, key: int) -> int:
        keys = self._keys
        mask = len(keys) - 1
        place = key & mask
        while keys[place] and keys[place] != key:
            place = (place + 1) & mask
        return place

    def _grow(self) -> None:
        keys, contents = self._keys, self._contents
        self._keys = array("q", bytes(2 * _WORD * len(keys)))
        self._contents = array("q", bytes(2 * _WORD * len(keys)))
        for key, content in zip(keys, contents, strict=True):
            if key:
                place = self._place(key)
                self._keys[place], self._contents[place] = key, content
