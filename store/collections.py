"""Which collections of an input hold conversations, of which application: judged by their documents. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from convostore.schemas.errors import ImportFormatError
from convostore.schemas.formats import FORMATS, Format, Refused
from convostore.schemas.formats.documents import Layout, Placed
from convostore.schemas.formats.foreign import first_id
from convostore.schemas.formats.items import Found
from convostore.schemas.json_values import JSON

__all__ = ["LAYOUTS", "Collections", "InCollection", "fitting", "layout_of"]

InCollection = tuple[str, "Found | Refused"]
"""The name of a collection and a document in it."""

LAYOUTS: Final[dict[str, Format]] = {
    name: known for name, known in FORMATS.items() if known.layout is not None
}
"""The formats of programs that keep their conversations in a database."""

_LOOKED_AT: Final = 50


def layout_of(known: Format) -> Layout:
    """How the program keeps its conversations in a database.

    Raises:
        ImportFormatError: it keeps none there that can be read.

    """
    if known.layout is None:
        raise ImportFormatError(f"{known.name} is read from no database; {', '.join(LAYOUTS)} are")
    return known.layout


def fitting(document: JSON, format: str = "auto") -> list[Format]:
    """The formats, or the one named if it does, that the document is of."""
    known = LAYOUTS.values() if format == "auto" else [FORMATS[format]]
    return [one for one in known if layout_of(one).part_of(document) is not None]


@dataclass(slots=True)
class _Collection:
    """One collection: whether conversations were found in it, and what of it was none before."""

    is_taken: bool = False
    others: list[Refused] = field(default_factory=list)
    count: int = 0


class Collections:
    """Sorts the documents of several collections: those of conversations, and the rest, which is left out.

    ``format`` is a name or ``auto``; ``found`` is the one that the documents are of, None before the first.
    """

    def __init__(self, format: str = "auto") -> None:
        self._format = format
        self._seen: dict[str, _Collection] = {}
        self.found: Format | None = None
        if format != "auto":
            layout_of(FORMATS[format])

    def placed(self, values: Iterable[InCollection]) -> Iterator[Placed | Refused]:
        """The documents of conversations, with what is broken among them.

        Raises:
            ImportFormatError: they are of several formats, of which the error names two; or there are none.

        """
        for name, found in values:
            seen = self._seen.setdefault(name, _Collection())
            if isinstance(found, Refused):
                item: Placed | Refused | None = found
            else:
                item = self._place(name, found)
            if item is None:
                assert isinstance(found, Found)
                item = Refused(found.position, "it holds no conversation", first_id(found.value))
                seen.count += 1
            if isinstance(item, Placed) and not seen.is_taken:
                seen.is_taken = True
                yield from seen.others
                seen.others = []
            if seen.is_taken:
                yield item
            elif len(seen.others) < _LOOKED_AT:
                assert isinstance(item, Refused)
                seen.others.append(item)
        if self.found is None:
            names = ", ".join(sorted(self._seen)[:20]) or "none"
            wanted = ", ".join(LAYOUTS) if self._format == "auto" else self._format
            raise ImportFormatError(f"no collection holds conversations of {wanted}; there is {names}")

    def is_left_out(self, name: str) -> bool:
        """Whether so much of the collection was looked at in vain that the rest need not be."""
        seen = self._seen.get(name)
        return seen is not None and not seen.is_taken and seen.count >= _LOOKED_AT

    def notes(self) -> Iterator[str]:
        """What was left out, a line for each collection."""
        for name, seen in self._seen.items():
            if not seen.is_taken and seen.others:
                yield f"{name}: no conversations; left out"

    def _place(self, name: str, found: Found) -> Placed | None:
        formats = fitting(found.value, self._format)
        if not formats:
            return None
        if self.found is None:
            self.found = formats[0]
        others = [one.name for one in formats if one is not self.found]
        if others:
            names = " and ".join([self.found.name, *others])
            raise ImportFormatError(
                f"{name} and what was read before may be {names}: say which with format= (--format)"
            )
        return layout_of(self.found).place(found)
