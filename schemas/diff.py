"""The difference between two states of one conversation, and applying it. Pure; design.md 3, "Diff".

Equal means equal JSON (:func:`convostore.schemas.json_values.same_json`). A list changes by one splice, what
is left between the longest common beginning and then the longest common end: an append is one at the end.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, count
from operator import ne
from typing import TYPE_CHECKING, Any

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.identifiers import MAX_U64
from convostore.schemas.json_values import JSON, check_json, image, images, same_json
from convostore.schemas.resources import Resource

if TYPE_CHECKING:
    from convostore.schemas.conversations import Conversation

__all__ = ["FIXED", "LISTS", "QUEUES", "SCALARS", "Changes", "Snapshot", "Splice", "diff"]

FIXED = ("_id", "user", "ancestors", "period", "created_at")
"""Members that never change after creation."""

SCALARS = ("thread", "status", "failed_reason", "child", "label", "extra", "updated_at")
"""Members that are set or unset as a whole."""

LISTS = ("messages", "resources", "artifacts")
"""Members that change by a splice."""

QUEUES = ("steering_messages", "follow_up_messages")
"""Members that are never part of a difference: they change by ``steer``, ``follow_up`` and ``take``."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cheap picture of a conversation at one moment: later changes to the conversation do not reach it.

    ``lists`` holds one image per item of ``messages``, ``resources`` and ``artifacts``; ``members`` one per
    fixed member and scalar. Images are bytes of this process only. 0.7 ms for 1,000 messages of 600 bytes.
    """

    members: Mapping[str, bytes]
    usage: Mapping[str, int]
    lists: Mapping[str, Sequence[bytes]]

    @classmethod
    def of(cls, conversation: Conversation, lists: Mapping[str, Sequence[bytes]] | None = None) -> Snapshot:
        """The conversation as it is now; given ``lists`` of another picture stand for its own.

        Raises:
            InvalidRecordError: a member holds what JSON cannot say, with the path to it.

        """
        members = {name: _image(_plain(conversation, name), name) for name in (*FIXED, *SCALARS)}
        return cls(
            members,
            _counters(conversation),
            lists
            or {
                "messages": _images(conversation.messages, "messages"),
                "resources": _images(_written(conversation.resources, "resources"), "resources"),
                "artifacts": _images(_written(conversation.artifacts, "artifacts"), "artifacts"),
            },
        )

    def with_members(self, members: Mapping[str, JSON]) -> Snapshot:
        """The same picture with other values of these fixed members or scalars."""
        taken = {name: _image(value, name) for name, value in members.items()}
        return replace(self, members={**self.members, **taken})

    def with_items(self, name: str, added: Sequence[JSON]) -> Snapshot:
        """The same picture with items put at the end of the list ``name``."""
        return replace(self, lists={**self.lists, name: [*self.lists[name], *_images(added, name)]})

    def with_usage(self, added: Mapping[str, int]) -> Snapshot:
        """The same picture with these counts added, each stopping at 2^64-1."""
        usage = {name: min(count + added.get(name, 0), MAX_U64) for name, count in self.usage.items()}
        return replace(self, usage=usage)

    def value(self, name: str) -> JSON:
        """The value that the fixed member or scalar ``name`` had; a new object at each call."""
        return marshal.loads(self.members[name])

    def items(self, name: str) -> list[JSON]:
        """The items that the list ``name`` had, as JSON; new objects at each call."""
        return self.items_from(name, 0)

    def items_from(self, name: str, start: int, stop: int | None = None) -> list[JSON]:
        """Its items from ``start`` on, or to ``stop`` (excluded); new objects at each call."""
        return list(map(marshal.loads, self.lists[name][start:stop]))


@dataclass(frozen=True, slots=True)
class Splice:
    """One change of a list: ``items`` stand where the items ``start`` to ``stop`` (excluded) stood before."""

    start: int
    stop: int
    items: tuple[JSON, ...] = ()

    @property
    def removed(self) -> int:
        """How many items of the list before it takes out."""
        return self.stop - self.start

    def apply(self, items: Sequence[JSON]) -> list[JSON]:
        """The list after the change; ``items`` itself is left alone."""
        return [*items[: self.start], *self.items, *items[self.stop :]]


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two states of a conversation; false when nothing does.

    ``set`` holds scalars with their new values, ``unset`` the names of those that are gone, ``usage`` the new
    value of each counter that differs, ``splices`` at most one change per list. The values share nothing with
    the states compared.
    """

    set: Mapping[str, JSON] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    splices: Mapping[str, Splice] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.set or self.unset or self.usage or self.splices)

    def fields(self) -> frozenset[str]:
        """The names of the members touched."""
        return frozenset((*self.set, *self.unset, *self.splices, *(("usage",) if self.usage else ())))

    def apply(self, before: Conversation) -> Conversation:
        """The state after the changes, given the state before them; ``before`` itself is left alone.

        The result equals the later state in every member but the two queues, which stay as they are.
        Unchanged messages are the same objects in both.

        Raises:
            InvalidRecordError: ``before`` is too short for a splice.

        """
        members: dict[str, Any] = {_attribute(name): getattr(before, _attribute(name)) for name in _MEMBERS}
        for name in LISTS:
            members[name] = list(members[name])
        for name in QUEUES:
            members[name] = None if members[name] is None else list(members[name])
        for name, splice in self.splices.items():
            if splice.stop > len(members[name]):
                raise InvalidRecordError(name, f"has {len(members[name])} items, not {splice.stop} or more")
            members[name] = splice.apply(members[name])
        members |= self.set
        members |= dict.fromkeys(self.unset)
        members["usage"] = _counters(before) | dict(self.usage)
        return type(before).model_validate(members)


