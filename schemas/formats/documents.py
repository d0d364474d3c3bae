"""Documents of a database: which application wrote them, and which of them make one conversation. Pure.

An application lays its conversations out in one or several collections, the parts of its :class:`Layout`.
Documents come one by one, from an export, a dump or a live database alike, in extended JSON's relaxed form;
those of one conversation are brought together and given to the layout's :class:`Gatherer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.extended_json import is_extended, relaxed
from convostore.schemas.formats.foreign import Item, Sources, first_id
from convostore.schemas.formats.items import Found, ReadOptions, Refused
from convostore.schemas.formats.json_layout import peek_value
from convostore.schemas.json_values import JSON, MAX_DEPTH, dump_text

__all__ = ["Gatherer", "Layout", "Part", "Placed", "begins_loose", "extended", "gathered", "places"]

Members = Callable[[Mapping[str, JSON]], "tuple[str, ...] | None"]


@dataclass(frozen=True, slots=True)
class Part:
    """One collection of a layout.

    ``collection`` is its usual name. ``members`` gives the names of a document's members that name its
    conversation, in the order of the application's index on them; None for a document that is none of this
    part. ``is_whole`` says that each document is a conversation by itself, ``is_spare`` that a database's
    other parts say all that this one does.
    """

    collection: str
    members: Members
    is_whole: bool = False
    is_spare: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """A document with the number of its part and the text that stands for its conversation."""

    part: int
    key: str
    found: Found


class Gatherer(ABC):
    """Takes the documents of one conversation after the other and gives what they make."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources

    @abstractmethod
    def take(self, part: int, found: Found) -> None:
        """Take one document of the conversation at hand; those of the first part come first."""

    @abstractmethod
    def end(self) -> Iterator[Item]:
        """What the documents taken since the last call make; a conversation, or a refusal."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The collections in which an application keeps conversations.

    ``open`` begins the reading of one input. ``bucket`` is the one of GridFS in which the files lie that
    resources name by their addresses.

    Raises (``open``):
        InvalidRecordError: the options name no user although the documents name none, or one that is none.

    """

    parts: tuple[Part, ...]
    open: Callable[[ReadOptions], Gatherer]
    bucket: str | None = None

    def part_of(self, document: JSON) -> tuple[int, tuple[str, ...]] | None:
        """The part that a document belongs to, and its members that name the conversation."""
        if isinstance(document, dict):
            for number, part in enumerate(self.parts):
                members = part.members(document)
                if members is not None:
                    return number, members
        return None

    def is_loose(self, document: JSON) -> bool:
        """Whether it is a document that has to be brought together with others."""
        place = self.part_of(document)
        return place is not None and not self.parts[place[0]].is_whole

    def place(self, found: Found) -> Placed | None:
        """Where the document belongs; None when it is none of the layout's."""
        place = self.part_of(found.value)
        if place is None:
            return None
        part, members = place
        return Placed(part, dump_text([found.value.get(name) for name in members]), found)


def extended(values: Iterable[Found | Refused]) -> Iterator[Found | Refused]:
    """The values, documents of MongoDB among them in the relaxed form."""
    for found in values:
        if isinstance(found, Found) and is_extended(found.value):
            try:
                found = replace(found, value=relaxed(found.value))
            except RecursionError:
                found = _too_deep(found)
        yield found


def _too_deep(found: Found) -> Refused:
    return Refused(found.position, f"nested too deeply; at most {MAX_DEPTH} levels", first_id(found.value))


def begins_loose(source: ByteInput, layout: Layout) -> bool:
    """Whether the first value of JSON input is a document to be brought together; the input stays."""
    first = peek_value(source)
    return first is not None and layout.is_loose(first.value)


def places(values: Iterable[Found | Refused], layout: Layout) -> Iterator[Placed | Refused]:
    """Where each of the documents belongs; one that is none of the layout's is refused."""
    for found in values:
        try:
            placed = found if isinstance(found, Refused) else layout.place(found)
        except RecursionError:
            assert isinstance(found, Found)
            placed = _too_deep(found)
        if placed is None:
            assert isinstance(found, Found)
            names = " or ".join(part.collection for part in layout.parts)
            placed = Refused(found.position, f"it is no document of {names}", first_id(found.value))
        yield placed


def gathered(values: Iterable[Found | Refused], layout: Layout, options: ReadOptions) -> Iterator[Item]:
    """What the documents make, all of them in memory at once, conversations as they come up first.

    Raises:
        InvalidRecordError: as ``layout.open``.

    """
    gatherer = layout.open(options)
    waiting: dict[str, list[Placed]] = {}
    for placed in places(values, layout):
        if isinstance(placed, Refused):
            yield placed
        elif layout.parts[placed.part].is_whole:
            gatherer.take(placed.part, placed.found)
            yield from gatherer.end()
        else:
            waiting.setdefault(placed.key, []).append(placed)
    for key in list(waiting):
        for placed in sorted(waiting.pop(key), key=lambda one: one.part):
            gatherer.take(placed.part, placed.found)
        yield from gatherer.end()
