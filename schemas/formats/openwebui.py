"""Open WebUI's export of chats: rows, or the chat of a row by itself. Pure.

The messages of a chat are a tree by id, ``currentId`` ends the active branch; older chats have a list. What
an answer did is told in ``output``, as items of OpenAI's Responses; its ``content`` is the same as one text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from convostore.schemas.formats.attachments import linked, make_resource
from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.content_parts import content_parts
from convostore.schemas.formats.counters import usage_of
from convostore.schemas.formats.foreign import (
    Draft,
    Item,
    Sources,
    Told,
    active_and_branches,
    first_id,
    holds,
    tree_lines,
    unwrapped,
)
from convostore.schemas.formats.items import Found, ReadOptions, Refused
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.formats.linking import linked_nodes, parents_of
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.parts import (
    Piece,
    arguments_of,
    file_part,
    message,
    odd_piece,
    reasoning,
    rest_of,
    tool_call,
    tool_output,
)
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.formats.trees import Node
from convostore.schemas.json_values import JSON, text_digest
from convostore.schemas.resources import Resource

__all__ = ["NAME", "fits", "read"]

NAME = "openwebui"

_PARTS = ("Text", "FileData", "InlineData")
_THOUGHTS = ("summary_text", "reasoning_text", "text", "output_text")


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds."""
    return holds(value, _is_conversation)


def _is_conversation(value: JSON) -> bool:
    if not isinstance(value, dict):
        return False
    chat = value.get("chat")
    if isinstance(chat, dict) and ("history" in chat or isinstance(chat.get("messages"), list)):
        return True
    history = value.get("history")
    return isinstance(history, dict) and isinstance(history.get("messages"), dict)


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The conversations in the input, in the memory that the largest needs.

    The user is the row's ``user_id``, unless ``options.user`` is given.

    Raises:
        InvalidRecordError: ``options.user`` is no valid id.

    """
    sources = Sources(NAME, options, names_user=True)
    values = unwrapped(json_values(source), _is_conversation)
    return sources.each(values, lambda found: [_conversation(found, sources)])


def _conversation(found: Found, sources: Sources) -> Item:
    row = found.value
    if not isinstance(row, dict):
        return Refused(found.position, f"no conversation but a value of {type(row).__name__}")
    inner = row.get("chat")
    chat = inner if isinstance(inner, dict) else row
    remarks = Remarks()
    moments = Moments(remarks, "seconds")
    kept = chat.get("history")
    history = kept if isinstance(kept, dict) else {}
    tree, listed = history.get("messages"), chat.get("messages")
    unknown = rest_of(row, "chat", "title") if chat is inner else {}
    left = rest_of(chat, "history", "messages", "title")
    if isinstance(tree, dict) and (tree or not listed):
        lines = _tree(tree, history.get("currentId"), moments, remarks)
        same = isinstance(listed, list) and {first_id(item, "id") for item in listed} <= tree.keys()
        if "messages" in chat and not same:
            left["messages"] = listed
            remarks.add("lists of messages beside the tree that hold others are kept as they are")
    elif isinstance(listed, list):
        nodes, pieces = linked_nodes(
            listed, "id", "parentId", remarks, lambda item: _piece(item, moments, remarks)
        )
        lines = tree_lines(nodes, pieces.__getitem__, history.get("currentId"), remarks)
    else:
        return Refused(found.position, "it has no messages", first_id(row, "id"))
    rest = rest_of(history, *(("messages",) if isinstance(tree, dict) or not tree else ()))
    left |= {"history": rest} if rest else {} if kept in ({}, None) or history else {"history": kept}
    title = row.get("title")
    if title is None or chat is row:
        title = chat.get("title")
    elif "title" in chat and chat["title"] != title:
        left["title"] = chat["title"]
    digest, size = text_digest(row)
    source = sources.identified(first_id(row, "id") or first_id(chat, "id"), digest)
    active, branches = active_and_branches(lines, source, sources)
    return Draft(
        user=sources.owner(first_id(row, "user_id"), first_id(chat, "user_id", "userId")),
        source=source,
        pieces=active,
        branches=branches,
        size=size,
        title=("title", title),
        created=[moments.read(row.get("created_at"))],
        updated=[moments.read(row.get("updated_at"))],
        unknown={**unknown, "chat": left} if chat is inner else left,
        notes=(*found.notes, *remarks.lines()),
    ).imported(found.position)


def _tree(tree: Mapping[str, JSON], leaf: JSON, moments: Moments, remarks: Remarks) -> list[Told]:
    pieces: dict[str, Piece] = {}
    for id, item in tree.items():
        if isinstance(item, dict):
            pieces[id] = _piece(item, moments, remarks)
        elif item is None:
            remarks.add("places without a message are left out")
        else:
            remarks.add("messages that are no objects are kept as they are", item)
            pieces[id] = odd_piece(item)
    parents = parents_of(tree, "parentId", "childrenIds")
    nodes = {
        id: Node(parents.get(id), pieces[id].made if id in pieces else None, is_message=id in pieces)
        for id in tree
    }
    return tree_lines(nodes, pieces.__getitem__, leaf, remarks)


def _piece(given: Mapping[str, JSON], moments: Moments, remarks: Remarks) -> Piece:
    made = moments.read_or_clock(given.get("timestamp"), given.get("id"))
    resources: list[Resource] = []
    output = given.get("output")
    rest = rest_of(given, "role", "files", "content", "output")
    if isinstance(output, list) and output:
        names = {
            item["call_id"]: item["name"]
            for item in output
            if isinstance(item, dict)
            and isinstance(item.get("call_id"), str)
            and isinstance(item.get("name"), str)
        }
        parts = [part for item in output for part in _output(item, names, resources)]
        if given.get("content"):
            rest["content"] = given["content"]
    else:
        parts = content_parts(given.get("content"), resources)
        if output is not None and output != []:
            rest["output"] = output
    files = given.get("files")
    for file in files if isinstance(files, list) else [] if files is None else [files]:
        if isinstance(file, dict):
            resource = _file(file)
            resources.append(resource)
            parts.append(file_part(resource))
        else:
            parts.append(file)
    role = given.get("role")
    if not isinstance(role, str) and role is not None:
        rest["role"] = role
    usage = usage_of(given.get("usage"), remarks)
    return Piece(message(role, parts, made, rest=rest), made, resources=resources, usage=usage)


def _output(item: JSON, names: Mapping[str, str], resources: list[Resource]) -> list[JSON]:
    kind = item.get("type") if isinstance(item, dict) else None
    if kind == "message":
        return _said(item, resources)
    if kind == "reasoning":
        return _thoughts(item) or [item]
    if kind == "function_call" and isinstance(item.get("name"), str):
        call_id = item.get("call_id")
        rest = rest_of(item, "type", "name", "arguments", "call_id" if isinstance(call_id, str) else "")
        return [tool_call(item["name"], arguments_of(item.get("arguments")), call_id, rest)]
    if kind == "function_call_output":
        call_id = item.get("call_id")
        name = names.get(call_id, "") if isinstance(call_id, str) else ""
        rest = rest_of(item, "type", "output", "call_id" if isinstance(call_id, str) else "")
        return [tool_output(name, item.get("output"), call_id, rest=rest)]
    return [item]


def _said(item: Mapping[str, JSON], resources: list[Resource]) -> list[JSON]:
    """What a message among the items says; what else it holds goes along with the first part of Anda's."""
    parts = content_parts(item.get("content"), resources)
    rest = rest_of(item, "type", "content", *(("role",) if item.get("role") == "assistant" else ()))
    if not rest:
        return parts
    for place, part in enumerate(parts):
        if isinstance(part, dict) and part.get("type") in _PARTS:
            parts[place] = {**part, "source": {**rest, **part.get("source", {})}}
            return parts
    return [item]


