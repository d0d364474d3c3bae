"""The states that a thread's messages went through, as one tree: each message where and when it came.

Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from convostore.schemas.formats.langchain_messages import is_message, piece_of
from convostore.schemas.formats.parts import Piece, message, odd_piece, text
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.formats.trees import Node
from convostore.schemas.json_values import JSON, dump_text, same_json

__all__ = ["State", "States", "chat_in", "pending_in"]

_CHATS = ("messages", "chat_history", "history")
_PENDING = "__start__"


@dataclass(slots=True)
class _Place:
    """A message after certain others; the same message after others is another place."""

    parent: str | None
    depth: int
    value: JSON
    made: int | None


@dataclass(frozen=True, slots=True)
class State:
    """One checkpoint: its messages, those that wait to be taken in, and when it was made.

    ``order`` sorts the checkpoints of a thread by age.
    """

    id: str
    parent: str | None
    messages: Sequence[JSON]
    pending: Sequence[JSON]
    made: int | None
    order: tuple[str, str]


@dataclass(slots=True)
class States:
    """Takes states in any order; keeps every different message once for each different past that it has."""

    _places: dict[str, _Place] = field(default_factory=dict)
    _children: dict[str | None, list[str]] = field(default_factory=dict)
    _path: list[str] = field(default_factory=list)
    _ends: dict[str, str | None] = field(default_factory=dict)
    _waiting: list[tuple[State, str | None]] = field(default_factory=list)
    _continued: set[str] = field(default_factory=set)

    def add(self, state: State) -> None:
        """Take one."""
        end = self._walk(None, state.messages, state.made)
        self._ends[state.id] = end
        if state.pending:
            self._waiting.append((State(state.id, None, (), state.pending, state.made, state.order), end))
        if state.parent is not None:
            self._continued.add(state.parent)

    def tree(self, newest: str, remarks: Remarks) -> tuple[dict[str, Node], dict[str, Piece], str | None]:
        """The messages by id with their parents, converted, and the last one of the checkpoint ``newest``."""
        leaf = self._ends[newest]
        for state, end in self._waiting:
            if not self._recognised(end, state) and state.id not in self._continued:
                last = self._walk(end, state.pending, state.made)
                leaf = last if state.id == newest else leaf
        order = sorted(self._places, key=lambda id: (self._places[id].depth, self._places[id].made or 0, id))
        nodes = {id: Node(self._places[id].parent, self._places[id].made) for id in order}
        pieces = {id: _piece(self._places[id].value, remarks, self._places[id].made) for id in order}
        return nodes, pieces, leaf

    def _walk(self, parent: str | None, messages: Sequence[JSON], made: int | None) -> str | None:
        path: list[str] = []
        for number, value in enumerate(messages):
            id = self._again(number, parent, value) or self._named(parent, value)
            place = self._places.get(id)
            if place is None:
                depth = 0 if parent is None else self._places[parent].depth + 1
                self._places[id] = _Place(parent, depth, value, made)
                self._children.setdefault(parent, []).append(id)
            else:
                place.made = _earlier(place.made, made)
            path.append(id)
            parent = id
        self._path = path
        return parent

    def _again(self, number: int, parent: str | None, value: JSON) -> str | None:
        """The place of the state before, which mostly is the same; found without hashing it."""
        if number >= len(self._path):
            return None
        place = self._places[self._path[number]]
        return self._path[number] if place.parent == parent and same_json(place.value, value) else None

    def _named(self, parent: str | None, value: JSON) -> str:
        return hashlib.sha256(f"{parent or ''} {dump_text(value)}".encode()).hexdigest()[:24]

    def _recognised(self, end: str | None, state: State) -> bool:
        """Whether the messages that waited were taken in after ``end``; then the state's time is theirs."""
        remarks = Remarks()
        for value in state.pending:
            said = _gist(_piece(value, remarks, None))
            children = self._children.get(end, [])
            found = next(
                (id for id in children if _gist(_piece(self._places[id].value, remarks, None)) == said), None
            )
            if found is None:
                return False
            self._places[found].made = _earlier(self._places[found].made, state.made)
            end = found
        return True


def _earlier(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def chat_in(values: Mapping[str, JSON]) -> tuple[str, list[JSON]] | None:
    """The channel that holds the chat and its messages: ``messages``, else the one that holds such."""
    named = [name for name in _CHATS if isinstance(values.get(name), list)]
    others = [
        name
        for name, held in values.items()
        if isinstance(held, list) and held and all(map(is_message, held)) and name not in _CHATS
    ]
    for name in (*named, *others):
        found: list[JSON] = values[name]
        return name, found
    return None


def pending_in(values: Mapping[str, JSON], chat: str | None) -> list[JSON]:
    """The messages in the input that no step has taken in yet."""
    given = values.get(_PENDING)
    if isinstance(given, dict):
        found = given.get(chat) if chat is not None else None
        given = found if found is not None else next((given[name] for name in _CHATS if name in given), None)
    elif not isinstance(given, list):
        return []
    if given is None:
        return []
    if isinstance(given, list) and not (len(given) == 2 and all(isinstance(one, str) for one in given)):
        return given
    return [given]


def _piece(value: JSON, remarks: Remarks, made: int | None) -> Piece:
    """A message, in a form of LangChain's or in a short one that its graphs take as well."""
    if is_message(value):
        return piece_of(value, remarks, made)
    if isinstance(value, str):
        return Piece(message("user", [text(value)], made, rest={}), made)
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, str) for one in value):
        role, said = value
        return Piece(message(_SHORT.get(role, role), [text(said)], made, rest={}), made)
    if isinstance(value, dict) and isinstance(value.get("role"), str) and "content" in value:
        return Piece(value, made, "openai")
    piece = odd_piece(value)
    piece.made = made
    return piece


_SHORT = {"human": "user", "ai": "assistant"}


def _gist(piece: Piece) -> tuple[JSON, str]:
    """Who says what, in whichever form."""
    found = piece.message
    content = found.get("content")
    parts = content if isinstance(content, list) else [content]
    said = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return found.get("role"), dump_text([one for one in said if one is not None])
