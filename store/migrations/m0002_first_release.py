"""Step 2: conversations that release 0.1.0 wrote get what later releases keep beside them. Pure.

The layout is the same but for six things, none of which a reader needs:

* ``log_before``: a conversation whose older change records are sealed says before when all of them were made;
  without it a late original of a call whose record was sealed could be applied a second time;
* ``dirty``: one without any change record is to be counted by the roll-up, too;
* ``embedded_bytes``: each seal of that release took a little more off than the sealed messages had; it is
  measured anew;
* ``qs``: the change records of an import say to which quarters of an hour its messages belong, so that the
  figures credit them to their own times;
* ``sums`` of sealed change records are by quarters of an hour, where that release summed by hours;
* ``states`` begin with the present status and the time of the last change, unless it is ``completed``, as in
  a new conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from bson.int64 import Int64

from convostore.schemas.conversations import ConversationStatus
from convostore.schemas.periods import QUARTER_MS
from convostore.store import history
from convostore.store.codec import decode_u64, encode_u64
from convostore.store.crediting import credited, first_hour
from convostore.store.heads import Head, state_push
from convostore.store.history import HOUR_MS, Record
from convostore.store.migrations.steps import Change, Found, Step
from convostore.store.runs import entries_size
from convostore.store.sealing import records_before
from convostore.store.timeline import kind_of

__all__ = ["STEP", "as_head", "asks_for_times", "mended", "planned"]

STEP: Final = Step(
    2,
    "first_release",
    "collections and indexes of the ledger and of unfinished deletions are made; validators know log_before",
    "conversations of release 0.1.0 get log_before, dirty, measured embedded_bytes, and the times of imports",
)


_TOLERATED: Final = 32
"""Bytes an entry by which the run may be larger than it says."""


def as_head(head: Head) -> Head:
    """A head of version 1, or what was read of it, as one of version 2: to read, not to store."""
    lifted = {**head, "schema_version": STEP.number}
    run = head.get("messages")
    if run is not None and "embedded_bytes" in head and len(run) == head.get("embedded_count"):
        lifted["embedded_bytes"] = entries_size(run)
    return lifted


def asks_for_times(head: Head) -> bool:
    """Whether the entries' times must be read: only what was imported has times of its own."""
    return "source" in head


def planned(head: Head, found: Found, now: int) -> Change:
    """The update of a head of version 1.

    It is guarded by what appends do not change, and adds to what they do, so they go on meanwhile.
    """
    owner = {name: head[name] for name in ("_id", "user")}
    guard = {name: head[name] for name in ("schema_version", "lineage", "structure", "log_start")}
    sealed = [_timed(one["recs"], int(one["next"]), found) for one in found.sealed]
    log = _timed(head["log"], int(head["next_entry"]), found)
    records = [record for part in sealed for record in part.records]
    sets: Head = {"schema_version": STEP.number}
    sets |= {f"log.{place}.qs": rows for place, rows in log.placed.items()}
    if head["log_start"]:
        sets["log_before"] = records_before(records, now)
    status = ConversationStatus(head["status"])
    if "states" not in head and status is not ConversationStatus.COMPLETED:
        noted = state_push(status, decode_u64(head["updated_at"]), head.get("failed_reason"))
        sets["states"] = noted["states"]["$each"]
    update: Head = {"$set": sets}
    timed = any(part.placed for part in (*sealed, log))
    if timed or ("dirty" not in head and "rolled" not in head):
        hour = first_hour([*records, *log.records])
        born = decode_u64(head["created_at"]) // HOUR_MS
        update["$min"] = {"dirty": encode_u64(born if hour is None else hour)}
    drift = entries_size(head["messages"]) - int(head["embedded_bytes"])
    if drift:
        update["$inc"] = {"embedded_bytes": Int64(drift)}
    return Change({**owner, **guard}, update, amended=_amended(head, found, sealed))


def mended(head: Head, found: Found, now: int) -> Change | None:
    """What a process of that release left undone when it sealed a conversation of version 2; None: nothing.

    It asks for no version, so in a rolling deploy it goes on with what a newer process has lifted.
    """
    owner = {name: head[name] for name in ("_id", "user")}
    guard = {name: head[name] for name in ("schema_version", "lineage", "structure", "log_start")}
    records = [record for one in found.sealed for record in one["recs"]]
    amended = _amended(head, found, [_Timed(list(one["recs"]), {}) for one in found.sealed])
    update: Head = {}
    if head["log_start"] and int(head.get("log_before", 0)) < records_before(records, now):
        update["$max"] = {"log_before": records_before(records, now)}
    run = head["messages"]
    drift = entries_size(run) - int(head["embedded_bytes"])
    if abs(drift) > _TOLERATED * (len(run) + 1):
        update["$inc"] = {"embedded_bytes": Int64(drift)}
    if not update and not amended:
        return None
    return Change({**owner, **guard}, update or {"$set": {"schema_version": STEP.number}}, amended=amended)


def _amended(head: Head, found: Found, sealed: Sequence[_Timed]) -> list[tuple[Head, Head]]:
    """The updates of documents of sealed records: their times and sums."""
    return [
        ({"_id": one["_id"], "user": head["user"], "c": head["_id"]}, {"$set": changed})
        for one, part in zip(found.sealed, sealed, strict=True)
        if (changed := _changed(one, part))
    ]


class _Timed(NamedTuple):
    """Change records with ``qs``, and, by its place, what was put into a record."""

    records: list[Record]
    placed: dict[int, list[list[int]]]


def _timed(records: Sequence[Record], next_entry: int, found: Found) -> _Timed:
    """The records, with ``qs`` where a push brought messages that have times of their own.

    ``next_entry`` is the conversation's counter after the last of them.
    """
    timed, placed = list(records), {}
    for place, record in enumerate(records):
        if not found.times or kind_of(record) != "push" or "qs" in record:
            continue
        at = int(record["at"])
        ids = history.ids_of(records, place, next_entry)
        held = {found.times[id] for id in ids if id in found.times}
        if any(time is None or time // QUARTER_MS != at // QUARTER_MS for time in held):
            # Of messages that were taken out since, the time is not known any more.
            rows = history.own_times([found.times.get(id) for id in ids], at)["qs"]
            placed[place] = rows
            timed[place] = {**record, "qs": rows}
    return _Timed(timed, placed)


def _changed(document: Mapping[str, Any], timed: _Timed) -> Head:
    """What changes in a document of sealed records."""
    changed: Head = {f"recs.{place}.qs": rows for place, rows in timed.placed.items()}
    sums = credited(timed.records)
    return changed if sums == document["sums"] else {**changed, "sums": sums}
