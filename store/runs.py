"""Runs of stored entries: how messages become entries, how entries get their ids, how a run is cut. Pure.

A *stored entry* is a document ``{id?, made?, author?, dialect?, unfinished?, m | t | blob}``. Appends push
entries without ``id``: the T trailing ones without have the ids ``next_entry - T`` to ``next_entry - 1``.
Whoever rewrites or seals entries writes their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final, TypeAlias

from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON, same_json
from convostore.store.codec import INT64_MAX, blob_of, decode_body, document_size, encode_body
from convostore.store.layout import Bounds

__all__ = [
    "NewEntry",
    "Segment",
    "StoredEntry",
    "blob_references",
    "cut_into_segments",
    "encode_entries",
    "entries_size",
    "holding",
    "in_place_of",
    "newest_page",
    "numbered",
    "pieces_of",
    "renewed",
    "size_in_array",
    "to_entry",
    "with_ids",
]

StoredEntry: TypeAlias = dict[str, Any]

_MADE_SIZE: Final = document_size({"made": Int64(0)}) - document_size({})
_EMPTY_DOCUMENT: Final = document_size({})
_AROUND_ARRAY: Final = document_size({"e": []}) - _EMPTY_DOCUMENT
_LONGER: Final = (10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)  # where numbers get a digit more
_ITEM_SIZE: Final = 16  # of an entry in a segment, beside the entry
_BODY: Final = ("m", "t", "blob")
_TOGETHER: Final = 64


@dataclass(frozen=True, slots=True)
class NewEntry:
    """A message ready to be stored: its document without id, its bytes, and the pieces that lie apart."""

    stored: StoredEntry
    size: int
    pieces: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of entries with ids that becomes one document of ``segments``."""

    entries: tuple[StoredEntry, ...]
    size: int


def encode_entries(
    messages: Sequence[JSON],
    *,
    made: int | Sequence[int | None] | None,
    author: Mapping[str, Any] | None = None,
    dialect: str | None = None,
    unfinished: bool = False,
    path: str = "messages",
    first: int = 0,
) -> list[NewEntry]:
    """Each message as an entry; ``first`` is the place of the first one in the list at ``path``.

    Raises:
        InvalidRecordError: JSON cannot say a message; ``index`` is its place, ``path`` leads to the value.

    """
    times = repeat(made, len(messages)) if made is None or isinstance(made, int) else made
    said: StoredEntry = {}
    if author:
        said["author"] = dict(author)
    if dialect is not None:
        said["dialect"] = dialect
    if unfinished:
        said["unfinished"] = True
    size = document_size(said) if said else _EMPTY_DOCUMENT
    encoded = []
    for index, (message, at) in enumerate(zip(messages, times, strict=True), first):
        body = encode_body(message, f"{path}[{index}]", index=index)
        if at is not None and at > INT64_MAX:
            raise InvalidRecordError(f"{path}[{index}].made", "a time beyond 2^63 ms", index=index)
        if at is None:
            encoded.append(NewEntry(said | body.fields, size + body.size, body.pieces))
        else:
            stored = {"made": at, **said, **body.fields}
            encoded.append(NewEntry(stored, size + _MADE_SIZE + body.size, body.pieces))
    return encoded


def with_ids(entries: Sequence[StoredEntry], next_entry: int) -> list[StoredEntry]:
    """The end of a run (or all of it) with every id written, by the rule for trailing entries."""
    plain = len(entries)
    while plain and "id" not in entries[plain - 1]:
        plain -= 1
    first = next_entry - (len(entries) - plain)
    return [
        *entries[:plain],
        *({"id": first + place, **entry} for place, entry in enumerate(entries[plain:])),
    ]


def numbered(entry: StoredEntry, id: int) -> StoredEntry:
    """The entry under that id."""
    if "id" in entry:
        return {**entry, "id": id}
    return {"id": id, **entry}


