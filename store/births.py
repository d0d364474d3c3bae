"""The head of a new conversation as BSON, with each message encoded once. Pure.

A driver that is given dicts encodes them itself, and to know the size of the messages they would have to be
encoded before that. Here the whole head is encoded, the bytes of its messages are counted in it, and their
number is written to its place.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

import bson
from bson.errors import InvalidDocument
from bson.raw_bson import RawBSONDocument

from convostore.schemas.conversations import Conversation
from convostore.schemas.formats import Facts
from convostore.schemas.json_values import JSON
from convostore.store import history
from convostore.store.codec import INT64_MAX, are_native
from convostore.store.heads import Head
from convostore.store.layout import Bounds, Limits
from convostore.store.runs import StoredEntry, size_in_array

__all__ = ["first_records", "native_entries", "raw_head"]

_NOTHING: Final = Facts()
_NUMBER: Final = struct.Struct("<i")
_LONG: Final = struct.Struct("<q")
_MESSAGES: Final = b"\x04messages\0"
_BYTES: Final = b"\x12embedded_bytes\0"


def native_entries(
    messages: Sequence[JSON], facts: Sequence[Facts] | None, bounds: Bounds
) -> list[StoredEntry] | None:
    """The messages as entries with ids from 0; None when there are too many for the head, or one is not
    native.
    """
    if len(messages) > bounds.soft_count or not are_native(messages):
        return None
    known = [_NOTHING] * len(messages) if facts is None else facts
    entries: list[StoredEntry] = []
    told, said = _NOTHING, StoredEntry()
    for place, (message, fact) in enumerate(zip(messages, known, strict=True)):
        if fact is not told:  # of most sources all messages have the same
            told, said = fact, _said(fact)
            if said.get("made", 0) > INT64_MAX:
                return None
        entries.append({"id": place, **said, "m": message})
    return entries


def _said(fact: Facts) -> StoredEntry:
    """The members of an entry that says this of its message."""
    said: StoredEntry = {}
    if fact.made is not None:
        said["made"] = fact.made
    if fact.author is not None:
        said["author"] = fact.author.to_json()
    if fact.dialect is not None:
        said["dialect"] = fact.dialect
    if fact.unfinished:
        said["unfinished"] = True
    return said


def raw_head(head: Head, bounds: Bounds) -> RawBSONDocument | None:
    """The head, which says a size of 0, with the size of its messages; None when they are too large for it.

    None as well when UTF-8 cannot hold a text in them.
    """
    try:
        data = bson.encode(head)
    except (UnicodeEncodeError, InvalidDocument):
        return None
    # The first such bytes: before them are an id, a user and a thread, which have no control characters.
    start = data.index(_MESSAGES) + len(_MESSAGES)
    length = _NUMBER.unpack_from(data, start)[0]
    size = size_in_array(length, len(head["messages"]))
    # As small as one message that is embedded may be, so none of these lies apart.
    if size > min(Limits.INLINE, bounds.soft_bytes):
        return None
    # The last such bytes: behind them is nothing that a user wrote.
    place = data.rindex(_BYTES) + len(_BYTES)
    return RawBSONDocument(b"".join((data[:place], _LONG.pack(size), data[place + 8 :])))


def first_records(record: Conversation, made: Sequence[int | None], key: history.Key) -> list[history.Record]:
    """The change record that a conversation begins with, of messages made at these times; none if empty."""
    usage = record.usage.to_json()
    given = any(usage.values())
    if not made and not given:
        return []
    first = history.push_record(record.created_at, len(made), key=key, usage=usage if given else None)
    first |= history.own_times(made, record.created_at)
    return [first]
