"""The manifest: which segments hold a conversation's older messages, in order. Pure.

An item is ``{i: segment's _id, n: entries, b: bytes, lo, hi: smallest and largest entry id}``. Positions are
sums of ``n``; nothing else in the database says where a segment stands (``storage.md`` A4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.store.layout import Bounds
from convostore.store.runs import Segment

__all__ = [
    "Item",
    "Span",
    "item_of",
    "mergeable",
    "sealed_bytes",
    "sealed_count",
    "segment_document",
    "touching",
]

Item: TypeAlias = dict[str, Any]


class Span(NamedTuple):
    """Neighbouring manifest items: ``first`` to ``last`` (excluded) in the manifest, starting at position
    ``start``.
    """

    first: int
    last: int
    start: int


def item_of(segment: Segment, id: ObjectId) -> Item:
    """The manifest item of a segment stored under that id."""
    ids = [entry["id"] for entry in segment.entries]
    return {
        "i": id,
        "n": len(segment.entries),
        "b": segment.size,
        "lo": min(ids),
        "hi": max(ids),
    }


def segment_document(
    segment: Segment, *, user: str, conversation: Any, lineage: int, structure: int
) -> dict[str, Any]:
    """The document of a new segment, under a fresh random id; ``g`` lets the collector tell it from live
    ones.
    """
    return {
        "_id": ObjectId(),
        "user": user,
        "c": conversation,
        "lin": Int64(lineage),
        "g": structure,
        "n": len(segment.entries),
        "e": list(segment.entries),
    }


def sealed_count(manifest: Iterable[Item]) -> int:
    """How many messages lie in segments."""
    return sum(item["n"] for item in manifest)


def sealed_bytes(manifest: Iterable[Item]) -> int:
    """Their stored bytes."""
    return sum(item["b"] for item in manifest)


def touching(manifest: Sequence[Item], start: int, stop: int) -> Span:
    """The items that hold positions ``start`` to ``stop`` (excluded); of an empty range, the item it lies in.

    At a border between two items an empty range belongs to none: the span is empty there.
    """
    position, first, begins = 0, None, 0
    for place, item in enumerate(manifest):
        end = position + item["n"]
        inside = position < stop and end > start if stop > start else position < start < end
        if inside and first is None:
            first, begins = place, position
        elif not inside and first is not None:
            return Span(first, place, begins)
        elif not inside and first is None and position >= stop:
            return Span(place, place, position)
        position = end
    return (
        Span(len(manifest), len(manifest), position) if first is None else Span(first, len(manifest), begins)
    )


def mergeable(manifest: Sequence[Item], bounds: Bounds) -> Span | None:
    """The newest neighbours of one size class worth joining: ``merge_width`` of them, or fewer that fill a
    segment.
    """
    for last in range(len(manifest), 1, -1):
        first, full = last, False
        size = count = 0
        level = _size_class(manifest[last - 1], bounds.merge_width)
        while first and last - first < bounds.merge_width and not full:
            item = manifest[first - 1]
            if _size_class(item, bounds.merge_width) != level:
                break
            full = size + item["b"] > bounds.segment_bytes or count + item["n"] > bounds.segment_count
            if not full:
                first, size, count = first - 1, size + item["b"], count + item["n"]
        if last - first == bounds.merge_width or (full and last - first > 2):
            return Span(first, last, sealed_count(manifest[:first]))
    return None


def _size_class(item: Item, width: int) -> int:
    size, level = max(item["n"], 1), 0
    while size >= width:
        size //= width
        level += 1
    return level
