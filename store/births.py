"""The head of a new conversation as BSON, each message encoded once. Pure.

What a driver is given as dicts it encodes itself: to know the size of the messages they would have to be
encoded before, and once more to be sent. Here the messages become one array of BSON, which is measured and
then put into the head as it is.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import bson
from bson.errors import InvalidDocument
from bson.raw_bson import RawBSONDocument

from convostore.schemas.conversations import Conversation
from convostore.schemas.formats import Facts
from convostore.schemas.json_values import JSON
from convostore.schemas.usage import COUNTERS
from convostore.store import history
from convostore.store.codec import INT64_MAX, are_native
from convostore.store.heads import Head
from convostore.store.layout import Bounds, Limits
from convostore.store.runs import StoredEntry, size_in_array

__all__ = ["Run", "encode_run", "first_records", "raw_head"]

_NOTHING: Final = Facts()
_LENGTH: Final = struct.Struct("<i")
_BEFORE: Final = 7  # bytes before the array in {"e": [...]}: a length, a type and a name; behind it is an end
_NAME: Final = b"\x04messages\0"
_NO_MESSAGES: Final = _NAME + b"\x05\0\0\0\0"


class Run(NamedTuple):
    """The first entries of a conversation, with ids from 0: a BSON array, and their own bytes in it."""

    array: bytes
    size: int
    made: tuple[int | None, ...]


def encode_run(messages: Sequence[JSON], facts: Sequence[Facts] | None, bounds: Bounds) -> Run | None:
    """The messages, if all of them stay embedded in the head, each in its native form; else None."""
    if len(messages) > bounds.soft_count:
        return None
    if not are_native(messages):
        return None
    known = [_NOTHING] * len(messages) if facts is None else facts
    entries: list[StoredEntry] = []
    told, said = _NOTHING, StoredEntry()
    for place, (message, fact) in enumerate(zip(messages, known, strict=True)):
        if fact is not told:  # of most sources all messages have the same
            told, said = fact, _said(fact)
        entries.append({"id": place, **said, "m": message})
    made = tuple([fact.made for fact in known])
    if max(filter(None, made), default=0) > INT64_MAX:
        return None
    try:
        data = bson.encode({"e": entries})
    except (UnicodeEncodeError, InvalidDocument):
        return None
    size = size_in_array(len(data), len(entries))
    # As small as one message that is embedded may be, so none of these lies apart.
    if size > min(Limits.INLINE, bounds.soft_bytes):
        return None
    return Run(data[_BEFORE:-1], size, made)


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


def raw_head(head: Head, run: Run) -> RawBSONDocument:
    """The head, which has no messages yet, with those of the run."""
    data = bson.encode(head)
    # The first such bytes: before them are an id, a user and a thread, which have no control characters.
    start = data.index(_NO_MESSAGES)
    parts = (data[4:start], _NAME, run.array, data[start + len(_NO_MESSAGES) :])
    return RawBSONDocument(b"".join((_LENGTH.pack(4 + sum(map(len, parts))), *parts)))


def first_records(record: Conversation, made: Sequence[int | None], key: history.Key) -> list[history.Record]:
    """The change record that a conversation begins with, of messages made at these times; none if empty."""
    usage: dict[str, Any] = {name: getattr(record.usage, name) for name in COUNTERS}
    given = any(usage.values())
    if not made and not given:
        return []
    first = history.push_record(record.created_at, len(made), key=key, usage=usage if given else None)
    return [first | history.own_times(made, record.created_at)]
