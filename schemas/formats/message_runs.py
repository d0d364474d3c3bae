"""Inputs of one message a line, which are one conversation, and inputs of whole conversations. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from convostore.schemas.formats.items import Found, Refused
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.parts import rest_of
from convostore.schemas.json_values import JSON

__all__ = ["Stated", "conversations_in", "held_conversations", "stated_in"]

# Members under which a list of conversations may lie, when an object stands around it.
_WRAPPERS = ("conversations", "chats", "data")


_CREATED = ("created_at", "createdAt", "create_time")
_UPDATED = ("updated_at", "updatedAt", "update_time", "completed_at")


class Stated(NamedTuple):
    """What the object around messages says of their conversation; ``unknown`` is all of it but the title."""

    title: tuple[str, JSON]
    created: list[int | None]
    updated: list[int | None]
    unknown: dict[str, JSON]


def stated_in(about: Mapping[str, JSON], moments: Moments) -> Stated:
    """The title and the times of a conversation, where what stands around its messages has them."""
    return Stated(
        ("title", about.get("title")),
        [moments.read(about[name]) for name in _CREATED if name in about],
        [moments.read(about[name]) for name in _UPDATED if name in about],
        rest_of(about, "title"),
    )


def held_conversations(value: JSON, is_conversation: Callable[[JSON], bool]) -> tuple[str, list[JSON]] | None:
    """The conversations in a list, or in one that an object stands around, and the member that holds it."""
    if isinstance(value, list):
        return ("", value) if any(map(is_conversation, value[:3])) else None
    if not isinstance(value, dict) or is_conversation(value):
        return None
    for name in _WRAPPERS:
        items = value.get(name)
        if isinstance(items, list) and any(map(is_conversation, items[:3])):
            return name, items
    return None


def conversations_in(
    values: Iterable[Found | Refused],
    is_message: Callable[[JSON], bool],
    is_conversation: Callable[[JSON], bool],
    joins: Callable[[JSON], bool] | None = None,
) -> Iterator[Found | Refused]:
    """The conversations of an input: its values, or all of them in one list when the first is a message.

    A list that begins with conversations, also one with an object around it, gives them one by one. ``joins``
    tells what may follow the first message; without it that is other messages. What may not is refused, and
    so is a message after whole conversations.
    """
    joins = joins or is_message
    taken: list[Found] = []
    missing = 0
    are_whole = False
    for found in _each(values, is_conversation):
        if isinstance(found, Refused):
            missing += not found.skipped
            yield found
        elif taken and not joins(found.value):
            missing += 1
            yield Refused(found.position, "no message, as the values before it are")
        elif taken or (is_message(found.value) and not are_whole):
            taken.append(found)
        elif is_message(found.value):
            yield Refused(found.position, "a single message after whole conversations")
        else:
            are_whole = True
            yield found
    if taken:
        notes = [note for found in taken for note in found.notes]
        if missing:
            notes.append(f"{missing} values were refused; the conversation lacks them")
        yield Found(taken[0].position, [found.value for found in taken], tuple(dict.fromkeys(notes)))


def _each(
    values: Iterable[Found | Refused], is_conversation: Callable[[JSON], bool]
) -> Iterator[Found | Refused]:
    for found in values:
        held = None if isinstance(found, Refused) else held_conversations(found.value, is_conversation)
        if held is None or isinstance(found, Refused):
            yield found
            continue
        name, items = held
        notes = found.notes
        if isinstance(found.value, dict) and len(found.value) > 1:
            others = ", ".join(f"{other!a:.40}" for other in found.value if other != name)
            notes = (*notes, f"what stands beside the list of conversations was left out: {others:.200}")
        path = f".{name}" if name else ""
        for place, item in enumerate(items):
            yield Found(f"{found.position}{path}[{place}]", item, notes if place == 0 else ())
