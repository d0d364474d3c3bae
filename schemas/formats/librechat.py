"""LibreChat's JSON export: one conversation, its messages in a list or nested under their parents. Pure.

Also read: several in an array or one a line, and the database's two collections, ``conversations`` and
``messages``, dumped, exported or live: the documents of one ``conversationId`` make what the program's own
export of it has, with the members that only the database keeps. Neither says which branch is the active one;
that of the newest message is taken. A conversation is known again by its ``conversationId`` wherever it
comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from convostore.schemas.formats.attachments import make_resource
from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.content_parts import content_parts, text_in
from convostore.schemas.formats.documents import Gatherer, Layout, Part, begins_loose, extended, gathered
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
    arguments_of,
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
from convostore.schemas.resources import Resource

__all__ = ["LAYOUT", "NAME", "fits", "read"]

NAME = "librechat"

_MESSAGE_SIGNS = frozenset({"messageId", "parentMessageId", "isCreatedByUser"})
_EXPORT_SIGNS = frozenset({"endpoint", "exportAt", "options", "recursive"})
# In other collections of the same database, whose documents name conversations and messages, too.
_SIGNS_OF_OTHERS = frozenset({"shareId", "file_id", "toolId"})


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds."""
    return holds(value, _is_conversation)


def _is_conversation(value: JSON) -> bool:
    if not isinstance(value, dict):
        return False
    messages = _messages(value)
    if messages is None:
        return False
    if any(isinstance(item, dict) and _MESSAGE_SIGNS & item.keys() for item in messages[:3]):
        return True
    return not messages and "conversationId" in value and bool(_EXPORT_SIGNS & value.keys())


