"""Short conversations of rig's messages for the transcript's tests."""

from __future__ import annotations

from itertools import count
from typing import Any

from convostore.schemas.authors import Author
from convostore.schemas.transcript import ChangeRecord, Transcript

Json = dict[str, Any]

P = Author.plugin("compact")
"""The plugin that edits in these tests."""


def u(text: str = "hi") -> Json:
    """A user message."""
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def a(text: str = "hello", **members: Any) -> Json:
    """A reply."""
    return {"role": "assistant", "content": [{"type": "text", "text": text}], **members}


def system(text: str = "Answer in French.") -> Json:
    """An instruction."""
    return {"role": "system", "content": text}


def call(*ids: str, **members: Any) -> Json:
    """A reply with calls of these ids."""
    return {"role": "assistant", "content": [call_part(id) for id in ids], **members}


def call_part(id: str) -> Json:
    """One call."""
    function = {"name": "read", "arguments": {}}
    return {"type": "toolcall", "id": {"provider": {"call_id": id}}, "function": function}


def res(*ids: str, text: str | None = None) -> Json:
    """A user message with results of these ids, and a text."""
    parts = [result_part(id) for id in ids]
    return {"role": "user", "content": parts + ([{"type": "text", "text": text}] if text else [])}


def result_part(id: str) -> Json:
    """One result."""
    content = [{"type": "text", "text": "done"}]
    return {"type": "toolresult", "call": {"provider": {"call_id": id}}, "name": "read", "content": content}


def made_up(id: str) -> Json:
    """The result that is made up for a call."""
    part = result_part(id)
    return {**part, "content": [{"type": "text", "text": "No result provided"}], "is_error": True}


def conversation(*messages: Json) -> Transcript:
    """A transcript with these messages, each its own push, on a clock that ticks by 1,000 ms, all saved."""
    ticks = count(1_790_848_800_000, 1000)
    t = Transcript(clock=lambda: next(ticks))
    for message in messages:
        t.push(message)
    t.take_unsaved()
    return t


def ids(t: Transcript) -> list[int]:
    """The ids of its entries."""
    return [ref.id for ref in t]


def kinds(records: list[ChangeRecord]) -> list[str]:
    """What the records are."""
    return [type(record.change).__name__.removesuffix("Change").lower() for record in records]
