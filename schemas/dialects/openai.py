"""The messages of OpenAI's chat completions: ``content`` as text, ``tool_calls``, role ``tool``. Pure.

Data sets for training in this form may hold texts, thoughts and calls as parts of the content with a
``value`` (``{"type": "tool_call", "value": "{...}"}``); those are read as well.
"""

from __future__ import annotations

import json
import re
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

_KINDS = frozenset(("text", "refusal", "image_url", "input_audio", "file"))
_ITS_OWN = ("tool_calls", "tool_call_id", "function_call", "refusal", "audio")
_OF_OTHERS = ("origin", "stop")
_OF_OTHER_PARTS = ("cache_control", "citations", "native")
_DATA_URL = re.compile(r"data:([^;,]+)(?:;[^;,]+)*;base64,", re.IGNORECASE)


def _fits(message: Mapping[str, Any]) -> bool:
    if not isinstance(message.get("role"), str) or any(name in message for name in _OF_OTHERS):
        return False
    if any(name in message for name in _ITS_OWN):
        return True
    content = message.get("content", [])
    if isinstance(content, list):
        return bool(content) and all(map(_is_its_part, content))
    return content is None or isinstance(content, str)


def _is_its_part(part: JSON) -> bool:
    if not isinstance(part, dict) or any(name in part for name in _OF_OTHER_PARTS):
        return False
    kind = part.get("type")
    return isinstance(kind, str) and kind in _KINDS


def _role(message: Mapping[str, Any]) -> str | None:
    return _text(message.get("role"))


def _texts(message: Mapping[str, Any]) -> list[str]:
    if _is_result(message):
        return []
    content = message.get("content")
    found: list[Any] = [content]
    if isinstance(content, list):
        found = [part.get("text", part.get("refusal")) for part in content if isinstance(part, dict)]
        found += _valued(message, "text")
    found.append(message.get("refusal"))
    return [text for text in found if isinstance(text, str)]


def _calls(message: Mapping[str, Any]) -> list[Call]:
    calls = message.get("tool_calls")
    listed = enumerate(calls if isinstance(calls, list) else [])
    found = [_call(call, index) for index, call in listed if isinstance(call, dict)]
    found += _calls_in_content(message)
    # Its form before there were tools: one call, without an id.
    only = message.get("function_call")
    if isinstance(only, dict):
        found.append(Call(None, _text(only.get("name")) or "", _arguments(only.get("arguments")), 0))
    return found


def _valued(message: Mapping[str, Any], kind: str) -> list[Any]:
    """The values of the parts of that kind that have one."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return [
        part["value"]
        for part in parts
        if isinstance(part, dict) and part.get("type") == kind and "value" in part
    ]


def _calls_in_content(message: Mapping[str, Any]) -> list[Call]:
    calls = map(_arguments, _valued(message, "tool_call"))
    return [
        Call(None, call["name"], _arguments(call.get("arguments")), index)
        for index, call in enumerate(calls)
        if isinstance(call, dict) and isinstance(call.get("name"), str)
    ]


def _call(call: Mapping[str, Any], index: int) -> Call:
    nested = next((call[name] for name in ("function", "custom") if isinstance(call.get(name), dict)), call)
    given = nested.get("arguments", nested.get("input"))
    return Call(_text(call.get("id")), _text(nested.get("name")) or "", _arguments(given), index)


def _arguments(given: JSON) -> JSON:
    if isinstance(given, str) and given.lstrip()[:1] == "{":
        try:
            return json.loads(given)
        except (ValueError, RecursionError):
            return given
    return given


def _results(message: Mapping[str, Any]) -> list[Result]:
    if not _is_result(message):
        return []
    call_id, name = _text(message.get("tool_call_id")), _text(message.get("name"))
    return [Result(call_id, name, message.get("content"))]


def _is_result(message: Mapping[str, Any]) -> bool:
    return message.get("role") in ("tool", "function")


def _message(message: Mapping[str, Any]) -> Message | None:
    role = _role(message)
    if role is None:
        return None
    parts: list[Part] = [ReasoningPart(text=text) for text in _thoughts(message)]
    parts += _content(message)
    parts += [ToolCallPart(name=call.name, args=call.arguments, call_id=call.id) for call in _calls(message)]
    return Message(role=role, content=parts, name=_text(message.get("name")))


def _thoughts(message: Mapping[str, Any]) -> list[str]:
    found = (message.get(name) for name in ("reasoning_content", "reasoning"))
    told = [text for text in found if isinstance(text, str) and text][:1]
    return told + [text for text in _valued(message, "reasoning") if isinstance(text, str)]


def _content(message: Mapping[str, Any]) -> list[Part]:
    content, refusal = message.get("content"), message.get("refusal")
    if _is_result(message):
        result = _results(message)[0]
        return [ToolOutputPart(name=result.name or "", output=result.output, call_id=result.call_id)]
    parts: list[Part] = []
    if isinstance(content, list):
        parts = [_part(part) for part in content if not _is_told_apart(part)]
    elif content not in (None, ""):
        parts = [TextPart(text=content) if isinstance(content, str) else AnyPart(value=content)]
    if isinstance(refusal, str) and refusal:
        parts.append(TextPart(text=refusal))
    return parts


def _is_told_apart(part: JSON) -> bool:
    """Whether it is a thought or a call that is read as such."""
    if not isinstance(part, dict) or part.get("type") not in ("reasoning", "tool_call"):
        return False
    if part["type"] == "tool_call":
        return bool(_calls_in_content({"content": [part]}))
    return isinstance(part.get("value"), str)


def _part(part: JSON) -> Part:
    kind = part.get("type") if isinstance(part, dict) else None
    held = part.get(kind, part.get("value") if kind == "text" else None) if isinstance(kind, str) else None
    if kind in ("text", "refusal") and isinstance(held, str):
        return TextPart(text=held)
    if kind == "image_url" and isinstance(held, dict) and isinstance(held.get("url"), str):
        return _linked(held["url"])
    if kind == "file" and isinstance(held, dict) and isinstance(held.get("file_data"), str):
        return _linked(held["file_data"])
    if kind == "input_audio" and isinstance(held, dict):
        data = _bytes(held.get("data"))
        if data is not None and isinstance(held.get("format"), str):
            return InlineDataPart(mime_type=f"audio/{held['format']}", data=data)
    return AnyPart(value=part)


def _linked(url: str) -> Part:
    data_url = _DATA_URL.match(url)
    data = None if data_url is None else _bytes(url[data_url.end() :])
    if data_url is None or data is None:
        return FileDataPart(file_uri=url)
    return InlineDataPart(mime_type=data_url[1], data=data)


def _bytes(text: JSON) -> bytes | None:
    try:
        return read_bytes(text, "data") if isinstance(text, str) else None
    except InvalidRecordError:
        return None


def _text(value: JSON) -> str | None:
    return value if isinstance(value, str) else None


DIALECT = Dialect("openai", _fits, _role, _texts, _calls, _results, _message)
