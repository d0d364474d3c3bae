"""An entry: one stored message with what the store knows of it, and the pages it is read in. Pure data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from convostore.schemas.authors import Author
from convostore.schemas.json_values import JSON

__all__ = ["Entry", "Page", "Source"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a conversation with its identity.

    ``id`` rises from 0 within a conversation and is never used again; ``made`` is milliseconds since 1970,
    absent when the source of an import did not say; ``author`` is absent for the user's own text, a reply or
    a tool result; ``dialect`` is given where the writer knew it; ``unfinished`` marks an answer still being
    streamed.
    """

    id: int
    message: JSON
    made: int | None = None
    author: Author | None = None
    dialect: str | None = None
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a listing and where the next one starts; ``cursor`` is None on the last page."""

    items: tuple[T, ...]
    cursor: Any = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class Source:
    """Where an imported conversation came from: its identity there, unique per user and format."""

    format: str
    id: str
    file: str | None = None
    sha256: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The JSON form, without what is absent."""
        found = {"format": self.format, "id": self.id}
        if self.file is not None:
            found["file"] = self.file
        if self.sha256 is not None:
            found["sha256"] = self.sha256
        return found
