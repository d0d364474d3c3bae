"""The messages of Anthropic: blocks, tool results in messages of the user (``spec/formats.md`` 10). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convostore.schemas.byte_text import read_bytes
from convostore.schemas.dialects.dialect import Call, Dialect, Result
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON
from convostore.schemas.messages import (
    AnyPart,
    FileDataPart,
    InlineDataPart,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
)

__all__ = ["DIALECT"]

_ROLES = frozenset({"user", "assistant"})
_OF_OTHERS = (
    "tool_calls",
    "tool_call_id",
    "function_call",
    "refusal",
    "audio",
    "name",
    "timestamp",
    "origin",
    "stop",
)
_SOURCED = frozenset({"image", "document"})
_ITS_OWN = frozenset(
    {
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_result",
        "server_tool_use",
        "mcp_tool_use",
        "search_result",
        "container_upload",
        "compaction",
    }
)


def _fits(message: Mapping[str, Any]) -> bool:
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or role not in _ROLES or any(name in message for name in _OF_OTHERS):
        return False
    if isinstance(content, str):
        return True
    return isinstance(content, list) and bool(content) and all(map(_is_its_block, content))


def _is_its_block(block: JSON) -> bool:
    kind = _kind(block)
    if kind == "text":
        return isinstance(block.get("text"), str)
    if kind in _SOURCED:
        return isinstance(block.get("source"), dict)
    return kind in _ITS_OWN or kind.endswith("_tool_result")


def _kind(block: Any) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else ""


def _blocks(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _role(message: Mapping[str, Any]) -> str | None:
    return _text(message.get("role"))


def _texts(message: Mapping[str, Any]) -> list[str]:
    found = (block.get("text") for block in _blocks(message) if _kind(block) == "text")
    return [text for text in found if isinstance(text, str)]


def _calls(message: Mapping[str, Any]) -> list[Call]:
    return [
        Call(_text(block.get("id")), _text(block.get("name")) or "", block.get("input"), index)
        for index, block in enumerate(_blocks(message))
        if _kind(block).endswith("tool_use")
    ]


def _results(message: Mapping[str, Any]) -> list[Result]:
    return [_result(block) for block in _blocks(message) if _kind(block).endswith("tool_result")]


def _result(block: Mapping[str, Any]) -> Result:
    is_error = block.get("is_error")
    return Result(
        _text(block.get("tool_use_id")),
        None,
        block.get("content"),
        is_error if isinstance(is_error, bool) else None,
    )


def _message(message: Mapping[str, Any]) -> Message | None:
    role = _role(message)
    return None if role is None else Message(role=role, content=list(map(_part, _blocks(message))))


def _part(block: JSON) -> Part:
    kind = _kind(block)
    text = block.get(kind) if kind in ("text", "thinking") else None
    if isinstance(text, str):
        return TextPart(text=text) if kind == "text" else ReasoningPart(text=text)
    if kind.endswith("tool_use"):
        return ToolCallPart(
            name=_text(block.get("name")) or "", args=block.get("input"), call_id=_text(block.get("id"))
        )
    if kind.endswith("tool_result"):
        result = _result(block)
        return ToolOutputPart(name="", output=result.output, call_id=result.call_id, is_error=result.is_error)
    source = block.get("source") if kind in _SOURCED else None
    return AnyPart(value=block) if not isinstance(source, dict) else _sourced(source, block)


def _sourced(source: Mapping[str, Any], block: JSON) -> Part:
    """An image or document by its address or its bytes; any other kind of source stays unknown."""
    mime, url = _text(source.get("media_type")), _text(source.get("url"))
    if source.get("type") == "url" and url is not None:
        return FileDataPart(file_uri=url, mime_type=mime)
    if source.get("type") == "base64" and mime is not None and isinstance(source.get("data"), str):
        try:
            return InlineDataPart(mime_type=mime, data=read_bytes(source["data"], "data"))
        except InvalidRecordError:
            pass  # No base64: kept as it is.
    return AnyPart(value=block)


def _text(value: JSON) -> str | None:
    return value if isinstance(value, str) else None


DIALECT = Dialect("anthropic", _fits, _role, _texts, _calls, _results, _message)
