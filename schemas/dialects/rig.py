"""The messages of rig: parts with lower-case types, a reply says how it stopped (``spec/rig.md`` 1). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convostore.schemas.dialects.dialect import Call, Dialect, Result
from convostore.schemas.json_values import JSON
from convostore.schemas.messages import Message, parse_message
from convostore.schemas.rig.anda_parts import anda_part

__all__ = ["DIALECT"]

_ROLES = frozenset({"system", "user", "assistant"})
_OF_OTHERS = ("tool_calls", "tool_call_id", "function_call", "refusal", "audio", "name", "timestamp")
_TEXTS = frozenset({"text", "reasoning"})
_SOURCED = frozenset({"image", "audio", "video", "document"})


def _fits(message: Mapping[str, Any]) -> bool:
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or role not in _ROLES or any(name in message for name in _OF_OTHERS):
        return False
    if role == "system":
        return isinstance(content, str)
    return isinstance(content, list) and all(map(_is_its_part, content))


def _is_its_part(part: JSON) -> bool:
    kind = _kind(part)
    if kind in _TEXTS:
        return isinstance(part.get("text"), str)
    if kind in _SOURCED:
        return _kind(part.get("data")) != ""
    return (
        (kind == "toolcall" and isinstance(part.get("function"), dict))
        or (kind == "toolresult" and isinstance(part.get("call"), dict))
        or (kind == "opaque" and "item" in part)
    )


def _kind(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else ""


def _parts(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _role(message: Mapping[str, Any]) -> str | None:
    role = message.get("role")
    return role if isinstance(role, str) else None


def _texts(message: Mapping[str, Any]) -> list[str]:
    found = (part.get("text") for part in _parts(message) if _kind(part) == "text")
    return [text for text in found if isinstance(text, str)]


def call_id_text(id: JSON) -> str | None:
    """The text of a call id: the provider's ``call_id``, or the local UUID."""
    provider = id.get("provider") if isinstance(id, dict) else None
    found = provider.get("call_id") if isinstance(provider, dict) else None
    if found is None and isinstance(id, dict):
        found = id.get("local")
    return found if isinstance(found, str) else None


def _calls(message: Mapping[str, Any]) -> list[Call]:
    found: list[Call] = []
    for index, part in enumerate(_parts(message)):
        function = part.get("function") if _kind(part) == "toolcall" else None
        if isinstance(function, dict):
            name = function.get("name")
            arguments = function.get("arguments", {})
            found.append(
                Call(call_id_text(part.get("id")), name if isinstance(name, str) else "", arguments, index)
            )
    return found


def _results(message: Mapping[str, Any]) -> list[Result]:
    return [
        Result(call_id_text(part.get("call")), part.get("name"), part.get("content"), part.get("is_error"))
        for part in _parts(message)
        if _kind(part) == "toolresult"
    ]


def _message(message: Mapping[str, Any]) -> Message | None:
    role = _role(message)
    if role is None:
        return None
    return parse_message({"role": role, "content": [anda_part(part) for part in _parts(message)]})


DIALECT = Dialect("rig", _fits, _role, _texts, _calls, _results, _message)
