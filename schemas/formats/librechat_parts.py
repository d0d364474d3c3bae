"""The parts of a message as LibreChat's content, and its files. Pure."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from convostore.schemas.conversations import Conversation
from convostore.schemas.formats.outgoing import Losses, Outgoing, result_text
from convostore.schemas.json_output import foreign_json
from convostore.schemas.json_values import JSON
from convostore.schemas.messages import (
    FileDataPart,
    InlineDataPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
)

__all__ = ["Writing", "call_of", "content_of"]


@dataclass(frozen=True, slots=True)
class Writing:
    """What is written, and where losses are said."""

    given: Outgoing
    losses: Losses
    note_result: Callable[[ToolOutputPart, Conversation], None]


def content_of(
    parts: Sequence[tuple[Part, Mapping[str, JSON]]], writing: Writing
) -> tuple[list[JSON], list[JSON]]:
    """The content, and the files at its end, which stand beside it."""
    last = max((n for n, (part, _) in enumerate(parts, 1) if not isinstance(part, FileDataPart)), default=0)
    content: list[JSON] = []
    for part, rest in parts[:last]:
        if isinstance(part, ToolOutputPart):
            call = call_of(content[-1]) if content else None
            writing.note_result(part, writing.given.record)
            if call is not None and "output" not in call and call.get("id") == part.call_id:
                call["output"] = result_text(part.output)
                continue
            # Of a call that is in another message, or that never was.
            id = {} if part.call_id is None else {"id": part.call_id}
            alone: dict[str, JSON] = {**id, "name": part.name, "args": "", "output": result_text(part.output)}
            content.append({"type": "tool_call", "tool_call": alone})
            continue
        content.append(_item(part, rest, writing))
    return content, [_file(part, writing.given) for part, _ in parts[last:] if isinstance(part, FileDataPart)]


def call_of(item: JSON) -> dict[str, JSON] | None:
    """The call in a piece of content; None when there is none."""
    call = item.get("tool_call") if isinstance(item, dict) and item.get("type") == "tool_call" else None
    return call if isinstance(call, dict) else None


def _item(part: Part, rest: Mapping[str, JSON], writing: Writing) -> JSON:
    is_ours = writing.given.source is not None and writing.given.source.format == "librechat"
    more = dict(rest) if is_ours else {}
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text, **more}
    if isinstance(part, ReasoningPart):
        return {"type": "think", "think": part.text, **more}
    if isinstance(part, ToolCallPart):
        id = {} if part.call_id is None else {"id": part.call_id}
        args = part.args if isinstance(part.args, str) else foreign_json(part.args)
        return {"type": "tool_call", "tool_call": {**id, "name": part.name, "args": args, **more}}
    if isinstance(part, InlineDataPart):
        data = base64.b64encode(part.data).decode()
        url = f"data:{part.mime_type};base64,{data}"
        return {"type": "image_url", "image_url": {"url": url, **more}}
    if isinstance(part, FileDataPart):
        return {"type": "image_file", "image_file": _file(part, writing.given)}
    if not is_ours:
        writing.losses.add("parts that LibreChat has not stay as they are", writing.given.record)
    return part.to_json()


def _file(part: FileDataPart, given: Outgoing) -> dict[str, JSON]:
    """What LibreChat knew of the file, else what is known of it here."""
    resource = next((one for one in given.attachments() if one.uri == part.file_uri), None)
    known = resource.metadata if resource is not None else None
    if known is not None and {"file_id", "filepath", "filename"} & known.keys():
        return known
    found: dict[str, JSON] = {"filepath": part.file_uri}
    if resource is not None:
        found["filename"] = resource.name
    kind = part.mime_type or (resource.mime_type if resource is not None else None)
    return found | ({"type": kind} if kind is not None else {})