def _messages(value: Mapping[str, JSON]) -> list[JSON] | None:
    for name in ("messagesTree", "messages"):
        if isinstance(value.get(name), list):
            found: list[JSON] = value[name]
            return found
    return None


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The conversations in the input.

    The user is the one that the messages name, unless ``options.user`` is given.

    Raises:
        InvalidRecordError: ``options.user`` is no valid id.

    """
    if begins_loose(source, LAYOUT):
        return gathered(extended(json_values(source)), LAYOUT, options)
    sources = Sources(NAME, options, names_user=True)
    values = extended(unwrapped(json_values(source), _is_conversation))
    return sources.each(values, lambda found: [_conversation(found, sources)])


def _members_of_conversation(document: Mapping[str, JSON]) -> tuple[str, ...] | None:
    if not {"_id", "conversationId"} <= document.keys() or _MESSAGE_SIGNS & document.keys():
        return None
    if "endpoint" not in document or _SIGNS_OF_OTHERS & document.keys():
        return None
    messages = document.get("messages")
    inside = isinstance(messages, list) and any(map(_is_message, messages[:3]))
    return None if inside else ("conversationId",)


def _members_of_message(document: Mapping[str, JSON]) -> tuple[str, ...] | None:
    if not {"messageId", "conversationId"} <= document.keys() or _SIGNS_OF_OTHERS & document.keys():
        return None
    known = {"parentMessageId", "isCreatedByUser", "sender"} & document.keys()
    return ("conversationId",) if known else None


def _is_message(value: JSON) -> bool:
    return isinstance(value, dict) and bool(_MESSAGE_SIGNS & value.keys())


class _Gatherer(Gatherer):
    """The document of a conversation and those of its messages as the export that they would be in."""

    def __init__(self, options: ReadOptions) -> None:
        super().__init__(Sources(NAME, options, names_user=True))
        self._about: list[Found] = []
        self._messages: list[Found] = []

    def take(self, part: int, found: Found) -> None:
        (self._messages if part else self._about).append(found)

    def end(self) -> Iterator[Item]:
        about, messages = self._about, self._messages
        self._about, self._messages = [], []
        for other in about[1:]:
            yield Refused(other.position, "another document of the same conversationId; the first was taken")
        if not about and not messages:
            return
        first = (about or messages)[0]
        head = dict(about[0].value) if about else {"conversationId": first.value["conversationId"]}
        if head.get("messages") and not messages:
            reason = "its messages lie in the collection messages, which the input has none of for it"
            yield Refused(first.position, reason, first_id(head, "conversationId"), skipped=True)
            return
        moments = Moments(Remarks())
        made = [moments.read(one.value.get("createdAt")) for one in messages]
        order = sorted(range(len(messages)), key=lambda place: made[place] or 0)
        head["messages"] = [messages[place].value for place in order]
        notes = tuple(note for one in (*about, *messages) for note in one.notes)
        yield from self.sources.each(
            [Found(first.position, head, notes)], lambda found: [_conversation(found, self.sources)]
        )


LAYOUT = Layout(
    (Part("conversations", _members_of_conversation), Part("messages", _members_of_message)), _Gatherer
)


def _conversation(found: Found, sources: Sources) -> Item:
    value = found.value
    if not isinstance(value, dict):
        return Refused(found.position, f"no conversation but a value of {type(value).__name__}")
    id = first_id(value, "conversationId", "_id")
    given = _messages(value)
    if given is None:
        return Refused(found.position, "it has no list of messages", id)
    remarks = Remarks()
    moments = Moments(remarks)
    items, above = _flat(given)
    known = {first_id(item, "messageId") for item in items}

    def nested_parent(item: Mapping[str, JSON]) -> JSON:
        named = item.get("parentMessageId")
        if isinstance(named, str) and named in known:
            return named
        return above.get(first_id(item, "messageId") or "", named or ROOT)

    nodes, pieces = linked_nodes(
        items,
        "messageId",
        nested_parent if above else "parentMessageId",
        remarks,
        lambda item: _piece(item, moments),
    )
    digest, size = text_digest(value)
    owners = (first_id(item, "user") for item in (value, *items[:1]))
    source = sources.identified(id, digest)
    active, branches = active_and_branches(
        tree_lines(nodes, pieces.__getitem__, None, remarks), source, sources
    )
    return Draft(
        user=sources.owner(*owners),
        source=source,
        pieces=active,
        branches=branches,
        size=size,
        title=("title", value.get("title")),
        created=[moments.read(value.get("createdAt"))],
        updated=[moments.read(value.get("updatedAt"))],
        unknown=rest_of(value, "title", "messages", "messagesTree"),
        notes=(*found.notes, *remarks.lines()),
    ).imported(found.position)


def _flat(given: list[JSON]) -> tuple[list[JSON], dict[str, str]]:
    """The messages without the lists that nest others, and the id of the one around each that is nested."""
    items: list[JSON] = []
    above: dict[str, str] = {}
    waiting: list[tuple[JSON, str | None]] = [(item, None) for item in reversed(given)]
    while waiting:
        item, around = waiting.pop()
        id = first_id(item, "messageId")
        children = item.get("children") if isinstance(item, dict) else None
        if isinstance(children, list):
            item = rest_of(item, "children")
            waiting += [(child, id) for child in reversed(children)]
        items.append(item)
        if around is not None and id is not None:
            above.setdefault(id, around)
    return items, above


def _piece(given: Mapping[str, JSON], moments: Moments) -> Piece:
    made = moments.read_or_clock(given.get("createdAt"), given.get("_id"), given.get("messageId"))
    resources: list[Resource] = []
    parts: list[JSON] = []
    rest = rest_of(given, "content", "files", "text")
    content, plain = given.get("content"), given.get("text")
    for part in content if isinstance(content, list) else [] if content is None else [content]:
        parts += _parts(part, resources)
    said = [part["text"] for part in parts if isinstance(part, dict) and part.get("type") == "Text"]
    if isinstance(plain, str):
        if plain and not any(said):
            parts.append(text(plain))
        elif plain not in ("", "\n".join(said), "\n\n".join(said), "".join(said)):
            rest["text"] = plain
    elif plain is not None:
        rest["text"] = plain
    files = given.get("files")
    for file in files if isinstance(files, list) else []:
        if isinstance(file, dict):
            resource = _file(file)
            resources.append(resource)
            parts.append(file_part(resource))
        else:
            parts.append(file)
    if files is not None and not isinstance(files, list):
        rest["files"] = files
    attached = given.get("attachments")
    for file in attached if isinstance(attached, list) else []:
        if isinstance(file, dict) and {"filename", "filepath", "file_id"} & file.keys():
            resources.append(_file(file))
    return Piece(message(_role(given), parts, made, rest=rest), made, resources=resources)


def _role(given: Mapping[str, JSON]) -> JSON:
    by_user, sender, role = given.get("isCreatedByUser"), given.get("sender"), given.get("role")
    if isinstance(by_user, bool):
        return "user" if by_user else "assistant"
    if isinstance(sender, str) and sender:
        return "user" if sender.lower() == "user" else "assistant"
    return role


def _parts(part: JSON, resources: list[Resource]) -> list[JSON]:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "think":
        thought, rest = text_in(part.get("think")), rest_of(part, "type", "think")
        if thought is not None and thought[1].keys().isdisjoint(rest):
            return [reasoning(thought[0], rest | thought[1])]
    if kind == "tool_call" and isinstance(part.get("tool_call"), dict):
        return _call(part["tool_call"], rest_of(part, "type", "tool_call")) or [part]
    if kind == "image_file" and isinstance(part.get("image_file"), dict):
        resource = _file(part["image_file"])
        resources.append(resource)
        return [file_part(resource, rest_of(part, "type", "image_file"))]
    return content_parts([part], resources)


def _call(given: Mapping[str, JSON], beside: Mapping[str, JSON]) -> list[JSON]:
    """A call and its result, which LibreChat keeps in one; nothing when it is of another kind."""
    function = given.get("function")
    inner = function if isinstance(function, dict) else given
    name = inner.get("name")
    if not isinstance(name, str):
        return []
    arguments = "arguments" if inner is function else "args"
    id, output = given.get("id"), inner.get("output")
    used = ["name", arguments] + (["id"] if isinstance(id, str) else [])
    rest = rest_of(given, "function", *used) if inner is given else rest_of(given, "function", "id")
    rest = {**rest, **beside}
    if output is not None:
        rest.pop("output", None)
    if inner is function:
        rest |= {"function": left} if (left := rest_of(inner, "name", arguments, "output")) else {}
    found = [tool_call(name, arguments_of(inner.get(arguments)), id, rest)]
    return found if output is None else [*found, tool_output(name, output, id)]


def _file(file: Mapping[str, JSON]) -> Resource:
    return make_resource(
        name=file.get("filename"),
        uri=file.get("filepath") or file.get("file_id"),
        mime_type=file.get("type"),
        size=file.get("bytes"),
        metadata=file,
    )
