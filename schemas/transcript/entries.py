"""Entries as a transcript takes them and shows them, and the keys they are known by outside. Pure data.

An entry in a transcript is the store's :class:`~convostore.schemas.entries.Entry`; one that never was in any
is a :class:`NewEntry`. Values go in and come out as copies, so nobody holds a piece of a transcript.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON, check_json, same_json
from convostore.schemas.messages import Message as AndaMessage
from convostore.schemas.rig import Message
from convostore.schemas.transcript import roles

__all__ = [
    "AnyEntry",
    "EntryRef",
    "MessageKey",
    "NewEntry",
    "all_taken_in",
    "copy_json",
    "message_id_text",
    "parse_message_id",
    "same_entry",
    "taken_in",
    "taken_out",
]


def copy_json(value: JSON) -> JSON:
    """A copy of a value that is known to be JSON, made in C."""
    return marshal.loads(marshal.dumps(value, 2))


class MessageKey(NamedTuple):
    """An entry's identity outside its conversation: its id, and when it was made in ms since 1970."""

    id: int
    made: int | None


_ID_TEXT = re.compile(r"m(0|[1-9][0-9]*)", re.ASCII)


def message_id_text(id: int) -> str:
    """A message id as commands write it: ``m4``."""
    return f"m{id}"


def parse_message_id(text: str) -> int:
    """The message id that ``m4`` names.

    Raises:
        InvalidRecordError: any other text.

    """
    match = _ID_TEXT.fullmatch(text)
    if match is None:
        raise InvalidRecordError("message id", f"{ascii(text)[:80]} is none; write m4")
    return int(match[1])


@dataclass(frozen=True, slots=True)
class NewEntry:
    """A message to put into a transcript, with what is known of it; it has no identity yet."""

    message: JSON | Message | AndaMessage
    author: Author | None = None
    dialect: str | None = None
    unfinished: bool = False


class EntryRef:
    """An entry as it is read: where it stands, its identity, and what it is.

    ``message`` is a copy, the caller's to change; changing it changes no transcript.
    """

    __slots__ = ("_entry", "index")

    def __init__(self, index: int, entry: Entry) -> None:
        self.index = index
        self._entry = entry

    @property
    def id(self) -> int:
        """The message id."""
        return self._entry.id

    @property
    def made(self) -> int | None:
        """When it was made, ms since 1970; absent when the source of an import did not say."""
        return self._entry.made

    @property
    def author(self) -> Author | None:
        """Who wrote it; none for the user's own text, a reply, a tool result."""
        return self._entry.author

    @property
    def dialect(self) -> str | None:
        """The dialect the writer named, if any."""
        return self._entry.dialect

    @property
    def unfinished(self) -> bool:
        """Whether it is an answer still being streamed."""
        return self._entry.unfinished

    @property
    def message(self) -> JSON:
        """The message's JSON, a copy."""
        return copy_json(self._entry.message)

    @property
    def key(self) -> MessageKey:
        """Its identity outside the conversation."""
        return MessageKey(self._entry.id, self._entry.made)

    def is_users_own(self) -> bool:
        """Whether the user said it: nobody else, without a title, and not tool results only."""
        return roles.is_users_own(self._entry)

    def is_request(self) -> bool:
        """Whether somebody other than rig asks for something with it."""
        return roles.is_request(self._entry)

    def is_stop_marker(self) -> bool:
        """Whether it is the STOPPED entry."""
        return roles.is_stop_marker(self._entry)

    def entry(self) -> Entry:
        """The entry as it can be put back (``splice``, ``restore``, ``set_entries``)."""
        return taken_out(self._entry)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EntryRef):
            return NotImplemented
        return (
            self.index == other.index
            and self.made == other.made
            and self.id == other.id
            and same_entry(self._entry, other._entry)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"EntryRef(index={self.index}, id={self.id}, author={self.author!r}, made={self.made})"


AnyEntry: TypeAlias = Entry | NewEntry | EntryRef | Message | AndaMessage | dict[str, Any]
"""What a transcript takes as an entry: also a bare message, as a model or as its JSON object."""


def taken_out(entry: Entry) -> Entry:
    """A copy of an entry for a caller to keep or change."""
    return replace(entry, message=copy_json(entry.message))


def taken_in(given: AnyEntry, path: str = "entry") -> tuple[int | None, Entry]:
    """The id given, if any, and the entry with a checked copy of its message (its own id is not settled yet).

    Raises:
        InvalidRecordError: it is no entry, or its message holds what JSON cannot say.

    """
    if isinstance(given, EntryRef):
        return given.id, given._entry
    if isinstance(given, Entry):
        return given.id, replace(given, message=_message(given.message, path))
    if isinstance(given, NewEntry):
        fresh = Entry(-1, _message(given.message, path), None, given.author, given.dialect, given.unfinished)
        return None, fresh
    if isinstance(given, Message | AndaMessage | dict):
        return None, Entry(-1, _message(given, path))
    raise InvalidRecordError(path, f"a {type(given).__name__} is no entry and no message")


def all_taken_in(given: Iterable[AnyEntry]) -> list[tuple[int | None, Entry]]:
    """:func:`taken_in` for each, with its place in the path."""
    return [taken_in(entry, f"entries[{place}]") for place, entry in enumerate(given)]


def _message(message: JSON | Message | AndaMessage, path: str) -> JSON:
    if isinstance(message, Message | AndaMessage):
        message = message.to_json()
    check_json(message, f"{path}.message")
    return copy_json(message)


def same_entry(a: Entry, b: Entry) -> bool:
    """Whether two entries are equal in everything but the time they were made."""
    return a is b or (
        a.id == b.id
        and a.author == b.author
        and a.dialect == b.dialect
        and a.unfinished == b.unfinished
        and (a.message is b.message or same_json(a.message, b.message))
    )
