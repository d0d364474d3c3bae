"""The export of claude.ai: conversations in an array, or one a line in newer batches. Pure.

Messages name their parents since 2026; before, their order is the conversation. The users and projects of
the same archive are not of this format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from convostore.schemas.formats.attachments import make_resource
from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.foreign import (
    Draft,
    Item,
    Sources,
    active_and_branches,
    first_id,
    holds,
    tree_lines,
    unwrapped,
)
from convostore.schemas.formats.items import Found, ReadOptions, Refused
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.formats.linking import linked_nodes
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.parts import (
    Piece,
    file_part,
    message,
    reasoning,
    rest_of,
    text,
    tool_call,
    tool_output,
)
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.json_values import JSON, text_digest

__all__ = ["NAME", "fits", "read"]

NAME = "claude-ai"


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds."""
    return holds(value, _is_conversation)


def _is_conversation(value: JSON) -> bool:
    return isinstance(value, dict) and isinstance(value.get("chat_messages"), list)


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The conversations in the input, in the memory that the largest needs.

    The user is the account's id, unless ``options.user`` is given.

    Raises:
        InvalidRecordError: ``options.user`` is no valid id.

    """
    sources = Sources(NAME, options, names_user=True)
    values = unwrapped(json_values(source), _is_conversation)
    return sources.each(values, lambda found: [_conversation(found, sources)])


def _conversation(found: Found, sources: Sources) -> Item:
    value = found.value
    if not isinstance(value, dict):
        return Refused(found.position, f"no conversation but a value of {type(value).__name__}")
    id = first_id(value, "uuid", "id")
    given = value.get("chat_messages")
    if not isinstance(given, list):
        return Refused(found.position, "it has no chat_messages", id, skipped=given is None)
    remarks = Remarks()
    moments = Moments(remarks)
    account = value.get("account")
    nodes, pieces = linked_nodes(
        given, "uuid", "parent_message_uuid", remarks, lambda item: _piece(item, moments)
    )
    leaf = value.get("current_leaf_message_uuid")
    lines = tree_lines(nodes, pieces.__getitem__, leaf, remarks)
    digest, size = text_digest(value)
    source = sources.identified(id, digest)
    active, branches = active_and_branches(lines, source, sources)
    return Draft(
        user=sources.owner(first_id(account, "uuid")),
        source=source,
        pieces=active,
        branches=branches,
        size=size,
        title=("name", value.get("name")),
        created=[moments.read_or_clock(value.get("created_at"), value.get("uuid"))],
        updated=[moments.read(value.get("updated_at"))],
        unknown=rest_of(value, "uuid" if id == value.get("uuid") else "", "name", "chat_messages"),
        notes=(*found.notes, *remarks.lines()),
    ).imported(found.position)


def _piece(given: Mapping[str, JSON], moments: Moments) -> Piece:
    sender = given.get("sender")
    made = moments.read_or_clock(given.get("created_at"), given.get("uuid"))
    blocks = given.get("content")
    parts = [_part(block) for block in blocks] if isinstance(blocks, list) else []
    rest = rest_of(given, "content", "attachments", "files")
    if blocks is not None and not isinstance(blocks, list):
        parts = [text(blocks)] if isinstance(blocks, str) else [blocks]
    said = [part["text"] for part in parts if isinstance(part, dict) and part.get("type") == "Text"]
    plain = given.get("text")
    if isinstance(plain, str):
        if plain and not any(said):
            parts = [part for part in parts if not _is_blank(part)] + [text(plain)]
            said = [plain]
        if plain in ("\n\n".join(said), "\n".join(said), "".join(said)):
            del rest["text"]
    resources = []
    for member in ("attachments", "files"):
        files = given.get(member)
        if not isinstance(files, list):
            if member in given:
                rest[member] = files
            continue
        for file in files:
            if not isinstance(file, dict):
                parts.append(file)
                continue
            inside = file.get("extracted_content")
            held = rest_of(file, "extracted_content") if isinstance(inside, str) else dict(file)
            resource = make_resource(
                name=file.get("file_name"),
                uri=first_id(file, "file_uuid", "uuid", "id")
                or (None if isinstance(inside, str) else file.get("file_name")),
                mime_type=file.get("file_type"),
                size=file.get("file_size"),
                blob=inside.encode("utf-8", "surrogatepass") if isinstance(inside, str) else None,
                metadata=held,
            )
            resources.append(resource)
            parts.append(file_part(resource))
    role = "user" if sender == "human" else sender
    return Piece(message(role, parts, made, rest=rest), made, resources=resources)


def _is_blank(part: JSON) -> bool:
    return isinstance(part, dict) and part.get("type") == "Text" and part["text"] == ""


def _part(block: JSON) -> JSON:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "text" and isinstance(block.get("text"), str):
        return text(block["text"], _said_of(block, "text"))
    if kind == "thinking" and isinstance(block.get("thinking"), str):
        return reasoning(block["thinking"], _said_of(block, "thinking"))
    if kind == "tool_use" and isinstance(block.get("name"), str):
        rest = _said_of(block, "name", "input", "id" if isinstance(block.get("id"), str) else "")
        return tool_call(block["name"], block.get("input"), block.get("id"), rest)
    if kind == "tool_result":
        id, name, is_error = block.get("tool_use_id"), block.get("name"), block.get("is_error")
        used = ["content"]
        used += ["tool_use_id"] if isinstance(id, str) else []
        used += ["name"] if isinstance(name, str) else []
        used += ["is_error"] if isinstance(is_error, bool) else []
        return tool_output(
            name if isinstance(name, str) else "",
            block.get("content"),
            id,
            is_error=is_error,
            rest=_said_of(block, *used),
        )
    return block


def _said_of(block: Mapping[str, JSON], *used: str) -> dict[str, JSON]:
    """The other members of a block, but for empty lists of citations."""
    rest = rest_of(block, "type", *used)
    if rest.get("citations") == []:
        del rest["citations"]
    return rest
