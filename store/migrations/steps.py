"""What a step of a migration is, and what it does to one document. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from convostore.store.heads import Head
from convostore.store.runs import NewEntry, StoredEntry

__all__ = ["Change", "Found", "Step", "version_of"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step from a schema version to ``number``, the next one.

    ``pre`` says what must be there before processes of the new release run beside those of the old one: the
    old ones do not mind it. ``post`` says what becomes of the documents, when no old process is left.
    """

    number: int
    name: str
    pre: str
    post: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a step asks to be read of a conversation beside its head.

    ``sealed`` are its documents of ``changes`` up to the head's ``log_start``, in order; ``times`` the time
    of each entry that it has, by entry id (None: not known).
    """

    sealed: Sequence[Mapping[str, Any]] = ()
    times: Mapping[int, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """A guarded update of one document, and what is to be stored before it.

    ``query`` fits the document only as it was read; ``update`` makes it one of the next version, and is a
    whole document for a step that replaces it. ``entries`` have pieces that lie apart, ``older`` are to
    become segments, which the update puts into ``segments``. ``amended`` are updates of documents of
    ``changes``, which may be repeated.
    """

    query: Head
    update: Head
    entries: Sequence[NewEntry] = ()
    older: Sequence[StoredEntry] = ()
    amended: Sequence[tuple[Head, Head]] = ()


def version_of(document: Mapping[str, Any]) -> int:
    """The schema version of a document of ``conversations``; 0 for one that no release wrote."""
    found = document.get("schema_version")
    return int(found) if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0
