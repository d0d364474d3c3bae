"""Conversations laid out in memory as the database holds them: a manifest, its segments, an embedded run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bson.int64 import Int64
from bson.objectid import ObjectId
from hypothesis import strategies as st

from convostore.store.manifest import item_of
from convostore.store.runs import Segment, entries_size

Json = dict[str, Any]


@dataclass
class Layout:
    """``entries`` is the plain list that ``head`` and ``segments`` say in their way."""

    entries: list[Json]
    head: Json
    segments: dict[ObjectId, list[Json]]

    def read(self, items: list[Json]) -> list[Json]:
        """The entries of those manifest items, as a read of their segments gives them."""
        return [entry for item in items for entry in self.segments[item["i"]]]

    @property
    def ids(self) -> list[int]:
        """The entries' ids in order."""
        return [entry["id"] for entry in self.entries]


def layout_of(entries: list[Json], counts: list[int], *, plain: int = 0) -> Layout:
    """Entries cut into segments of so many each; what is left is embedded, the last ``plain`` without ids.

    Plain ones must have the highest ids, rising by one.
    """
    segments: dict[ObjectId, list[Json]] = {}
    items, position = [], 0
    for count in counts:
        part = entries[position : position + count]
        position += count
        if not part:
            continue
        id = ObjectId()
        segments[id] = part
        items.append(item_of(Segment(tuple(part), entries_size(part)), id))
    run = entries[position:]
    bare = [
        {name: value for name, value in entry.items() if name != "id"} for entry in run[len(run) - plain :]
    ]
    head: Json = {
        "_id": 1,
        "user": "alice",
        "lineage": Int64(7),
        "version": Int64(3),
        "revision": Int64(3),
        "structure": Int64(2),
        "segments": items,
        "messages": [*run[: len(run) - plain], *bare] if plain else run,
        "embedded_count": len(run),
        "embedded_bytes": Int64(entries_size(run)),
        "next_entry": Int64(max((entry["id"] for entry in entries), default=-1) + 1),
        "log": [],
        "log_start": Int64(0),
    }
    return Layout(entries, head, segments)


@st.composite
def layouts(draw: st.DrawFn, *, rising: bool = False, most: int = 24) -> Layout:
    """A conversation of up to ``most`` entries in some layout.

    Their ids rise along it unless some were inserted later, which ``rising`` rules out; some are missing.
    """
    count = draw(st.integers(0, most))
    ids = sorted(draw(st.sets(st.integers(0, 2 * most), min_size=count, max_size=count)))
    if not rising and ids and draw(st.booleans()):
        for _ in range(draw(st.integers(1, 3))):
            late = ids.pop(draw(st.integers(0, len(ids) - 1)))
            ids.insert(draw(st.integers(0, len(ids))), 2 * most + late + 1)
    entries = [{"id": id, "m": f"entry {id}"} for id in ids]
    cuts = draw(st.lists(st.integers(1, 7), max_size=6))
    embedded = max(len(entries) - sum(cuts), 0)
    plain = 0
    while plain < embedded and ids[len(ids) - 1 - plain] == max(ids) - plain:
        plain += 1
    return layout_of(entries, cuts, plain=draw(st.integers(0, plain)))
