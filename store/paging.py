"""Pages of a conversation's entries: what to read and where to cut. Pure.

A page is named by entry ids, not offsets: what is appended or edited meanwhile neither repeats nor hides an
entry. The conversation is seen as chunks, the manifest's segments and last the embedded run; a page lies in a
few neighbouring ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bson.objectid import ObjectId

from convostore.store.heads import Head, embedded
from convostore.store.manifest import Item
from convostore.store.runs import StoredEntry

__all__ = ["PageRequest", "Window", "cut", "fields_for", "rest", "window", "window_behind"]

_HEAD = ("user", "lineage", "next_entry", "embedded_count", "segments")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """At most ``limit`` entries: the newest, or those just before the entry ``before``, or, ``forwards``,
    those just after ``after``, from the first entry on when that is None.
    """

    limit: int
    before: int | None = None
    after: int | None = None
    forwards: bool = False

    @property
    def newest(self) -> bool:
        """Whether the page is the last one, which lies at the end of the embedded run."""
        return self.before is None and not self.forwards


class Window(NamedTuple):
    """The chunks that hold a page: manifest items ``first`` to ``last`` (excluded), and perhaps the run."""

    first: int
    last: int
    run: bool


def fields_for(asked: PageRequest) -> Mapping[str, Any]:
    """What is read of the head: for the newest page only so many messages."""
    return {**dict.fromkeys(_HEAD, 1), "messages": {"$slice": -asked.limit} if asked.newest else 1}


def window(head: Head, asked: PageRequest) -> Window:
    """The chunks to read: those that may hold the named entry,
    and neighbours enough for a page beside them.
    """
    manifest: Sequence[Item] = head["segments"]
    end = len(manifest)
    sizes = [item["n"] for item in manifest] + [int(head["embedded_count"])]
    anchor = asked.after if asked.forwards else asked.before
    run = () if anchor is None else embedded(head)
    inside = next((place for place, entry in enumerate(run) if entry["id"] == anchor), None)
    if anchor is None:
        low, high = (-1, -1) if asked.forwards else (end + 1, end + 1)
    elif inside is not None:
        low, high = end, end
    else:
        low, high = _holders(manifest, anchor, end)
    if asked.forwards:
        first, last = max(low, 0), high + 1
        last = _enough(sizes, range(last, end + 1), asked.limit, last) if last <= end else last
        return Window(first, min(last, end), last > end)
    first, last = low, min(high + 1, end + 1)
    beside = range(low - 1, -1, -1)
    first = _enough(sizes, beside, asked.limit - (inside or 0), low)
    return Window(min(first, end), min(last, end), last > end)


def window_behind(head: Head, segment: ObjectId | None) -> Window | None:
    """The one chunk that follows a segment; None when the manifest does not have the segment."""
    manifest: Sequence[Item] = head["segments"]
    place = next((place for place, item in enumerate(manifest, 1) if item["i"] == segment), None)
    if place is None:
        return None
    return Window(place, place, True) if place == len(manifest) else Window(place, place + 1, False)


def _enough(sizes: Sequence[int], chunks: range, limit: int, edge: int) -> int:
    """How far from ``edge`` the chunks reach until they hold ``limit`` entries: the new edge."""
    held = 0
    for chunk in chunks:
        if held >= limit:
            break
        held += sizes[chunk]
        edge = chunk + 1 if chunks.step > 0 else chunk
    return edge


def _holders(manifest: Sequence[Item], id: int, end: int) -> tuple[int, int]:
    """First and last chunk that may hold an id the run does not; else the one where it would stand."""
    found = [place for place, item in enumerate(manifest) if item["lo"] <= id <= item["hi"]]
    if found:
        return found[0], found[-1]
    later = next((place for place, item in enumerate(manifest) if item["lo"] > id), end)
    return later, later


def cut(
    head: Head, asked: PageRequest, where: Window, sealed: Sequence[StoredEntry]
) -> tuple[list[StoredEntry], int | None]:
    """The page's entries out of the window's, and the id the next request names; None at the end."""
    run = embedded(head) if where.run else []
    entries = [*sealed, *run]
    if asked.forwards:
        start = 0 if asked.after is None else _behind(entries, asked.after)
        stop = min(start + asked.limit, len(entries))
        unread = where.last < len(head["segments"]) or (head["embedded_count"] and not where.run)
        more = stop < len(entries) or unread
        page = entries[start:stop]
        return page, page[-1]["id"] if page and more else None
    stop = len(entries) if asked.before is None else _place(entries, asked.before)
    start = max(stop - asked.limit, 0)
    hidden = where.first > 0 or (where.run and len(run) < int(head["embedded_count"]))
    page = entries[start:stop]
    return page, page[0]["id"] if page and (start > 0 or hidden) else None


def rest(head: Head, after: int | None, where: Window, sealed: Sequence[StoredEntry]) -> list[StoredEntry]:
    """The window's entries, or those of them behind the entry ``after``."""
    entries = [*sealed, *(embedded(head) if where.run else ())]
    return entries if after is None else entries[_behind(entries, after) :]


def _place(entries: Sequence[StoredEntry], id: int) -> int:
    for place, entry in enumerate(entries):
        if entry["id"] == id:
            return place
    # Taken out meanwhile. Ids rise with age, but for entries that an undo put back.
    return next((place for place, entry in enumerate(entries) if entry["id"] > id), len(entries))


def _behind(entries: Sequence[StoredEntry], id: int) -> int:
    place = _place(entries, id)
    return place + 1 if place < len(entries) and entries[place]["id"] == id else place
