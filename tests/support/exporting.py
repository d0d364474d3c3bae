"""Writing conversations in tests: what a writer is given, and what it makes of it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from convostore.schemas.authors import Author
from convostore.schemas.conversations import Conversation
from convostore.schemas.entries import Entry
from convostore.schemas.formats.outgoing import File, Losses, Outgoing
from convostore.schemas.formats.writers import WRITERS
from convostore.schemas.resources import Resource

NOON = 1_772_971_200_000
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
STANDARD = base64.b64encode(PNG).decode()
INLINE = base64.urlsafe_b64encode(PNG).decode()

ANDA: list[Any] = [
    {"role": "system", "content": [{"type": "Text", "text": "Be brief."}]},
    {"role": "user", "name": "Al", "timestamp": NOON, "source": {"uuid": "u1", "n": None}, "content": [
        {"type": "Text", "text": "What is on\nthis picture?"},
        {"type": "InlineData", "mimeType": "image/png", "data": f"b64:{INLINE}"},
        {"type": "FileData", "fileUri": "urn:photo", "mimeType": "image/png"},
        {"type": "FileData", "fileUri": "https://example.com/b.png"},
    ]},
    {"role": "assistant", "content": [
        {"type": "Reasoning", "text": "A cat? Let me *look*."},
        {"type": "Text", "text": "Let me see:"},
        {"type": "ToolCall", "name": "look", "args": {"at": [1, 2.0], "deep": None}, "callId": "k1"},
        {"type": "ToolCall", "name": "zoom", "args": {}, "callId": "k2"},
    ]},
    {"role": "tool", "content": [
        {"type": "ToolOutput", "name": "look", "output": {"cat": True}, "callId": "k1"}]},
    {"role": "tool", "content": [
        {"type": "ToolOutput", "name": "zoom", "output": "no zoom", "isError": True, "callId": "k2"}]},
    {"role": "assistant", "content": [
        {"type": "Text", "text": "# A cat\n\n```python\nprint('cat')\n"},
        {"type": "hologram", "layers": [1, None]},
        None,
    ]},
    {"role": "user", "content": []},
]  # fmt: skip
"""Tools, thoughts, pictures, nulls and unknown parts in Anda's form."""

OPENAI: list[Any] = [
    {"role": "user", "content": [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{STANDARD}"}},
    ]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
        {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{broken"}},
    ]},
    {"role": "tool", "tool_call_id": "c1", "content": "4"},
    {"role": "tool", "tool_call_id": "c2", "content": ""},
    {"role": "assistant", "content": "four", "annotations": [], "refusal": None},
]  # fmt: skip

ANTHROPIC: list[Any] = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "eA=="},
        {"type": "text", "text": "I look"},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "sea"}},
    ]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "is_error": False, "content": [
            {"type": "text", "text": "waves"}, {"type": "text", "text": "wind"}]},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": INLINE}},
    ]},
]  # fmt: skip


def outgoing(messages: Sequence[Any], *, files: dict[int, File] | None = None, **members: Any) -> Outgoing:
    """A conversation to write, the second of its entries by a plugin."""
    given = {"id": 17, "user": "alice", "status": "completed", "created_at": NOON, "updated_at": NOON + 5}
    entries = [
        Entry(
            place,
            message,
            made=NOON + place if place % 2 else None,
            author=Author.plugin("memory") if place == 1 else None,
        )
        for place, message in enumerate(messages)
    ]
    beside = {name: members.pop(name) for name in ("source", "unknown", "forked_from") if name in members}
    record = Conversation(**(given | members))
    return Outgoing(record, iter(entries), len(entries), files=files or {}, **beside)


def written(name: str, given: Outgoing, notes: list[str] | None = None, *, strict: bool = False) -> str:
    """What the format's writer makes of it."""
    losses = Losses(name, (lambda text: None) if notes is None else notes.append, strict=strict)
    return "".join(WRITERS[name].write(given, losses))


def stored_file(resource: Resource, data: bytes) -> File:
    """Bytes as they lie in a store, given in small pieces."""
    return File(resource, len(data), lambda: (data[place : place + 7] for place in range(0, len(data), 7)))
