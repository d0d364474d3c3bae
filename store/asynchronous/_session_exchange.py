"""Saved sessions into conversations with their whole history, and back, record by record."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from convostore.schemas import session_logs
from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.entries import Entry, Source
from convostore.schemas.errors import ConflictError, InvalidRecordError, NotFoundError, TooLargeError
from convostore.schemas.json_values import JSON, dump_text, same_json
from convostore.schemas.session_blobs import BLOBS
from convostore.schemas.session_files import RECOVERED
from convostore.schemas.session_lines import Line, read_line, write_line
from convostore.schemas.session_logs import Log
from convostore.schemas.transcript import ChangeRecord
from convostore.store import timeline, transcribing
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import read_blobs, store_pieces
from convostore.store.asynchronous._history import present, records_after, removed_by
from convostore.store.asynchronous._numbering import next_ids
from convostore.store.asynchronous._planting import plant
from convostore.store.asynchronous._transcripts import write
from convostore.store.asynchronous.sessions.reading import read_logs
from convostore.store.asynchronous.sessions.saving import without_images
from convostore.store.asynchronous.sessions.stores import AsyncSessionSource, AsyncSessionStore
from convostore.store.codec import decode_u64, encode_u64
from convostore.store.exchanging import ExportReport, ImportReport
from convostore.store.forking import Prefix
from convostore.store.heads import Head, decode_unknown, encode_unknown, record_fields
from convostore.store.runs import StoredEntry, blob_references, to_entry
from convostore.store.session_history import (
    BESIDE,
    FORMAT,
    Told,
    beside,
    changes_of,
    header_of,
    last_place,
    lines_told,
    source_id,
)
from convostore.store.session_names import SESSION_LOG
from convostore.store.timeline import Moment

__all__ = ["export_session", "import_session"]

_IMPORT, _EXPORT = "import", "export"
_FACTS = {"lineage": 1, "revision": 1, "unknown": 1, "unknown_text": 1, "user": 1}


async def import_session(
    backend: AsyncBackend,
    ids: Callable[[], int] | None,
    session: AsyncSessionSource,
    *,
    user: str,
    name: str,
    dry_run: bool,
) -> ImportReport:
    """Make a conversation of each agent's log, or bring up to date the one that was made of it before.

    Raises:
        SessionFormatError: a log does not read; nothing was written.

    """
    logs = await read_logs(session)
    own = logs.pop(SESSION_LOG, None)
    report = ImportReport(FORMAT, dry_run)
    for log in [*logs.values(), *([] if own is None else [own])]:
        if log.torn:
            report.note(f"the last line of log {log.header.log!a} was cut off and is left out")
    if own is not None and not logs:
        report.note("the session has no agent: its own saved values are left out")
    main = session_logs.main_agent(logs) or next(iter(logs), None)
    for log_name, log in logs.items():
        more = await _of_all(session, own) if log_name == main else {}
        taking = _Taking(backend, ids, report, user, name)
        try:
            await taking.take(log, more)
        except (InvalidRecordError, TooLargeError, ConflictError) as error:
            report.add("failed", log_name, str(error), source_id(log))
    return report


async def _of_all(session: AsyncSessionSource, own: Log | None) -> dict[str, JSON]:
    """What the main agent's conversation carries for the session: the lines of its own log, its files."""
    files: dict[str, JSON] = {}
    for name in sorted(await session.files()):
        if name.startswith((BLOBS, RECOVERED)):
            continue
        data = await session.read_file(name)
        try:
            files[name] = {"text": data.decode()}
        except UnicodeDecodeError:
            files[name] = {"base64": base64.b64encode(data).decode()}
    lines: list[JSON] = []
    if own is not None:
        lines = [json.loads(write_line(line)) for line in (Line(own.stamp, own.header), *own.lines)]
    return {"own": lines, "files": files}


