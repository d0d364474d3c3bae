"""Which program's conversations a live database holds, judged by a few documents of each collection. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from convostore.schemas.errors import ImportFormatError
from convostore.schemas.formats import Format
from convostore.schemas.json_values import JSON
from convostore.store.collections import LAYOUTS, fitting, layout_of

__all__ = ["SYSTEM_DATABASES", "Candidate", "Sample", "chosen", "shown_uri"]

SYSTEM_DATABASES: Final = frozenset({"admin", "config", "local"})

_NAMED: Final = 20


@dataclass(frozen=True, slots=True)
class Sample:
    """A few documents of one collection."""

    database: str
    collection: str
    documents: Sequence[JSON]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Conversations of one program in one database.

    ``collections`` gives for a part of the layout, by its number, the collection and the members of its
    documents that name the conversation.
    """

    format: Format
    database: str
    collections: Mapping[int, tuple[str, tuple[str, ...]]]

    def __str__(self) -> str:
        names = ", ".join(f"{self.database}.{name}" for name, _ in self.collections.values())
        return f"{self.format.name} ({names})"


def chosen(samples: Iterable[Sample], format: str = "auto", collection: str | None = None) -> Candidate:
    """The one that the samples show; ``format`` and ``collection`` leave out others.

    Raises:
        ImportFormatError: there is none, or there are several; it names them, and how to say which.

    """
    found: list[Candidate] = []
    seen: list[str] = []
    by_database: dict[str, list[Sample]] = {}
    for sample in samples:
        seen.append(f"{sample.database}.{sample.collection}")
        by_database.setdefault(sample.database, []).append(sample)
    for database, group in by_database.items():
        found += _candidates(database, group, format)
    if collection is not None:
        found = [one for one in found if any(name == collection for name, _ in one.collections.values())]
    if len(found) == 1:
        return found[0]
    if not found:
        wanted = ", ".join(LAYOUTS) if format == "auto" else format
        where = "" if collection is None else f" in a collection {collection!a}"
        names = ", ".join(seen[:_NAMED]) or "nothing"
        more = f" and {len(seen) - _NAMED:,} more" if len(seen) > _NAMED else ""
        raise ImportFormatError(f"no conversations of {wanted} were found{where}; there is {names}{more}")
    names = " and ".join(map(str, found[:_NAMED]))
    raise ImportFormatError(f"it may be {names}: say which with {' or '.join(_differences(found))}")


def _candidates(database: str, samples: Sequence[Sample], format: str) -> list[Candidate]:
    """The programs that the collections of one database may be of; a collection too many makes one more."""
    places: dict[str, dict[int, list[tuple[str, tuple[str, ...]]]]] = {}
    formats: dict[str, Format] = {}
    for sample in samples:
        for document in sample.documents:
            kinds = fitting(document, format)
            for kind in kinds:
                place = layout_of(kind).part_of(document)
                if place is not None and not layout_of(kind).parts[place[0]].is_spare:
                    formats[kind.name] = kind
                    part = places.setdefault(kind.name, {}).setdefault(place[0], [])
                    if all(name != sample.collection for name, _ in part):
                        part.append((sample.collection, place[1]))
            if kinds:
                break
    return [
        Candidate(formats[name], database, collections)
        for name, parts in places.items()
        for collections in _combinations(parts)
    ]


def _combinations(
    parts: Mapping[int, Sequence[tuple[str, tuple[str, ...]]]],
) -> list[dict[int, tuple[str, tuple[str, ...]]]]:
    found: list[dict[int, tuple[str, tuple[str, ...]]]] = [{}]
    for number in sorted(parts):
        found = [{**one, number: place} for one in found for place in parts[number]]
    return found


def _differences(found: Sequence[Candidate]) -> list[str]:
    """What tells them apart, most general first."""
    ways = []
    if len({one.format.name for one in found}) > 1:
        ways.append("format= (--format)")
    if len({one.database for one in found}) > 1:
        ways.append("the database in the URI")
    kinds = {(one.format.name, one.database) for one in found}
    if len(kinds) < len(found):
        ways.append("collection= (--collection)")
    return ways


def shown_uri(uri: str) -> str:
    """The URI without user, password and options, for people to read.

    >>> shown_uri("mongodb://me:p@ss@host:27017/chats?tls=true")
    'mongodb://host:27017/chats'
    """
    scheme, mark, rest = uri.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2].partition('?')[0]}"
