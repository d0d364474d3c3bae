"""What a conversation was at any revision, worked out from its change records alone, without the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pymongo.database import Database

Line = tuple[int, str]
"""An entry's id and its message's text."""


@dataclass
class Past:
    """The conversation at ``revision``, and what later changes had brought into it, each time they did."""

    revision: int
    lines: list[Line]
    brought: Counter[str] = field(default_factory=Counter)


def going_back(database: Database[dict[str, Any]], id: int) -> Iterator[Past]:
    """The conversation at its present revision, then at each one before, down to the empty one.

    It is one object that changes. Every change must be a push or a splice of messages that lie in their
    entries.
    """
    head = database.conversations.find_one({"_id": id})
    assert head is not None
    past = Past(head["revision"], _lines(database, head))
    yield past
    for record in reversed(_records(database, head)):
        if "from" in record:
            start, placed = record["from"], list(record["with"])
            out = past.lines[start : start + len(placed)]
            assert [id for id, _ in out] == placed, f"revision {past.revision} placed {placed}, not {out}"
            past.lines[start : start + len(placed)] = _removed(database, record)
        else:
            kept = len(past.lines) - record.get("n", 1)
            out, past.lines[kept:] = past.lines[kept:], []
        past.brought.update(text for _, text in out)
        past.revision -= 1
        yield past
    assert past.revision == 0 and not past.lines, "the records do not lead back to the empty conversation"


def _lines(database: Database[dict[str, Any]], head: dict[str, Any]) -> list[Line]:
    entries: list[dict[str, Any]] = []
    for item in head["segments"]:
        segment = database.segments.find_one({"_id": item["i"]})
        assert segment is not None, f"a hole: segment {item['i']} of {item['n']} messages is gone"
        entries += segment["e"]
    # Trailing entries without an id have the last ones that were given out.
    first = head["next_entry"] - len(head["messages"])
    entries += [{"id": first + place, **entry} for place, entry in enumerate(head["messages"])]
    return list(map(_line, entries))


def _records(database: Database[dict[str, Any]], head: dict[str, Any]) -> list[dict[str, Any]]:
    sealed = database.changes.find({"c": head["_id"], "lin": head["lineage"]}).sort("_id.from")
    records = [record for document in sealed for record in document["recs"]][: head["log_start"]]
    assert len(records) == head["log_start"], "sealed records are missing"
    return records + list(head["log"])


def _removed(database: Database[dict[str, Any]], record: dict[str, Any]) -> list[Line]:
    entries = list(record.get("rm", ()))
    for id in record.get("body", ()):
        body = database.bodies.find_one({"_id": id})
        assert body is not None, f"what a splice removed is gone: {id}"
        entries += body["e"]
    return [_line(entry) for entry in entries]


def _line(entry: dict[str, Any]) -> Line:
    return entry["id"], entry["m"]["content"]
