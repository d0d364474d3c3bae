"""Branches of an imported conversation, each as a conversation that goes on from another one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.formats import Branch, Facts, Imported
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage

__all__ = ["inherited", "whole_branches"]


@dataclass(frozen=True, slots=True)
class _Line:
    messages: Sequence[JSON]
    entries: Sequence[Facts]
    resources: Sequence[Resource]


def inherited(item: Imported) -> int:
    """How many of its messages it has from the conversation that it goes on from."""
    return 0 if item.origin is None else item.origin.after


def whole_branches(item: Imported) -> Iterator[Imported]:
    """The branches of ``item`` in their order, each with all messages of its line and the ``origin`` of it.

    One that begins by itself has no origin. What a branch does not say of itself (thread, label, title) is
    what the conversation says.
    """
    if not item.branches:
        return
    record = item.conversation
    facts = [Facts()] * len(record.messages) if item.entries is None else item.entries
    lines = {item.source.id: _Line(record.messages, facts, record.resources)}
    for branch in item.branches:
        after = branch.origin.after
        above = lines[branch.origin.id] if after else _Line((), (), ())
        line = _Line(
            [*above.messages[:after], *branch.messages],
            [*above.entries[:after], *branch.entries],
            [*above.resources, *branch.resources],
        )
        lines[branch.source.id] = line
        yield _as_imported(item, branch, line)


def _as_imported(item: Imported, branch: Branch, line: _Line) -> Imported:
    times = [fact.made for fact in branch.entries if fact.made is not None]
    stated = {"resources": bool(line.resources), "usage": branch.usage != Usage()}
    record = Conversation(
        user=item.conversation.user,
        thread=item.conversation.thread,
        label=item.conversation.label,
        extra=item.conversation.extra,
        messages=list(line.messages),
        resources=list(line.resources),
        status=ConversationStatus.COMPLETED,
        usage=branch.usage,
        created_at=min(times, default=0),
        updated_at=max(times, default=0),
    )
    return Imported(
        position=item.position,
        conversation=record,
        source=branch.source,
        entries=line.entries,
        unknown=branch.unknown,
        states=(item.states & {"extra"}) | {"messages"} | {name for name, given in stated.items() if given},
        origin=branch.origin if branch.origin.after else None,
    )
