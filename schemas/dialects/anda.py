"""The messages of Anda: ``{"role", "content": [parts with PascalCase types]}`` (``spec/anda.md`` 3). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from convostore.schemas.dialects.dialect import Call, Dialect, Result
from convostore.schemas.messages import ToolCallPart, ToolOutputPart, parse_message, read_part

__all__ = ["DIALECT"]

_OF_OTHERS = ("tool_calls", "tool_call_id", "function_call", "origin", "stop")


def _fits(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    if not isinstance(message.get("role"), str) or not isinstance(content, list):
        return False
    if any(name in message for name in _OF_OTHERS):
        return False
    return not content or any(isinstance(part, str) or _kind(part)[:1].isupper() for part in content)


def _role(message: Mapping[str, Any]) -> str | None:
    role = message.get("role")
    return role if isinstance(role, str) else None


def _texts(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    found = (part.get("text") if _kind(part) == "Text" else part for part in parts)
    return [text for text in found if isinstance(text, str)]


def _calls(message: Mapping[str, Any]) -> list[Call]:
    return [
        Call(_id(part.call_id, raw), part.name, part.args, index)
        for index, raw, part in _parts(message, "ToolCall")
        if isinstance(part, ToolCallPart)
    ]


def _results(message: Mapping[str, Any]) -> list[Result]:
    return [
        Result(_id(part.call_id, raw), part.name, part.output, part.is_error)
        for _, raw, part in _parts(message, "ToolOutput")
        if isinstance(part, ToolOutputPart)
    ]


def _parts(message: Mapping[str, Any], kind: str) -> Iterator[tuple[int, Mapping[str, Any], Any]]:
    content = message.get("content")
    for index, raw in enumerate(content if isinstance(content, list) else []):
        if _kind(raw) == kind:
            yield index, raw, read_part(raw)


def _id(found: str | None, raw: Mapping[str, Any]) -> str | None:
    # The engine's own tool types, which exports mix up with the parts, have it in snake_case.
    other = raw.get("call_id")
    return other if found is None and isinstance(other, str) else found


def _kind(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else ""


DIALECT = Dialect("anda", _fits, _role, _texts, _calls, _results, parse_message)
