"""Planning seals: older messages and older change records out of the head (``storage.md`` S3, S6). Pure.

The cuts take a fixed number from the front and are guarded by ``structure`` or ``log_start`` alone, so
appends that come in between stay. Their pipelines hold numbers and random ids, never user data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bson.int64 import Int64

from convostore.store import history
from convostore.store.codec import document_size
from convostore.store.crediting import credited
from convostore.store.heads import Head, embedded
from convostore.store.layout import Bounds
from convostore.store.manifest import Item
from convostore.store.runs import StoredEntry, entries_size, newest_page

__all__ = [
    "change_document",
    "log_cut",
    "message_cut",
    "records_before",
    "records_to_seal",
    "replace_manifest",
    "run_to_seal",
    "sealed_at_birth",
    "seals",
]

_SEALABLE: Final = (
    "user",
    "lineage",
    "version",
    "revision",
    "structure",
    "next_entry",
    "embedded_count",
    "embedded_bytes",
    "segments",
    "log",
    "log_start",
)

_END: Final = 2**30
_DAY_MS: Final = 86_400_000
_CHANGE_BYTES: Final = 4 * 1024 * 1024  # the keys in them are in the document twice


def seals(messages: bool) -> dict[str, int]:
    """What a seal of messages and change records, or of change records alone, reads of the head."""
    return dict.fromkeys((*_SEALABLE, "messages") if messages else _SEALABLE, 1)


def run_to_seal(head: Head, bounds: Bounds) -> list[StoredEntry]:
    """The older part of the embedded run, with ids: all but the newest page,
    or less when messages are large.
    """
    run = embedded(head)
    if len(run) < bounds.soft_count and head["embedded_bytes"] <= bounds.soft_bytes:
        return []
    return run[: len(run) - newest_page(run, bounds)]


def message_cut(
    owner: Mapping[str, Any], head: Head, count: int, items: Sequence[Item]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Move the first ``count`` embedded messages to the segments ``items``, which are stored already."""
    kept = entries_size(embedded(head)[count:])
    added = {"$subtract": ["$embedded_bytes", Int64(head["embedded_bytes"])]}
    query = {**owner, "lineage": head["lineage"], "structure": head["structure"]}
    return query, [
        {
            "$set": {
                "messages": {"$slice": ["$messages", count, _END]},
                "segments": {"$concatArrays": ["$segments", list(items)]},
                "embedded_count": {"$subtract": ["$embedded_count", count]},
                "embedded_bytes": {"$add": [Int64(kept), added]},
                "structure": {"$add": ["$structure", 1]},
            }
        }
    ]


def replace_manifest(
    owner: Mapping[str, Any], head: Head, manifest: Sequence[Item]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Put another manifest of the same messages in place: a merge."""
    query = {**owner, "lineage": head["lineage"], "structure": head["structure"]}
    return query, {"$set": {"segments": list(manifest)}, "$inc": {"structure": 1}}


def records_to_seal(head: Head, bounds: Bounds) -> list[history.Record]:
    """The older change records of the head, when there are enough of them."""
    log: list[history.Record] = head["log"]
    held = document_size({"log": log})
    if len(log) <= bounds.log_soft and held <= bounds.log_bytes:
        return []
    count = len(log) - bounds.log_keep
    if held > bounds.log_hard_bytes:
        count = len(log) - bounds.log_heavy_keep
    chosen: list[history.Record] = []
    size = 0
    for record in log[: max(count, 0)]:
        size += document_size(record)
        if chosen and size > _CHANGE_BYTES:
            break
        chosen.append(record)
    return chosen


def change_document(conversation: Any, head: Head, records: Sequence[history.Record]) -> dict[str, Any]:
    """The document of sealed records. Its id follows from what it holds: the same revisions are the same
    records.
    """
    start = int(head["log_start"])
    later = head["log"][len(records) :]
    return {
        "_id": {"c": conversation, "lin": Int64(head["lineage"]), "from": Int64(start + 1)},
        "user": head["user"],
        "c": conversation,
        "lin": Int64(head["lineage"]),
        "to": Int64(start + len(records)),
        "next": Int64(head["next_entry"] - sum(map(history.drawn, later))),
        "keys": [key for record in records for key in history.keys_of(record)],
        "sums": credited(records),
        "recs": list(records),
    }


def sealed_at_birth(
    conversation: Any, head: Head, records: Sequence[history.Record], bounds: Bounds
) -> tuple[list[dict[str, Any]], list[history.Record]]:
    """The documents of all but the newest records of a conversation about to be made, and those newest ones.

    ``head`` has its user, lineage and the ``next_entry`` after all records.
    """
    documents: list[dict[str, Any]] = []
    rest = list(records)
    start = 0
    while len(rest) > bounds.log_soft or document_size({"log": rest}) > _CHANGE_BYTES:
        facts = {**head, "log_start": start, "log": rest}
        count, size = 0, 0
        while count < max(len(rest) - bounds.log_keep, 1) and (not count or size < _CHANGE_BYTES):
            size += document_size(rest[count])
            count += 1
        documents.append(change_document(conversation, facts, rest[:count]))
        start, rest = start + count, rest[count:]
    return documents, rest


def log_cut(
    owner: Mapping[str, Any], head: Head, records: Sequence[history.Record], now: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Take the oldest records, which are stored in ``changes``, out of the head."""
    query = {**owner, "lineage": head["lineage"], "log_start": head["log_start"]}
    cut = {
        "log": {"$slice": ["$log", len(records), _END]},
        "log_start": Int64(head["log_start"] + len(records)),
        "log_before": {"$max": ["$log_before", records_before(records, now)]},
    }
    return query, [{"$set": cut}]


def records_before(records: Sequence[history.Record], now: int) -> Int64:
    """The time, in ms, before which all of these records were made, by the clocks of their writers.

    Of a call made then or later none of them can be: its record has its own time. A time that is more than a
    day ahead comes from a source, not from a writer, and does not count.
    """
    times = [int(record["at"]) + 1 for record in records]
    return Int64(max((time for time in times if time <= now + _DAY_MS), default=0))
