"""ShareGPT's conversations, as data sets for training hold them, in Anda's parts. Pure.

A turn has ``from`` and ``value``, or ``role`` and ``content``, and becomes one message; what the source calls
its speaker stays in the message's ``source`` where it is no role of Anda's. A ``function_call`` is a call of
the assistant, or several when its value lists them; an ``observation`` a tool's output. Neither has an id in
the source, so none is made up. Each ``<image>`` in the texts stands for the next of the conversation's
``images``, which become resources; videos and audios likewise. ``system``, ``tools`` and all other members
lie beside the record; a ``title`` is its title. Messages have no times.

Read: arrays, JSON Lines, one object, turns under other names (``conversation``, ``items``, ``messages``,
``dialog``, ``turns``), a list of turns a line, and one turn a line. A conversation is known again by its
``id``, else by the SHA-256 of its content.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from convostore.schemas.formats.attachments import linked
from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.content_parts import content_parts
from convostore.schemas.formats.foreign import Draft, Item, Sources, first_id
from convostore.schemas.formats.items import Found, ReadOptions, Refused
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.formats.message_runs import conversations_in, held_conversations, stated_in
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.parts import (
    Piece,
    arguments_of,
    file_part,
    message,
    odd_piece,
    rest_of,
    text,
    tool_call,
    tool_output,
)
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.json_values import JSON, text_digest
from convostore.schemas.resources import Resource

__all__ = ["NAME", "fits", "read", "read_values"]

NAME = "sharegpt"

_LISTS = ("conversations", "conversation", "items", "messages", "dialog", "turns")
_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "bard": "assistant",
    "bing": "assistant",
    "model": "assistant",
    "function_call": "assistant",
    "tool_call": "assistant",
    "system": "system",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
    "tool_response": "tool",
}
_CALLS = frozenset({"function_call", "tool_call"})
# What stands for a file in the texts, and the members that list those files.
_FILES = {
    "<image>": ("image", "images"),
    "<video>": ("video", "videos"),
    "<audio>": ("audio", "audios"),
}


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds."""
    if isinstance(value, list) and any(map(_is_turn, value[:3])):
        return True
    is_one = _is_turn(value) or _is_conversation(value)
    return is_one or held_conversations(value, _is_conversation) is not None


def _is_conversation(value: JSON) -> bool:
    if isinstance(value, list):
        return any(map(_is_turn, value[:3]))
    return _listed(value) is not None


def _is_turn(value: JSON) -> bool:
    return isinstance(value, dict) and isinstance(value.get("from"), str) and "value" in value


def _is_chat_turn(value: JSON) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "content" in value


