"""ChatGPT's messages in Anda's parts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from convostore.schemas.formats.attachments import make_resource
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.parts import (
    Piece,
    arguments_of,
    file_part,
    message,
    reasoning,
    rest_of,
    text,
    tool_call,
    tool_output,
)
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource

__all__ = ["chatgpt_piece"]

_POINTER = re.compile(r"(?:file-service|sediment)://\S+")
_THOUGHTS = frozenset({"thoughts", "reasoning_recap"})


def chatgpt_piece(given: Mapping[str, JSON], beside: Mapping[str, JSON], moments: Moments) -> Piece:
    """The message; ``beside`` is what its node says apart from it.

    An assistant's message to a recipient is a call of the tool of that name, any message of the role ``tool``
    a result; ChatGPT gives them no ids. Thoughts and recaps of them are reasoning. Pointers to files become
    resources, as do the attachments in ``metadata`` and what is pointed to from deeper within: the sounds and
    frames of voice, screenshots, pictures that code drew.
    """
    author = given.get("author")
    author = author if isinstance(author, dict) else {}
    role, name, recipient = author.get("role"), author.get("name"), given.get("recipient")
    content = given.get("content")
    made = moments.read_or_clock(given.get("create_time"), given.get("id"))
    resources = _attachments(given.get("metadata"))
    rest = rest_of(given, "author", "content")
    more = rest_of(author, *(key for key in ("role", "name") if isinstance(author.get(key), str)))
    if any(item for item in more.values()) or not isinstance(given.get("author"), dict):
        rest["author"] = given.get("author")
    if role == "tool":
        parts, left = _result(content, name)
        for _, file in _pointers(content):
            resources.append(file)
    elif role == "assistant" and isinstance(recipient, str) and recipient not in ("", "all"):
        parts, left = _call(content, recipient)
    else:
        parts, left = _parts(content, resources)
    resources += _deeper(given)
    if left:
        rest["content"] = left
    if beside:
        rest["node"] = dict(beside)
    written = message(role, parts, made, name=name, rest=rest)
    return Piece(written, made, resources=_known(resources))


def _text_of(content: Mapping[str, JSON]) -> tuple[str | None, dict[str, JSON]]:
    """The one text that the content is, and its other members; None when it is more than a text."""
    if isinstance(content.get("text"), str):
        return content["text"], rest_of(content, "text")
    parts = content.get("parts")
    if isinstance(parts, list) and all(isinstance(part, str) for part in parts) and len(parts) == 1:
        return parts[0], rest_of(content, "parts")
    return None, dict(content)


def _rest(content: Mapping[str, JSON]) -> dict[str, JSON]:
    """What is left to keep of a content, nothing when it only says that it is text."""
    return {} if content in ({}, {"content_type": "text"}) else dict(content)


def _call(content: JSON, recipient: str) -> tuple[list[JSON], Mapping[str, JSON]]:
    if isinstance(content, dict):
        written, left = _text_of(content)
        if written is not None:
            return [tool_call(recipient, arguments_of(written))], _rest(left)
    return [tool_call(recipient, content)], {}


def _result(content: JSON, name: JSON) -> tuple[list[JSON], Mapping[str, JSON]]:
    tool = name if isinstance(name, str) else ""
    if isinstance(content, dict):
        written, left = _text_of(content)
        if written is not None and set(left) <= {"content_type"}:
            return [tool_output(tool, written)], _rest(left)
    return [tool_output(tool, content)], {}


def _parts(content: JSON, resources: list[Resource]) -> tuple[list[JSON], Mapping[str, JSON]]:
    if not isinstance(content, dict):
        return ([] if content is None else [text(content)] if isinstance(content, str) else [content]), {}
    kind = content.get("content_type")
    if isinstance(kind, str) and kind in _THOUGHTS:
        return _thoughts(content)
    parts = content.get("parts")
    if isinstance(parts, list):
        pointers = iter(_pointers(content))
        found = []
        for part in parts:
            if isinstance(part, str):
                if part:
                    found.append(text(part))
            elif _is_pointer(part):
                rest, file = next(pointers)
                resources.append(file)
                found.append(file_part(file, rest))
            elif isinstance(part, dict) and isinstance(part.get("text"), str):
                found.append(text(part["text"], rest_of(part, "text")))
            else:
                found.append(part)
        return found, _rest(rest_of(content, "parts"))
    if isinstance(content.get("text"), str):
        return [text(content["text"])], _rest(rest_of(content, "text"))
    return [dict(content)] if content else [], {}


def _thoughts(content: Mapping[str, JSON]) -> tuple[list[JSON], Mapping[str, JSON]]:
    found: list[JSON] = []
    used = set()
    for member in ("thoughts", "parts", "content", "recap_text", "text"):
        given = content.get(member)
        for thought in given if isinstance(given, list) else [given]:
            if isinstance(thought, str):
                found.append(reasoning(thought))
            elif isinstance(thought, dict) and isinstance(thought.get("content"), str):
                found.append(reasoning(thought["content"], rest_of(thought, "content")))
            elif thought is not None:
                found.append(thought)
        if given is not None:
            used.add(member)
    return found, rest_of(content, *used)


def _is_pointer(part: JSON) -> bool:
    return isinstance(part, dict) and isinstance(part.get("asset_pointer"), str)


def _pointers(content: JSON) -> list[tuple[dict[str, JSON], Resource]]:
    """The files that a content points to, with what it says of each."""
    parts = content.get("parts") if isinstance(content, dict) else None
    found = []
    for part in parts if isinstance(parts, list) else ():
        if _is_pointer(part):
            pointer = part["asset_pointer"]
            name = pointer.rpartition("/")[2]
            file = make_resource(name=name, uri=pointer, size=part.get("size_bytes"), metadata=part)
            found.append((rest_of(part, "asset_pointer"), file))
    return found


def _deeper(given: Mapping[str, JSON]) -> Iterator[Resource]:
    """The files that any member at any depth points to."""
    waiting: list[tuple[JSON, Mapping[str, JSON]]] = [(given, given)]
    while waiting:
        value, around = waiting.pop()
        if isinstance(value, dict):
            waiting += [(item, value) for item in reversed(value.values())]
        elif isinstance(value, list):
            waiting += [(item, {}) for item in reversed(value)]
        elif isinstance(value, str) and _POINTER.fullmatch(value):
            yield make_resource(name=value.rpartition("/")[2], uri=value, size=around.get("size_bytes"))


def _attachments(metadata: JSON) -> list[Resource]:
    given = metadata.get("attachments") if isinstance(metadata, dict) else None
    found = []
    for item in given if isinstance(given, list) else ():
        if isinstance(item, dict):
            kind = item.get("mime_type") or item.get("mimeType")
            id = item.get("id")
            found.append(
                make_resource(
                    name=item.get("name"), uri=id, mime_type=kind, size=item.get("size"), metadata=item
                )
            )
    return found


def _known(resources: list[Resource]) -> list[Resource]:
    """Each file once: one that is attached and pointed to has the attachment's name and the pointer."""
    found: dict[str, Resource] = {}
    for resource in resources:
        key = (resource.uri or resource.name).rpartition("/")[2]
        earlier = found.get(key)
        if earlier is None:
            found[key] = resource
        elif resource.uri != earlier.uri:
            found[key] = earlier.model_copy(
                update={"uri": resource.uri, "size": earlier.size or resource.size}
            )
    return list(found.values())
