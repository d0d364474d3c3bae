"""One message of LangChain, in each of the three forms that it writes, in Anda's parts. Pure.

The forms are ``messages_to_dict`` (``{"type", "data"}``), ``dumpd`` (``{"lc", "id", "kwargs"}``, of which no
class is ever made) and the plain members of the model; all three give the same message. Members that say
nothing, which one form writes and another leaves out, are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convostore.schemas.formats.attachments import base64_bytes, data_uri, linked
from convostore.schemas.formats.content_parts import image_part
from convostore.schemas.formats.counters import usage_of
from convostore.schemas.formats.parts import (
    Piece,
    arguments_of,
    file_part,
    inline_part,
    message,
    odd_piece,
    reasoning,
    rest_of,
    text,
    tool_call,
    tool_output,
)
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource

__all__ = ["is_message", "piece_of"]

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "developer": "developer",
}
_KINDS = frozenset(_ROLES) | {"chat", "generic", "remove"}
_CLASSES = ("MessageChunk", "Message")
_PACKAGES = ("langchain", "langchain_core")
# What other programs write beside a ``type`` and a ``content`` of the same names.
_OF_OTHERS = frozenset({"uuid", "parentUuid", "sessionId", "payload", "message"})
_MEDIA = frozenset({"image", "audio", "video", "file"})


def is_message(value: JSON) -> bool:
    """Whether it is a message of LangChain in one of its forms."""
    return _told(value) is not None


def _told(value: JSON) -> tuple[str, Mapping[str, Any]] | None:
    """The kind of a message and its members; None when it is none."""
    if not isinstance(value, dict):
        return None
    kind, data, kwargs = value.get("type"), value.get("data"), value.get("kwargs")
    if isinstance(data, dict):
        found = _kind(kind) if "content" in data else ""
    elif "lc" in value and isinstance(kwargs, dict):
        name, data = value.get("id"), kwargs
        found = _kind(kwargs.get("type") or (name[-1] if isinstance(name, list) and name else None))
    else:
        data = value
        found = _kind(kind) if "content" in value and not _OF_OTHERS & value.keys() else ""
    return (found, data) if found in _KINDS else None


def _around(value: Mapping[str, Any], kind: str, data: Mapping[str, Any]) -> dict[str, JSON]:
    """What stands around the members of a message, but for what its form has there always."""
    if data is value:
        return {}
    if value.get("data") is data:
        rest = rest_of(value, "type", "data")
    else:
        rest = rest_of(value, "lc", "kwargs", "type" if value.get("type") == "constructor" else "")
        if _is_class_of(value.get("id"), kind):
            del rest["id"]
        if value["lc"] != 1:
            rest["lc"] = value["lc"]
    if "type" in data and _kind(data["type"]) != kind:
        rest["type"] = data["type"]
    return rest


def _is_class_of(name: JSON, kind: str) -> bool:
    """Whether it is the path to LangChain's own class of that kind."""
    if not isinstance(name, list) or not all(isinstance(one, str) and one.isidentifier() for one in name):
        return False
    return len(name) > 1 and name[0] in _PACKAGES and _kind(name[-1]) == kind


def _kind(name: JSON) -> str:
    """``ai`` of ``ai``, ``AIMessage`` and ``AIMessageChunk``."""
    if not isinstance(name, str):
        return ""
    for ending in _CLASSES:
        if name.endswith(ending):
            return name.removesuffix(ending).lower()
    return name


def piece_of(value: JSON, remarks: Remarks, made: int | None = None) -> Piece:
    """The message, made at ``made``; what is none is kept as it is."""
    told = _told(value)
    if told is None:
        remarks.add("messages of a form that LangChain does not write are kept as they are", value)
        return odd_piece(value)
    kind, data = told
    rest = {name: item for name, item in data.items() if not _says_nothing(name, item)}
    resources: list[Resource] = []
    content = [_output(data, rest)] if kind in ("tool", "function") else _content(data, rest, resources)
    role: JSON = _ROLES.get(kind, kind)
    if kind in ("chat", "generic"):
        role = data.get("role")
        if isinstance(role, str):
            rest.pop("role")
    name = data.get("name")
    if isinstance(name, str) and kind not in ("tool", "function"):
        rest.pop("name", None)
    else:
        name = None
    rest["type"] = kind
    around = _around(value, kind, data)
    if around:
        rest["around"] = around
    return Piece(
        message(role, content, made, name=name, rest=rest),
        made,
        resources=resources,
        usage=_usage(data, remarks),
    )


