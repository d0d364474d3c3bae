"""Saving a record in hand: only what changed since it was read, on top of what others changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bson.int64 import Int64

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.diff import Changes, Snapshot, diff
from convostore.schemas.errors import NotFoundError
from convostore.schemas.json_values import JSON
from convostore.schemas.transcript import Halt
from convostore.store import history, saving
from convostore.store.appending import REPLY, closing_entry, needs_log_seal, needs_seal
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import store_pieces
from convostore.store.asynchronous._once import find_recent, with_key
from convostore.store.asynchronous._reading import read_head, read_record
from convostore.store.asynchronous._records import has_record
from convostore.store.asynchronous._sealing import keep_house
from convostore.store.asynchronous._splicing import gave_up, splice
from convostore.store.baselines import Baseline, adopt, advanced, baseline, check_queues, renew
from convostore.store.codec import decode_body, decode_u64
from convostore.store.faults import Unclear
from convostore.store.heads import WITHOUT_LISTS, Head, encode_attachment, message_count, state_push
from convostore.store.history import HOUR_MS, Key
from convostore.store.manifest import sealed_count
from convostore.store.requests import check_members
from convostore.store.results import Saved
from convostore.store.runs import NewEntry, StoredEntry, encode_entries, entries_size, in_place_of, numbered
from convostore.store.splicing import Splice, reach

__all__ = ["save"]

_CALL = "save"


@dataclass(frozen=True, slots=True)
class _Update:
    """One save as one update: what it does to the record's members, the messages it puts in place,
    its key.
    """

    now: int
    key: Key
    splice: tuple[int, int] | None = None
    entries: tuple[NewEntry, ...] = ()
    ids: tuple[int | None, ...] = ()
    """The id that each entry keeps, None where it draws one."""
    usage: Mapping[str, int] = field(default_factory=dict)
    sets: Mapping[str, Any] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    pushes: Mapping[str, Any] = field(default_factory=dict)
    attached: tuple[NewEntry, ...] = ()
    updated_at: Any = None


@dataclass(frozen=True, slots=True)
class _Done:
    """The facts of the head after a save, and all entries when they are known without reading them again."""

    head: Head
    entries: list[StoredEntry] | None


EncodeFrom = Callable[[int, Sequence[JSON]], Sequence[NewEntry]]
"""Messages of a record from a place on as entries, with what is known of each."""


async def save(
    backend: AsyncBackend,
    record: Conversation,
    owner: Mapping[str, Any],
    *,
    force: bool,
    encode: EncodeFrom | None = None,
    with_new_ids: bool = False,
) -> Saved:
    """Store what changed; the record then holds what is stored.

    Messages that stand where others did have the id, time, author and dialect of those; with ``encode`` they
    have what that says, ``with_new_ids`` ids of their own.

    Raises:
        InvalidRecordError: it has no baseline, or a queue or a fixed member was changed.
        ConflictError: another writer changed the same member.
        NotFoundError: it is gone.
        StatusError: the status may not follow.

    """
    noted = baseline(record)
    check_members(record)
    check_queues(record, noted)
    present = Snapshot.of(record)
    wanted = mine = diff(noted.snapshot, present)
    if not wanted:
        return Saved(noted.version)
    given = _given(wanted, encode)
    base, rebased, doubted = noted, False, False
    key = backend.key()
    for attempt in backend.attempts():
        actual = ConversationStatus(base.snapshot.value("status"))
        changes = saving.settle_status(actual, mine, force=force)
        if not changes:
            adopt(record, await read_record(backend, owner, comment=_CALL))
            return Saved(baseline(record).version, (), rebased)
        update = _update(backend, base, changes, key, given, with_new_ids)
        done = None
        try:
            done = await _send(backend, owner, base, update)
        except Unclear:
            if backend.is_last(attempt):
                raise
            doubted = True
            await _pace.pause(attempt)
        changed = tuple(sorted(changes.fields()))
        if done is not None and done.entries is not None and not rebased:
            renew(record, done.head, done.entries, present, cleared=update.gone)
            return Saved(int(done.head["version"]), changed, False)
        stored = await read_record(backend, owner, comment=_CALL)
        if done is not None or (doubted and await _has(backend, owner, key)):
            adopt(record, stored)
            return Saved(baseline(stored).version, changed, rebased)
        if rebased:
            if backend.is_last(attempt):
                break
            await _pace.pause(attempt)
        base = baseline(stored)
        if base.head["lineage"] != noted.head["lineage"]:
            raise NotFoundError("conversation", record.id)
        theirs = diff(noted.snapshot, base.snapshot)
        mine = saving.rebase(wanted, theirs, noted.snapshot)
        rebased = rebased or bool(theirs)
    raise gave_up(_CALL)


def _given(changes: Changes, encode: EncodeFrom | None) -> Sequence[NewEntry] | None:
    messages = changes.splices.get("messages")
    return None if messages is None or encode is None else encode(messages.start, messages.items)


def _update(
    backend: AsyncBackend,
    base: Baseline,
    changes: Changes,
    key: Key,
    given: Sequence[NewEntry] | None,
    with_new_ids: bool,
) -> _Update:
    """The changes as fields of one update; ``given`` are those of the messages, if known."""
    now = backend.now()
    sets, gone = saving.member_updates(changes, now)
    pushes: dict[str, Any] = {}
    attached: list[NewEntry] = []
    for name in ("resources", "artifacts"):
        splice_of = changes.splices.get(name)
        if splice_of is None:
            continue
        before = base.snapshot.items(name)
        appends = splice_of.start == splice_of.stop == len(before)
        items = list(splice_of.items) if appends else splice_of.apply(before)
        stored = [encode_attachment(item, f"{name}[{place}]") for place, item in enumerate(items)]
        attached += stored
        if appends:
            pushes[name] = {"$each": [entry.stored for entry in stored]}
        else:
            sets[name] = [entry.stored for entry in stored]
    if attached or pushes or not sets.keys().isdisjoint(("resources", "artifacts")):
        sets["attachment_bytes"] = saving.attachment_bytes(base.snapshot, changes)
    saving.check_members(base.head, base.snapshot, sets, gone)
    if "status" in changes.set:
        pushes |= state_push(ConversationStatus(changes.set["status"]), now, sets.get("failed_reason"))
    messages = changes.splices.get("messages")
    entries: list[NewEntry] = []
    ids: list[int | None] = []
    if messages is not None:
        entries = list(encode_entries(messages.items, made=now) if given is None else given)
        replaced = slice(messages.start, messages.stop)
        stood = () if with_new_ids else base.snapshot.lists["messages"][replaced]
        places = saving.kept_places(stood, messages.items)
        for number, place in enumerate(places):
            held = None if place is None else base.entries[messages.start + place]
            if held is not None and given is None:
                entries[number] = in_place_of(held, entries[number])
            ids.append(None if held is None else int(held["id"]))
    return _Update(
        now,
        key,
        None if messages is None else (messages.start, messages.stop),
        tuple(entries),
        tuple(ids),
        saving.usage_given(base.snapshot.usage, changes),
        sets,
        tuple(gone),
        pushes,
        tuple(attached),
        saving.updated_at(changes, now),
    )


async def _send(
    backend: AsyncBackend, owner: Mapping[str, Any], base: Baseline, update: _Update
) -> _Done | None:
    head = base.head
    await store_pieces(backend, owner, head, update.attached, comment=_CALL)
    if update.splice is None:
        return await _send_members(backend, owner, base, update)
    start, stop = update.splice
    count = message_count(head)
    bounds = backend.bounds
    few = (
        len(update.entries) <= bounds.bulk_count
        and sum(one.size for one in update.entries) <= bounds.bulk_bytes
    )
    room = int(head["embedded_count"]) < bounds.hard_count and int(head["embedded_bytes"]) < bounds.hard_bytes
    if start == stop == count and few and room:
        return await _send_append(backend, owner, base, update)
    return await _send_splice(backend, owner, base, update, start, stop)


def _base_update(update: _Update) -> dict[str, Any]:
    written: dict[str, Any] = {
        "$inc": {"version": 1},
        "$max": {"updated_at": update.updated_at},
        "$min": {"dirty": Int64(update.now // HOUR_MS)},
    }
    if update.sets:
        written["$set"] = dict(update.sets)
    if update.gone:
        written["$unset"] = dict.fromkeys(update.gone, "")
    if update.pushes:
        written["$push"] = dict(update.pushes)
    return written


def _guard(owner: Mapping[str, Any], base: Baseline, update: _Update) -> dict[str, Any]:
    query = {**owner, "lineage": base.head["lineage"], "version": base.head["version"]}
    if any(entry.pieces for entry in (*update.entries, *update.attached)):
        query["structure"] = base.head["structure"]
    return query


async def _send_members(
    backend: AsyncBackend, owner: Mapping[str, Any], base: Baseline, update: _Update
) -> _Done | None:
    query, written = _guard(owner, base, update), _base_update(update)
    if update.usage:
        record = history.usage_record(update.now, update.key, update.usage)
        written["$push"] = {**written.get("$push", {}), "log": {"$each": [record]}}
        written["$inc"] |= {"revision": 1}
        query["log.k"] = {"$ne": update.key}
    else:
        query, written = with_key(query, written, update.key)
    reply = await backend.modify("conversations", query, written, REPLY, comment=_CALL)
    if reply is None:
        return None
    if update.usage and needs_log_seal(reply, backend.bounds):
        await keep_house(backend, owner, messages=False, log=True)
    return _Done(advanced(base.head, reply), base.entries)


async def _send_append(
    backend: AsyncBackend, owner: Mapping[str, Any], base: Baseline, update: _Update
) -> _Done | None:
    await store_pieces(backend, owner, base.head, update.entries, comment=_CALL)
    entries = update.entries
    halted = base.head.get("halt")
    if halted == Halt.STOPPED.value:
        entries = (closing_entry(decode_body(entries[0].stored, {}), update.now), *entries)
    count, size = len(entries), sum(entry.size for entry in entries)
    record = history.push_record(update.now, count, key=update.key, usage=update.usage)
    query, written = _guard(owner, base, update), _base_update(update)
    query["log.k"] = {"$ne": update.key}
    if halted is not None:
        record["hw"] = halted
        written["$unset"] = {**written.get("$unset", {}), "halt": ""}
    written["$push"] = {
        **written.get("$push", {}),
        "messages": {"$each": [entry.stored for entry in entries]},
        "log": {"$each": [record]},
    }
    written["$inc"] |= {
        "revision": 1,
        "next_entry": Int64(count),
        "embedded_count": count,
        "embedded_bytes": Int64(size),
    }
    reply = await backend.modify("conversations", query, written, REPLY, comment=_CALL)
    if reply is None:
        return None
    first = int(reply["next_entry"]) - count
    added = [numbered(entry.stored, first + place) for place, entry in enumerate(entries)]
    seal, seal_log = needs_seal(reply, count, backend.bounds), needs_log_seal(reply, backend.bounds)
    if seal or seal_log:
        await keep_house(backend, owner, messages=seal, log=seal_log)
    head = advanced(base.head, reply, added=count, size=size)
    facts = {name: value for name, value in head.items() if name != "halt"}
    return _Done(facts, [*base.entries, *added] if count == len(update.entries) else None)


async def _send_splice(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    base: Baseline,
    update: _Update,
    start: int,
    stop: int,
) -> _Done | None:
    count = message_count(base.head)
    appended = history.push_record(update.now, len(update.entries), key=update.key, usage=update.usage)
    asked = Splice(
        start,
        stop,
        update.entries,
        update.ids,
        update.key,
        update.now,
        usage=update.usage,
        sets=update.sets,
        gone=update.gone,
        pushes=update.pushes,
        guard_version=True,
        records=(appended,) if start == stop == count else (),
    )
    # Guarded by version and structure, the update fails unless what was noted is what a read would give.
    span = reach(base.head, asked)
    touched = base.head["segments"][span.first : span.last]
    held = base.stored(span.start, span.start + sealed_count(touched))
    done = await splice(backend, owner, base.whole_head(), asked, comment=_CALL, held=held)
    if done is None:
        return None
    placed, head = done.placed, base.head
    # After a lost reply the version may be one that others made since.
    if done.version != head["version"] + 1:
        return _Done({}, None)
    facts = {
        "version": done.version,
        "revision": head["revision"] + 1,
        "structure": head["structure"] + 1,
        "next_entry": head["next_entry"] + placed.drawn,
        "segments": done.manifest,
        "status": update.sets.get("status", head["status"]),
        "updated_at": max(decode_u64(head["updated_at"]), decode_u64(update.updated_at)),
    }
    if placed.run is not None:
        facts |= {"embedded_count": len(placed.run), "embedded_bytes": entries_size(placed.run)}
    spliced = [numbered(entry.stored, id) for entry, id in zip(update.entries, placed.ids, strict=True)]
    return _Done({**head, **facts}, [*base.entries[:start], *spliced, *base.entries[stop:]])


async def _has(backend: AsyncBackend, owner: Mapping[str, Any], key: Key) -> bool:
    head = await read_head(backend, owner, WITHOUT_LISTS, comment=_CALL)
    return find_recent(head, key) is not None or await has_record(backend, owner, head, key, comment=_CALL)