def entries_size(entries: Sequence[StoredEntry]) -> int:
    """Bytes of the entries in BSON, measured."""
    # One document of them all is measured in a third of the time.
    return size_in_array(document_size({"e": entries}) - _AROUND_ARRAY, len(entries))


def size_in_array(size: int, count: int) -> int:
    """Bytes of ``count`` entries, of which the array of them has ``size`` bytes in BSON."""
    # Its own keys do not count: each is a type, the digits of its place and an end.
    keys = 3 * count
    for longer in _LONGER:
        if count <= longer:
            break
        keys += count - longer
    return size - keys - _EMPTY_DOCUMENT


def blob_references(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The references to messages that lie apart, in order."""
    holders = [entry for entry in entries if "blob" in entry]
    return [found for found in map(blob_of, holders) if found is not None]


def pieces_of(entries: Iterable[NewEntry]) -> list[tuple[ObjectId, int, bytes]]:
    """Every piece that must be stored before the entries: its blob's id, its place, its bytes."""
    return [
        (entry.stored["blob"]["b"], place, piece)
        for entry in entries
        for place, piece in enumerate(entry.pieces)
    ]


def renewed(entry: NewEntry) -> NewEntry:
    """The same entry with its pieces under a new id; itself when nothing lies apart."""
    if not entry.pieces:
        return entry
    reference = {**entry.stored["blob"], "b": ObjectId()}
    return NewEntry({**entry.stored, "blob": reference}, entry.size, entry.pieces)


def holding(entries: list[StoredEntry], messages: Sequence[JSON]) -> list[StoredEntry]:
    """The entries; one of the same message as stands at its place in ``messages`` holds that one now."""
    for entry, message in zip(entries, messages, strict=False):
        if "m" in entry and same_json(entry["m"], message):
            entry["m"] = message
    return entries


def in_place_of(held: StoredEntry, fresh: NewEntry) -> NewEntry:
    """The message with what is known of the entry that it stands for: its time, author and dialect."""
    facts = {name: value for name, value in held.items() if name not in ("id", *_BODY)}
    stored = facts | {name: value for name, value in fresh.stored.items() if name in _BODY}
    return NewEntry(stored, document_size(stored), fresh.pieces)


def to_entry(stored: StoredEntry, blobs: Mapping[ObjectId, bytes]) -> Entry:
    """The stored entry as callers see it; it must have its id."""
    author = stored.get("author")
    return Entry(
        int(stored["id"]),
        stored["m"] if "m" in stored else decode_body(stored, blobs),
        stored.get("made"),
        None if author is None else Author.from_json(author),
        stored.get("dialect"),
        stored.get("unfinished", False),
    )


def cut_into_segments(entries: Sequence[StoredEntry], bounds: Bounds) -> list[Segment]:
    """The entries, which have ids, as segments within the bounds, in order."""
    segments: list[Segment] = []
    run: list[StoredEntry] = []
    size = 0

    def fits(count: int, grown: int) -> bool:
        return size + grown <= bounds.segment_bytes and len(run) + count <= bounds.segment_count

    for start in range(0, len(entries), _TOGETHER):
        # Many are measured together, as long as all of them fit.
        block = entries[start : start + _TOGETHER]
        whole = entries_size(block) + _ITEM_SIZE * len(block)
        if fits(len(block), whole):
            run += block
            size += whole
            continue
        for entry in block:
            grown = document_size(entry) + _ITEM_SIZE
            if run and not fits(1, grown):
                segments.append(Segment(tuple(run), size))
                run, size = [], 0
            run.append(entry)
            size += grown
    if run:
        segments.append(Segment(tuple(run), size))
    return segments


def newest_page(entries: Sequence[StoredEntry], bounds: Bounds) -> int:
    """How many of the newest entries stay embedded in a cut: a page, or fewer when messages are large."""
    kept, size = 0, 0
    while kept < min(bounds.keep, len(entries)):
        size += document_size(entries[-1 - kept])
        if kept and size > bounds.soft_bytes // 2:
            break
        kept += 1
    return kept
