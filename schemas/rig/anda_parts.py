"""Parts of rig as parts of Anda and back, on JSON (``spec/rig.md`` 1.2, 1.3; ``spec/anda.md`` 3.2). Pure.

======================  ======================================================================================
Anda                    rig
======================  ======================================================================================
``Text``                ``text``
``Reasoning``           ``reasoning``
``ToolCall``            ``toolcall``: name, args as ``function.arguments`` (no object: ``invalid_arguments``),
                        callId as ``id.provider.call_id`` (none: a local id that the name gives)
``ToolOutput``          ``toolresult``: name, output as one ``text`` or one ``json``, isError, callId
``InlineData``          ``image``, ``audio``, ``video``, ``document`` by its MIME type, source ``base64``
``FileData``            the same, source ``url``
any other part          ``opaque`` in a reply, itself in a user message
======================  ======================================================================================

What does not come back equal rides along beside the messages: see ``conversion``.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from convostore.schemas.json_values import JSON

__all__ = ["anda_part", "rig_part"]

_MEDIA = {
    "image": ("jpeg", "png", "gif", "webp", "heic", "heif", "svg"),
    "document": (
        "pdf", "txt", "rtf", "html", "css", "markdown", "csv", "xml", "javascript", "python",
    ),
    "audio": ("wav", "mp3", "aiff", "aac", "ogg", "flac", "m4a", "pcm16", "pcm24"),
    "video": ("avi", "mp4", "mpeg", "mov", "webm"),
}  # fmt: skip
_MIME = {
    "svg": "image/svg+xml", "txt": "text/plain", "html": "text/html", "css": "text/css",
    "markdown": "text/markdown", "csv": "text/csv", "xml": "text/xml", "javascript": "text/javascript",
    "python": "text/x-python", "rtf": "application/rtf", "pdf": "application/pdf", "mp3": "audio/mpeg",
    "m4a": "audio/mp4", "mov": "video/quicktime", "avi": "video/x-msvideo",
}  # fmt: skip


_MIME_OF = {
    (kind, name): _MIME.get(name, f"{kind}/{name}") for kind, names in _MEDIA.items() for name in names
}
# Anda writes base64 for URLs, rig the standard one.
_TO_URL, _FROM_URL = str.maketrans("+/", "-_"), str.maketrans("-_", "+/")
_MEDIA_OF = {mime: media for media, mime in _MIME_OF.items()}

_NAMELESS = uuid.UUID("6f1f0bb2-5a7e-4f0e-9a55-0d3a51c0c9a1")


def anda_part(part: JSON) -> JSON:
    """A part of rig as Anda says it; a part neither knows stays as it is."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return {"type": "Text", "text": part["text"]}
    if kind == "reasoning" and isinstance(part.get("text"), str):
        return {"type": "Reasoning", "text": part["text"]}
    if kind == "toolcall":
        function = part.get("function")
        function = function if isinstance(function, dict) else {}
        call = {"type": "ToolCall", "name": function.get("name"), "args": _arguments(function)}
        return _with_id(call, part.get("id"))
    if kind == "toolresult":
        output = {"type": "ToolOutput", "name": part.get("name"), "output": _output(part.get("content"))}
        if part.get("is_error") is True:
            output["isError"] = True
        return _with_id(output, part.get("call"))
    if kind in _MEDIA:
        return _anda_file(part) or part
    if kind == "opaque" and "item" in part:
        return part["item"]
    return part


def _arguments(function: dict[str, Any]) -> JSON:
    invalid = function.get("invalid_arguments")
    if not isinstance(invalid, str):
        return function.get("arguments", {})
    try:
        return json.loads(invalid)
    except (ValueError, RecursionError):
        return invalid


def _with_id(part: dict[str, Any], id: JSON) -> dict[str, Any]:
    provider = id.get("provider") if isinstance(id, dict) else None
    found = provider.get("call_id") if isinstance(provider, dict) else None
    if found is None and isinstance(id, dict):
        found = id.get("local")
    return {**part, "callId": found} if isinstance(found, str) else part


def _output(content: JSON) -> JSON:
    """One text or one JSON value alone; any other content as it is."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        only = content[0]
        if set(only) == {"type", "text"} and only["type"] == "text":
            return only["text"]
        if set(only) == {"type", "value"} and only["type"] == "json":
            return only["value"]
    return content


def _anda_file(part: dict[str, Any]) -> dict[str, Any] | None:
    source = part.get("data")
    mime = _MIME_OF.get((part["type"], str(part.get("media_type"))))
    if not isinstance(source, dict) or not isinstance(source.get("value"), str):
        return None
    if source.get("type") == "base64" and mime is not None:
        return {"type": "InlineData", "mimeType": mime, "data": "b64:" + source["value"].translate(_TO_URL)}
    if source.get("type") == "url":
        file = {"type": "FileData", "fileUri": source["value"]}
        return file if mime is None else {**file, "mimeType": mime}
    return None


def rig_part(part: JSON, *, reply: bool) -> JSON:
    """A part of Anda as rig says it in a reply or in a user message; what rig has no part for is opaque."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "Text" and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind == "Reasoning" and reply and isinstance(part.get("text"), str):
        return {"type": "reasoning", "text": part["text"]}
    if kind == "ToolCall" and reply and isinstance(part.get("name"), str) and part["name"]:
        return _rig_call(part)
    if kind == "ToolOutput" and not reply and isinstance(part.get("name"), str):
        return _rig_result(part)
    if kind in ("InlineData", "FileData"):
        return _rig_file(part) or _opaque(part, reply)
    return _opaque(part, reply)


def _opaque(part: JSON, reply: bool) -> JSON:
    return {"type": "opaque", "item": part, "replay": False} if reply else part


def _call_id(part: dict[str, Any]) -> dict[str, Any]:
    """The id given, else a local one, the same for a call and an output of one name."""
    id = part.get("callId")
    if isinstance(id, str) and id:
        return {"provider": {"call_id": id}}
    return {"local": str(uuid.uuid5(_NAMELESS, str(part.get("name"))))}


def _rig_call(part: dict[str, Any]) -> JSON:
    arguments = part.get("args")
    function: dict[str, Any] = {"name": part["name"], "arguments": arguments}
    if not isinstance(arguments, dict):
        function = {"name": part["name"], "arguments": {}, "invalid_arguments": json.dumps(arguments)}
    return {"type": "toolcall", "id": _call_id(part), "function": function}


def _rig_result(part: dict[str, Any]) -> JSON:
    output = part.get("output")
    content = (
        {"type": "text", "text": output} if isinstance(output, str) else {"type": "json", "value": output}
    )
    # A name is never empty in rig; Anda's may be.
    result = {
        "type": "toolresult",
        "call": _call_id(part),
        "name": part["name"] or "tool",
        "content": [content],
    }
    return {**result, "is_error": True} if part.get("isError") is True else result


def _rig_file(part: dict[str, Any]) -> JSON | None:
    media = _MEDIA_OF.get(str(part.get("mimeType")))
    inline = part["type"] == "InlineData"
    value = part.get("data") if inline else part.get("fileUri")
    if media is None or not isinstance(value, str):
        return None
    kind, name = media
    value = value.removeprefix("b64:").translate(_FROM_URL) if inline else value
    source = {"type": "base64" if inline else "url", "value": value}
    return {"type": kind, "data": source, "media_type": name}
