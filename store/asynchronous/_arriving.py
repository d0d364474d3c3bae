"""Storing new conversations of an import, many with one command, while the next ones are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from bson.raw_bson import RawBSONDocument

from convostore.schemas.errors import ConflictError, InvalidRecordError, TooLargeError
from convostore.schemas.formats import Imported
from convostore.store.asynchronous import _creating, _pace
from convostore.store.asynchronous._attaching import Attacher
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._growing import store_parts
from convostore.store.asynchronous._inserting import insert_heads
from convostore.store.asynchronous._numbering import lift_counter, next_ids
from convostore.store.asynchronous._updating import link
from convostore.store.births import first_records, native_entries, raw_head
from convostore.store.branching import inherited
from convostore.store.codec import decode_u64, encode_u64
from convostore.store.exchanging import ImportReport, encode_facts
from convostore.store.heads import Head, new_head, record_fields
from convostore.store.links import Links

__all__ = ["Arrivals"]

_CALL = "import"
_TOGETHER = 2
"""Commands under way: the server has the next one while the answer to the last one travels."""


class _Ready(NamedTuple):
    """A conversation that is on its way into the store: of its head what is asked for afterwards."""

    item: Imported
    id: int
    lineage: int
    head: Mapping[str, Any]
    segments: Head | None
    """The head, when there are segments to look after."""


class Arrivals:
    """Stores what is new, a batch at a time; what was given is stored, and counted, after :meth:`settle`."""

    def __init__(
        self,
        backend: AsyncBackend,
        ids: Callable[[], int] | None,
        report: ImportReport,
        links: Links,
        attacher: Attacher,
    ) -> None:
        self._backend = backend
        self._ids = ids
        self._report = report
        self._links = links
        self._attacher = attacher
        self._batches = _pace.Beside[tuple[Sequence[_Ready], set[int]]]()

    async def store(self, fresh: Sequence[Imported], ids: Sequence[int] | None = None) -> None:
        """Begin to store these, under the ids if they are known; what cannot be is reported."""
        if not fresh:
            return
        if ids is None:
            with self._backend.call(_CALL):
                ids = await self._numbers(fresh)
        ready = await self._prepared(fresh, ids)
        while len(self._batches) >= _TOGETHER:
            await self._finish(*await self._batches.next())
        if ready:
            await self._batches.start(lambda: self._insert(ready))

    async def settle(self) -> None:
        """Wait until everything that was begun is stored."""
        while len(self._batches):
            await self._finish(*await self._batches.next())

    async def close(self) -> None:
        """Wait for what is under way, whatever becomes of it."""
        await self._batches.close()

    def draft(self, item: Imported, id: int, first: int = 0) -> _creating.Draft:
        """The conversation ready to be stored under that id, its links followed.

        Only its messages from the place ``first`` on are entries of it.

        Raises:
            InvalidRecordError, TooLargeError: it cannot be stored.

        """
        record = item.conversation.model_copy(update={"id": id})
        self._links.follow(record)
        return _creating.draft_of(
            self._backend,
            record,
            source=item.source,
            unknown=item.unknown,
            entries=encode_facts(
                record.messages[first:], None if item.entries is None else item.entries[first:], first
            ),
        )

    def count(self, item: Imported) -> None:
        """Count what was read."""
        self._report.read += 1
        self._report.messages += len(item.conversation.messages) - inherited(item)

    async def stored(self, item: Imported, id: int) -> None:
        """Count what was stored, and mend the links to it."""
        self._report.imported += 1
        wanted = item.conversation.id
        if wanted and id != wanted:
            reason = f"the id {wanted} is taken; it is stored as {id}" if id else f"the id {wanted} is taken"
            self._report.add("renumbered", item.position, reason, item.source.id)
        await self.link(item, id)

    async def link(self, item: Imported, id: int) -> None:
        """Let what named it by its id in the source name the one that it has here."""
        record = item.conversation
        await link(self._backend, self._links, record, id or record.id, dry_run=self._report.dry_run)

    async def _prepared(self, fresh: Sequence[Imported], ids: Sequence[int]) -> list[_Ready]:
        for item, id in zip(fresh, ids, strict=True):
            self._links.announce(item.conversation.id, id)
        ready: list[_Ready] = []
        for item, id in zip(fresh, ids, strict=True):
            try:
                if item.conversation.resources or item.conversation.artifacts:
                    with self._backend.call(_CALL):
                        item = await self._attacher.attached(item)
                if self._report.dry_run:
                    self.draft(item, id)
                else:
                    ready.append(await self._prepare(item, id))
            except (InvalidRecordError, TooLargeError) as error:
                self._report.add("failed", item.position, str(error), item.source.id)
                continue
            self.count(item)
            if self._report.dry_run:
                await self.stored(item, id)
        return ready

    async def _prepare(self, item: Imported, id: int) -> _Ready:
        head = self._small_head(item, id)
        if head is not None:
            return _Ready(item, id, head[0], head[1], None)
        record = item.conversation.model_copy(update={"id": id})
        self._links.follow(record)
        whole = await store_parts(self._backend, item, record, comment=_CALL)
        return _Ready(item, id, int(whole["lineage"]), whole, whole if whole["segments"] else None)

    def _small_head(self, item: Imported, id: int) -> tuple[int, RawBSONDocument] | None:
        """The lineage and the document of a conversation that is one document; None for any other."""
        backend, record = self._backend, item.conversation
        if record.resources or record.artifacts or backend.engine == "mongomock":
            return None
        entries = native_entries(record.messages, item.entries, backend.bounds)
        if entries is None:
            return None
        now, lineage = backend.now(), backend.lineage()
        record.give_times(now)
        if record.child is not None or record.ancestors is not None:
            record = record.model_copy()
            self._links.follow(record)
        fields = record_fields(
            record,
            id=id,
            now=now,
            attachments={"resources": [], "artifacts": []},
            source=item.source,
            unknown=item.unknown,
        )
        head = new_head(
            fields,
            lineage=lineage,
            entries=entries,
            size=0,
            segments=(),
            next_entry=len(entries),
            record_log=first_records(record, [one.get("made") for one in entries], backend.key()),
        )
        head["source"]["version"] = head["version"]
        raw = raw_head(head, backend.bounds)
        return None if raw is None else (lineage, raw)

    async def fresh_ids(self, fresh: Sequence[Imported]) -> list[int] | None:
        """An id for each, where all of them come from the counter; else None."""
        # The caller's function is called where the caller expects it, not beside.
        if self._report.dry_run or self._ids is not None or any(item.conversation.id for item in fresh):
            return None
        if not fresh:
            return []
        return await next_ids(self._backend, "conversation", len(fresh), None, comment=_CALL)

    async def _numbers(self, fresh: Sequence[Imported]) -> list[int]:
        """The id of each: its own where that is free, else the next one, 0 for that in a dry run."""
        wanted = [encode_u64(item.conversation.id) for item in fresh if item.conversation.id]
        taken = {0}
        if wanted:
            await self.settle()
            query = {"_id": {"$in": wanted}}
            found = await self._backend.find("conversations", query, {"_id": 1}, comment=_CALL)
            taken |= {decode_u64(head["_id"]) for head in found}
        ids = []
        for item in fresh:
            own = item.conversation.id
            ids.append(0 if own in taken else own)
            taken.add(own)
        if self._report.dry_run:
            return ids
        if any(ids):
            await lift_counter(self._backend, "conversation", max(ids), comment=_CALL)
        nameless = ids.count(0)
        if nameless:
            given = iter(await next_ids(self._backend, "conversation", nameless, self._ids, comment=_CALL))
            ids = [id or next(given) for id in ids]
        return ids

    async def _insert(self, ready: Sequence[_Ready]) -> tuple[Sequence[_Ready], set[int]]:
        with self._backend.call(_CALL):
            return ready, await insert_heads(self._backend, [one.head for one in ready], comment=_CALL)

    async def _finish(self, ready: Sequence[_Ready], refused: set[int]) -> None:
        with self._backend.call(_CALL):
            for place, one in enumerate(ready):
                if place in refused:
                    await self._insert_alone(one)
                    continue
                if one.segments is not None:
                    await _creating.confirm(self._backend, one.segments, comment=_CALL)
                await self.stored(one.item, one.id)

    async def _insert_alone(self, one: _Ready) -> None:
        """Store one whose id, or source, somebody took in between."""
        item = one.item
        owner = {"_id": encode_u64(one.id), "user": item.conversation.user}
        await _creating.withdraw(self._backend, owner, one.lineage, comment=_CALL)
        draft = self.draft(item, 0)
        try:
            await _creating.create(self._backend, draft, self._ids)
        except ConflictError as error:
            self._report.read -= 1
            self._report.add("skipped", item.position, str(error), item.source.id)
        else:
            await self.stored(item, draft.record.id)
