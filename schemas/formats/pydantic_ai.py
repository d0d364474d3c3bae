"""Message lists of pydantic-ai, of all its generations. Pure.

An entry, request or response, is one message in Anda's parts: a response an ``assistant``, a request a
``user``, or ``tool`` when it brings nothing but results, ``system`` when nothing but a prompt of the system.
In a user's message that prompt is a part as the source wrote it, apart from what the user said. Images and
other files become resources or bytes in place; a retry prompt of a tool is its output, as an error. Other
parts stay as they came. Members of a part beside these ride along in its ``source``, nulls left out; those
of an entry, ``kind`` among them, in the message's. A time is the entry's own, else the last of its parts.

Read: lists (``all_messages_json``), arrays of them, lists a line, entries a line, and objects around a list.
Until 2024-12 each part was an entry of its own, told by its ``role``. A conversation is known again by its
``conversation_id``, which is written since 2026, else by the SHA-256 of its content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from convostore.schemas.formats.attachments import base64_bytes, linked
from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.counters import usage_of
from convostore.schemas.formats.foreign import Draft, Item, Sources, first_id
from convostore.schemas.formats.items import Found, ReadOptions, Refused
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.formats.message_runs import conversations_in, held_conversations, stated_in
from convostore.schemas.formats.moments import Moments
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
from convostore.schemas.json_values import JSON, text_digest
from convostore.schemas.resources import Resource

__all__ = ["NAME", "fits", "read", "read_values"]

NAME = "pydantic-ai"

_LISTS = ("messages", "message_history", "all_messages", "new_messages")
_PARTS_OF_OLD = {
    "system": "system-prompt",
    "user": "user-prompt",
    "tool-return": "tool-return",
    "retry-prompt": "retry-prompt",
    "model-text-response": "text",
    "model-structured-response": "tool-call",
}
_ONLY_ITS_OWN = frozenset(_PARTS_OF_OLD) - {"system", "user"}
_SYSTEM = frozenset({"system-prompt", "instruction"})
_ERRORS = frozenset({"failed", "retried"})


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds."""
    is_one = _is_sign(value) or _is_conversation(value)
    return is_one or held_conversations(value, _is_conversation) is not None


def _is_sign(value: JSON) -> bool:
    """Whether it is an entry that no other program writes."""
    if not isinstance(value, dict):
        return False
    role = value.get("role")
    if isinstance(role, str) and role in _ONLY_ITS_OWN:
        return True
    return value.get("kind") in ("request", "response") and isinstance(value.get("parts"), list)


def _is_entry(value: JSON) -> bool:
    if _is_sign(value):
        return True
    return isinstance(value, dict) and "content" in value and value.get("role") in ("system", "user")


def _is_conversation(value: JSON) -> bool:
    listed = value if isinstance(value, list) else (_listed(value) or ("", []))[1]
    return any(map(_is_sign, listed[:8]))


def _listed(value: JSON) -> tuple[str, list[JSON]] | None:
    """The list of messages in an object, and the name it has there."""
    if not isinstance(value, dict):
        return None
    return next(((name, value[name]) for name in _LISTS if isinstance(value.get(name), list)), None)


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The conversations in the input, in the memory that the largest needs.

    Raises:
        InvalidRecordError: ``options.user`` is missing or no valid id.

    """
    return read_values(json_values(source), options)


def read_values(values: Iterable[Found | Refused], options: ReadOptions) -> Iterator[Item]:
    """The conversations in the values; raises as :func:`read`."""
    sources = Sources(NAME, options, names_user=False)
    runs = conversations_in(values, _is_entry, _is_conversation, lambda value: isinstance(value, dict))
    return sources.each(runs, lambda found: [_conversation(found, sources)])


def _conversation(found: Found, sources: Sources) -> Item:
    value = found.value
    name, given = _listed(value) or ("", value)
    if not isinstance(given, list):
        return Refused(found.position, f"no list of messages but a value of {type(value).__name__}")
    if not given:
        return Refused(found.position, "it has no messages", first_id(value), skipped=True)
    remarks = Remarks()
    moments = Moments(remarks)
    pieces = [_piece(entry, moments, remarks) for entry in given]
    digest, size = text_digest(value)
    own = first_id(value, "conversation_id", "id")
    id = own or next(
        (id for id in (first_id(entry, "conversation_id") for entry in reversed(given)) if id is not None),
        None,
    )
    stated = stated_in(rest_of(value, name) if isinstance(value, dict) else {}, moments)
    return Draft(
        user=sources.owner(),
        source=sources.identified(id, digest),
        pieces=pieces,
        size=size,
        title=stated.title,
        created=stated.created,
        updated=stated.updated,
        unknown=stated.unknown,
        notes=(*found.notes, *remarks.lines()),
    ).imported(found.position)


def _piece(entry: JSON, moments: Moments, remarks: Remarks) -> Piece:
    if not isinstance(entry, dict):
        remarks.add("entries that are no objects are kept as they are", entry)
        return odd_piece(entry)
    parts = entry.get("parts")
    rest = rest_of(entry, "parts")
    old = entry.get("role")
    if not isinstance(parts, list):
        if isinstance(old, str) and old in _PARTS_OF_OLD:
            parts, rest = _old_parts(old, entry), {"role": old}
        else:
            remarks.add("entries without a list of parts are kept as they are")
            return odd_piece(entry)
    answers = entry.get("kind") == "response" or (isinstance(old, str) and old.startswith("model-"))
    role = "assistant" if answers else _role(parts)
    resources: list[Resource] = []
    content = [made for part in parts for made in _parts(part, role, resources)]
    times = [moments.read(part["timestamp"]) for part in parts if _has_time(part)]
    made = moments.read(entry.get("timestamp"))
    if made is None:
        made = max((time for time in times if time is not None), default=None)
    usage = usage_of(entry.get("usage"), remarks)
    return Piece(message(role, content, made, rest=rest), made, resources=resources, usage=usage)


def _has_time(part: JSON) -> bool:
    return isinstance(part, dict) and part.get("timestamp") is not None


def _old_parts(role: str, entry: Mapping[str, JSON]) -> list[JSON]:
    """The parts of an entry of the form until 2024-12."""
    kind = _PARTS_OF_OLD[role]
    calls = entry.get("calls")
    if kind != "tool-call":
        return [{"part_kind": kind, **rest_of(entry, "role")}]
    beside = rest_of(entry, "role", "calls")
    listed = [
        {"part_kind": kind, **call, **(beside if place == 0 else {})} if isinstance(call, dict) else call
        for place, call in enumerate(calls if isinstance(calls, list) else [])
    ]
    return listed or [dict(entry)]


def _kind(part: JSON) -> str:
    kind = part.get("part_kind") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else ""


def _role(parts: Sequence[JSON]) -> str:
    kinds = set(map(_kind, parts))
    if not kinds or "user-prompt" in kinds:
        return "user"
    if any(_is_result(part) for part in parts):
        return "tool"
    return "system" if kinds <= _SYSTEM else "user"


def _is_result(part: JSON) -> bool:
    kind = _kind(part)
    return kind.endswith("tool-return") or (kind == "retry-prompt" and isinstance(part.get("tool_name"), str))


def _parts(part: JSON, role: str, resources: list[Resource]) -> list[JSON]:
    """The part in Anda's form, as several where it holds several."""
    kind = _kind(part)
    if not kind:
        return [part]
    said = part.get("content")
    rest = {name: item for name, item in part.items() if item is not None and name != "content"}
    del rest["part_kind"]
    if kind == "user-prompt":
        return _prompt(said, rest, resources)
    if kind == "text" and isinstance(said, str):
        return [text(said, rest)]
    if kind == "thinking" and isinstance(said, str):
        return [reasoning(said, rest)]
    if kind in _SYSTEM and role == "system" and isinstance(said, str):
        return [text(said, rest)]
    if kind.endswith("tool-call") and isinstance(part.get("tool_name"), str):
        return [_call(part, kind, rest)]
    if _is_result(part) and isinstance(part.get("tool_name"), str):
        return [_result(part, kind, rest)]
    if kind in ("retry-prompt", "retry-feedback") and isinstance(said, str):
        return [text(said, {"part_kind": kind, **rest})]
    if kind == "file":
        return [_file(said, rest, resources) or part]
    return [part]