class _Taking:
    """One log on its way into the store."""

    def __init__(
        self,
        backend: AsyncBackend,
        ids: Callable[[], int] | None,
        report: ImportReport,
        user: str,
        session: str,
    ) -> None:
        self._backend = backend
        self._ids = ids
        self._report = report
        self._user = user
        self._session = session

    async def take(self, log: Log, more: Mapping[str, JSON]) -> None:
        report, changes = self._report, changes_of(log)
        source = Source(FORMAT, source_id(log), self._session)
        query = {"user": self._user, "source.format": FORMAT, "source.id": source.id}
        with self._backend.call(_IMPORT):
            held = await self._backend.find_one("conversations", query, _FACTS, comment=_IMPORT)
            if held is None:
                if not report.dry_run:
                    await self._plant(log, changes, source, more)
                report.read += 1
                report.imported += 1
            elif await self._update(held, log, changes, more):
                report.read += 1
        report.messages += len(session_logs.fold(log))

    async def _plant(
        self, log: Log, changes: Sequence[ChangeRecord], source: Source, more: Mapping[str, JSON]
    ) -> None:
        backend = self._backend
        id = (await next_ids(backend, "conversation", 1, self._ids, comment=_IMPORT))[0]
        owner = {"_id": encode_u64(id), "user": self._user}
        facts: Head = {"user": self._user, "lineage": backend.lineage(), "structure": 0}
        now = backend.now()
        folded = transcribing.fold(Moment([]), changes, now, [backend.key() for _ in changes])
        await store_pieces(backend, owner, facts, folded.fresh, comment=_IMPORT)
        last = max([log.stamp.t, *(line.stamp.t for line in log.lines)])
        record = Conversation(
            user=self._user,
            status=ConversationStatus.COMPLETED,
            created_at=log.stamp.t,
            updated_at=last,
        )
        fields = record_fields(
            record,
            id=id,
            now=now,
            attachments={"resources": [], "artifacts": []},
            source=source,
            unknown={BESIDE: beside(log, self._session, int(facts["lineage"]), more)},
        )
        found = Prefix(folded.moment, folded.records, folded.removed)
        await plant(backend, owner, facts, found, fields, {}, comment=_IMPORT)

    async def _update(
        self, held: Head, log: Log, changes: Sequence[ChangeRecord], more: Mapping[str, JSON]
    ) -> bool:
        """Bring the stored conversation up to date; whether it was taken, not left out."""
        report, backend = self._report, self._backend
        known = decode_unknown(held).get(BESIDE)
        before = _placed(known)
        revision, name = int(held["revision"]), log.header.log
        if len(changes) < before:
            counts = f"{len(changes)} changes, the imported one had {before}"
            report.add("skipped", name, f"the log has {counts}; imports delete none", source_id(log))
            return False
        fresh = beside(log, self._session, int(held["lineage"]), more)
        if len(changes) == before and isinstance(known, dict) and same_json(known["others"], fresh["others"]):
            report.unchanged += 1
            return True
        untouched = revision == before and isinstance(known, dict) and known["lineage"] == held["lineage"]
        if not untouched and len(changes) > before:
            reason = "it went on here and in the session; the stored one is kept"
            report.add("skipped", name, reason, source_id(log))
            return False
        report.updated += 1
        if report.dry_run:
            return True
        owner = {"_id": held["_id"], "user": self._user}
        head, moment = await present(backend, owner, comment=_IMPORT)
        added = changes[before:]
        folded = transcribing.fold(moment, added, backend.now(), [backend.key() for _ in added])
        unknown = {**decode_unknown(held), BESIDE: fresh}
        noted = {"unknown_text": dump_text(unknown)} if "unknown_text" in held else encode_unknown(unknown)
        done = False
        if not added:
            query = {**owner, "lineage": held["lineage"], "revision": held["revision"]}
            noting = backend.modify("conversations", query, {"$set": noted}, {"_id": 1}, comment=_IMPORT)
            done = await noting is not None
        elif int(head["revision"]) == before:
            version = await write(
                backend,
                owner,
                head,
                moment,
                folded.moment,
                folded.records,
                folded.fresh,
                folded.removed,
                noted,
            )
            done = version is not None
        if not done:
            raise ConflictError("revision", reason="it was written to meanwhile; import again")
        return True


def _placed(known: Any) -> int:
    return sum(count for _, count in known["places"]) if isinstance(known, dict) else 0


# Out