def _thoughts(item: Mapping[str, JSON]) -> list[JSON]:
    """The texts of a reasoning item; nothing when it holds anything else in their place."""
    found: list[tuple[str, Mapping[str, JSON]]] = []
    for member in ("summary", "content"):
        given = item.get(member)
        for part in given if isinstance(given, list) else [] if given is None else [given]:
            if not isinstance(part, dict) or not isinstance(part.get("text"), str):
                return []
            named = ("text", "type") if part.get("type") in _THOUGHTS else ("text",)
            found.append((part["text"], rest_of(part, *named)))
    rest = rest_of(item, "type", "content", "summary")
    return [
        reasoning(said, beside if place else {**rest, **beside}) for place, (said, beside) in enumerate(found)
    ]


def _file(file: Mapping[str, JSON]) -> Resource:
    inner = file.get("file")
    inner = inner if isinstance(inner, dict) else {}
    meta = inner.get("meta")
    meta = meta if isinstance(meta, dict) else {}
    name = file.get("name") or inner.get("filename") or meta.get("name")
    kind = file.get("content_type") or meta.get("content_type")
    url, size = file.get("url"), file.get("size") or meta.get("size")
    if isinstance(url, str) and url:
        held = rest_of(file, "url") if url.startswith("data:") else file
        return linked(url, name=name, mime_type=kind, size=size, metadata=held)
    return make_resource(
        name=name, uri=file.get("id") or inner.get("id"), mime_type=kind, size=size, metadata=file
    )
