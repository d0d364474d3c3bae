"""Transcripts: loaded with their log's place, saved if and only if they continue it; undo and redo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.schemas.errors import ConflictError, QueryError, TooLargeError
from convostore.schemas.transcript import Transcript
from convostore.store import history, timeline, transcribing
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._asides import store_asides
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import drop_pieces, store_pieces
from convostore.store.asynchronous._history import (
    Moved,
    Numbered,
    blobs_for,
    moment_at,
    past,
    present,
    records_after,
    removed_by,
    revision_before,
    settled,
    wait_until_settled,
)
from convostore.store.asynchronous._records import has_record
from convostore.store.asynchronous._sealing import keep_house
from convostore.store.asynchronous._splicing import gave_up, splice
from convostore.store.codec import decode_u64, document_size
from convostore.store.faults import Unclear
from convostore.store.heads import Head
from convostore.store.results import Saved
from convostore.store.runs import NewEntry, StoredEntry
from convostore.store.splicing import Splice, removed_bodies
from convostore.store.timeline import Moment, aside_fields

__all__ = ["as_of", "load", "redo", "revision_at", "revisions", "save", "undo"]

_ASIDE_MOST = 512 * 1024
_RECORDS_MOST = 4 * 1024 * 1024
_LOOK_BACK = 256


async def load(backend: AsyncBackend, owner: Mapping[str, Any], *, comment: str) -> Transcript:
    """The conversation as a transcript that continues its log."""

    async def read() -> tuple[Head, Moment, dict[Any, bytes]]:
        head, moment = await present(backend, owner, comment=comment)
        return head, moment, await blobs_for(backend, owner, head, moment, comment=comment)

    head, moment, blobs = await settled(backend, owner, read, comment=comment)
    transcript = Transcript.of_state(
        timeline.state_of(moment, blobs),
        lineage=int(head["lineage"]),
        revision=int(head["revision"]),
        clock=backend.clock,
    )
    transcript.stored_as = (decode_u64(head["_id"]), head["user"])
    return transcript


async def as_of(
    backend: AsyncBackend, owner: Mapping[str, Any], revision: int, *, comment: str
) -> Transcript:
    """The conversation as it was at a revision; it continues nothing."""

    async def read() -> tuple[Moment, dict[Any, bytes]]:
        head, moment = await moment_at(backend, owner, revision, comment=comment)
        return moment, await blobs_for(backend, owner, head, moment, comment=comment)

    moment, blobs = await settled(backend, owner, read, comment=comment)
    return Transcript.of_state(timeline.state_of(moment, blobs), revision=revision, clock=backend.clock)


async def revisions(
    backend: AsyncBackend, owner: Mapping[str, Any], *, comment: str
) -> list[timeline.Revision]:
    """Every record as history shows it, oldest first."""
    head, records = await settled(
        backend, owner, lambda: past(backend, owner, comment=comment), comment=comment
    )
    after = int(head["next_entry"])
    found = []
    for number, record in reversed(records):
        found.append(timeline.revision_of(number, record, after))
        after -= history.drawn(record)
    return found[::-1]


async def revision_at(backend: AsyncBackend, owner: Mapping[str, Any], time: int, *, comment: str) -> int:
    """The revision that was in force at a time."""
    _, records = await settled(backend, owner, lambda: past(backend, owner, comment=comment), comment=comment)
    return revision_before(records, time)


async def save(backend: AsyncBackend, owner: Mapping[str, Any], transcript: Transcript) -> Saved:
    """Append a transcript's unsaved changes if it continues the stored log.

    Raises:
        ConflictError: it does not; nothing was written.

    """
    unsaved = transcript.unsaved()
    key = backend.key()
    keys = [key, *(backend.key() for _ in unsaved[1:])]
    doubted = False
    for attempt in backend.attempts():
        head, moment = await present(backend, owner, comment="save_transcript")
        lineage, revision = int(head["lineage"]), int(head["revision"])
        if doubted and await has_record(backend, owner, head, key, comment="save_transcript"):
            # Others may have gone on since: it continues the log where its own records end.
            _settle(transcript, head, transcript.revision())
            return Saved(int(head["version"]), ("messages",))
        if not transcript.continues(lineage, revision):
            raise ConflictError(
                "revision",
                expected=transcript.revision() - len(unsaved),
                actual=revision,
                reason="the transcript does not continue the stored log, which is at revision "
                f"{revision}; load it again and repeat the changes",
            )
        if not unsaved:
            return Saved(int(head["version"]))
        folded = transcribing.fold(moment, unsaved, backend.now(), keys)
        try:
            version = await write(
                backend, owner, head, moment, folded.moment, folded.records, folded.fresh, folded.removed
            )
        except Unclear:
            if backend.is_last(attempt):
                raise
            version, doubted = None, True
        if version is not None:
            _settle(transcript, head, revision + len(folded.records))
            return Saved(version, ("messages",))
        await _pace.pause(attempt)
    raise gave_up("save_transcript")


def _settle(transcript: Transcript, head: Head, changes: int) -> None:
    """Let the transcript, all of it being stored, continue the conversation's log."""
    transcript.take_unsaved()
    transcript.continue_log(int(head["lineage"]), changes)
    transcript.stored_as = (decode_u64(head["_id"]), head["user"])