def _prompt(said: JSON, rest: Mapping[str, JSON], resources: list[Resource]) -> list[JSON]:
    """What the user said, a text or a list of texts and files; ``rest`` is told with the first of it."""
    found: list[JSON] = []
    for place, one in enumerate(said if isinstance(said, list) else [said]):
        beside = rest if place == 0 else {}
        if isinstance(one, str):
            found.append(text(one, beside))
        elif (
            isinstance(one, dict)
            and one.get("kind") == "text-content"
            and isinstance(one.get("content"), str)
        ):
            found.append(text(one["content"], {**rest_of(one, "content"), **beside}))
        else:
            found.append(_file(one, beside, resources) or ({"content": one, **beside} if beside else one))
    return found


def _file(held: JSON, beside: Mapping[str, JSON], resources: list[Resource]) -> JSON:
    """A file by its address or its bytes; None when it is neither."""
    if not isinstance(held, dict):
        return None
    url, data, kind = held.get("url"), held.get("data"), held.get("media_type")
    rest = {name: item for name, item in held.items() if item is not None and name not in ("url", "data")}
    if isinstance(data, str):
        # pydantic writes the alphabet of base64 that addresses can hold.
        blob = base64_bytes(data.replace("-", "+").replace("_", "/"))
        if blob is None:
            return None
        if isinstance(kind, str):
            del rest["media_type"]
        return inline_part(kind if isinstance(kind, str) else None, blob, {**rest, **beside})
    if not isinstance(url, str) or not url:
        return None
    resource = linked(url, mime_type=kind)
    resources.append(resource)
    return file_part(resource, {**rest, **beside})


def _id(part: Mapping[str, JSON], rest: dict[str, JSON]) -> JSON:
    """The id of a call, taken out of ``rest``; it was named ``tool_id`` at first."""
    for name in ("tool_call_id", "tool_id"):
        if isinstance(part.get(name), str):
            del rest[name]
            return part[name]
    return None


def _call(part: Mapping[str, JSON], kind: str, rest: dict[str, JSON]) -> JSON:
    id, name = _id(part, rest), rest.pop("tool_name")
    args = rest.pop("args", None)
    if isinstance(args, dict) and len(args) == 1:
        # Before 2025 an object around the arguments said how they were written.
        ((how, written),) = args.items()
        if how in ("args_dict", "args_object", "args_json") and isinstance(written, (dict, str)):
            args = written
    beside = {"part_kind": kind} if kind != "tool-call" else {}
    return tool_call(name, arguments_of(args), id, {**beside, **rest})


def _result(part: Mapping[str, JSON], kind: str, rest: dict[str, JSON]) -> JSON:
    id, name = _id(part, rest), rest.pop("tool_name")
    outcome = part.get("outcome")
    is_error = True if kind == "retry-prompt" else outcome in _ERRORS if isinstance(outcome, str) else None
    beside = {"part_kind": kind} if kind != "tool-return" else {}
    return tool_output(name, part.get("content"), id, is_error=is_error, rest={**beside, **rest})
