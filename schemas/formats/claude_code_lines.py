"""The lines of Claude Code's sessions as nodes, and the messages that they make. Pure.

An answer is written in several lines, one a block, that share the ``id`` of the message; the messages of
Anthropic's API are what they were, so here they are put together again. What a line says beside its message
goes along under ``source.lines``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from convostore.schemas.formats.counters import usage_of
from convostore.schemas.formats.items import Position
from convostore.schemas.formats.parts import UNKNOWN_ROLE, Piece, rest_of
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.json_values import JSON
from convostore.schemas.usage import Usage

__all__ = ["DIALECT", "SessionLine", "is_spoken", "merged", "usages"]

DIALECT = "anthropic"

_SPOKEN = frozenset({"user", "assistant"})


@dataclass(slots=True)
class SessionLine:
    """One line: ``key`` is its place in the tree, ``session`` the session it is of."""

    key: str
    position: Position
    value: Mapping[str, JSON]
    session: str | None
    made: int | None
    is_message: bool
    is_side: bool
    parent: str | None = None

    @property
    def answer(self) -> str | None:
        """The id of the answer that it is a piece of; None when it is no answer or has no id."""
        message = self.value.get("message")
        id = message.get("id") if isinstance(message, dict) else None
        return (
            id if self.is_message and self.value.get("type") == "assistant" and isinstance(id, str) else None
        )

    def blocks(self) -> list[JSON]:
        """The blocks of its content, a text as one."""
        message = self.value.get("message")
        content = message.get("content") if isinstance(message, dict) else message
        if isinstance(content, list):
            return content
        return [{"type": "text", "text": content} if isinstance(content, str) else content]

    def answered_calls(self) -> set[str]:
        """The ids of the calls that it holds the results of, when it holds nothing else; else none."""
        found = set()
        for block in self.blocks():
            id = block.get("tool_use_id") if isinstance(block, dict) else None
            if not isinstance(id, str) or self.value.get("type") != "user":
                return set()
            found.add(id)
        return found


def is_spoken(value: Mapping[str, JSON]) -> bool:
    """Whether a line is a message: the user's or an answer, and has a content."""
    kind, message = value.get("type"), value.get("message")
    if not isinstance(kind, str) or kind not in _SPOKEN:
        return False
    return message.get("content") is not None if isinstance(message, dict) else message is not None


def usages(lines: Iterable[SessionLine], remarks: Remarks) -> dict[str, Usage]:
    """What each answer used, by its id: the lines of one repeat it, the largest counts (case U01)."""
    found: dict[str, Usage] = {}
    for line in lines:
        message = line.value.get("message")
        if not line.is_message or not isinstance(message, dict):
            continue
        usage = usage_of(message.get("usage"), remarks)
        id = _response(line)
        if usage is not None and (id not in found or usage.output_tokens >= found[id].output_tokens):
            found[id] = usage
    return found


def _response(line: SessionLine) -> str:
    request = line.value.get("requestId")
    return line.answer or (request if isinstance(request, str) else line.key)


def merged(
    lines: Iterable[SessionLine], split: Iterable[str], left: dict[str, Usage]
) -> tuple[list[Piece], dict[str, int]]:
    """The messages of a line of descent, and how many there are up to each of its nodes.

    Pieces of an answer come together where its first is, unless a branch leaves between them (``split``).
    What an answer used is taken out of ``left`` by the first message of it.
    """
    pieces: list[Piece] = []
    count: dict[str, int] = {}
    open_answers: dict[str, Piece] = {}
    ends = set(split)
    for line in lines:
        answer = line.answer
        piece = open_answers.get(answer) if answer is not None else None
        if piece is None:
            piece = _piece(line)
            pieces.append(piece)
            usage = left.pop(_response(line), None)
            piece.usage = usage
            if answer is not None:
                open_answers[answer] = piece
        else:
            _extend(piece.message, line)
        count[line.key] = len(pieces)
        if line.key in ends:
            open_answers.clear()
    return pieces, count


def _piece(line: SessionLine) -> Piece:
    given = line.value.get("message")
    role = line.value.get("type")
    message = dict(given) if isinstance(given, dict) else {"role": role, "content": [given]}
    if isinstance(given, str):
        message["content"] = given
    beside: dict[str, JSON] = {"lines": [rest_of(line.value, "message")]}
    if not isinstance(message.get("role"), str):
        if message.get("role") is not None:
            beside["role"] = message["role"]
        message["role"] = role if isinstance(role, str) else UNKNOWN_ROLE
    if "source" in message:
        beside["source"] = message["source"]
    message["source"] = beside
    return Piece(message, line.made, DIALECT)


def _extend(message: dict[str, JSON], line: SessionLine) -> None:
    content = message["content"]
    if not isinstance(content, list):
        content = [{"type": "text", "text": content} if isinstance(content, str) else content]
    message["content"] = content + line.blocks()
    message["source"]["lines"].append(rest_of(line.value, "message"))
    given = line.value["message"]
    if isinstance(given, dict):
        # How it ended and what it used stand in the last line.
        later = rest_of(given, "content", "role", "source")
        message |= {name: item for name, item in later.items() if item is not None or name not in message}
