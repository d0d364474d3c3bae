"""Carrying out an append: one command; a look at the head only when that did not fit or gave no answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.diff import Changes, diff
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage
from convostore.store import appending, requests
from convostore.store.appending import REPLY, Append, Known
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import drop_pieces, store_pieces
from convostore.store.asynchronous._reading import read_head, read_record
from convostore.store.asynchronous._sealing import keep_house
from convostore.store.asynchronous._splicing import gave_up, splice
from convostore.store.baselines import Baseline, adopt, advanced, baseline, renew
from convostore.store.codec import U64_MAX
from convostore.store.faults import Unclear
from convostore.store.heads import WITHOUT_LISTS, Head, message_count
from convostore.store.runs import numbered
from convostore.store.splicing import Splice

__all__ = ["Outcome", "append", "bring_up_to_date"]

_CALL = "append"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an append: the head's facts afterwards, the ids of its messages, the version it made.

    ``replayed`` is True when an earlier call with the same keys had stored all of it.
    """

    head: Head
    ids: tuple[int, ...]
    version: int
    replayed: bool = False


async def append(backend: AsyncBackend, owner: Mapping[str, Any], asked: Append) -> Outcome:
    """Store the append once, whatever happens to its replies.

    Raises:
        NotFoundError, ConflictError, StatusError, LeaseLostError, TooLargeError: nothing was written.
        UnavailableError: other writers were faster at every try.
        Unclear: the database did not come back to tell.

    """
    whole = asked
    seen: Head | None = None
    known = Known({}, 0)
    doubted = False
    if asked.heavy or _is_bulk(asked, backend):
        seen = await _look(backend, owner)
        known = await _known(backend, owner, whole, seen)
        if not known.ids:
            appending.block(asked, seen, backend.bounds)  # what is refused leaves no parts behind
    for attempt in backend.attempts():
        if known.ids:
            assert seen is not None
            places = [place for place, key in enumerate(whole.keys) if key not in known.ids]
            if not places:
                return _replay(whole, seen, known, doubted)
            asked = whole.only(places)
        send = _append_bulk if _is_bulk(asked, backend) else _append_once
        try:
            outcome = await send(backend, owner, asked, seen)
        except Unclear:
            if backend.is_last(attempt):
                raise
            doubted = True
            outcome = None
            await _pace.pause(attempt)
        if outcome is not None:
            return outcome if asked is whole else _joined(whole, asked, outcome, known)
        before, seen = seen, await _look(backend, owner)
        if appending.is_full(seen, backend.bounds):
            await keep_house(backend, owner, messages=True, log=False)
            seen = await _look(backend, owner)
        known = await _known(backend, owner, whole, seen)
        if asked.heavy and before is not None and _moved(before, seen):
            if not known.ids:
                await drop_pieces(backend, seen["user"], owner["_id"], asked.parts, comment=_CALL)
            whole = asked = whole.renewed()
        if known.ids:
            continue
        reason = appending.block(asked, seen, backend.bounds)
        if reason in ("full", "raced") and before is not None:
            if backend.is_last(attempt):
                raise gave_up(_CALL)
            await _pace.pause(attempt)
    raise gave_up(_CALL)


def _is_bulk(asked: Append, backend: AsyncBackend) -> bool:
    return len(asked.entries) > backend.bounds.bulk_count or asked.size > backend.bounds.bulk_bytes


def _moved(before: Head, head: Head) -> bool:
    """Whether pieces stored for the head before are safe from the collector no more."""
    return bool(before["structure"] != head["structure"] or before["lineage"] != head["lineage"])


async def bring_up_to_date(
    backend: AsyncBackend, owner: Mapping[str, Any], record: Conversation, asked: Append, outcome: Outcome
) -> None:
    """Make the record in hand hold what is stored after the append; its unsaved members stay unsaved.

    Without other writers that is known; else it is read.
    """
    noted = baseline(record)
    unsaved = requests.unsaved_members(record, noted, asked.status)
    alone = outcome.version == noted.version + 1 and outcome.head["version"] == outcome.version
    alone = alone and outcome.head["lineage"] == noted.head["lineage"]
    alone = alone and outcome.head["next_entry"] == noted.head["next_entry"] + len(asked.entries)
    if alone and not outcome.replayed and asked.took is None and len(asked.parts) == len(asked.entries):
        entries = [numbered(entry.stored, id) for entry, id in zip(asked.entries, outcome.ids, strict=True)]
        record.messages.extend(asked.messages)
        record.usage.accumulate(Usage(**asked.usage))
        facts = {name: outcome.head[name] for name in REPLY if name in outcome.head}
        head = advanced(noted.head, facts, added=len(entries), size=asked.size)
        snapshot = noted.snapshot.with_items("messages", asked.messages).with_usage(asked.usage)
        settled = asked.status is not None and outcome.head["status"] == asked.status.value
        leaves = settled and asked.status is not ConversationStatus.FAILED
        renew(
            record, head, [*noted.entries, *entries], snapshot, cleared=("failed_reason",) if leaves else ()
        )
        _put_back(record, unsaved)
        return
    attached = _unsaved_attachments(record, noted)
    adopt(record, await read_record(backend, owner, comment=_CALL))
    _put_back(record, unsaved)
    for name, put_on in attached.items():
        setattr(record, name, put_on(getattr(record, name)))
    for name, count in unsaved.usage.items():
        setattr(
            record.usage, name, min(getattr(record.usage, name) + count - noted.snapshot.usage[name], U64_MAX)
        )