async def write(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    head: Head,
    before: Moment,
    after: Moment,
    records: Sequence[history.Record],
    fresh: Sequence[NewEntry],
    removed: Mapping[int, list[StoredEntry]],
    also: Mapping[str, Any] | None = None,
) -> int | None:
    """Make ``after`` of ``before``, the state of ``head``, and leave the records; the version it made.

    None when another writer came in between: then nothing of it stays. ``fresh`` holds new entries with their
    pieces, ``removed`` the entries each record takes out; ``also`` is set in the same update.
    """
    comment = "save_transcript"
    owner = {**owner, "user": head["user"]}
    _refuse_large(records)
    await store_pieces(backend, owner, head, fresh, comment=comment)
    bodies = await _keep_removed(backend, owner, head, records, removed)
    sets: dict[str, Any] = {**(also or {}), "next_entry": Int64(after.next_entry)}
    gone: list[str] = []
    if after.halt is None:
        gone.append("halt")
    else:
        sets["halt"] = after.halt
    if after.asides != before.asides:
        placed_asides = await store_asides(backend, owner, head, aside_fields(after.asides), comment=comment)
        bodies += [placed_asides["asides_body"]] if "asides_body" in placed_asides else []
        sets |= {"next_aside": Int64(after.next_aside), **placed_asides}
        gone += [name for name in ("asides", "asides_body") if name not in placed_asides]
    start, stop, placed = transcribing.span_between(before.entries, after.entries)
    entries = tuple(NewEntry(entry, document_size(entry)) for entry in placed)
    done = await splice(
        backend,
        owner,
        {**head, "messages": before.entries[len(before.entries) - int(head["embedded_count"]) :]},
        Splice(
            start,
            stop,
            entries,
            tuple(int(entry["id"]) for entry in placed),
            records[0]["k"],
            int(records[-1]["at"]),
            sets=sets,
            gone=gone,
            guard={"revision": head["revision"]},
            guard_version=True,
            records=tuple(records),
        ),
        comment=comment,
    )
    if done is None:
        await drop_pieces(backend, owner["user"], owner["_id"], fresh, comment=comment)
        query = {"user": owner["user"], "c": owner["_id"], "_id": {"$in": bodies}}
        if bodies:
            await backend.delete("bodies", query, comment=comment)
        return None
    if "asides_body" in head and after.asides != before.asides:
        old = {"user": owner["user"], "c": owner["_id"], "_id": head["asides_body"]}
        await backend.delete("bodies", old, comment=comment)
    held = int(head["revision"]) + len(records) - int(head["log_start"])
    if held > backend.bounds.log_soft or len(before.entries) < len(after.entries):
        await keep_house(backend, owner, messages=True, log=held > backend.bounds.log_soft)
    return done.version


def _refuse_large(records: Sequence[history.Record]) -> None:
    """Asides lie in their change records, which the head holds for a while."""
    for record in records:
        size = len(record.get("aside", ""))
        if size > _ASIDE_MOST:
            raise TooLargeError(f"aside {record['id']}", size, _ASIDE_MOST)
    size = sum(map(document_size, records))
    if size > _RECORDS_MOST:
        raise TooLargeError("the changes of one save", size, _RECORDS_MOST)


async def _keep_removed(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    head: Head,
    records: Sequence[history.Record],
    removed: Mapping[int, list[StoredEntry]],
) -> list[ObjectId]:
    """Put removed entries into their records, or apart when they are large; the ids of what lies apart."""
    apart: list[ObjectId] = []
    for place, entries in removed.items():
        if not entries:
            continue
        bodies = removed_bodies(entries, head, owner["_id"])
        if bodies:
            await backend.insert_own("bodies", bodies, comment="save_transcript")
            records[place]["body"] = [body["_id"] for body in bodies]
            records[place]["rmi"] = [int(entry["id"]) for entry in entries]
            apart += records[place]["body"]
        else:
            records[place]["rm"] = entries
    return apart


async def undo(backend: AsyncBackend, owner: Mapping[str, Any]) -> Saved:
    """Take back the newest change that is in force.

    Raises:
        QueryError: there is none.

    """
    return await _turn_back(backend, owner, "undo")


async def redo(backend: AsyncBackend, owner: Mapping[str, Any]) -> Saved:
    """Bring back what was last taken back, when nothing was changed since.

    Raises:
        QueryError: there is nothing.

    """
    return await _turn_back(backend, owner, "redo")


async def _turn_back(backend: AsyncBackend, owner: Mapping[str, Any], call: str) -> Saved:
    find = timeline.find_undo if call == "undo" else timeline.find_redo
    key = backend.key()
    doubted = False
    for attempt in backend.attempts():
        head, moment = await present(backend, owner, comment=call)
        if doubted and await has_record(backend, owner, head, key, comment=call):
            return Saved(int(head["version"]), ("messages",))
        try:
            number, record = await _found(backend, owner, head, find, call)
            out = await removed_by(backend, owner, head, record, comment=call)
        except Moved as moved:
            await wait_until_settled(backend, owner, moved, attempt, comment=call)
            continue
        after = moment.copy()
        timeline.go_back(after, record, out)
        after.next_entry = moment.next_entry  # an id never comes back for other content
        written, removed = transcribing.inverse(moment, after, record, backend.now(), key)
        written[call] = number if call == "undo" else int(record["undo"])
        try:
            version = await write(
                backend, owner, head, moment, after, [written], (), {0: removed} if removed else {}
            )
        except Unclear:
            if backend.is_last(attempt):
                raise
            version, doubted = None, True
        if version is not None:
            return Saved(version, ("messages",))
        await _pace.pause(attempt)
    raise gave_up(call)


async def _found(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, find: Any, call: str
) -> Numbered:
    """The record that ``find`` names, looking back no further than it must."""
    depth = _LOOK_BACK
    while True:
        since = max(int(head["revision"]) - depth, 0)
        records = await records_after(backend, owner, head, since, comment=call)
        place = find(records)
        if place is not None:
            if place < 0:
                raise QueryError(call, f"there is nothing to {call}")
            found: Numbered = records[place]
            return found
        depth *= 8