def diff(before: Conversation | Snapshot, after: Conversation | Snapshot) -> Changes:
    """What must change so that ``before`` becomes ``after``; minimal, and the same for the same two states.

    Raises:
        InvalidRecordError: a member that is fixed at creation differs (``path`` is its name), or a changed
            value holds what JSON cannot say.

    """
    old = before if isinstance(before, Snapshot) else Snapshot.of(before)
    new = after if isinstance(after, Snapshot) else Snapshot.of(after)
    for name in FIXED:
        if not _same(old.members[name], new.members[name]):
            was, wanted = old.value(name), new.value(name)
            reason = f"is fixed at creation; it was {was!a} and cannot become {wanted!a}"
            raise InvalidRecordError(name, reason)
    changed: dict[str, JSON] = {}
    unset: list[str] = []
    for name in SCALARS:
        if not _same(old.members[name], new.members[name]):
            value = new.value(name)
            if value is None:
                unset.append(name)
            else:
                check_json(value, name)
                changed[name] = value
    usage = {name: count for name, count in new.usage.items() if old.usage.get(name, 0) != count}
    usage |= {name: 0 for name, count in old.usage.items() if name not in new.usage and count}
    splices = {}
    for name in LISTS:
        found = _splice(name, old.lists[name], new.lists[name])
        if found is not None:
            splices[name] = found
    return Changes(changed, tuple(unset), usage, splices)


def _splice(name: str, old: Sequence[bytes], new: Sequence[bytes]) -> Splice | None:
    start = _common(old, new)
    if start == len(old) == len(new):
        return None
    tail = _common(old[start:][::-1], new[start:][::-1])
    items = tuple(marshal.loads(taken) for taken in new[start : len(new) - tail])
    for place, item in enumerate(items, start):
        check_json(item, f"{name}[{place}]", index=place)
    return Splice(start, len(old) - tail, items)


def _common(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    """How many items from the beginning are the same; compared in C but for those that may differ."""
    for place in compress(count(), map(ne, old, new)):
        if not _same(old[place], new[place]):
            return place
    return min(len(old), len(new))


def _same(a: bytes, b: bytes) -> bool:
    # Only NaN has several images, all of one length.
    return a == b or (len(a) == len(b) and same_json(marshal.loads(a), marshal.loads(b)))


def _image(value: JSON, path: str, index: int | None = None) -> bytes:
    taken = image(value)
    if taken is None:
        check_json(value, path, index=index)
        raise InvalidRecordError(path, "holds what cannot be compared", index=index)
    return taken


def _images(values: Sequence[JSON], name: str) -> list[bytes]:
    taken = images(values)
    if taken is None:
        return [_image(value, f"{name}[{place}]", place) for place, value in enumerate(values)]
    return taken


def _written(items: Sequence[Resource], name: str) -> list[JSON]:
    for place, item in enumerate(items):
        if not isinstance(item, Resource):
            reason = f"must be a Resource, not a {type(item).__name__}"
            raise InvalidRecordError(f"{name}[{place}]", reason, index=place)
    return [item.to_json() for item in items]


def _plain(conversation: Conversation, name: str) -> JSON:
    value = getattr(conversation, _attribute(name))
    # The status is a text enum; marshal takes plain texts only.
    return str(value.value) if name == "status" else value


def _counters(conversation: Conversation) -> dict[str, int]:
    return {name: int(count) for name, count in conversation.usage}


def _attribute(name: str) -> str:
    return "id" if name == "_id" else name


_MEMBERS = (*FIXED, *SCALARS, *LISTS, *QUEUES)
