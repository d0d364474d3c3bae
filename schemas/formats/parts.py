"""Parts and messages in Anda's form, made from what other programs write. Pure.

What Anda has no name for rides along under ``source``, in the part or the message that it belongs to: Anda's
readers pass over members they do not know, and the store keeps a message as it is. A part that Anda has no
kind for is the source's own JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from convostore.schemas.byte_text import write_bytes
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage

__all__ = [
    "UNKNOWN_ROLE",
    "Piece",
    "arguments_of",
    "file_part",
    "inline_part",
    "message",
    "odd_piece",
    "reasoning",
    "rest_of",
    "text",
    "tool_call",
    "tool_output",
]

UNKNOWN_ROLE = "unknown"
"""The role of a message whose source does not say, in a form that can be read, who speaks."""

_NOTHING: Mapping[str, JSON] = MappingProxyType({})


@dataclass(slots=True)
class Piece:
    """One message converted, with what the source says of it beside."""

    message: JSON
    made: int | None = None
    dialect: str | None = "anda"
    resources: Sequence[Resource] = ()
    usage: Usage | None = None


def rest_of(value: Mapping[str, JSON], *names: str) -> dict[str, JSON]:
    """The members but for the named ones."""
    return {name: item for name, item in value.items() if name not in names}


def _with_source(part: dict[str, JSON], rest: Mapping[str, JSON]) -> dict[str, JSON]:
    return {**part, "source": dict(rest)} if rest else part


def text(text: str, rest: Mapping[str, JSON] = _NOTHING) -> JSON:
    """Text for people to read."""
    return _with_source({"type": "Text", "text": text}, rest)


def reasoning(text: str, rest: Mapping[str, JSON] = _NOTHING) -> JSON:
    """What the model thought."""
    return _with_source({"type": "Reasoning", "text": text}, rest)


def tool_call(name: str, args: JSON, call_id: JSON = None, rest: Mapping[str, JSON] = _NOTHING) -> JSON:
    """A request for a tool."""
    part = {"type": "ToolCall", "name": name, "args": args}
    if isinstance(call_id, str):
        part["callId"] = call_id
    return _with_source(part, rest)


def tool_output(
    name: str,
    output: JSON,
    call_id: JSON = None,
    *,
    is_error: JSON = None,
    rest: Mapping[str, JSON] = _NOTHING,
) -> JSON:
    """What a tool gave back."""
    part: dict[str, JSON] = {"type": "ToolOutput", "name": name, "output": output}
    if isinstance(is_error, bool):
        part["isError"] = is_error
    if isinstance(call_id, str):
        part["callId"] = call_id
    return _with_source(part, rest)


def file_part(resource: Resource, rest: Mapping[str, JSON] = _NOTHING) -> JSON:
    """The file that a resource stands for, by the resource's address."""
    part: dict[str, JSON] = {"type": "FileData", "fileUri": resource.uri or ""}
    if resource.mime_type is not None:
        part["mimeType"] = resource.mime_type
    return _with_source(part, rest)


def inline_part(mime_type: str | None, data: bytes, rest: Mapping[str, JSON] = _NOTHING) -> JSON:
    """Bytes that are part of what is said."""
    kind = mime_type or "application/octet-stream"
    return _with_source({"type": "InlineData", "mimeType": kind, "data": write_bytes(data)}, rest)


def arguments_of(written: JSON) -> JSON:
    """The arguments of a call: the object in a text that holds one, everything else as it is."""
    if isinstance(written, str) and written.lstrip().startswith("{"):
        try:
            found = json.loads(written)
        except (ValueError, RecursionError):
            return written
        return found if isinstance(found, dict) else written
    return written


def message(
    role: JSON, content: list[JSON], made: int | None, *, name: JSON = None, rest: Mapping[str, JSON]
) -> dict[str, JSON]:
    """A message in Anda's form."""
    written: dict[str, JSON] = {"role": role if isinstance(role, str) else UNKNOWN_ROLE, "content": content}
    if isinstance(name, str):
        written["name"] = name
    if made is not None:
        written["timestamp"] = made
    return _with_source(written, rest)


def odd_piece(value: JSON) -> Piece:
    """What stands where a message should, kept whole."""
    return Piece(message(UNKNOWN_ROLE, [value], None, rest={}))
