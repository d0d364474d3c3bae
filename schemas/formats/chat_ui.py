"""Conversation documents of Hugging Face's chat-ui, as its database holds them. Pure.

Dumped, live, in extended JSON as ``mongoexport`` writes it, or plain. Since 2024 each message lists its
ancestors, before the list was the conversation. No active branch is stored: it is the last child at every
step. A conversation is known again by its ``_id``. Copies that were shared (collection
``sharedConversations``, which names nobody) are no conversations of a database; a file of them is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from convostore.schemas.formats.attachments import base64_bytes, make_resource
from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.content_parts import content_parts
from convostore.schemas.formats.documents import Gatherer, Layout, Part, extended
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
from convostore.schemas.formats.linking import ROOT, linked_nodes
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.parts import (
    Piece,
    file_part,
    message,
    reasoning,
    rest_of,
    tool_call,
    tool_output,
)
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.formats.trees import Forest
from convostore.schemas.json_values import JSON, text_digest
from convostore.schemas.resources import Resource

__all__ = ["LAYOUT", "NAME", "fits", "read"]

NAME = "chat-ui"

_SIGNS = frozenset({"rootMessageId", "preprompt", "sessionId", "userId", "model", "title", "createdAt"})


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds."""
    return holds(value, _is_conversation)


def _is_conversation(value: JSON) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    first = value["messages"][:3]
    if not first:
        return "rootMessageId" in value or len(_SIGNS & value.keys()) > 3
    return any(
        isinstance(item, dict) and isinstance(item.get("from"), str) and "content" in item for item in first
    )


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The conversations in the input, in the memory that the largest needs.

    The user is ``userId``, else ``sessionId``, unless ``options.user`` is given.

    Raises:
        InvalidRecordError: ``options.user`` is no valid id.

    """
    sources = Sources(NAME, options, names_user=True)
    values = extended(unwrapped(json_values(source), _is_conversation))
    return sources.each(values, lambda found: [_conversation(found, sources)])


def _members(document: Mapping[str, JSON]) -> tuple[str, ...] | None:
    is_shared = "hash" in document and not {"userId", "sessionId"} & document.keys()
    return ("_id",) if "_id" in document and not is_shared and _is_conversation(document) else None


class _Gatherer(Gatherer):
    def __init__(self, options: ReadOptions) -> None:
        super().__init__(Sources(NAME, options, names_user=True))
        self._found: list[Found] = []

    def take(self, part: int, found: Found) -> None:
        self._found.append(found)

    def end(self) -> Iterator[Item]:
        found, self._found = self._found, []
        yield from self.sources.each(found, lambda one: [_conversation(one, self.sources)])


LAYOUT = Layout((Part("conversations", _members, is_whole=True),), _Gatherer, bucket="files")


def _conversation(found: Found, sources: Sources) -> Item:
    value = found.value
    if not isinstance(value, dict):
        return Refused(found.position, f"no conversation but a value of {type(value).__name__}")
    id = first_id(value, "_id", "id")
    given = value.get("messages")
    if not isinstance(given, list):
        return Refused(found.position, "it has no list of messages", id)
    remarks = Remarks()
    moments = Moments(remarks)
    nodes, pieces = linked_nodes(given, "id", _parent, remarks, lambda item: _piece(item, id, moments))
    root = value.get("rootMessageId")
    leaf = Forest(nodes).last_leaf(root) if isinstance(root, str) and root in nodes else None
    digest, size = text_digest(value)
    source = sources.identified(id, digest)
    active, branches = active_and_branches(
        tree_lines(nodes, pieces.__getitem__, leaf, remarks), source, sources
    )
    return Draft(
        user=sources.owner(first_id(value, "userId"), first_id(value, "sessionId")),
        source=source,
        pieces=active,
        branches=branches,
        size=size,
        title=("title", value.get("title")),
        created=[moments.read_or_clock(value.get("createdAt"), value.get("_id"))],
        updated=[moments.read(value.get("updatedAt"))],
        unknown=rest_of(value, "_id" if first_id(value, "_id") is not None else "", "title", "messages"),
        notes=(*found.notes, *remarks.lines()),
    ).imported(found.position)


def _parent(item: Mapping[str, JSON]) -> JSON:
    ancestors = item.get("ancestors")
    if not isinstance(ancestors, list):
        return None
    return ancestors[-1] if ancestors else ROOT


def _piece(given: Mapping[str, JSON], conversation: str | None, moments: Moments) -> Piece:
    made = moments.read_or_clock(given.get("createdAt"), given.get("id"))
    resources: list[Resource] = []
    rest = rest_of(given, "from", "content", "reasoning", "files", "updates")
    thought = given.get("reasoning")
    parts: list[JSON] = []
    if isinstance(thought, str):
        parts += [reasoning(thought)] if thought else []
    elif thought is not None:
        rest["reasoning"] = thought
    updates = given.get("updates")
    told, left = _calls(updates if isinstance(updates, list) else [])
    parts += told
    if left or (updates is not None and not isinstance(updates, list)):
        rest["updates"] = left or updates
    parts += content_parts(given.get("content"), resources)
    files = given.get("files")
    for file in files if isinstance(files, list) else [] if files is None else [files]:
        resource = _file(file, conversation)
        if resource is None:
            parts.append(file)
            continue
        resources.append(resource)
        parts.append(file_part(resource))
    sender = given.get("from")
    if not isinstance(sender, str) and sender is not None:
        rest["from"] = sender
    return Piece(message(sender, parts, made, rest=rest), made, resources=resources)


def _calls(updates: list[JSON]) -> tuple[list[JSON], list[JSON]]:
    """The calls of tools and their results among the updates, and the other updates."""
    parts: list[JSON] = []
    left: list[JSON] = []
    names: dict[str, str] = {}
    for update in updates:
        is_tool = isinstance(update, dict) and update.get("type") == "tool"
        uuid = update.get("uuid") if is_tool else None
        call = update.get("call") if is_tool else None
        result = update.get("result") if is_tool else None
        if isinstance(uuid, str) and isinstance(call, dict) and isinstance(call.get("name"), str):
            names[uuid] = call["name"]
            rest = {**_beside(update, "call"), **rest_of(call, "name", "parameters")}
            parts.append(tool_call(call["name"], call.get("parameters"), uuid, rest))
        elif isinstance(uuid, str) and isinstance(result, dict):
            failed = result.get("status")
            is_error = failed in ("error", 1) if isinstance(failed, (str, int)) else None
            name, rest = names.get(uuid, ""), _beside(update, "result")
            parts.append(tool_output(name, dict(result), uuid, is_error=is_error, rest=rest))
        else:
            left.append(update)
    return parts, left


def _beside(update: Mapping[str, JSON], told: str) -> dict[str, JSON]:
    known = ("subtype",) if update.get("subtype") == told else ()
    return rest_of(update, "type", "uuid", told, *known)


def _file(file: JSON, conversation: str | None) -> Resource | None:
    """The file; one that is named by its hash lies in GridFS, under the conversation's id, a dash and it."""
    if isinstance(file, str):
        file = {"type": "hash", "value": file}
    if not isinstance(file, dict) or not isinstance(file.get("value"), str):
        return None
    hash = file["value"]
    blob = base64_bytes(hash) if file.get("type") == "base64" else None
    return make_resource(
        name=file.get("name"),
        uri=None if blob is not None else hash if conversation is None else f"{conversation}-{hash}",
        mime_type=file.get("mime"),
        blob=blob,
        metadata=rest_of(file, "value") if blob is not None else file,
    )