async def export_session(
    backend: AsyncBackend, session: AsyncSessionStore, owners: Sequence[Mapping[str, Any]]
) -> ExportReport:
    """Write a log of each conversation; a log that is there already must be its beginning.

    Raises:
        NotFoundError: there is no such conversation.
        ConflictError: a log of that name holds something else, or grew meanwhile.

    """
    report = ExportReport(FORMAT)
    pasts: list[tuple[Head, list[Told], dict[str, Any] | None]] = []
    for owner in owners:
        with backend.call(_EXPORT):
            head, told = await _past(backend, owner)
        known = decode_unknown(head).get(BESIDE)
        pasts.append((head, told, known if isinstance(known, dict) else None))
    first = max([last_place(known) for _, _, known in pasts], default=-1) + 1
    for _, _, known in pasts:
        for line in () if known is None else known.get("own", ()):
            first = max(first, int(line["n"]) + 1)
    named: set[str] = set()
    for head, told, known in pasts:
        name = str(decode_u64(head["_id"])) if known is None else str(known["header"]["log"])
        if name in named:
            name = f"{name}-{decode_u64(head['_id'])}"
            known = None
        named.add(name)
        stamp, header = header_of(name, int(head["lineage"]), known)
        lines, said = lines_told(
            told, header, stamp, known, first=first, created_at=decode_u64(head["created_at"])
        )
        first = max(first, lines[-1].stamp.n + 1)
        report.bytes += await _put_log(session, name, await without_images(session, lines))
        report.conversations += 1
        report.messages += int(head["message_count"])
        for _ in range(said):
            report.note("a message was said in rig's words")
        for one in told:
            if "u" in one.record:
                report.note("the tokens of a call are not in a session")
        await _put_rest(session, known or {})
    return report


async def _past(backend: AsyncBackend, owner: Mapping[str, Any]) -> tuple[Head, list[Told]]:
    head, moment = await present(backend, owner, comment=_EXPORT)
    head["message_count"] = len(moment.entries)
    owner = {"_id": head["_id"], "user": head["user"]}
    told: list[Told] = []
    for _, record in reversed(await records_after(backend, owner, head, 0, comment=_EXPORT)):
        removed = await removed_by(backend, owner, head, record, comment=_EXPORT)
        halt, next_entry = moment.halt, moment.next_entry
        brought = timeline.go_back(moment, record, removed)
        told.append(
            Told(
                record,
                await _decoded(backend, owner, brought),
                {int(entry["id"]): entry.get("made") for entry in removed},
                len(moment.entries),
                moment.halt,
                halt,
                next_entry,
                moment.next_aside,
            )
        )
    return head, told[::-1]


async def _decoded(
    backend: AsyncBackend, owner: Mapping[str, Any], entries: Sequence[StoredEntry]
) -> tuple[Entry, ...]:
    references = blob_references(entries)
    blobs = await read_blobs(backend, owner["user"], owner["_id"], references, comment=_EXPORT)
    if blobs is None:
        raise NotFoundError("message", decode_u64(owner["_id"]))
    return tuple(to_entry(entry, blobs) for entry in entries)


async def _put_rest(session: AsyncSessionStore, known: Mapping[str, Any]) -> None:
    """The session's own log and files, which its main agent carries."""
    own = known.get("own")
    if own:
        lines = [read_line(json.dumps(line).encode(), SESSION_LOG, at) for at, line in enumerate(own, 1)]
        await _put_log(session, SESSION_LOG, lines)
    for name, held in known.get("files", {}).items():
        data = held["text"].encode() if "text" in held else base64.b64decode(held["base64"])
        await session.write_file(name, data)


async def _put_log(session: AsyncSessionStore, name: str, lines: Sequence[Line]) -> int:
    data = b"".join(map(write_line, lines))
    try:
        held = await session.read_log(name)
    except NotFoundError:
        held = b""
    if not data.startswith(held):
        reason = f"there is a log {name!a} already that is not the beginning of the one to be written"
        raise ConflictError("log", actual=name, reason=reason)
    if len(data) > len(held):
        await session.append_log(name, len(held), data[len(held) :])
    return len(data)
