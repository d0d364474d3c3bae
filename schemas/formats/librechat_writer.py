"""A conversation and its forks as one tree, as LibreChat exports and imports them: a JSON file. Pure.

Messages are a flat list in which each names its parent, so no depth is too deep. A fork leaves its
conversation after the message where it was forked, so long as that one still begins as the fork does, else it
begins by itself. LibreChat knows the user and replies: system messages at the beginning become the
instructions (``options.promptPrefix``), results of tools stand in the call that they answer. What was
imported from LibreChat goes out under its own ids, with the members that lay beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from convostore.schemas.anda_times import rfc3339
from convostore.schemas.conversations import Conversation
from convostore.schemas.entries import Entry
from convostore.schemas.formats.librechat import NAME
from convostore.schemas.formats.librechat_parts import Writing, call_of, content_of
from convostore.schemas.formats.linking import ROOT
from convostore.schemas.formats.outgoing import (
    Fork,
    Losses,
    Outgoing,
    own_title,
    parts_in,
    result_text,
    source_id,
)
from convostore.schemas.json_output import foreign_json
from convostore.schemas.json_values import JSON, dump_exact
from convostore.schemas.messages import Part, TextPart, ToolOutputPart

__all__ = ["NAME", "Tree", "write"]

_SYSTEM = ("system", "developer")


@dataclass(slots=True)
class _Held:
    """A message that waits for the results of its calls; ``calls`` are those without one, by id."""

    value: dict[str, JSON]
    calls: dict[str, dict[str, JSON]] = field(default_factory=dict)


class Tree:
    """Writes one tree: :meth:`begin` with the conversation, :meth:`branch` with each fork, :meth:`end`.

    A fork comes after what it was forked from. ``points`` are the places, by conversation, where forks leave
    it: how many of its messages they have in common.
    """

    def __init__(self, losses: Losses, points: Mapping[int, Sequence[int]]) -> None:
        self._losses = losses
        self._points = points
        # By conversation and place: the message that a fork there goes on from, and what all up to it said.
        self._at: dict[tuple[int, int], tuple[str, bytes]] = {}
        self._used: set[str] = set()
        self._first = True

    def begin(self, given: Outgoing) -> Iterator[str]:
        """What stands before the messages, and those of the conversation."""
        record = given.record
        is_ours = given.source is not None and given.source.format == NAME
        entries = iter(given.entries)
        system: list[Entry] = []
        if not is_ours:
            system, entries = _leading(entries)
        head: dict[str, JSON] = {"conversationId": source_id(given, NAME) or str(record.id)}
        head |= given.unknown if is_ours else {}
        title = own_title(record)
        head |= ({} if title is None else {"title": title}) | {"user": record.user}
        for name, time in (("createdAt", record.created_at), ("updatedAt", record.updated_at)):
            text = rfc3339(time) if time and not is_ours else None
            head |= {} if text is None else {name: text}
        if system:
            head["options"] = {"promptPrefix": "\n\n".join(self._prompts(system, record))}
        head |= {"branches": True, "recursive": False}
        self._say_lost(record)
        yield "{" + "".join(f"{foreign_json(name)}:{foreign_json(value)}," for name, value in head.items())
        yield '"messages":['
        digest = hashlib.sha256()
        for place, entry in enumerate(system, 1):
            digest.update(_trace(entry))
            self._at[record.id, place] = (ROOT, digest.digest())
        yield from self._line(given, entries, ROOT, len(system), digest)

    def branch(self, given: Outgoing, fork: Fork) -> Iterator[str]:
        """The messages that a fork has of its own; ``fork`` is what of the tree it leaves, and where."""
        left = self._at.get((fork.id, fork.entries))
        digest = hashlib.sha256()
        for entry in islice(given.entries, fork.entries):
            digest.update(_trace(entry))
        self._say_lost(given.record)
        if left is not None and left[1] == digest.digest():
            entries = islice(given.entries, fork.entries, None)
            yield from self._line(given, entries, left[0], fork.entries, digest)
            return
        self._losses.add("a fork whose beginning was changed since begins by itself", given.record)
        yield from self._line(given, iter(given.entries), ROOT, 0, hashlib.sha256())

    def end(self) -> str:
        """What stands behind the messages."""
        return "\n]}\n"

    def _say_lost(self, record: Conversation) -> None:
        for name in ("thread", "label", "steering_messages", "follow_up_messages", "artifacts"):
            if getattr(record, name):
                self._losses.add(f"{name} are left out", record)
        title = own_title(record)
        if record.extra not in (None, {"title": title}):
            self._losses.add("extra is left out but for its title", record)

    def _prompts(self, system: Sequence[Entry], record: Conversation) -> Iterator[str]:
        for entry in system:
            for part, _ in parts_in(entry) or ():
                if isinstance(part, TextPart):
                    yield part.text
                else:
                    self._losses.add("what a system prompt has beside text is left out", record)

    def _line(
        self, given: Outgoing, entries: Iterator[Entry], parent: str, place: int, digest: hashlib._Hash
    ) -> Iterator[str]:
        """The messages of ``entries``, behind ``parent``; so many stand before them as ``place`` says."""
        points = frozenset(self._points.get(given.record.id, ()))
        held: _Held | None = None
        for entry in entries:
            place += 1
            if held is None or not self._answers(entry, held, given.record):
                if held is not None:
                    yield self._written(held)
                held = self._message(given, entry, parent)
                parent = str(held.value["messageId"])
            if points:
                digest.update(_trace(entry))
                if place in points:
                    self._at[given.record.id, place] = (parent, digest.digest())
        if held is not None:
            yield self._written(held)

    def _written(self, held: _Held) -> str:
        first, self._first = self._first, False
        return ("\n" if first else ",\n") + foreign_json(held.value)

    def _answers(self, entry: Entry, held: _Held, record: Conversation) -> bool:
        """Put the results into the calls of the message before; whether the entry was nothing but those."""
        if not held.calls:
            return False
        parts = [part for part, _ in parts_in(entry) or ()]
        results = [part for part in parts if isinstance(part, ToolOutputPart)]
        ids = [result.call_id or "" for result in results]
        if not parts or len(results) < len(parts) or len(set(ids)) < len(ids):
            return False
        if not all(id in held.calls for id in ids):
            return False
        for result in results:
            self._note_result(result, record)
            held.calls.pop(result.call_id or "")["output"] = result_text(result.output)
        return True

    def _note_result(self, result: ToolOutputPart, record: Conversation) -> None:
        if not isinstance(result.output, str):
            self._losses.add("results that are no text are written as their JSON", record)
        if result.is_error:
            self._losses.add("whether a result is an error is left out", record)

    def _message(self, given: Outgoing, entry: Entry, parent: str) -> _Held:
        parts = parts_in(entry)
        message: Mapping[str, Any] = entry.message if isinstance(entry.message, dict) else {}
        is_ours = given.source is not None and given.source.format == NAME
        source = message.get("source")
        rest: dict[str, JSON] = dict(source) if is_ours and isinstance(source, dict) else {}
        own = "messageId" in rest
        id = rest.get("messageId")
        if not isinstance(id, str) or id in self._used:
            id = f"{given.record.id}-{entry.id}"
        if is_ours:
            self._used.add(id)
        value: dict[str, JSON] = {"messageId": id, "parentMessageId": parent}
        if not own:
            value |= self._speaker(message.get("role"), message.get("name"), given.record)
        made = None if entry.made is None else rfc3339(entry.made)
        if made is not None and "createdAt" not in rest:
            value["createdAt"] = made
        value |= {name: item for name, item in rest.items() if name not in value}
        if parts is None:
            self._losses.add("what is no message is left as it is, in one", given.record)
            return _Held({**value, "text": "", "content": [entry.message]})
        return self._with_content(given, value, parts)

    def _with_content(
        self, given: Outgoing, value: dict[str, JSON], parts: Sequence[tuple[Part, Mapping[str, JSON]]]
    ) -> _Held:
        writing = Writing(given, self._losses, self._note_result)
        content, files = content_of(parts, writing)
        texts = [part.text for part, _ in parts if isinstance(part, TextPart)]
        if all(isinstance(item, dict) and item.get("type") == "text" for item in content) and len(texts) < 2:
            value.setdefault("text", "".join(texts))
        else:
            said = "\n".join(texts) if value.get("isCreatedByUser") is True else ""
            value.setdefault("text", said)
            value["content"] = content
        if files:
            value["files"] = files
        calls = [call for call in map(call_of, content) if call is not None]
        return _Held(value, {call["id"]: call for call in calls if _waits(call)})

    def _speaker(self, role: JSON, name: JSON, record: Conversation) -> dict[str, JSON]:
        if role not in ("user", "assistant"):
            self._losses.add(
                "roles other than user and assistant are replies by a sender of that name", record
            )
        sender = "User" if role == "user" else str(role).capitalize()
        if isinstance(name, str) and name:
            if role == "user":
                self._losses.add("names of users are left out", record)
            else:
                sender = name
        return {"sender": sender, "isCreatedByUser": role == "user"}


def write(given: Outgoing, losses: Losses) -> Iterator[str]:
    """One conversation without forks, in pieces."""
    tree = Tree(losses, {})
    yield from tree.begin(given)
    yield tree.end()


def _waits(call: Mapping[str, JSON]) -> bool:
    return isinstance(call.get("id"), str) and "output" not in call


def _leading(entries: Iterator[Entry]) -> tuple[list[Entry], Iterator[Entry]]:
    """The system messages at the beginning, and the entries behind them."""
    system: list[Entry] = []
    for entry in entries:
        role = entry.message.get("role") if isinstance(entry.message, dict) else None
        if not isinstance(role, str) or role not in _SYSTEM or parts_in(entry) is None:
            return system, chain([entry], entries)
        system.append(entry)
    return system, iter(())


def _trace(entry: Entry) -> bytes:
    return dump_exact(entry.message).encode() + b"\n"