def _says_nothing(name: str, item: JSON) -> bool:
    return item is None or item == {} or item == [] or (name == "example" and item is False)


def _usage(data: Mapping[str, Any], remarks: Remarks) -> Any:
    about = data.get("response_metadata")
    held = about if isinstance(about, dict) else {}
    found = (data.get("usage_metadata"), held.get("token_usage"), held.get("usage"))
    usages = (usage_of(one, remarks) for one in found)
    return next((usage for usage in usages if usage is not None), None)


def _output(data: Mapping[str, Any], rest: dict[str, JSON]) -> JSON:
    """What a tool gave back; ``rest`` keeps what is said of the message and not of the output."""
    name, id, status = data.get("name"), data.get("tool_call_id"), data.get("status")
    beside: dict[str, JSON] = {}
    if "artifact" in rest:
        beside["artifact"] = rest.pop("artifact")
    rest.pop("content", None)
    for member, used in (("name", isinstance(name, str)), ("tool_call_id", isinstance(id, str))):
        if used:
            rest.pop(member, None)
    is_error = status == "error" if status in ("error", "success") else None
    if is_error is not None:
        del rest["status"]
    output = data.get("content")
    return tool_output(name if isinstance(name, str) else "", output, id, is_error=is_error, rest=beside)


def _content(data: Mapping[str, Any], rest: dict[str, JSON], resources: list[Resource]) -> list[JSON]:
    """What is said, thought and called."""
    rest.pop("content", None)
    calls = _calls(data, rest)
    parts: list[JSON] = []
    beside = rest.get("additional_kwargs")
    thought = beside.get("reasoning_content") if isinstance(beside, dict) else None
    if isinstance(thought, str) and thought:
        parts.append(reasoning(thought))
        _leave_out(rest, "reasoning_content")
    said = data.get("content")
    for part in said if isinstance(said, list) else [] if said in (None, "") else [said]:
        parts += _parts(part, calls, resources)
    return [*parts, *(call for _, call in calls)]


def _calls(data: Mapping[str, Any], rest: dict[str, JSON]) -> list[tuple[JSON, JSON]]:
    """The calls with their ids; taken out of ``rest`` with what says them a second time."""
    beside, given, invalid = (data.get(n) for n in ("additional_kwargs", "tool_calls", "invalid_tool_calls"))
    older = beside if isinstance(beside, dict) else {}
    again, only = older.get("tool_calls"), older.get("function_call")
    if isinstance(given, list) and given:
        del rest["tool_calls"]
        known = [*given, *(invalid if isinstance(invalid, list) else [])]
        if isinstance(again, list) and all(any(_is_same(one, call) for call in known) for one in again):
            _leave_out(rest, "tool_calls")
        if any(
            _is_same({"function": only}, {**call, "id": None}) for call in known if isinstance(call, dict)
        ):
            _leave_out(rest, "function_call")
        return [_call(call, "args", "tool_call", call) for call in given]
    if isinstance(again, list) and again and not invalid:
        _leave_out(rest, "tool_calls")
        inside = [call.get("function") if isinstance(call, dict) else None for call in again]
        return [_call(call, "arguments", "function", one) for call, one in zip(again, inside, strict=True)]
    if isinstance(only, dict) and isinstance(only.get("name"), str) and not invalid:
        _leave_out(rest, "function_call")
        return [_call({"function": only}, "arguments", "function", only)]
    return []


def _is_same(written: JSON, call: JSON) -> bool:
    """Whether a call as OpenAI writes it says no more than one of LangChain's."""
    if not isinstance(written, dict) or not isinstance(call, dict):
        return False
    function = written.get("function")
    if not isinstance(function, dict) or not set(function) <= {"name", "arguments"}:
        return False
    is_plain = set(written) <= {"id", "type", "function", "index"} and written.get("type") in (
        None,
        "function",
    )
    index = written.get("index")
    is_plain = is_plain and (index is None or type(index) is int) and written.get("id") == call.get("id")
    arguments = function.get("arguments")
    is_told = call.get("args") in (arguments, arguments_of(arguments))
    return is_plain and is_told and function.get("name") == call.get("name")


