"""Entries as a provider call may be given them, and in the dialect that was asked for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from convostore.schemas.entries import Entry
from convostore.schemas.pairing import for_model
from convostore.schemas.translation import translated

__all__ = ["MADE_UP", "said_in", "shown_to_model"]

MADE_UP: Final = -1
"""The id of a message that was repaired or made up: it is no stored one."""


def said_in(entries: Sequence[Entry], dialect: str) -> list[Entry]:
    """The entries with their messages in that dialect; one that becomes several messages is there as often.

    Raises:
        InvalidRecordError: nothing can be said in a dialect of that name.

    """
    return [
        entry if said is entry.message else replace(entry, message=said, dialect=dialect)
        for entry in entries
        for said in translated([entry], dialect)
    ]


def shown_to_model(entries: Sequence[Entry], dialect: str | None = None) -> list[Entry]:
    """Calls and results paired and in order, failed and unfinished turns left out.

    With a dialect all of it in that one, else each message in its own.

    Raises:
        InvalidRecordError: nothing can be said in a dialect of that name.

    """
    shown = _paired(entries)
    # Once more, as results that were messages of their own may now be parts of one.
    return shown if dialect is None else _paired(said_in(shown, dialect))


def _paired(entries: Sequence[Entry]) -> list[Entry]:
    held = {id(entry.message): entry for entry in entries}
    return [held.get(id(message)) or Entry(MADE_UP, message) for message in for_model(entries).messages]
