"""Anthropic's answers as streams of events, put together to the Messages that they told. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from convostore.schemas.formats.items import Found, Refused
from convostore.schemas.json_values import JSON

__all__ = ["begins_stream", "streamed_message", "unstreamed"]

_BLOCKS = frozenset({"content_block_start", "content_block_delta", "content_block_stop"})
_EVENTS = _BLOCKS | {"message_start", "message_delta", "message_stop", "ping"}
# What a piece is added to, by its type, which names the member that holds the piece, too.
_GROWS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}


def begins_stream(value: JSON) -> bool:
    """Whether it is the event that a stream begins with."""
    if not isinstance(value, dict) or value.get("type") != "message_start":
        return False
    return isinstance(value.get("message"), dict)


def streamed_message(body: str) -> dict[str, JSON] | None:
    """The Message in the text of a stream; None when it is no stream, or cut off."""
    stream = _Stream()
    for line in body.splitlines():
        if line.startswith("data:"):
            try:
                event = json.loads(line[5:])
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict) and stream.take(event):
                return stream.message()
    return None


def unstreamed(values: Iterable[Found | Refused]) -> Iterator[Found | Refused]:
    """The values, events of streams put together to the Message that they told.

    One that was cut off is as far as it came, with a note.
    """
    stream: _Stream | None = None
    begun: Found | None = None
    for found in values:
        value = None if isinstance(found, Refused) else found.value
        kind = value.get("type") if isinstance(value, dict) else None
        if isinstance(value, dict) and begins_stream(value) and isinstance(found, Found):
            if stream is None or begun is None or not stream.is_of(value):
                yield from _cut(begun, stream)
                stream, begun = _Stream(), found
            stream.take(value)
        elif stream is not None and isinstance(value, dict) and isinstance(kind, str) and kind in _EVENTS:
            if stream.take(value) and begun is not None:
                yield Found(begun.position, stream.message(), begun.notes)
                stream = begun = None
        else:
            yield found
    yield from _cut(begun, stream)


def _cut(begun: Found | None, stream: _Stream | None) -> Iterator[Found]:
    if begun is not None and stream is not None:
        notes = (*begun.notes, "the stream of events was cut off; the message is as far as it came")
        yield Found(begun.position, stream.message(), notes)


@dataclass(slots=True)
class _Stream:
    """A Message on its way; blocks by their index."""

    head: dict[str, Any] = field(default_factory=dict)
    blocks: dict[int, Any] = field(default_factory=dict)

    def is_of(self, start: Mapping[str, Any]) -> bool:
        """Whether a second beginning is of the same Message."""
        return not self.blocks and bool(self.head.get("id")) and start["message"].get("id") == self.head["id"]

    def take(self, event: Mapping[str, Any]) -> bool:
        """Take an event; whether it was the last."""
        kind = event.get("type")
        if begins_stream(event):
            self.head = dict(event["message"])
            content = self.head.get("content")
            self.blocks = dict(enumerate(content if isinstance(content, list) else []))
        elif isinstance(kind, str) and kind in _BLOCKS:
            self._take_block(kind, event)
        elif kind == "message_delta":
            changed, usage = event.get("delta"), event.get("usage")
            self.head |= changed if isinstance(changed, dict) else {}
            if isinstance(usage, dict):
                before = self.head.get("usage")
                self.head["usage"] = {**(before if isinstance(before, dict) else {}), **usage}
        return kind == "message_stop" and bool(self.head)

    def _take_block(self, kind: str, event: Mapping[str, Any]) -> None:
        index = event.get("index")
        index = index if type(index) is int else max(self.blocks, default=0)
        if kind == "content_block_start":
            block = event.get("content_block")
            self.blocks[index] = dict(block) if isinstance(block, dict) else block
        elif kind == "content_block_delta":
            block = self.blocks.setdefault(index, {})
            if isinstance(block, dict):
                _grow(block, event.get("delta"))

    def message(self) -> dict[str, JSON]:
        """The Message as far as it came."""
        content = [_closed(block) for _, block in sorted(self.blocks.items())]
        return {**self.head, "content": content}


def _grow(block: dict[str, Any], delta: JSON) -> None:
    """Add a piece to a block; one of a kind that is not known is kept beside."""
    kind = delta.get("type") if isinstance(delta, dict) else None
    name = _GROWS.get(kind) if isinstance(kind, str) else None
    if kind == "input_json_delta" and isinstance(delta.get("partial_json"), str):
        written = block.get("input")
        block["input"] = (written if isinstance(written, str) else "") + delta["partial_json"]
    elif kind == "citations_delta" and "citation" in delta:
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]
    elif (
        name is not None and isinstance(delta.get(name), str) and isinstance(block.get(name, ""), str | None)
    ):
        block[name] = (block.get(name) or "") + delta[name]
    else:
        block["deltas"] = [*block.get("deltas", []), delta]


def _closed(block: JSON) -> JSON:
    """The block with the arguments that came in pieces read; those that are no JSON stay text."""
    if not isinstance(block, dict) or not isinstance(block.get("input"), str):
        return block
    try:
        return {**block, "input": json.loads(block["input"] or "{}")}
    except (ValueError, RecursionError):
        return block
