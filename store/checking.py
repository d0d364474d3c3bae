"""The invariants of a stored conversation, checked against what was read of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from convostore.store.codec import U64_MAX, decode_u64
from convostore.store.crediting import credited
from convostore.store.heads import COUNTERS, Head, embedded
from convostore.store.results import Finding
from convostore.store.runs import StoredEntry, entries_size

__all__ = ["check_head", "check_ledger", "check_segments", "referenced_blobs"]


def check_head(head: Head) -> list[Finding]:
    """What the head says of itself: counts, ids, the log."""
    id = decode_u64(head["_id"])
    found: list[Finding] = []

    def broken(kind: str, detail: str) -> None:
        found.append(Finding("broken", kind, id, detail))

    run = head["messages"]
    if len(run) != head["embedded_count"]:
        broken("embedded_count", f"says {head['embedded_count']}, {len(run)} messages are embedded")
    plain = [("id" in entry) for entry in run]
    if plain != sorted(plain, reverse=True):
        broken("entry_ids", "an entry without id stands before one with an id")
    size = entries_size(run)
    if size > head["embedded_bytes"] + 64 * (len(run) + 1) or head["embedded_bytes"] > size + 64 * (
        len(run) + 1
    ):
        broken("embedded_bytes", f"says {head['embedded_bytes']}, the embedded messages have {size}")
    if head["log_start"] + len(head["log"]) != head["revision"]:
        broken(
            "log", f"holds {len(head['log'])} records from {head['log_start']} at revision {head['revision']}"
        )
    if head["period"] != decode_u64(head["created_at"]) // 3_600_000:
        broken("period", f"is {head['period']} for a creation at {head['created_at']}")
    lease = head.get("taken")
    if lease is None and any(head.get(name) for name in ("taken_steering", "taken_follow_ups")):
        broken("queues", "texts lie under a lease that does not exist")
    return found


def check_segments(head: Head, sealed: Mapping[Any, Sequence[StoredEntry]]) -> list[Finding]:
    """Whether the manifest and the segments agree, and ids are distinct and given out."""
    id = decode_u64(head["_id"])
    found: list[Finding] = []
    entries: list[StoredEntry] = []
    for item in head["segments"]:
        held = sealed.get(item["i"])
        if held is None:
            found.append(
                Finding("broken", "segment_missing", id, f"segment {item['i']} of {item['n']} messages")
            )
            continue
        if len(held) != item["n"]:
            detail = f"segment {item['i']} holds {len(held)} messages, the manifest says {item['n']}"
            found.append(Finding("broken", "segment_count", id, detail))
        outside = [entry["id"] for entry in held if not item["lo"] <= entry["id"] <= item["hi"]]
        if outside:
            found.append(
                Finding("broken", "segment_ids", id, f"segment {item['i']} holds entry {outside[0]}")
            )
        entries += held
    ids = [entry["id"] for entry in [*entries, *embedded(head)] if "id" in entry]
    if len(set(ids)) != len(ids):
        found.append(Finding("broken", "entry_ids", id, "two entries have one id"))
    if ids and max(ids) >= head["next_entry"]:
        found.append(
            Finding("broken", "entry_ids", id, f"entry {max(ids)} is not below {head['next_entry']}")
        )
    return found


def check_ledger(head: Head, changes: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Whether the sealed records are without a gap and say what their sums say."""
    id = decode_u64(head["_id"])
    found: list[Finding] = []
    expected = 1
    for document in sorted(changes, key=lambda one: int(one["_id"]["from"])):
        first, to = int(document["_id"]["from"]), int(document["to"])
        if first > head["log_start"]:
            continue  # sealed by somebody who died before the cut: the head decides
        if first != expected or to - first + 1 != len(document["recs"]):
            detail = f"records {first} to {to} follow record {expected - 1} and are {len(document['recs'])}"
            found.append(Finding("broken", "changes_gap", id, detail))
        expected = to + 1
        if document["sums"] != credited(document["recs"]):
            found.append(
                Finding("broken", "ledger", id, f"sums of records {first} to {to} are not the records'")
            )
    if expected != head["log_start"] + 1:
        detail = f"records {expected} to {head['log_start']} are missing"
        found.append(Finding("broken", "changes_gap", id, detail))
    return found


def check_usage(head: Head) -> list[Finding]:
    """Whether the counters are what counters are."""
    id = decode_u64(head["_id"])
    found = []
    for name in COUNTERS:
        try:
            count = decode_u64(head["usage"][name])
        except (KeyError, TypeError, ValueError):
            count = -1
        if not 0 <= count <= U64_MAX:
            found.append(Finding("broken", "usage", id, f"{name} is {head['usage'].get(name)!r}"))
    return found


def referenced_blobs(*holders: Sequence[Mapping[str, Any]]) -> set[Any]:
    """The ids of every blob that entries, attachments or records refer to."""
    found = set()
    for holder in holders:
        for one in holder:
            if "blob" in one and isinstance(one["blob"], dict):
                found.add(one["blob"]["b"])
            for removed in one.get("rm", ()):
                if "blob" in removed:
                    found.add(removed["blob"]["b"])
    return found
