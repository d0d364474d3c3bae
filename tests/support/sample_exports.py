"""The sample exports as a store has them after an import, counted as their index counts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from convostore.schemas.dialects import view
from convostore.schemas.entries import Entry
from convostore.schemas.formats import ByteInput, Imported, ReadOptions, detect
from convostore.store import ConversationStore
from convostore.store.branching import inherited, whole_branches
from support.shared import SHARED, shared

__all__ = ["NO_CONVERSATION", "Counted", "expected_of", "samples", "stored_counts"]

# Pending writes without their checkpoints: in the index one conversation of no messages, with the note that
# it is none of its own. An import skips them and says so.
NO_CONVERSATION = "langgraph-checkpoint/mongo-0.5.1-checkpoint_writes.jsonl"
# Where a message keeps what its source calls the one who speaks, and where that counts.
_ROLE_MEMBERS = {"langchain": "type", "langgraph": "type", "pydantic-ai": "kind", "sharegpt": "from"}


def samples() -> list[str]:
    """The names of the samples; none where the shared material is missing."""
    index = SHARED / "data/exports/expected.json"
    return sorted(json.loads(index.read_text("utf-8"))) if index.exists() else []


def expected_of(path: str) -> dict[str, Any]:
    """What the index says of a sample."""
    found: dict[str, Any] = json.loads(shared("data/exports/expected.json").read_text("utf-8"))
    return found[path]["expected"]  # type: ignore[no-any-return]


@dataclass
class Counted:
    """One conversation with its branches; ``made`` are the times of messages, ``merged`` the messages."""

    active: int = 0
    total: int = 0
    calls: int = 0
    results: int = 0
    merged: int = 0
    roles: Counter[str] = field(default_factory=Counter)
    made: list[int] = field(default_factory=list)

    def numbers(self) -> dict[str, Any]:
        """By the names of the index."""
        return {
            "active": self.active,
            "total": self.total,
            "calls": self.calls,
            "results": self.results,
            "first": min(self.made, default=None),
            "last": max(self.made, default=None),
            "roles": dict(self.roles),
        }

    def add(self, format: str, entry: Entry) -> None:
        """Count a message that no other line has."""
        seen = view(entry.message, entry.dialect)
        self.merged += 1
        self.total += lines_of(format, entry.message)
        self.calls += len(seen.calls)
        # A retry prompt is a tool's answer here, and counted by itself in the index.
        self.results += len(seen.results) - _retries(format, entry.message)
        if entry.made is not None:
            self.made.append(entry.made)
        role = _role(format, entry.message, seen.role)
        if role is not None:
            self.roles[role] += lines_of(format, entry.message)


def lines_of(format: str, message: Any) -> int:
    """How many lines of the source a message was put together from."""
    return len(message["source"]["lines"]) if format == "claude-code" else 1


def _role(format: str, message: Any, role: str | None) -> str | None:
    if format in ("codex", "openai-responses"):
        named = message.get("role")
        return named if isinstance(named, str) else None
    if format == "claude-ai":
        return "human" if role == "user" else role
    source = message.get("source") if isinstance(message, dict) else None
    named = source.get(_ROLE_MEMBERS.get(format, "")) if isinstance(source, dict) else None
    return named if isinstance(named, str) else role


def _retries(format: str, message: Any) -> int:
    if format != "pydantic-ai":
        return 0
    return sum(part.get("source", {}).get("part_kind") == "retry-prompt" for part in message["content"])


def stored_counts(store: ConversationStore, data: bytes, user: str) -> list[Counted]:
    """The conversations in ``data``, in its order, as the store has them; each message counted once.

    What a line has from another one is told by the reader: a store copies it.
    """
    source = ByteInput([data])
    found = detect(source)
    heads = {head.source.id: head for head in store.scan(user=user) if head.source is not None}
    if found.read is None:
        mains = [(id, 0, list[tuple[str, int]]()) for id in heads]
    else:
        items = [item for item in found.read(source, ReadOptions(user=user)) if isinstance(item, Imported)]
        mains = [
            (
                item.source.id,
                inherited(item),
                [(one.source.id, inherited(one)) for one in whole_branches(item)],
            )
            for item in items
        ]
    counts = []
    for id, before, branches in mains:
        counted = Counted()
        head = heads.pop(id)
        if found.name == "codex":
            # The index counts the times of all lines, which here are those of the session.
            counted.made += [head.created_at, head.updated_at]
        entries = list(store.entries(head.id))
        counted.active = sum(lines_of(found.name, entry.message) for entry in entries)
        own = entries[before:]
        for branch, after in branches:
            own += list(store.entries(heads.pop(branch).id))[after:]
        for entry in own:
            counted.add(found.name, entry)
        counts.append(counted)
    assert not heads, f"stored, and not in the source: {list(heads)}"
    return counts
