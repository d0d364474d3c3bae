"""Storing all of a new conversation but its head, in memory for a few of its messages at a time.

However long it is: each few messages have the time of a call for themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import InvalidRecordError, TooLargeError
from convostore.schemas.formats import Facts, Imported
from convostore.store.asynchronous import _creating
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._blobs import store_pieces
from convostore.store.asynchronous._sealing import store_segments
from convostore.store.births import first_records
from convostore.store.codec import encode_u64
from convostore.store.exchanging import encode_facts
from convostore.store.heads import Head, new_head, record_fields
from convostore.store.manifest import Item
from convostore.store.requests import attachments
from convostore.store.runs import (
    NewEntry,
    StoredEntry,
    cut_into_segments,
    entries_size,
    newest_page,
    numbered,
)

__all__ = ["store_parts"]

_TOGETHER = 16  # messages that are encoded together
_PENDING = 2 << 20


async def store_parts(backend: AsyncBackend, item: Imported, record: Conversation, *, comment: str) -> Head:
    """The head that makes ``record``, the item's under its id here, a conversation once it is inserted.

    Raises:
        InvalidRecordError, TooLargeError: it cannot be stored, and nothing of it is left.

    """
    growing = _Growing(backend, record, comment)
    try:
        return await growing.head(item)
    except (InvalidRecordError, TooLargeError):
        with backend.call(comment):
            await _creating.withdraw(backend, growing.owner, growing.lineage, comment=comment)
        raise


class _Growing:
    """A conversation whose older messages are in segments already."""

    def __init__(self, backend: AsyncBackend, record: Conversation, comment: str) -> None:
        self._backend = backend
        self._record = record
        self._comment = comment
        self._pending: list[StoredEntry] = []
        self._bytes = 0
        self._segments: list[Item] = []
        self.lineage = backend.lineage()
        self.owner: dict[str, Any] = {"_id": encode_u64(record.id), "user": record.user}
        self._facts: Head = {"user": record.user, "lineage": self.lineage, "structure": 0}

    async def head(self, item: Imported) -> Head:
        """Store what does not stay in the head; the head."""
        backend, record = self._backend, self._record
        now = backend.now()
        record.give_times(now)
        attached = {name: attachments(name, getattr(record, name)) for name in ("resources", "artifacts")}
        fields = record_fields(
            record,
            id=record.id,
            now=now,
            attachments={name: [one.stored for one in found] for name, found in attached.items()},
            source=item.source,
            unknown=item.unknown,
        )
        for found in attached.values():
            await self._store_pieces(found)
        made = await self._store(record.messages, item.entries)
        head = new_head(
            fields,
            lineage=self.lineage,
            entries=self._pending,
            size=entries_size(self._pending),
            segments=self._segments,
            next_entry=len(made),
            record_log=first_records(record, made, backend.key()),
        )
        head["source"]["version"] = head["version"]
        return head

    async def _store(self, messages: Sequence[Any], facts: Sequence[Facts] | None) -> list[int | None]:
        """Take the messages in; the time of each."""
        bounds, made = self._backend.bounds, list[int | None]()
        for start in range(0, len(messages), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            encoded = encode_facts(messages[part], None if facts is None else facts[part], start)
            await self._store_pieces(encoded)
            self._pending += [numbered(one.stored, start + place) for place, one in enumerate(encoded)]
            self._bytes += sum(one.size for one in encoded)
            made += [one.stored.get("made") for one in encoded]
            if self._bytes > _PENDING:
                await self._seal()
        if len(self._pending) > bounds.soft_count or self._bytes > bounds.soft_bytes:
            await self._seal()
        return made

    async def _store_pieces(self, entries: Sequence[NewEntry]) -> None:
        if any(entry.pieces for entry in entries):
            with self._backend.call(self._comment):
                await store_pieces(self._backend, self.owner, self._facts, entries, comment=self._comment)

    async def _seal(self) -> None:
        """Put all but the newest page into segments."""
        kept = newest_page(self._pending, self._backend.bounds)
        older, self._pending = self._pending[:-kept], self._pending[-kept:]
        segments = cut_into_segments(older, self._backend.bounds)
        with self._backend.call(self._comment):
            self._segments += await store_segments(self._backend, self.owner, self._facts, segments)
        self._bytes = entries_size(self._pending)
