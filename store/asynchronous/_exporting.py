"""Exporting: conversations in order of id, each at one version, in the memory that one batch needs."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Container, Iterable, Mapping, Sequence
from typing import IO, Any, NamedTuple

from bson.objectid import ObjectId

from convostore.schemas.conversations import Conversation
from convostore.schemas.entries import Entry
from convostore.schemas.errors import NotFoundError, UnavailableError
from convostore.schemas.formats import anda, canonical
from convostore.schemas.formats.outgoing import File, Fork, Outgoing
from convostore.schemas.json_values import dump_exact
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._asides import aside_rows
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import read_blobs
from convostore.store.asynchronous._exporting_files import (
    files_of,
    resource_lines,
    wanted_resources,
)
from convostore.store.asynchronous._history import Moved, wait_until_settled
from convostore.store.asynchronous._lifting import is_present, present
from convostore.store.asynchronous._listing import scan_heads, scan_ids
from convostore.store.asynchronous._reading import blobs_of, not_found
from convostore.store.asynchronous._splicing import read_segments
from convostore.store.codec import decode_u64, encode_u64
from convostore.store.exchanging import ExportReport
from convostore.store.finding import Wanted
from convostore.store.heads import Head, decode_unknown, embedded, record_of, source_of
from convostore.store.portable import (
    EntriesWithin,
    change_to_json,
    conversation_line,
    entry_to_json,
    fork_of,
    has_whole_history,
    is_one_document,
    removed_of,
)
from convostore.store.runs import StoredEntry, blob_references, to_entry

__all__ = ["Exporter", "put_texts"]

_CALL = "export"
_REREADS = 20
_TOGETHER = 4
"""Segments read at once: at most 1 MiB each."""

_SCANNED = 32
"""Whole heads read at once: mostly below 128 KiB each; more of small ones."""

_BESIDE = 1 << 10  # bytes of a head beside its messages
_UNKNOWN = 128 << 10

_IN_MEMORY = 8 << 20
_GATHERED = 64 << 10


class _Read(NamedTuple):
    """A conversation as it was read, all of one version; ``record`` has no messages."""

    head: Head
    record: Conversation
    entries: Iterable[Entry]
    """May be iterated again, as long as the file they are in is open."""
    entry_count: int

    def outgoing(self, files: Mapping[int, File]) -> Outgoing:
        """It, as writers take it."""
        head = self.head
        return Outgoing(
            self.record,
            self.entries,
            self.entry_count,
            source_of(head),
            decode_unknown(head),
            fork_of(head),
            files,
        )


class Exporter:
    """Writes what is wanted in one format, as bytes to ``write``."""

    def __init__(
        self,
        backend: AsyncBackend,
        write: Callable[[bytes], Any],
        report: ExportReport,
        on_progress: Callable[[ExportReport], object] | None,
    ) -> None:
        self._backend = backend
        self._write = write
        self._report = report
        self._on_progress = on_progress

    async def write_canonical(self, wanted: Wanted) -> None:
        """Everything, in Convostore's own format."""
        writer = canonical.CanonicalWriter()
        self.out(writer.header())
        async for stored in wanted_resources(self._backend, wanted):
            async for data in resource_lines(self._backend, writer, stored):
                self.out(data)
            self._report.resources += 1
        async for row in self._scanned(wanted):
            if is_one_document(row) and has_whole_history(row):
                self._write_document(writer, row)
                continue
            try:
                with tempfile.SpooledTemporaryFile(
                    _IN_MEMORY, mode="w+", encoding="ascii", newline="\n"
                ) as spool:
                    line, changes, count = await self._spooled(row, spool)
                    self.out(writer.conversation(line))
                    spool.seek(0)
                    for data in writer.entries(text.rstrip("\n") for text in spool):
                        self.out(data)
            except NotFoundError:
                continue  # deleted since the scan began
            for data in writer.changes(changes):
                self.out(data)
            self.out(writer.end(line.id))
            self._done(count)
        self.out(writer.trailer())

    def _write_document(self, writer: canonical.CanonicalWriter, head: Head) -> None:
        """A conversation that is all in its head."""
        line = conversation_line(head, record_of(head, [], {}))
        entries = [entry_to_json(entry, {}) for entry in embedded(head)]
        changes = [dump_exact(change_to_json(record, record.get("rm", ()), {})) for record in head["log"]]
        head_line = writer.conversation(line)
        lines = [head_line, *writer.entries_at_once(entries), *writer.changes(changes), writer.end(line.id)]
        self.out(b"".join(lines))
        self._done(len(entries))

    async def write_anda(self, wanted: Wanted, version: int, *, strict: bool) -> None:
        """Records as the writer of one schema version of Anda's has them, a line each."""
        async for read in self._records(wanted):
            notes: list[str] = []
            messages = (entry.message for entry in read.entries)
            written = anda.write(read.record, messages, version=version, strict=strict, notes=notes)
            put_texts(self.out, written)
            for note in notes:
                self._report.note(note)
            self._done(read.entry_count)

    async def outgoing(
        self, wanted: Wanted, *, files: bool = False, but: Container[int] = ()
    ) -> AsyncIterator[Outgoing]:
        """Each conversation as writers take it, with the bytes it names if ``files``; ``but`` leaves ids out.

        It must be written before the next is asked for, and counts as written then.
        """
        async for given in self._outgoing(self._records(wanted, but), files):
            yield given

    async def outgoing_one(self, id: int, user: str) -> AsyncIterator[Outgoing]:
        """One conversation, or none when it is gone."""
        async for given in self._outgoing(self._record(id, user), False):
            yield given

    async def origins(self, wanted: Wanted) -> dict[int, tuple[Fork, str]]:
        """What each of the wanted that is a fork was forked from, and whose it is."""
        found: dict[int, tuple[Fork, str]] = {}
        async for row in scan_ids(self._backend, wanted, fields={"forked_from": 1, "user": 1}):
            fork = fork_of(row)
            if fork is not None:
                found[decode_u64(row["_id"])] = (fork, row["user"])
        return found

    async def present(self, wanted: Wanted, ids: Container[int]) -> set[int]:
        """Which of the ids are among the wanted."""
        scanned = scan_ids(self._backend, wanted, fields={"_id": 1})
        return {id async for row in scanned if (id := decode_u64(row["_id"])) in ids}

    async def _outgoing(self, records: AsyncIterator[_Read], files: bool) -> AsyncIterator[Outgoing]:
        async for read in records:
            if files and (read.record.resources or read.record.artifacts):
                with tempfile.SpooledTemporaryFile(_IN_MEMORY, mode="w+b") as held:
                    yield read.outgoing(await files_of(self._backend, read.head, read.record, held))
            else:
                yield read.outgoing({})
            self._done(read.entry_count)

    def out(self, data: bytes) -> None:
        """Write, and count it."""
        self._write(data)
        self._report.bytes += len(data)

    def counted(self, write: Callable[[bytes], Any]) -> Callable[[bytes], None]:
        """The same to another file."""

        def put(data: bytes) -> None:
            write(data)
            self._report.bytes += len(data)

        return put

    def _done(self, messages: int) -> None:
        self._report.conversations += 1
        self._report.messages += messages
        if self._on_progress is not None:
            self._on_progress(self._report)

    # Conversations

    async def _record(self, id: int, user: str) -> AsyncIterator[_Read]:
        with tempfile.SpooledTemporaryFile(_IN_MEMORY, mode="w+", encoding="ascii", newline="\n") as spool:
            try:
                row = await self._again({"_id": encode_u64(id), "user": user})
                read = await self._whole(row, spool)
            except NotFoundError:
                return
            yield read

    async def _records(self, wanted: Wanted, but: Container[int] = ()) -> AsyncIterator[_Read]:
        async for row in self._scanned(wanted, {"log": 0, "recent": 0}):
            if but and decode_u64(row["_id"]) in but:
                continue
            if is_one_document(row):
                run = embedded(row)
                yield _Read(row, record_of(row, [], {}), [to_entry(entry, {}) for entry in run], len(run))
                continue
            with tempfile.SpooledTemporaryFile(
                _IN_MEMORY, mode="w+", encoding="ascii", newline="\n"
            ) as spool:
                try:
                    read = await self._whole(row, spool)
                except NotFoundError:
                    continue
                yield read

    async def _spooled(
        self, row: Mapping[str, Any], spool: IO[str]
    ) -> tuple[canonical.ConversationLine, list[str], int]:
        """The conversation's line, its changes as texts; its entries go to the file, a line each."""
        for attempt in range(1, _REREADS + 1):
            if attempt > 1:
                row = await self._again(row)
            head, record, _, count = await self._whole(row, spool)
            with self._backend.call(_CALL):
                try:
                    changes = await self._changes(head)
                except Moved as moved:
                    owner = {"_id": row["_id"], "user": row["user"]}
                    await wait_until_settled(self._backend, owner, moved, attempt, comment=_CALL)
                    continue
                asides = await aside_rows(self._backend, {"_id": row["_id"]}, head, comment=_CALL)
            if changes is not None and asides is not None:
                head.pop("asides_body", None)
                head |= {"asides": asides} if asides else {}
                return conversation_line(head, record), changes, count
            await _pace.pause(attempt)
        raise _moving(row)

    def _scanned(self, wanted: Wanted, fields: Mapping[str, Any] | None = None) -> AsyncIterator[Head]:
        return scan_heads(
            self._backend,
            wanted,
            fields,
            comment=_CALL,
            batch=_SCANNED,
            weigh=_weight,
            refused=self._left_out,
        )

    def _left_out(self, id: Any, error: Exception) -> None:
        self._report.note(f"document {str(id)[:80]!a} is no conversation and was left out: {error}")

    async def _again(self, row: Mapping[str, Any]) -> Head:
        owner = {"_id": row["_id"], "user": row["user"]}
        with self._backend.call(_CALL):
            head = await self._backend.find_one("conversations", owner, comment=_CALL)
            if head is not None:
                head = await present(self._backend, owner, head, None, comment=_CALL)
        if head is None:
            raise not_found(owner)
        return head

    async def _whole(self, row: Mapping[str, Any], spool: IO[str]) -> _Read:
        """The conversation; its entries go to the file, a line each."""
        owner = {"_id": row["_id"], "user": row["user"]}
        head = dict(row)
        for attempt in range(1, _REREADS + 1):
            if attempt > 1:
                head = await self._again(row)
            spool.seek(0)
            spool.truncate()
            count = await self._entries(owner, head, spool)
            if count is not None:
                with self._backend.call(_CALL):
                    blobs = await blobs_of(self._backend, owner, head, [], comment=_CALL, attachments=True)
                if blobs is not None:
                    return _Read(head, record_of(head, [], blobs), EntriesWithin(spool), count)
            await _pace.pause(attempt)
        raise _moving(row)

    async def _entries(self, owner: Mapping[str, Any], head: Head, spool: IO[str]) -> int | None:
        """Write the entries of the head as read; None when a part of them was replaced meanwhile."""
        manifest, count = head["segments"], 0
        for start in range(0, len(manifest), _TOGETHER):
            with self._backend.call(_CALL):
                held = await read_segments(
                    self._backend, owner, head["user"], manifest[start : start + _TOGETHER], comment=_CALL
                )
            if held is None or not await self._put(owner, head, held, spool):
                return None
            count += len(held)
        run = embedded(head)
        if not await self._put(owner, head, run, spool):
            return None
        return count + len(run)

    async def _put(
        self, owner: Mapping[str, Any], head: Head, entries: Sequence[StoredEntry], spool: IO[str]
    ) -> bool:
        for entry in entries:
            # One by one, since a message may be as large as memory allows.
            references = blob_references([entry])
            blobs: dict[ObjectId, bytes] = {}
            if references:
                with self._backend.call(_CALL):
                    found = await read_blobs(
                        self._backend, head["user"], owner["_id"], references, comment=_CALL
                    )
                if found is None:
                    return False
                blobs = found
            spool.write(f"{dump_exact(entry_to_json(entry, blobs))}\n")
        return True

    async def _changes(self, head: Head) -> list[str] | None:
        """Every change record up to the head's revision, oldest first; None when some moved meanwhile."""
        part = {"user": head["user"], "c": head["_id"], "lin": head["lineage"]}
        start = int(head["log_start"])
        texts: list[str] = []
        if start:
            sealed = self._backend.stream(
                "changes", part, {"recs": 1, "to": 1}, comment=_CALL, sort=[("_id", 1)]
            )
            async for document in sealed:
                first = int(document["_id"]["from"])
                if first > start:
                    break  # sealed since the head was read, which holds these itself
                if first != len(texts) + 1:
                    return None
                for record in document["recs"][: start - first + 1]:
                    texts.append(await self._change(head, record))
        if len(texts) != start:
            return None
        for record in head["log"]:
            texts.append(await self._change(head, record))
        return texts

    async def _change(self, head: Head, record: Mapping[str, Any]) -> str:
        bodies: dict[ObjectId, list[StoredEntry]] = {}
        if "body" in record:
            part = {"user": head["user"], "c": head["_id"], "_id": {"$in": list(record["body"])}}
            for document in await self._backend.find("bodies", part, {"e": 1}, comment=_CALL):
                bodies[document["_id"]] = document["e"]
        try:
            removed = removed_of(dict(record), bodies)
        except KeyError as error:
            raise _missing(head, f"removed entries {error.args[0]} are missing") from None
        references = blob_references(removed)
        blobs = await read_blobs(self._backend, head["user"], head["_id"], references, comment=_CALL)
        if blobs is None:
            raise _missing(head, "a removed message is missing")
        return dump_exact(change_to_json(dict(record), removed, blobs))


def put_texts(write: Callable[[bytes], Any], texts: Iterable[str]) -> None:
    """Write the texts as UTF-8, many short ones at once."""
    gathered: list[str] = []
    size = 0
    for text in texts:
        gathered.append(text)
        size += len(text)
        if size >= _GATHERED:
            write("".join(gathered).encode())
            gathered, size = [], 0
    if size:
        write("".join(gathered).encode())


def _weight(head: Head) -> int:
    """About the bytes of a head; of a document that another release wrote, more than it may have."""
    return _BESIDE + int(head["embedded_bytes"]) if is_present(head) else _UNKNOWN


def _moving(row: Mapping[str, Any]) -> UnavailableError:
    id = decode_u64(row["_id"])
    return UnavailableError(f"conversation {id} was being rewritten at every try to read it; export again")


def _missing(head: Head, what: str) -> Moved:
    id = decode_u64(head["_id"])
    return Moved(f"conversation {id}: {what}; run check, which tells what is broken", int(head["lineage"]))
