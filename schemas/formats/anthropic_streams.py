"""Anthropic's answers as streams of events, put together to the Message that they told. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from convostore.schemas.json_values import JSON

__all__ = ["streamed_message"]

# What a piece is added to, by its type; the name is that of its member, too, but for the pieces of JSON.
_GROWS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}


def streamed_message(body: str) -> dict[str, JSON] | None:
    """The Message in the text of a stream; None when it is none, cut off, or has pieces of unknown kinds."""
    message: dict[str, Any] | None = None
    blocks: list[dict[str, Any]] = []
    ended = False
    for event in _events(body):
        kind = event.get("type")
        if kind == "message_start" and isinstance(event.get("message"), dict):
            message = dict(event["message"])
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            blocks.append(dict(event["content_block"]))
        elif kind == "content_block_delta":
            if (
                not blocks
                or event.get("index") != len(blocks) - 1
                or not _grow(blocks[-1], event.get("delta"))
            ):
                return None
        elif kind == "message_delta" and message is not None:
            changed, usage = event.get("delta"), event.get("usage")
            message |= changed if isinstance(changed, dict) else {}
            if isinstance(usage, dict):
                before = message.get("usage")
                message["usage"] = {**(before if isinstance(before, dict) else {}), **usage}
        ended = ended or kind == "message_stop"
    if message is None or not ended or not all(map(_close, blocks)):
        return None
    message["content"] = blocks
    return message


def _events(body: str) -> Iterator[Mapping[str, Any]]:
    for line in body.splitlines():
        if line.startswith("data:"):
            try:
                event = json.loads(line[5:])
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                yield event


def _grow(block: dict[str, Any], delta: JSON) -> bool:
    """Add a piece to a block; False when it is of no kind that is known."""
    kind = delta.get("type") if isinstance(delta, dict) else None
    if kind == "input_json_delta" and isinstance(delta.get("partial_json"), str):
        written = block.get("input")
        block["input"] = (written if isinstance(written, str) else "") + delta["partial_json"]
        return True
    if kind == "citations_delta" and "citation" in delta:
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        return True
    name = _GROWS.get(kind) if isinstance(kind, str) else None
    piece = delta.get(name) if name is not None else None
    if name is None or not isinstance(piece, str):
        return False
    block[name] = (block.get(name) or "") + piece
    return True


def _close(block: dict[str, Any]) -> bool:
    """Read the arguments that came in pieces; False when they are no JSON."""
    if isinstance(block.get("input"), str):
        try:
            block["input"] = json.loads(block["input"] or "{}")
        except (ValueError, RecursionError):
            return False
    return True
