"""Asides: what is said beside the entries and never sent to a model (``spec/rig.md`` 3.10). Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from convostore.schemas.authors import Author
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON, check_json, same_json
from convostore.schemas.transcript.entries import copy_json

__all__ = ["NOTE", "Aside"]

NOTE = "note"
"""The kind of a note: a title and a text beside the conversation."""


@dataclass(frozen=True, slots=True, eq=False)
class Aside:
    """A value put after an entry.

    ``kind`` is its author's choice; ``note``, ``rig.call`` and ``rig.turn`` are rig's. ``after`` is the id of
    the entry it follows, none when it comes before the first. ``value`` is any JSON, kept verbatim. An aside
    that is not ``saved`` lives only in this value: it is in no record, no JSON form and no comparison.
    """

    kind: str
    author: Author
    after: int | None = None
    value: JSON = None
    saved: bool = True

    @classmethod
    def note(cls, title: str, text: str, *, author: Author, after: int | None = None) -> Aside:
        """A note."""
        return cls(NOTE, author, after, {"title": title, "text": text})

    def to_json(self) -> dict[str, Any]:
        """The JSON form; ``after``, ``value`` and ``saved`` are left out when they say nothing."""
        written: dict[str, Any] = {"kind": self.kind}
        if self.after is not None:
            written["after"] = self.after
        written["author"] = self.author.to_json()
        if self.value is not None:
            written["value"] = copy_json(self.value)
        if not self.saved:
            written["saved"] = False
        return written

    @classmethod
    def from_json(cls, value: JSON, path: str = "aside") -> Aside:
        """Read the JSON form; null counts as absent.

        Raises:
            InvalidRecordError: it is no aside.

        """
        if not isinstance(value, dict):
            raise InvalidRecordError(path, "an aside is an object")
        author = Author.from_json(value.get("author"), f"{path}.author")
        kind, saved = value.get("kind"), value.get("saved")
        if not isinstance(kind, str):
            raise InvalidRecordError(f"{path}.kind", "must be text")
        if not isinstance(saved, bool | None):
            raise InvalidRecordError(f"{path}.saved", "must be true or false")
        aside = cls(kind, author, value.get("after"), value.get("value"), saved is not False)
        return aside.checked(path)

    def checked(self, path: str = "aside") -> Aside:
        """The same aside with a checked copy of its value.

        Raises:
            InvalidRecordError: a member of the wrong type, or a value that JSON cannot say.

        """
        if not isinstance(self.kind, str) or not self.kind:
            raise InvalidRecordError(f"{path}.kind", "must be a text that is not empty")
        if not isinstance(self.author, Author):
            raise InvalidRecordError(f"{path}.author", "must be an author")
        if self.after is not None and (type(self.after) is not int or self.after < 0):
            raise InvalidRecordError(f"{path}.after", "must be the id of an entry")
        check_json(self.value, f"{path}.value")
        return Aside(self.kind, self.author, self.after, copy_json(self.value), bool(self.saved))

    def copied(self) -> Aside:
        """A copy for a caller to keep."""
        return Aside(self.kind, self.author, self.after, copy_json(self.value), self.saved)

    def moved_after(self, after: int | None) -> Aside:
        """The same aside after another entry."""
        return Aside(self.kind, self.author, after, self.value, self.saved)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Aside):
            return NotImplemented
        mine = (self.kind, self.author, self.after, self.saved)
        return mine == (other.kind, other.author, other.after, other.saved) and same_json(
            self.value, other.value
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.author, self.after, self.saved))