def _listed(value: JSON) -> tuple[str, list[JSON]] | None:
    """The turns of a conversation, and the name that they have there.

    Turns with ``role`` and ``content`` make it one only under ``conversations``, the name of this format, and
    no turns only beside an id, as exports have a conversation without messages.
    """
    for name in _LISTS if isinstance(value, dict) else ():
        turns = value.get(name)
        if not isinstance(turns, list):
            continue
        first = turns[:3]
        if any(map(_is_turn, first)) or (name == "conversations" and any(map(_is_chat_turn, first))):
            return name, turns
        if name == "conversations" and not turns and first_id(value) is not None:
            return name, turns
    return None


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The conversations in the input, in the memory that the largest needs.

    Raises:
        InvalidRecordError: ``options.user`` is missing or no valid id.

    """
    return read_values(json_values(source), options)


def read_values(values: Iterable[Found | Refused], options: ReadOptions) -> Iterator[Item]:
    """The conversations in the values; raises as :func:`read`."""
    sources = Sources(NAME, options, names_user=False)
    runs = conversations_in(values, _is_turn, _is_conversation)
    return sources.each(runs, lambda found: [_conversation(found, sources)])


def _conversation(found: Found, sources: Sources) -> Item:
    value = found.value if isinstance(found.value, dict) else {}
    id = first_id(value)
    if isinstance(found.value, list):
        name, turns = "", found.value
    else:
        listed = _listed(value) or next(
            ((name, value[name]) for name in _LISTS if isinstance(value.get(name), list)), None
        )
        if listed is None:
            kind = type(found.value).__name__
            return Refused(found.position, f"a value of {kind} without a list of conversations", id)
        name, turns = listed
    remarks = Remarks()
    files = _Files(value, turns)
    pieces = [_piece(turn, files, remarks) for turn in turns]
    digest, size = text_digest(found.value)
    named = [name, *files.told]
    named += [member for member in ("id", "uuid", "_id") if id is not None and first_id(value, member) == id]
    stated = stated_in(rest_of(value, *named), Moments(remarks))
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


class _Files:
    """The files of a conversation, handed out in the order in which its texts name them.

    ``told`` are the members whose files the texts name all of; those of the others stay as they are.
    """

    def __init__(self, value: Mapping[str, JSON], turns: list[JSON]) -> None:
        self._waiting: dict[str, Iterator[str]] = {}
        self.told: list[str] = []
        texts = _texts(turns)
        for mark, names in _FILES.items():
            for name in names:
                listed = value.get(name)
                files = [listed] if isinstance(listed, str) else listed
                if not isinstance(files, list) or not files or not all(_is_address(one) for one in files):
                    continue
                if texts.count(mark) == len(files) and mark not in self._waiting:
                    self._waiting[mark] = iter(files)
                    self.told.append(name)

    def named_in(self, said: str) -> Iterator[Resource]:
        """The next files, one for each mark in what is said."""
        marks = [(place, mark) for mark in self._waiting for place in _places(said, mark)]
        for _, mark in sorted(marks):
            url = next(self._waiting[mark], None)
            if url is not None:
                yield linked(url)


def _is_address(value: JSON) -> bool:
    return isinstance(value, str) and value != ""


def _places(said: str, mark: str) -> Iterator[int]:
    place = said.find(mark)
    while place >= 0:
        yield place
        place = said.find(mark, place + 1)


def _texts(turns: list[JSON]) -> str:
    said = (turn.get(_said_under(turn)) for turn in turns if isinstance(turn, dict))
    return "".join(one for one in said if isinstance(one, str))


def _said_under(turn: Mapping[str, JSON]) -> str:
    return "value" if "value" in turn else "content"


def _piece(turn: JSON, files: _Files, remarks: Remarks) -> Piece:
    if not isinstance(turn, dict):
        remarks.add("turns that are no objects are kept as they are", turn)
        return odd_piece(turn)
    by = "from" if "from" in turn else "role"
    under = _said_under(turn)
    speaker, said = turn.get(by), turn.get(under)
    role = _ROLES.get(speaker.lower(), speaker) if isinstance(speaker, str) else None
    rest = rest_of(turn, by if role == speaker else "", under)
    if said is None and under in turn:
        rest[under] = None
    resources: list[Resource] = []
    if isinstance(speaker, str) and speaker.lower() in _CALLS:
        parts = _calls(said)
    elif role == "tool":
        parts = [tool_output("", said)]
    elif isinstance(said, str):
        resources = list(files.named_in(said))
        parts = [text(said), *map(file_part, resources)]
    else:
        parts = content_parts(said, resources)
    return Piece(message(role, parts, None, rest=rest), resources=resources)


def _calls(said: JSON) -> list[JSON]:
    """The calls that a turn writes as JSON; one without a name where it is none."""
    found = said
    if isinstance(said, str):
        try:
            found = json.loads(said)
        except (ValueError, RecursionError):
            return [tool_call("", said)]
    calls = found if isinstance(found, list) and found else [found]
    if not all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in calls):
        return [tool_call("", said)]
    return list(map(_call, calls))


def _call(call: Mapping[str, Any]) -> JSON:
    under = next((name for name in ("arguments", "parameters", "args") if name in call), "arguments")
    return tool_call(call["name"], arguments_of(call.get(under)), rest=rest_of(call, "name", under))
