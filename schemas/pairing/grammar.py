"""What pairing must know of a dialect: where calls, results and everything else stand in a message. Pure.

A :class:`Grammar` reads one dialect's messages and writes the few that a repair makes. It never fails: a
message that its dialect does not know takes no part in pairing and is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from convostore.schemas.json_values import JSON

__all__ = [
    "NO_RESULT",
    "Block",
    "Call",
    "CallKey",
    "Grammar",
    "Kind",
    "joined_texts",
    "member",
    "members",
    "swapped",
]

NO_RESULT = "No result provided"
"""The text of a made-up result (``spec/rig.md`` 6.1)."""

CallKey: TypeAlias = tuple[str, ...]
"""By what a result names its call: ``("id", ...)``, or ``("name", ...)`` where neither has an id."""

Kind: TypeAlias = Literal["user", "assistant", "system"]
"""The part a message plays: tool results are the user's; what takes no part is ``system``."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: ``id`` in text, ``part`` the JSON it was read from; ``key`` tells two calls apart."""

    key: CallKey
    id: str
    name: str
    part: JSON
    dialect: str


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a user message that pairing may move; ``result`` is the key it answers, if it is one."""

    part: JSON
    result: CallKey | None = None


class Grammar(Protocol):
    """One dialect."""

    dialect: str
    joins_users: bool
    """Whether user messages side by side are written as one, results first."""

    def kind(self, message: JSON) -> Kind:
        """The part the message plays."""

    def failed(self, message: JSON) -> bool:
        """Whether it is a reply that failed, which no model reads again."""

    def calls(self, message: JSON) -> list[Call]:
        """The calls of an assistant message that it does not answer itself, in order."""

    def blocks(self, message: JSON) -> list[Block]:
        """The pieces of a user message, in order; none for an empty one."""

    def holding(self, message: JSON, blocks: Sequence[Block]) -> JSON:
        """The user message with these pieces instead of its own, other members kept."""

    def made_up(self, call: Call, text: str) -> Block:
        """An error result for a call."""

    def renames(self, call: Call) -> bool:
        """Whether the dialect has a place for the call's id."""

    def renamed(self, message: JSON, call: Call, id: str) -> JSON:
        """The message with another id for a call of it."""

    def answering(self, block: Block, id: str) -> Block:
        """The result with another id of its call."""

    def results_message(self, blocks: Sequence[Block]) -> list[JSON]:
        """Messages of their own for made-up results."""

    def mergeable(self, first: JSON, second: JSON) -> bool:
        """Whether two assistant messages side by side can be one."""

    def merged(self, first: JSON, second: JSON) -> JSON:
        """The two as one: parts joined, members of the first, outcome of the second."""

    def user_text(self, text: str, like: JSON) -> JSON:
        """A user message of one text, in the shape of the message given."""


def members(message: JSON) -> dict[str, Any]:
    """The message's members; none when it is no object."""
    return message if isinstance(message, dict) else {}


def member(value: JSON, name: str) -> str | None:
    """A member that is text, or none."""
    held = value.get(name) if isinstance(value, dict) else None
    return held if isinstance(held, str) else None


def joined_texts(first: JSON, second: JSON) -> JSON:
    """Two contents as one; two texts are joined by a blank line, an absent one says nothing."""
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    parts = [content if isinstance(content, list) else [content] for content in (first, second)]
    return [*parts[0], *parts[1]]


def swapped(parts: Sequence[JSON], part: JSON, other: JSON) -> list[JSON]:
    """The list with one of its objects, that very one, exchanged."""
    return [other if held is part else held for held in parts]
