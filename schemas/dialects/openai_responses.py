"""The items of OpenAI's Responses API: messages, calls, results, reasoning, each by itself
(``spec/formats.md`` 8). Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from convostore.schemas.dialects.dialect import Call, Dialect, Result
from convostore.schemas.json_values import JSON
from convostore.schemas.messages import (
    AnyPart,
    FileDataPart,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
)

__all__ = ["DIALECT", "is_call", "is_result"]

_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file", "refusal", "summary_text"})
_OF_OTHERS = ("tool_calls", "tool_call_id", "function_call", "refusal", "origin", "stop")
# The agents in JavaScript call a result one, and name its call ``callId``.
_ENDS_OF_RESULTS = ("_call_output", "_call_result", "tool_search_output", "program_output")
_OTHER_ITEMS = frozenset(
    {"reasoning", "program", "program_output", "mcp_list_tools", "mcp_approval_request", "compaction"}
)


def is_call(item: Mapping[str, Any]) -> bool:
    """Whether the item asks for a tool."""
    kind = item.get("type")
    return isinstance(kind, str) and (kind.endswith("_call") or kind == "program")


def is_result(item: Mapping[str, Any]) -> bool:
    """Whether the item is what a tool gave back."""
    kind = item.get("type")
    return isinstance(kind, str) and kind.endswith(_ENDS_OF_RESULTS)


def _fits(message: Mapping[str, Any]) -> bool:
    kind = message.get("type", "message")
    if not isinstance(kind, str) or any(name in message for name in _OF_OTHERS):
        return False
    if kind != "message":
        return "role" not in message and (is_call(message) or is_result(message) or kind in _OTHER_ITEMS)
    content = message.get("content")
    if not isinstance(message.get("role"), str):
        return False
    if isinstance(content, str):
        return True
    return isinstance(content, list) and bool(content) and all(map(_is_its_part, content))


def _is_its_part(part: JSON) -> bool:
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and kind in _PARTS


def _parts(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    return content if isinstance(content, list) else []


def _role(message: Mapping[str, Any]) -> str | None:
    role = message.get("role")
    if isinstance(role, str):
        return role
    return "tool" if is_result(message) else "assistant"


def _texts(message: Mapping[str, Any]) -> list[str]:
    if message.get("type", "message") != "message":
        return []
    found = (part.get("text", part.get("refusal")) for part in _parts(message) if isinstance(part, dict))
    return [text for text in found if isinstance(text, str)]


def _calls(message: Mapping[str, Any]) -> list[Call]:
    if not is_call(message):
        return []
    kind = str(message.get("type"))
    names = ("arguments", "input", "action", "code")
    given = next((message[name] for name in names if name in message), None)
    name = _text(message.get("name")) or kind.removesuffix("_call")
    return [Call(_call_id(message) or _text(message.get("id")), name, _arguments(given), 0)]


def _arguments(given: JSON) -> JSON:
    if isinstance(given, str) and given.lstrip()[:1] == "{":
        try:
            return json.loads(given)
        except (ValueError, RecursionError):
            return given
    return given


def _results(message: Mapping[str, Any]) -> list[Result]:
    if not is_result(message):
        return []
    output = next((message[name] for name in ("output", "result", "tools") if name in message), None)
    return [Result(_call_id(message), None, output)]


def _call_id(message: Mapping[str, Any]) -> str | None:
    return _text(message.get("call_id")) or _text(message.get("callId"))


def _message(message: Mapping[str, Any]) -> Message:
    role = _role(message) or "assistant"
    calls, results = _calls(message), _results(message)
    parts: list[Part]
    if calls:
        parts = [ToolCallPart(name=one.name, args=one.arguments, call_id=one.id) for one in calls]
    elif results:
        parts = [ToolOutputPart(name="", output=one.output, call_id=one.call_id) for one in results]
    elif message.get("type") == "reasoning":
        parts = _thoughts(message)
    elif message.get("type", "message") == "message":
        parts = list(map(_part, _parts(message)))
    else:
        parts = [AnyPart(value=dict(message))]
    return Message(role=role, content=parts)


def _thoughts(message: Mapping[str, Any]) -> list[Part]:
    """Its summary and text; what is encrypted stays unknown."""
    listed = [message.get("summary"), message.get("content")]
    held = [part for parts in listed if isinstance(parts, list) for part in parts]
    texts = [part.get("text") for part in held if isinstance(part, dict)]
    found: list[Part] = [ReasoningPart(text=text) for text in texts if isinstance(text, str)]
    return found if found and "encrypted_content" not in message else [*found, AnyPart(value=dict(message))]


def _part(part: JSON) -> Part:
    kind = part.get("type") if isinstance(part, dict) else None
    text = part.get("refusal" if kind == "refusal" else "text") if isinstance(part, dict) else None
    if kind in ("input_text", "output_text", "summary_text", "refusal") and isinstance(text, str):
        return TextPart(text=text)
    url = part.get("image_url") if kind == "input_image" else None
    return FileDataPart(file_uri=url) if isinstance(url, str) else AnyPart(value=part)


def _text(value: JSON) -> str | None:
    return value if isinstance(value, str) else None


DIALECT = Dialect("openai-responses", _fits, _role, _texts, _calls, _results, _message)