def _call(call: JSON, arguments: str, kind: str, named: JSON) -> tuple[JSON, JSON]:
    """The id of a call and its part; what is none stays as it is.

    ``named`` holds its name, and under ``arguments`` these: the call itself, or its ``function``.
    """
    if not isinstance(call, dict) or not isinstance(named, dict) or not isinstance(named.get("name"), str):
        return None, call
    id = call.get("id")
    rest = rest_of(named, "name", arguments)
    if named is not call:
        rest |= rest_of(call, "function")
    if isinstance(id, str) or id is None:
        rest.pop("id", None)
    if rest.get("type") == kind:
        del rest["type"]
    return id, tool_call(named["name"], arguments_of(named.get(arguments)), id, rest)


def _leave_out(rest: dict[str, JSON], name: str) -> None:
    beside = rest.get("additional_kwargs")
    if isinstance(beside, dict):
        left = {key: item for key, item in rest_of(beside, name).items() if item is not None}
        if left:
            rest["additional_kwargs"] = left
        else:
            del rest["additional_kwargs"]


def _parts(part: JSON, calls: list[tuple[JSON, JSON]], resources: list[Resource]) -> list[JSON]:
    if isinstance(part, str):
        return [text(part)]
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str):
        return [part]
    said = part.get(kind)
    if kind == "text" and isinstance(said, str):
        return [text(said, _told_of(part, "text"))]
    if kind in ("thinking", "reasoning") and isinstance(said, str):
        return [reasoning(said, _told_of(part, kind))]
    if kind == "reasoning" and isinstance(part.get("summary"), list):
        return _summaries(part) or [part]
    if kind in ("tool_use", "tool_call"):
        # The same call stands in ``tool_calls``; this is its place.
        place = next(
            (at for at, (id, _) in enumerate(calls) if id is not None and id == part.get("id")), None
        )
        if place is None:
            return [part]
        call = calls.pop(place)[1]
        told = {"name": call["name"], "args": call["args"], "id": part["id"], "type": kind}
        left = {
            name: item for name, item in part.items() if item != told.get("args" if name == "input" else name)
        }
        if left.get("input") == {}:
            del left["input"]
        if left:
            call["source"] = {**call.get("source", {}), "content": left}
        return [call]
    if kind in ("image_url", "input_image"):
        return [image_part(part, resources) or part]
    return [_media(part, resources) or part] if kind in _MEDIA else [part]


def _told_of(part: Mapping[str, JSON], said: str) -> dict[str, JSON]:
    return {name: item for name, item in rest_of(part, "type", said).items() if item not in (None, [])}


def _summaries(part: Mapping[str, Any]) -> list[JSON]:
    texts = [one.get("text") if isinstance(one, dict) else None for one in part["summary"]]
    usual = [{"type": "summary_text", "text": one} for one in texts if isinstance(one, str)]
    if not usual or usual != part["summary"]:
        return []
    rest = rest_of(part, "type", "summary")
    return [reasoning(str(one), rest if place == 0 else {}) for place, one in enumerate(texts)]


def _media(part: Mapping[str, Any], resources: list[Resource]) -> JSON:
    """A file by its address or its bytes; None when it is neither."""
    source = part.get("source")
    held: Mapping[str, Any] = source if isinstance(source, dict) else part
    rest = rest_of(part, "type", "source" if held is source else "")
    if held is source:
        rest |= rest_of(source, "type" if source.get("type") in ("url", "base64") else "")
    if rest.get("source_type") in ("url", "base64"):
        del rest["source_type"]
    named = next((name for name in ("mime_type", "media_type") if isinstance(held.get(name), str)), "")
    kind = rest.pop(named, None)
    url = rest.get("url")
    inside = data_uri(url) if isinstance(url, str) else None
    if inside is not None and kind in (None, inside[0]):
        del rest["url"]
        return inline_part(inside[0], inside[1], rest)
    if isinstance(url, str) and url and inside is None:
        del rest["url"]
        resource = linked(url, mime_type=kind)
        resources.append(resource)
        return file_part(resource, rest if resource.mime_type == kind else {**rest, named: kind})
    under = "base64" if "base64" in held else "data"
    blob = base64_bytes(rest.get(under))
    if blob is None:
        return None
    del rest[under]
    return inline_part(kind, blob, rest)
