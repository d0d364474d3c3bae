"""A conversation of a canonical file while its lines are read. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from convostore.schemas.conversations import Conversation
from convostore.schemas.entries import Entry, Source
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.field_types import as_invalid_record
from convostore.schemas.formats.canonical import ConversationLine
from convostore.schemas.json_values import JSON
from convostore.store.codec import encode_u64
from convostore.store.heads import Head
from convostore.store.manifest import Item
from convostore.store.portable import change_from_json
from convostore.store.runs import StoredEntry

__all__ = ["Opened", "record_of"]


@dataclass(slots=True)
class Opened:
    """The conversation whose lines are being read; ``id`` is the one it gets, or has, here."""

    position: int
    line: ConversationLine
    original: Conversation
    """The record as the file has it."""
    record: Conversation
    """The record as it is stored: its links followed."""
    held: Head | None
    """What the store has of it already; None for a new one."""
    id: int = 0
    source: Source | None = None
    entries: int = 0
    pending: list[StoredEntry] = field(default_factory=list)
    pending_bytes: int = 0
    segments: list[Item] = field(default_factory=list)
    records: list[bytes] = field(default_factory=list)
    """Change records in BSON, which is small."""
    compared: list[Entry] = field(default_factory=list)
    keys: list[JSON] = field(default_factory=list)

    @property
    def owner(self) -> Head:
        """The filter that names it."""
        return {"_id": encode_u64(self.id), "user": self.record.user}

    @property
    def facts(self) -> Head:
        """What its parts are stored with."""
        return {"user": self.record.user, "lineage": self.line.lineage, "structure": 0}

    @property
    def part(self) -> dict[str, Any]:
        """The filter that names its parts."""
        return {"user": self.record.user, "c": encode_u64(self.id), "lin": self.line.lineage}

    @property
    def is_older(self) -> bool:
        """Whether what is stored is the same life of the conversation and as new as the file, or newer."""
        held, line = self.held, self.line
        return held is not None and held["lineage"] == line.lineage and held["version"] >= line.version

    def continues(self) -> bool:
        """Whether the file goes on where the stored one stands: its history has that one's last change."""
        held = self.held
        if held is None or held["lineage"] != self.line.lineage:
            return False
        revision = int(held["revision"])
        if not revision:
            return True
        if revision > len(self.keys) or not held["log"]:
            return False
        record, _ = change_from_json({"at": 0, "k": self.keys[revision - 1]}, "changes")
        return bool(record["k"] == held["log"][-1].get("k"))


def record_of(
    line: ConversationLine, user: str | None, became: Mapping[tuple[str, int], int]
) -> Conversation:
    """The line's record without messages, owned by ``user`` if given, its resources under their ids here.

    Raises:
        InvalidRecordError: it is no record, or not the one that the line says.

    """
    members = {**line.record, "messages": []}
    owner = line.user
    for name in ("resources", "artifacts"):
        items = members.get(name, [])
        if isinstance(items, list):
            members[name] = [_mapped(item, owner, became) for item in items]
    try:
        record = Conversation.model_validate(members)
    except ValidationError as error:
        raise as_invalid_record(error, "record") from None
    if record.id != line.id or record.user != line.user:
        raise InvalidRecordError("record", f"is not conversation {line.id} of its line's user")
    return record if user is None else record.model_copy(update={"user": user})


def _mapped(item: JSON, owner: str, became: Mapping[tuple[str, int], int]) -> JSON:
    if isinstance(item, dict) and isinstance(item.get("_id"), int):
        return {**item, "_id": became.get((owner, item["_id"]), item["_id"])}
    return item
