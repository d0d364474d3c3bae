"""Importing the canonical format: conversations stored again as they were, the head of each last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import bson
from bson.int64 import Int64

from convostore.schemas.conversations import Conversation
from convostore.schemas.entries import Entry, Source
from convostore.schemas.errors import ConvostoreError, SchemaVersionError
from convostore.schemas.formats import Facts, Imported, Refused
from convostore.schemas.formats.canonical import (
    FORMAT,
    ChangesLine,
    ConversationLine,
    EndLine,
    EntriesLine,
    Line,
    ResourceBytesLine,
    ResourceLine,
)
from convostore.schemas.json_values import JSON
from convostore.store import sealing
from convostore.store.asynchronous import _creating
from convostore.store.asynchronous._asides import store_asides
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import store_pieces
from convostore.store.asynchronous._inserting import insert_heads
from convostore.store.asynchronous._numbering import lift_counter, next_ids
from convostore.store.asynchronous._sealing import store_segments
from convostore.store.asynchronous._storing_resources import ResourceRestorer
from convostore.store.asynchronous._updating import bring_up_to_date, link
from convostore.store.codec import OPTIONS, decode_u64, document_size, encode_u64
from convostore.store.exchanging import ImportReport, encode_facts
from convostore.store.heads import Head, encode_attachment, new_head, record_fields
from convostore.store.history import Record
from convostore.store.layout import SCHEMA_VERSION
from convostore.store.links import Links
from convostore.store.portable import change_from_json, head_extras, restored_source
from convostore.store.restoring import Opened, record_of
from convostore.store.runs import (
    StoredEntry,
    cut_into_segments,
    entries_size,
    newest_page,
    numbered,
)
from convostore.store.splicing import removed_bodies

__all__ = ["Restorer"]

_CALL = "import"
_PENDING = 2 << 20
_BATCH = 200
_BATCH_BYTES = 8 << 20
_FACTS = {"user": 1, "lineage": 1, "version": 1, "revision": 1, "source": 1, "log": {"$slice": -1}}


class Restorer:
    """Takes the lines of a file in order; ``finish`` ends it, also where the file broke off."""

    def __init__(
        self,
        backend: AsyncBackend,
        ids: Callable[[], int] | None,
        report: ImportReport,
        *,
        user: str | None = None,
        on_progress: Callable[[ImportReport], object] | None = None,
    ) -> None:
        self._backend = backend
        self._ids = ids
        self._report = report
        self._user = user
        self._on_progress = on_progress
        self._resources = ResourceRestorer(backend, ids, report, user=user)
        self._open: Opened | None = None
        self._done: list[tuple[Opened, Head]] = []
        self._done_bytes = 0
        self._links = Links()
        self._by_id: dict[int, Head] = {}
        self._by_source: dict[tuple[str, str, str], Head] = {}
        self._given: set[int] = set()

    async def look_ahead(self, lines: Sequence[ConversationLine]) -> None:
        """Learn what the store has of the conversations that come next."""
        sources: dict[tuple[str, str], list[str]] = {}
        for line in lines:
            user = line.user if self._user is None else self._user
            for source in (line.source, _source_of_life(line)):
                if source is not None:
                    sources.setdefault((user, source.format), []).append(source.id)
        self._by_id, self._by_source = {}, {}
        with self._backend.call(_CALL):
            query: dict[str, Any] = {"_id": {"$in": [encode_u64(line.id) for line in lines]}}
            for head in await self._backend.find("conversations", query, _FACTS, comment=_CALL):
                self._by_id[decode_u64(head["_id"])] = head
            for (user, format), identities in sources.items():
                query = {"user": user, "source.format": format, "source.id": {"$in": identities}}
                for head in await self._backend.find("conversations", query, _FACTS, comment=_CALL):
                    self._by_source[user, format, head["source"]["id"]] = head

    async def take(self, position: int, line: Line | Refused) -> None:
        """Take one line; of a conversation one that was looked ahead to."""
        if isinstance(line, Refused):
            await self._drop()
            self._resources.drop()
            self._report.add("failed", line.position, line.reason, line.id)
            return
        try:
            with self._backend.call(_CALL):
                await self._follow(position, line)
        except ConvostoreError as error:
            id = None if self._open is None else str(self._open.line.id)
            await self._drop()
            self._report.add("failed", position, str(error), id)

    async def finish(self) -> None:
        """Store what is whole; what the file broke off in is taken away again."""
        await self._drop()
        with self._backend.call(_CALL):
            await self._flush()
        count, some = self._links.outside()
        if count:
            ids = ", ".join(map(str, some))
            self._report.note(f"{count:,} links lead out of the file, to conversations {ids}; kept")

    async def _follow(self, position: int, line: Line) -> None:
        if isinstance(line, ResourceLine):
            await self._resources.begin(line)
        elif isinstance(line, ResourceBytesLine):
            await self._resources.add(line)
        elif isinstance(line, ConversationLine):
            self._open = await self._begin(position, line)
        elif self._open is None:
            return
        elif isinstance(line, EntriesLine):
            await self._entries(self._open, line.entries)
        elif isinstance(line, ChangesLine):
            await self._changes(self._open, line.changes)
        elif isinstance(line, EndLine):
            opened, self._open = self._open, None
            await self._end(opened)

    # The head

    async def _begin(self, position: int, line: ConversationLine) -> Opened:
        if line.schema_version > SCHEMA_VERSION:
            raise SchemaVersionError(
                f"conversation {line.id} has schema version {line.schema_version}; this release knows "
                f"{SCHEMA_VERSION}",
                found=line.schema_version,
                known=SCHEMA_VERSION,
            )
        record = record_of(line, self._user, self._resources.became)
        synthetic = _source_of_life(line)
        held = self._held_by(record.user, line, synthetic)
        opened = Opened(position, line, record, record, held, source=line.source)
        if held is not None:
            opened.id = decode_u64(held["_id"])
            return opened
        if line.id and line.id not in self._by_id and line.id not in self._given:
            opened.id = line.id
        elif not self._report.dry_run:
            opened.id = (await next_ids(self._backend, "conversation", 1, self._ids, comment=_CALL))[0]
        if opened.id != line.id and line.source is None:
            # Under another id it must be known again all the same.
            opened.source = synthetic
        self._given.add(opened.id)
        self._links.announce(line.id, opened.id)
        opened.record = record.model_copy()
        self._links.follow(opened.record)
        return opened

    def _held_by(self, user: str, line: ConversationLine, synthetic: Source) -> Head | None:
        """The stored conversation that the line is of: the same life of it, or one of the same source."""
        found = self._by_id.get(line.id)
        if found is not None and found["user"] == user and found["lineage"] == line.lineage:
            return found
        for source in (line.source, synthetic):
            if source is not None and (user, source.format, source.id) in self._by_source:
                return self._by_source[user, source.format, source.id]
        return None

    # Entries and changes

    async def _entries(self, opened: Opened, entries: Sequence[Entry]) -> None:
        opened.entries += len(entries)
        if opened.held is not None:
            if not opened.is_older:
                opened.compared += entries
            return
        if self._report.dry_run:
            return
        stored = await self._stored(opened, entries)
        opened.pending += stored
        opened.pending_bytes += entries_size(stored)
        if opened.pending_bytes > _PENDING:
            await self._seal(opened)

    async def _stored(self, opened: Opened, entries: Sequence[Entry]) -> list[StoredEntry]:
        """Entries as they are stored, what lies apart being stored now."""
        facts = [Facts(one.made, one.author, one.dialect, one.unfinished) for one in entries]
        encoded = encode_facts([one.message for one in entries], facts)
        await store_pieces(self._backend, opened.owner, opened.facts, encoded, comment=_CALL)
        return [numbered(new.stored, one.id) for new, one in zip(encoded, entries, strict=True)]

    async def _seal(self, opened: Opened) -> None:
        """Put all but the newest page into segments."""
        bounds = self._backend.bounds
        kept = newest_page(opened.pending, bounds)
        older, opened.pending = opened.pending[: len(opened.pending) - kept], opened.pending[-kept:]
        segments = cut_into_segments(older, bounds)
        opened.segments += await store_segments(self._backend, opened.owner, opened.facts, segments)
        opened.pending_bytes = entries_size(opened.pending)

    async def _changes(self, opened: Opened, changes: Sequence[JSON]) -> None:
        if opened.held is not None:
            opened.keys += [change.get("k") if isinstance(change, dict) else None for change in changes]
            return
        for change in changes:
            record, removed = change_from_json(change, f"changes[{len(opened.records)}]")
            if self._report.dry_run:
                opened.records.append(b"")
                continue
            if removed:
                stored = await self._stored(opened, removed)
                bodies = removed_bodies(stored, opened.facts, opened.owner["_id"])
                await self._backend.insert_own("bodies", bodies, comment=_CALL)
                if bodies:
                    record["body"] = [document["_id"] for document in bodies]
                else:
                    record["rm"] = stored
            opened.records.append(bson.encode(record))

    # The end

    async def _end(self, opened: Opened) -> None:
        report = self._report
        if opened.held is not None:
            await self._compare(opened)
            return
        if len(opened.records) != opened.line.revision:
            await self._withdraw(opened)
            reason = f"its history has {len(opened.records)} records, its head says {opened.line.revision}"
            report.add("failed", opened.position, reason, str(opened.line.id))
            return
        if report.dry_run:
            head_extras(opened.line, ())
            await self._count(opened)
            return
        head = await self._head(opened)
        self._done.append((opened, head))
        self._done_bytes += document_size(head)
        if len(self._done) >= _BATCH or self._done_bytes >= _BATCH_BYTES:
            await self._flush()

    async def _head(self, opened: Opened) -> Head:
        bounds, line, record = self._backend.bounds, opened.line, opened.record
        if len(opened.pending) > bounds.soft_count or opened.pending_bytes > bounds.soft_bytes:
            await self._seal(opened)
        attached = {
            name: [
                encode_attachment(item.to_json(), f"{name}[{place}]")
                for place, item in enumerate(getattr(record, name))
            ]
            for name in ("resources", "artifacts")
        }
        every = [one for found in attached.values() for one in found]
        await store_pieces(self._backend, opened.owner, opened.facts, every, comment=_CALL)
        records = [bson.decode(one, OPTIONS) for one in opened.records]
        log, start = await self._history(opened, records)
        fields = record_fields(
            record,
            id=opened.id,
            now=self._backend.now(),
            attachments={name: [one.stored for one in found] for name, found in attached.items()},
            unknown=line.unknown,
        )
        head = new_head(
            fields,
            lineage=line.lineage,
            entries=opened.pending,
            size=opened.pending_bytes,
            segments=opened.segments,
            next_entry=line.next_entry,
            record_log=log,
        )
        head |= restored_source(line, opened.source)
        head |= {
            "version": Int64(line.version),
            "revision": Int64(line.revision),
            "log_start": Int64(start),
        }
        head |= head_extras(line, records)
        rows = head.pop("asides", [])
        return head | await store_asides(self._backend, opened.owner, opened.facts, rows, comment=_CALL)

    async def _history(self, opened: Opened, records: list[Record]) -> tuple[list[Record], int]:
        """Put older change records into ``changes``; those that stay in the head, and how many went."""
        start = 0
        while True:
            head: Head = {
                "user": opened.record.user,
                "lineage": opened.line.lineage,
                "next_entry": opened.line.next_entry,
                "log": records[start:],
                "log_start": start,
            }
            sealed = sealing.records_to_seal(head, self._backend.bounds)
            if not sealed:
                return records[start:], start
            if not start:
                # A restore that died may have left other cuts of the same history.
                await self._backend.delete("changes", opened.part, comment=_CALL)
            document = sealing.change_document(opened.owner["_id"], head, sealed)
            await self._backend.insert_own("changes", [document], comment=_CALL)
            start += len(sealed)

    async def _flush(self) -> None:
        """Insert the heads that are ready, many in one command."""
        done, self._done, self._done_bytes = self._done, [], 0
        if not done:
            return
        honoured = max(opened.id for opened, _ in done)
        await lift_counter(self._backend, "conversation", honoured, comment=_CALL)
        refused = await insert_heads(self._backend, [head for _, head in done], comment=_CALL)
        for place, (opened, head) in enumerate(done):
            if place in refused:
                await self._withdraw(opened)
                reason = "its id or its source was taken while it was read; import again"
                self._report.add("failed", opened.position, reason, str(opened.line.id))
            else:
                await _creating.confirm(self._backend, head, comment=_CALL)
                await self._count(opened)
        if self._on_progress is not None:
            self._on_progress(self._report)

    async def _count(self, opened: Opened) -> None:
        report, wanted = self._report, opened.line.id
        report.read += 1
        report.imported += 1
        report.messages += opened.entries
        if opened.id != wanted:
            under = f"; it is stored as {opened.id}" if opened.id else ""
            report.add("renumbered", opened.position, f"the id {wanted} is taken{under}", str(wanted))
        await self._link(opened)

    async def _link(self, opened: Opened) -> None:
        id = opened.id or opened.line.id
        await link(self._backend, self._links, opened.original, id, dry_run=self._report.dry_run)

    # What is there already

    async def _compare(self, opened: Opened) -> None:
        assert opened.held is not None
        report, line = self._report, opened.line
        kept: str | None = ""
        if not opened.is_older:
            source = opened.source or _source_of_life(line)
            record = opened.record.model_copy(update={"messages": [one.message for one in opened.compared]})
            facts = [Facts(one.made, one.author, one.dialect, one.unfinished) for one in opened.compared]
            states = frozenset(Conversation.model_fields)
            item = Imported(opened.position, record, source, facts, line.unknown, states)
            kept = await bring_up_to_date(
                self._backend, opened.held, item, untouched=opened.continues(), dry_run=report.dry_run
            )
        if kept is None or kept == "":
            report.read += 1
            report.messages += opened.entries
            if kept is None:
                report.updated += 1
            else:
                report.unchanged += 1
        else:
            report.messages += opened.entries
            report.add("skipped", opened.position, kept, str(line.id))
        await self._link(opened)

    # What broke off

    async def _drop(self) -> None:
        opened, self._open = self._open, None
        if opened is not None and opened.held is None and opened.id:
            with self._backend.call(_CALL):
                await self._withdraw(opened)

    async def _withdraw(self, opened: Opened) -> None:
        if self._report.dry_run:
            return
        for name in ("segments", "blobs", "bodies", "changes"):
            await self._backend.delete(name, opened.part, comment=_CALL)


def _source_of_life(line: ConversationLine) -> Source:
    """The identity of a conversation that has no source, for where it is stored under another id."""
    return Source(FORMAT, f"{line.id}@{line.lineage}")
