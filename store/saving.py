"""Planning a save: what changed since the record was read,
put on top of what others changed meanwhile. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bson.int64 import Int64

from convostore.schemas.conversations import ConversationStatus
from convostore.schemas.diff import LISTS, SCALARS, Changes, Snapshot, Splice
from convostore.schemas.errors import ConflictError
from convostore.schemas.json_values import JSON, image, same_json
from convostore.store.codec import document_size, encode_u64
from convostore.store.heads import encode_attachment, encode_member, fields_of, status_fields
from convostore.store.limits import check_attachments, check_record, is_heavy
from convostore.store.statuses import sticks

__all__ = ["member_updates", "rebase", "settle_status", "usage_given"]


def settle_status(actual: ConversationStatus, changes: Changes, *, force: bool) -> Changes:
    """The changes without a status that gives way to cancelled.

    Raises:
        StatusError: the status may not follow.

    """
    wanted = changes.set.get("status")
    if wanted is None or force or not sticks(actual, ConversationStatus(wanted)):
        return changes
    kept = {name: value for name, value in changes.set.items() if name != "status"}
    return replace(changes, set=kept)


def member_updates(changes: Changes, now: int) -> tuple[dict[str, Any], list[str]]:
    """What an update sets and unsets for the scalars and counters; not the lists, not ``updated_at``."""
    sets: dict[str, Any] = {}
    gone: list[str] = []
    if "status" in changes.set:
        settled, cleared = status_fields(ConversationStatus(changes.set["status"]), now)
        sets |= settled
        gone += cleared
    for name, value in changes.set.items():
        if name in ("status", "updated_at"):
            continue
        fields = encode_member(name, value)
        sets |= fields
        gone += [field for field in fields_of(name) if field not in fields and len(fields_of(name)) > 1]
    for name in changes.unset:
        gone += fields_of(name)
    sets |= {f"usage.{name}": encode_u64(count) for name, count in changes.usage.items()}
    return sets, [name for name in dict.fromkeys(gone) if name not in sets]


def attachment_bytes(base: Snapshot, changes: Changes) -> int:
    """Bytes that the record's resources and artifacts take after the changes.

    Raises:
        TooLargeError: too many.

    """
    total = 0
    for name in ("resources", "artifacts"):
        items = base.items(name)
        if name in changes.splices:
            items = changes.splices[name].apply(items)
        total += sum(document_size(encode_attachment(item, name).stored) for item in items)
    check_attachments(total)
    return total


def check_members(
    head: Mapping[str, Any], base: Snapshot, sets: Mapping[str, Any], gone: Sequence[str]
) -> None:
    """Refuse a record that would be too large; ``base`` shows what is stored of it, beside the ``head``.

    Raises:
        TooLargeError: it would.

    """
    if not is_heavy({name: value for name, value in sets.items() if name not in LISTS}):
        return
    stored = {name: value for name, value in head.items() if name in ("source", "unknown", "unknown_text")}
    for name in ("user", "ancestors", *SCALARS):
        stored |= encode_member(name, base.value(name))
    check_record(stored, sets, gone)


def kept_places(before: Sequence[bytes], items: Sequence[JSON]) -> list[int | None]:
    """For each item the place of the one before it that it is, or None for a new one; places rise.

    ``before`` are the images of what the items replace. As many items as before each keep their place: they
    were changed where they stand. Else an item is the next equal one.
    """
    if len(items) == len(before):
        return list(range(len(items)))
    where: dict[bytes | None, list[int]] = {}
    for place, held in enumerate(before):
        where.setdefault(held, []).append(place)
    kept: list[int | None] = []
    last = -1
    for item in items:
        found = where.get(image(item), [])
        at = bisect_right(found, last)
        kept.append(found[at] if at < len(found) else None)
        last = last if kept[-1] is None else kept[-1]
    return kept


def usage_given(before: Mapping[str, int], changes: Changes) -> dict[str, int]:
    """What the change of the counters adds, for the ledger; a counter that was lowered adds nothing."""
    added = {name: count - before.get(name, 0) for name, count in changes.usage.items()}
    return {name: count for name, count in added.items() if count > 0}


def updated_at(changes: Changes, now: int) -> Any:
    """The time of the save: now, or the later one the caller set."""
    return encode_u64(max(now, changes.set.get("updated_at", 0)))


def rebase(mine: Changes, theirs: Changes, base: Snapshot) -> Changes:
    """My changes as they must be on top of theirs, both made on ``base``.

    Changes of different members, of different counters, and of ranges of a list that do not overlap go
    together; a change both made alike is theirs already.

    Raises:
        ConflictError: both changed the same member, to different values.

    """
    sets = dict(mine.set)
    unset = list(mine.unset)
    for name in (*mine.set, *mine.unset):
        if name == "updated_at" or (name not in theirs.set and name not in theirs.unset):
            continue
        wanted, actual = mine.set.get(name), theirs.set.get(name)
        if not same_json(wanted, actual) and not (name == "status" and actual == "cancelled"):
            raise ConflictError(name, expected=base.value(name), actual=actual)
        if same_json(wanted, actual):
            sets.pop(name, None)
            unset = [other for other in unset if other != name]
    usage = dict(mine.usage)
    for name in mine.usage.keys() & theirs.usage.keys():
        if mine.usage[name] != theirs.usage[name]:
            raise ConflictError(f"usage.{name}", expected=base.usage.get(name, 0), actual=theirs.usage[name])
        del usage[name]
    splices = {
        name: splice if name not in theirs.splices else _beside(name, splice, theirs.splices[name], base)
        for name, splice in mine.splices.items()
    }
    return Changes(sets, tuple(unset), usage, splices)


def _beside(name: str, mine: Splice, theirs: Splice, base: Snapshot) -> Splice:
    length = len(base.lists[name])
    both_append = mine.start == mine.stop == length == theirs.start == theirs.stop
    if theirs.stop <= mine.start and (both_append or theirs.stop < mine.start or mine.start < mine.stop):
        moved = len(theirs.items) - theirs.removed
        return Splice(mine.start + moved, mine.stop + moved, mine.items)
    if mine.stop <= theirs.start and (mine.stop < theirs.start or mine.start < mine.stop):
        return mine
    raise ConflictError(
        name,
        expected=_part(mine, name, base),
        actual=list(theirs.items),
        reason=f"{name}[{theirs.start}:{theirs.stop}] was changed by another writer while this save "
        f"changes [{mine.start}:{mine.stop}]; read again and repeat",
    )


def _part(splice: Splice, name: str, base: Snapshot) -> list[JSON]:
    return base.items(name)[splice.start : splice.stop]


def attachments_update(name: str, splice: Splice, items: list[Any], length: int) -> tuple[str, Any]:
    """The operator and value that apply a splice to ``resources`` or ``artifacts``:
    a push when it appends.
    """
    if splice.start == splice.stop == length:
        return "$push", {"$each": items}
    return "$set", items


def counted(size: int) -> Int64:
    """A size for ``$inc``."""
    return Int64(size)
