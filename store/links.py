"""Ids that the conversations of an import name, and what became of them here. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from convostore.schemas.conversations import Conversation

__all__ = ["Link", "Links"]


@dataclass(frozen=True, slots=True)
class Link:
    """The stored conversation ``id`` names another one in ``member``, which is ``child`` or ``ancestors``."""

    id: int
    member: str


@dataclass(slots=True)
class Links:
    """The links of one input. Memory grows with its ids, not with its conversations' contents."""

    _became: dict[int, int] = field(default_factory=dict)
    _read: set[int] = field(default_factory=set)
    _waiting: dict[int, list[Link]] = field(default_factory=dict)

    def announce(self, own: int, id: int) -> None:
        """Say that the source's conversation ``own`` is about to be stored as ``id`` (0: not known yet)."""
        if own and id and id != own and own not in self._read:
            self._became[own] = id

    def follow(self, record: Conversation) -> None:
        """Let the record name what the ids it names have become so far."""
        if record.child is not None:
            record.child = self._became.get(record.child, record.child)
        if record.ancestors is not None:
            record.ancestors = [self._became.get(id, id) for id in record.ancestors]

    def stored(self, own: int, id: int, named: Iterable[Link], targets: Iterable[int]) -> list[Link]:
        """Note that the source's conversation ``own`` (0 for none) is ``id`` here, and what it names.

        Gives the links stored before that must be mended: they name ``own`` and are to name ``id``.
        """
        mended: list[Link] = []
        if own and own not in self._read:
            self._read.add(own)
            waited = self._waiting.pop(own, [])
            if id != own:
                self._became[own] = id
                mended = waited
        for link, target in zip(named, targets, strict=True):
            if target not in self._read:
                self._waiting.setdefault(target, []).append(link)
        return mended

    def outside(self) -> tuple[int, list[int]]:
        """How many links lead out of the input, and the smallest ids they name."""
        return sum(map(len, self._waiting.values())), sorted(self._waiting)[:5]
