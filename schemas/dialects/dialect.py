"""What a dialect is: how the messages of one kind of program are told apart and read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from convostore.schemas.json_values import JSON
from convostore.schemas.messages import Message

__all__ = ["Call", "Dialect", "MessageView", "Result"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that a message asks for. ``index`` is its place in the list that holds it.

    ``id`` is None where the dialect has none or the message gives none. ``arguments`` are JSON; where the
    dialect writes them as text, an object in that text is read, and every other text stays.
    """

    id: str | None
    name: str
    arguments: JSON
    index: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave back in a message. ``is_error`` is None where the message does not say."""

    call_id: str | None
    name: str | None
    output: JSON
    is_error: bool | None = None


@dataclass(frozen=True, slots=True)
class MessageView:
    """What a message says, whatever its dialect (None when it is of none that is known)."""

    dialect: str | None
    role: str | None = None
    texts: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect: the functions that read its messages, each of any JSON object and never raising.

    ``fits`` tells by shape whether a message is of it. ``texts`` are what people read, without thoughts and
    tool results. ``message`` gives the message as a model, with what has no part of its own as unknown parts;
    None when it is none.
    """

    name: str
    fits: Callable[[Mapping[str, Any]], bool]
    role: Callable[[Mapping[str, Any]], str | None]
    texts: Callable[[Mapping[str, Any]], list[str]]
    calls: Callable[[Mapping[str, Any]], list[Call]]
    results: Callable[[Mapping[str, Any]], list[Result]]
    message: Callable[[Mapping[str, Any]], Message | None]

    def view(self, message: Mapping[str, Any]) -> MessageView:
        """Everything at once."""
        return MessageView(
            self.name,
            self.role(message),
            tuple(self.texts(message)),
            tuple(self.calls(message)),
            tuple(self.results(message)),
        )
