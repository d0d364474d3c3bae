"""Inputs of one message a line, which are one conversation, and inputs of whole conversations. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from convostore.schemas.formats.items import Found, Refused
from convostore.schemas.json_values import JSON

__all__ = ["conversations_in"]


def conversations_in(
    values: Iterable[Found | Refused],
    is_message: Callable[[JSON], bool],
    is_conversation: Callable[[JSON], bool],
    joins: Callable[[JSON], bool] | None = None,
) -> Iterator[Found | Refused]:
    """The conversations of an input: its values, or all of them in one list when the first is a message.

    A list that begins with conversations gives them one by one. ``joins`` tells what may follow the first
    message; without it that is other messages. What may not is refused, and so is a message after whole
    conversations.
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
        if isinstance(found, Refused) or not isinstance(found.value, list):
            yield found
        elif any(map(is_conversation, found.value[:3])):
            for place, item in enumerate(found.value):
                yield Found(f"{found.position}[{place}]", item, found.notes if place == 0 else ())
        else:
            yield found