def _unsaved_attachments(
    record: Conversation, noted: Baseline
) -> dict[str, Callable[[list[Resource]], list[Resource]]]:
    """How each list of resources that was changed in hand and not saved goes on top of the stored one."""
    found: dict[str, Callable[[list[Resource]], list[Resource]]] = {}
    for name, changed in diff(noted.snapshot, record).splices.items():
        if name == "messages":
            continue
        count, mine = len(noted.snapshot.lists[name]), list(getattr(record, name))
        if changed.start == changed.stop == count:
            found[name] = lambda stored, added=mine[count:]: [*stored, *added]  # type: ignore[misc]
        else:
            found[name] = lambda stored, mine=mine: mine  # type: ignore[misc]
    return found


def _put_back(record: Conversation, unsaved: Changes) -> None:
    for name in (*unsaved.set, *unsaved.unset):
        setattr(record, name, unsaved.set.get(name))


async def _look(backend: AsyncBackend, owner: Mapping[str, Any]) -> Head:
    return await read_head(backend, owner, WITHOUT_LISTS, comment=_CALL)


async def _known(backend: AsyncBackend, owner: Mapping[str, Any], asked: Append, head: Head) -> Known:
    sealed = []
    if head["log_start"]:
        query = {
            "user": head["user"],
            "c": owner["_id"],
            "lin": head["lineage"],
            "keys": {"$in": list(asked.keys)},
        }
        sealed = await backend.find("changes", query, comment=_CALL)
    return appending.known_keys(asked, head, sealed)


def _replay(asked: Append, head: Head, known: Known, doubted: bool) -> Outcome:
    ids = tuple(id for key in asked.keys for id in known.ids[key])
    # Exact unless the record changed without its messages since: that leaves no revision.
    version = int(head["version"]) - (int(head["revision"]) - known.revision)
    return Outcome(head, ids, version, not doubted)


def _joined(whole: Append, asked: Append, outcome: Outcome, known: Known) -> Outcome:
    fresh = dict(zip(asked.keys, outcome.ids, strict=True))
    ids = tuple(fresh[key] if key in fresh else known.ids[key][0] for key in whole.keys)
    return replace(outcome, ids=ids)


async def _append_once(
    backend: AsyncBackend, owner: Mapping[str, Any], asked: Append, seen: Head | None
) -> Outcome | None:
    if seen is not None:
        await store_pieces(backend, owner, seen, asked.parts, comment=_CALL)
    query, update = appending.command(asked, owner, backend.bounds, seen)
    head = await backend.modify("conversations", query, update, appending.REPLY, comment=_CALL)
    if head is None:
        return None
    added = len(asked.entries)  # the ids of a closing entry before them are nobody's business
    seal = appending.needs_seal(head, added, backend.bounds)
    seal_log = appending.needs_log_seal(head, backend.bounds, heavy=asked.keeps_much)
    if seal or seal_log:
        await keep_house(backend, owner, messages=seal, log=seal_log)
    last = int(head["next_entry"])
    return Outcome(head, tuple(range(last - added, last)), int(head["version"]))


async def _append_bulk(
    backend: AsyncBackend, owner: Mapping[str, Any], asked: Append, seen: Head | None
) -> Outcome | None:
    """An append too large for one command: older messages go to segments first, then one guarded update."""
    head = await read_head(backend, owner, {"resources": 0, "artifacts": 0}, comment=_CALL)
    if asked.expected is not None and head["version"] != asked.expected:
        return None
    if asked.heavy and seen is not None and _moved(seen, head):
        return None  # pieces of an earlier try would count as stored, and the collector may have been there
    await store_pieces(backend, owner, head, asked.parts[len(asked.entries) :], comment=_CALL)
    query, update = appending.command(asked, owner, backend.bounds, seen)
    # The splice has guards of its own for what it reads; what remains are the call's conditions.
    ours = {"embedded_count", "embedded_bytes", "lineage", "structure", *owner}
    counted = {name: by for name, by in update["$inc"].items() if name.startswith(("usage.", "attachment"))}
    attached = {name: items for name, items in update["$push"].items() if name in asked.attachments}
    count = message_count(head)
    halted = None if seen is None else seen.get("halt")
    closed = asked.behind(halted)
    done = await splice(
        backend,
        owner,
        head,
        Splice(
            count,
            count,
            closed.entries,
            (None,) * len(closed.entries),
            asked.keys[0],
            asked.now,
            sets=update.get("$set", {}),
            gone=tuple(update.get("$unset", ())),
            adds=counted,
            pushes=attached,
            guard={name: value for name, value in query.items() if name not in ours},
            records=(closed.record(halted),),
        ),
        comment=_CALL,
    )
    if done is None:
        return None
    after = await _look(backend, owner)
    return Outcome(after, done.placed.ids[len(closed.entries) - len(asked.entries) :], done.version)
