"""What the store notes on a record it gave out: the version it was, and how its messages are stored. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bson.objectid import ObjectId

from convostore.schemas.conversations import (
    Conversation,
    ConversationStatus,
    baseline_of,
    set_baseline,
)
from convostore.schemas.diff import QUEUES, Snapshot
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import same_json
from convostore.store.codec import decode_u64, encode_u64
from convostore.store.heads import Head, record_of
from convostore.store.runs import StoredEntry

__all__ = ["Baseline", "adopt", "advanced", "baseline", "check_queues", "load", "note", "owner_of", "renew"]


@dataclass(slots=True)
class Baseline:
    """A stored state: the head without its messages, every stored entry with its id, and a picture of the
    record.

    The message inside an entry may be the caller's own object, changed since: only the picture tells.
    """

    head: Head
    entries: list[StoredEntry]
    snapshot: Snapshot
    queues: tuple[list[str] | None, ...]

    @property
    def version(self) -> int:
        """The version the record was read or saved at."""
        return int(self.head["version"])

    def whole_head(self) -> Head:
        """The head with its embedded run, as a fresh read would give it."""
        first = len(self.entries) - int(self.head["embedded_count"])
        return {**self.head, "messages": self.stored(first, len(self.entries))}

    def stored(self, start: int, stop: int) -> list[StoredEntry]:
        """The entries ``start`` to ``stop`` (excluded) as a fresh read would give them; messages from the
        picture.
        """
        messages = self.snapshot.items_from("messages", start, stop)
        return [
            {**entry, "m": message} if "m" in entry else entry
            for entry, message in zip(self.entries[start:stop], messages, strict=True)
        ]


def load(head: Head, entries: Sequence[StoredEntry], blobs: Mapping[ObjectId, bytes]) -> Conversation:
    """The record of a head and all its entries (with ids), with its baseline noted."""
    record = record_of(head, entries, blobs)
    note(record, head, list(entries))
    return record


def note(record: Conversation, head: Head, entries: list[StoredEntry]) -> None:
    """Note on the record that this is what is stored of it."""
    kept = {name: value for name, value in head.items() if name not in ("messages", "log", "recent")}
    queues = tuple(_texts(record, name) for name in QUEUES)
    set_baseline(record, Baseline(kept, entries, Snapshot.of(record), queues))


def renew(
    record: Conversation,
    head: Head,
    entries: list[StoredEntry],
    snapshot: Snapshot,
    *,
    cleared: Sequence[str] = (),
) -> None:
    """Note that the record, as the snapshot shows it, is what the head's facts now say is stored.

    ``cleared`` names members that the write took away by itself, such as a failure's reason.
    """
    settled = {
        "updated_at": decode_u64(head["updated_at"]),
        "status": head["status"],
        **{name: None for name in cleared if name == "failed_reason"},
    }
    for name, value in settled.items():
        record.__dict__[name] = ConversationStatus(value) if name == "status" else value
    kept = {name: value for name, value in head.items() if name not in ("messages", "log", "recent")}
    queues = baseline(record).queues
    set_baseline(record, Baseline(kept, entries, snapshot.with_members(settled), queues))


def advanced(head: Head, reply: Head, *, added: int = 0, size: int = 0) -> Head:
    """The head as noted, with what the short reply of a write that added so many messages says of it.

    When a seal came in between, the reply counts a run whose manifest it does not show. Run and manifest then
    stay as they were noted, under their own structure: a splice planned on them does not fit and reads again.
    """
    if reply["structure"] == head["structure"]:
        return {**head, **reply}
    kept = {
        "structure": head["structure"],
        "embedded_count": head["embedded_count"] + added,
        "embedded_bytes": head["embedded_bytes"] + size,
    }
    return {**head, **reply, **kept}


def baseline(record: Conversation) -> Baseline:
    """The record's baseline.

    Raises:
        InvalidRecordError: it has none.

    """
    found = baseline_of(record)
    if not isinstance(found, Baseline):
        raise InvalidRecordError(
            "conversation", "was never stored or read: use create for a new one, get for a stored one"
        )
    return found


def check_queues(record: Conversation, noted: Baseline) -> None:
    """Refuse a record whose queues the caller changed: they change by calls of their own."""
    for name, texts in zip(QUEUES, noted.queues, strict=True):
        if not same_json(texts, _texts(record, name)):
            raise InvalidRecordError(name, "queues are no part of a save: use steer, follow_up or take")


def adopt(record: Conversation, stored: Conversation) -> None:
    """Make the caller's record hold what is stored, its baseline included."""
    for name in type(record).model_fields:
        record.__dict__[name] = getattr(stored, name)
    set_baseline(record, baseline_of(stored))


def owner_of(record: Conversation) -> dict[str, Any]:
    """The filter that names the stored conversation of a record in hand."""
    return {"_id": encode_u64(record.id), "user": record.user}


def _texts(record: Conversation, name: str) -> list[str] | None:
    texts: list[str] | None = getattr(record, name)
    return None if texts is None else list(texts)
