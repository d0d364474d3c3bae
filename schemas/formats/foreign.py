"""What the readers of foreign conversations share: owners, identities, putting lines together. Pure.

A reader turns one value of its input into :class:`Told` lines of :class:`~.parts.Piece`; this puts them
together. Whatever a value holds, one conversation or one refusal comes of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pydantic import ValidationError

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.entries import Source
from convostore.schemas.errors import ConvostoreError, InvalidRecordError
from convostore.schemas.field_types import as_invalid_record
from convostore.schemas.formats.items import (
    Branch,
    Facts,
    Found,
    Imported,
    Noticed,
    Origin,
    Position,
    ReadOptions,
    Refused,
)
from convostore.schemas.formats.parts import Piece
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.formats.trees import Forest, Line, Node
from convostore.schemas.identifiers import check_text, check_user
from convostore.schemas.json_values import JSON, MAX_DEPTH, dump_text, text_digest
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage

__all__ = [
    "Draft",
    "Item",
    "Sources",
    "Told",
    "active_and_branches",
    "branch_of",
    "first_id",
    "holds",
    "remark_tree",
    "told",
    "tree_lines",
    "unwrapped",
]

Item: TypeAlias = Imported | Noticed | Refused
"""What these readers give."""

_LONGEST_ID = 256


class Sources:
    """Whose the conversations of one input are, and by what they are known again."""

    def __init__(self, format: str, options: ReadOptions, *, names_user: bool) -> None:
        """``names_user`` says whether the format's own conversations do.

        Raises:
            InvalidRecordError: ``options.user`` is given and no valid id, or missing where nothing else says.

        """
        if options.user is not None:
            check_user(options.user)
        elif not names_user:
            reason = f"the {format} format names no user; say whose the conversations are (--user)"
            raise InvalidRecordError("user", reason)
        self.format = format
        self._options = options
        self._seen: dict[int, int] = {}

    def owner(self, *named: JSON) -> str:
        """The user given for the input, else the first that the conversation names.

        Raises:
            InvalidRecordError: there is none.

        """
        if self._options.user is not None:
            return self._options.user
        for name in named:
            try:
                return check_user(name)
            except ConvostoreError:
                continue
        raise InvalidRecordError("user", "it names no user; say whose the conversations are (--user)")

    def identified(self, id: str | None, hash: str) -> Source:
        """The identity of content whose SHA-256 in hex is ``hash``: the source's own id, else that.

        Of a second one of the same content it ends in ``#2``.
        """
        if id is None:
            key = int(hash[:16], 16)
            self._seen[key] = count = self._seen.get(key, 0) + 1
            id = f"sha256:{hash}" + (f"#{count}" if count > 1 else "")
        return Source(self.format, _fitting(id), self._options.file, hash)

    def branch(self, of: str, key: str, messages: Sequence[JSON]) -> Source:
        """The identity of a branch of these, the first of them the message ``key`` of ``of``."""
        return Source(self.format, _fitting(f"{of}/{key}"), self._options.file, text_digest(messages)[0])

    def each(
        self, values: Iterable[Found | Refused], read: Callable[[Found], Iterable[Item]]
    ) -> Iterator[Item]:
        """What ``read`` makes of each value, and a refusal of one that it cannot take."""
        for found in values:
            if isinstance(found, Refused):
                yield found
                continue
            try:
                items = read(found)
                if isinstance(items, list):
                    del found  # which may be large, and is not needed while they are stored
                yield from items
            except ConvostoreError as error:
                yield Refused(found.position, str(error), first_id(found.value))
            except ValidationError as error:
                yield Refused(found.position, str(as_invalid_record(error)), first_id(found.value))
            except RecursionError:
                reason = f"nested too deeply; at most {MAX_DEPTH} levels"
                yield Refused(found.position, reason, first_id(found.value))


def _fitting(id: str) -> str:
    """The id, or in the place of one that no index could hold its hash."""
    try:
        fits = len(check_text(id, "id")) <= _LONGEST_ID and "\0" not in id
    except InvalidRecordError:
        fits = False
    return id if fits else f"sha256:{hashlib.sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()}"


def first_id(value: JSON, *names: str) -> str | None:
    """The first of the members that is an id: text that is not empty, a whole number, or an ObjectId."""
    if not isinstance(value, dict):
        return None
    for name in names or ("id", "uuid", "_id", "conversation_id", "conversationId"):
        id = value.get(name)
        if isinstance(id, dict) and set(id) == {"$oid"}:
            id = id["$oid"]
        if type(id) is int:
            return str(id)
        if isinstance(id, str) and id:
            return id
    return None


# Members under which a list of conversations may lie, when an object stands around it.
_WRAPPERS = ("conversations", "chats", "data")


def _wrapper(value: JSON) -> str | None:
    if not isinstance(value, dict):
        return None
    for name in _WRAPPERS:
        items = value.get(name)
        if isinstance(items, list) and any(isinstance(item, dict) for item in items):
            return name
    return None


def holds(value: JSON, is_one: Callable[[JSON], bool]) -> bool:
    """Whether the value is a conversation, or a list or an object around one, judged by its beginning."""
    if is_one(value):
        return True
    name = _wrapper(value)
    items = value if isinstance(value, list) else [] if name is None else value[name]
    return any(map(is_one, items[:3]))


def unwrapped(values: Iterable[Found | Refused], is_one: Callable[[JSON], bool]) -> Iterator[Found | Refused]:
    """The values, those in a list or in an object around one by one."""
    for found in values:
        if isinstance(found, Refused):
            yield found
            continue
        value, path = found.value, ""
        name = None if is_one(value) else _wrapper(value)
        if name is not None:
            value, path = value[name], f".{name}"
        if not isinstance(value, list):
            whole = [found]
            del found, value
            yield whole.pop()  # nothing here holds it any more: it may be large
            continue
        for place, item in enumerate(value):
            yield Found(f"{found.position}{path}[{place}]", item, found.notes if place == 0 else ())


@dataclass(slots=True)
class Told:
    """A line of messages: ``key`` is the id of its first own one, the rest is that of a ``trees.Line``."""

    key: str
    parent: int | None
    after: int
    pieces: list[Piece]
    unknown: Mapping[str, JSON] = field(default_factory=dict)


def told(lines: Iterable[Line], pieces: Callable[[str], Piece]) -> list[Told]:
    """The lines with their messages converted."""
    return [
        Told(line.own[0] if line.own else "", line.parent, line.after, [pieces(id) for id in line.own])
        for line in lines
    ]


def tree_lines(
    nodes: Mapping[str, Node], pieces: Callable[[str], Piece], leaf: JSON, remarks: Remarks
) -> list[Told]:
    """The lines of a tree, the one to ``leaf`` first; without a usable one that to the newest leaf."""
    forest = Forest(nodes)
    if not isinstance(leaf, str) or leaf not in nodes:
        leaf = forest.newest_leaf()
    remark_tree(forest, remarks)
    return told(forest.lines([leaf] if leaf is not None else []), pieces)


def remark_tree(forest: Forest, remarks: Remarks) -> None:
    """Say what of the links between messages was not as it should be."""
    for id in forest.orphans:
        remarks.add("messages whose parent is not in the source begin a line of their own", id)
    for id in forest.circles:
        remarks.add("circles of parents were cut", id)


@dataclass(slots=True)
class Draft:
    """A conversation that is being read.

    ``pieces`` are the messages of the active line, whole, the first ``inherited`` of them those of
    ``origin``. ``title`` is the source's member for it, with what that holds: text becomes ``extra.title``.
    ``usage`` is given where the source counts for the conversation and not for its messages.
    """

    user: str
    source: Source
    pieces: Sequence[Piece]
    size: int
    branches: Sequence[Branch] = ()
    inherited: int = 0
    origin: Origin | None = None
    title: tuple[str, JSON] = ("title", None)
    created: Sequence[int | None] = ()
    updated: Sequence[int | None] = ()
    usage: Usage | None = None
    unknown: Mapping[str, JSON] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def imported(self, position: Position) -> Imported:
        """The conversation.

        ``created_at`` is the earliest time that the source gives, of its own messages or of itself,
        ``updated_at`` the latest; both are 0 when it gives none.
        """
        own = self.pieces[self.inherited :]
        made = [piece.made for piece in own]
        made += [fact.made for branch in self.branches for fact in branch.entries]
        times = [time for time in (*made, *self.created, *self.updated) if time is not None]
        resources = _resources(self.pieces)
        name, title = self.title
        has_title = isinstance(title, str) and title != ""
        usage = self.usage if self.usage is not None else _usage(own)
        stated = {"extra": has_title, "resources": bool(resources), "usage": usage != Usage()}
        record = Conversation(
            user=self.user,
            messages=[piece.message for piece in self.pieces],
            resources=resources,
            status=ConversationStatus.COMPLETED,
            usage=usage,
            extra={"title": title} if has_title else None,
            created_at=min(times, default=0),
            updated_at=max(times, default=0),
        )
        return Imported(
            position=position,
            conversation=record,
            source=self.source,
            entries=_facts(self.pieces),
            unknown=self.unknown if has_title or title is None else {name: title, **self.unknown},
            states=frozenset({"messages", *(name for name, is_stated in stated.items() if is_stated)}),
            notes=self.notes,
            size=self.size,
            branches=tuple(self.branches),
            origin=self.origin,
        )


def active_and_branches(
    lines: Sequence[Told], source: Source, sources: Sources
) -> tuple[Sequence[Piece], list[Branch]]:
    """The messages of the first line, which begins by itself, and the other lines as branches."""
    active, *others = lines or [Told("", None, 0, [])]
    ids = [source.id]
    branches = []
    for line in others:
        branch = branch_of(line, ids[line.parent or 0], source.id, line.key, sources)
        ids.append(branch.source.id)
        branches.append(branch)
    return active.pieces, branches


def branch_of(line: Told, leaves: str, of: str, key: str, sources: Sources) -> Branch:
    """The line as a branch off the one of the id ``leaves``; ``key`` names it in the conversation ``of``."""
    messages = [piece.message for piece in line.pieces]
    return Branch(
        source=sources.branch(of, key, messages),
        origin=Origin(leaves, line.after),
        messages=messages,
        entries=_facts(line.pieces),
        resources=_resources(line.pieces),
        usage=_usage(line.pieces),
        unknown=line.unknown,
    )


def _facts(pieces: Sequence[Piece]) -> list[Facts]:
    return [Facts(piece.made, dialect=piece.dialect) for piece in pieces]


def _resources(pieces: Sequence[Piece]) -> list[Resource]:
    """The resources of the messages, each once."""
    found: dict[str, Resource] = {}
    for piece in pieces:
        for resource in piece.resources:
            found.setdefault(dump_text(resource.to_json()), resource)
    return list(found.values())


def _usage(pieces: Sequence[Piece]) -> Usage:
    total = Usage()
    for piece in pieces:
        if piece.usage is not None:
            total.accumulate(piece.usage)
    return total
