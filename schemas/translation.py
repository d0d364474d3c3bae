"""Messages said in another dialect: Anda's, rig's or OpenAI's chat (parts: ``rig.anda_parts``). Pure.

What the other dialect has no word for is left out or kept as JSON; ``conversion`` carries the originals.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from convostore.schemas.dialects import DIALECTS, dialect_of, message_of
from convostore.schemas.entries import Entry
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON
from convostore.schemas.pairing import for_model
from convostore.schemas.rig.anda_parts import anda_part, rig_part

__all__ = ["anda_message", "openai_messages", "rig_message", "said_to_model", "translated"]

_RIG_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "tool": "user",
    "function": "user",
    "assistant": "assistant",
}


def translated(messages: Iterable[JSON | Entry], dialect: str) -> list[JSON]:
    """The messages in that dialect; those that are in it already are the same objects.

    An entry's own dialect counts before the shape of its message. A message may become several: OpenAI
    has one for each tool result.

    Raises:
        InvalidRecordError: nothing can be said in a dialect of that name.

    """
    if dialect not in _WRITERS:
        reason = f"{ascii(dialect)[:80]} is none of {', '.join(_WRITERS)}"
        raise InvalidRecordError("dialect", reason)
    said: list[JSON] = []
    for given in messages:
        message, of = (given.message, given.dialect) if isinstance(given, Entry) else (given, None)
        if of not in DIALECTS:
            of = dialect_of(message)
        said.extend([message] if of in (None, dialect) else _WRITERS[dialect](message, of))
    return said


def said_to_model(messages: Sequence[JSON | Entry], dialect: str | None = None) -> list[JSON]:
    """What a provider call may be given, in one dialect, or each message in its own.

    As ``pairing.for_model``: paired, repaired, failed and unfinished turns left out.

    Raises:
        InvalidRecordError: nothing can be said in a dialect of that name.

    """
    shown = for_model(messages).messages
    if dialect is None:
        return shown
    # Only once more, as results that were messages of their own may now be parts of one.
    return for_model(translated(shown, dialect)).messages


def anda_message(message: JSON, dialect: str | None = None) -> JSON:
    """The message as Anda says it; what is no message stays as it is.

    A user message of rig that holds nothing but tool results has the role ``tool``.
    """
    dialect = dialect or dialect_of(message)
    if dialect in (None, "anda"):
        return message
    if dialect != "rig":
        read = message_of(message, dialect)
        return message if read is None else read.to_json()
    content = message.get("content")
    parts = list(map(anda_part, content if isinstance(content, list) else [_text(content)]))
    results = bool(parts) and all(_kind(part) == "ToolOutput" for part in parts)
    role = "tool" if results and message.get("role") == "user" else message.get("role")
    return {"role": role, "content": parts}


def _text(content: JSON) -> JSON:
    return {"type": "text", "text": content if isinstance(content, str) else ""}


def rig_message(message: JSON, dialect: str | None = None) -> JSON:
    """The message as rig says it; one of no role that rig has, or none at all, stays as it is."""
    dialect = dialect or dialect_of(message)
    if dialect == "rig":
        return message
    said = anda_message(message, dialect)
    role = (
        _RIG_ROLES.get(said.get("role", ""))
        if isinstance(said, dict) and _is_text(said.get("role"))
        else None
    )
    if role is None:
        return message
    content = said.get("content")
    parts: list[Any] = content if isinstance(content, list) else [] if content is None else [content]
    if role == "system":
        texts = [part if isinstance(part, str) else part.get("text") for part in parts if _has_text(part)]
        return {"role": role, "content": "\n\n".join(text for text in texts if isinstance(text, str))}
    return {"role": role, "content": [rig_part(part, reply=role == "assistant") for part in parts]}


def _is_text(value: JSON) -> bool:
    return isinstance(value, str)


def _has_text(part: JSON) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and part.get("type") == "Text")


def openai_messages(message: JSON, dialect: str | None = None) -> list[JSON]:
    """The message as OpenAI's chat says it: results first, a message each; thoughts are left out."""
    dialect = dialect or dialect_of(message)
    said = anda_message(message, dialect)
    if dialect in (None, "openai") or not isinstance(said, dict):
        return [message]
    content = said.get("content")
    parts: list[Any] = content if isinstance(content, list) else [content] if content is not None else []
    results = [part for part in parts if _kind(part) == "ToolOutput"]
    calls = [part for part in parts if _kind(part) == "ToolCall"]
    others = [
        part
        for part in parts
        if not isinstance(part, dict) or part.get("type") not in ("ToolOutput", "ToolCall", "Reasoning")
    ]
    written: list[JSON] = [_tool_message(part) for part in results]
    if others or calls or not results:
        rest: dict[str, Any] = {"role": said.get("role"), "content": _content(others) if others else None}
        if rest["content"] is None and not calls:
            rest["content"] = ""
        if calls:
            rest["tool_calls"] = [_tool_call(part) for part in calls]
        written.append(rest)
    return written


def _kind(part: JSON) -> JSON:
    return part.get("type") if isinstance(part, dict) else None


def _tool_message(part: dict[str, Any]) -> JSON:
    output = part.get("output")
    text = output if isinstance(output, str) else json.dumps(output)
    id = part.get("callId")
    named = {"name": part.get("name")} if id is None else {"tool_call_id": id}
    return {"role": "tool", **named, "content": text}


def _tool_call(part: dict[str, Any]) -> JSON:
    args = part.get("args")
    function = {"name": part.get("name"), "arguments": args if isinstance(args, str) else json.dumps(args)}
    named = {} if part.get("callId") is None else {"id": part["callId"]}
    return {**named, "type": "function", "function": function}


def _content(parts: list[Any]) -> JSON:
    if len(parts) == 1 and _has_text(parts[0]):
        return parts[0] if isinstance(parts[0], str) else parts[0].get("text")
    return [_content_part(part) for part in parts]


def _content_part(part: JSON) -> JSON:
    kind = _kind(part)
    if _has_text(part):
        return {"type": "text", "text": part if isinstance(part, str) else part.get("text")}
    if kind == "InlineData" and str(part.get("mimeType")).startswith("image/"):
        data = str(part.get("data")).removeprefix("b64:").translate(str.maketrans("-_", "+/"))
        return {"type": "image_url", "image_url": {"url": f"data:{part['mimeType']};base64,{data}"}}
    if kind == "FileData":
        return {"type": "image_url", "image_url": {"url": part.get("fileUri")}}
    return part


_WRITERS: dict[str, Callable[[JSON, str | None], list[JSON]]] = {
    "anda": lambda message, dialect: [anda_message(message, dialect)],
    "rig": lambda message, dialect: [rig_message(message, dialect)],
    "openai": openai_messages,
}
