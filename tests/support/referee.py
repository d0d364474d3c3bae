"""What an attacked conversation must hold: the exact list of every version, kept beside the database.

After each command the :class:`Referee` reads what is stored with a client of its own and asks whether the
operation of the actor that sent it may lead from the state before to this one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from bson.codec_options import CodecOptions
from pymongo.database import Database

from convostore.store.codec import OPTIONS, decode_body, decode_text, decode_u64

Content = tuple[tuple[int, str], ...]
"""Entry ids and tokens, in order. A token is the text of a message; no two messages have the same."""

Kind = Literal[
    "append", "edit", "save", "update", "create", "delete", "steer", "take", "give back", "keep house",
    "collect", "read", "transcript", "undo", "redo", "rewrite",
]  # fmt: skip
_READS = frozenset({"find", "find_one", "aggregate"})
_WATCHED = frozenset({"conversations", "segments", "blobs"})
_QUEUES = {"steering_messages": "taken_steering", "follow_up_messages": "taken_follow_ups"}
_CODEC: CodecOptions[dict[str, Any]] = OPTIONS


class Wrong(AssertionError):
    """The store did what it must never do."""


@dataclass
class Operation:
    """What an actor is about: the ``tokens`` it stores, the ``entry`` it edits, the ``base`` it saves on."""

    kind: Kind
    tokens: tuple[str, ...] = ()
    entry: int | None = None
    base: tuple[int, Content] | None = None
    """Lineage and content of the record in hand."""
    wanted: Content = ()
    """What a transcript in hand holds, which was loaded as ``base``."""
    passed: tuple[Content, ...] = ()
    """What it held between one change of it and the next: all of them are saved at once."""
    receipt: str | None = None
    for_good: bool = False
    texts: tuple[str, ...] = ()
    """What it took for good."""
    applied: dict[int, int] = field(default_factory=dict)
    """How often it changed something, by lineage."""
    ended: bool = False
    """Whether its call gave an answer, after which nothing of it may happen any more."""
    gave_up: bool = False
    """Whether its call raised."""


@dataclass(frozen=True)
class State:
    """One conversation as stored."""

    lineage: int
    version: int
    structure: int
    revision: int
    next_entry: int
    usage: int
    content: Content
    segments: int
    embedded: int
    log_start: int
    receipt: str | None
    waiting: dict[str, tuple[str, ...]]
    leased: dict[str, tuple[str, ...]]

    def queued(self, name: str) -> tuple[str, ...]:
        return self.leased[name] + self.waiting[name]


class Referee:
    """Watches one conversation; ``database`` is a synchronous one."""

    def __init__(self, database: Database[dict[str, Any]], id: int) -> None:
        self._database = database.with_options(codec_options=_CODEC)
        self.id = id
        self.state: State | None = None
        self.versions: dict[tuple[int, int], Content] = {}
        self.ids: dict[int, dict[str, int]] = {}
        """By lineage: the id that each token was pushed under."""
        self._past: set[Content] = set()
        self.seen: dict[str, int] = {}
        """How often what happened, to tell a thorough attack from an idle one."""

    def count(self, what: str) -> None:
        self.seen[what] = self.seen.get(what, 0) + 1

    def watch(self, operation: Operation, command: str, collection: str) -> None:
        """Look at what a command of the operation, which was just run, has done."""
        if command in _READS or collection not in _WATCHED:
            return
        before, after = self.state, self._read()
        self._judge(operation, before, after)
        self.state = after

    def expect(self, lineage: int, version: int, content: Content) -> None:
        """A reader saw this content of this version."""
        known = self.versions.get((lineage, version))
        if content != known:
            raise Wrong(f"a reader saw {content} but version {version} is {known}")

    def expect_ids(self, tokens: tuple[str, ...], ids: tuple[int, ...]) -> None:
        """An append was acknowledged with these ids."""
        for given in self.ids.values():
            if tuple(given.get(token) for token in tokens) == ids:
                return
        raise Wrong(f"{tokens} were acknowledged as entries {ids}, and stored as {self.ids}")

    def now(self) -> tuple[tuple[int, int], ...]:
        """Every version there was so far."""
        return tuple(self.versions)

    # Reading

    def _read(self) -> State | None:
        head = self._database.conversations.find_one({"_id": self.id})
        if head is None:
            return None
        wanted = [item["i"] for item in head["segments"]]
        held = {}
        if wanted:
            held = {found["_id"]: found for found in self._database.segments.find({"_id": {"$in": wanted}})}
        entries = []
        for item in head["segments"]:
            if item["i"] not in held:
                raise Wrong(f"a hole: segment {item['i']} of {item['n']} messages is gone")
            if len(held[item["i"]]["e"]) != item["n"]:
                raise Wrong(f"a segment of {len(held[item['i']]['e'])} messages stands for {item['n']}")
            entries += held[item["i"]]["e"]
        run = head["messages"]
        if len(run) != head["embedded_count"]:
            raise Wrong(f"{len(run)} messages are embedded, the head says {head['embedded_count']}")
        plain = sum("id" not in entry for entry in run)
        first = head["next_entry"] - plain
        for entry in run:
            entries.append(entry if "id" in entry else {**entry, "id": first})
            first += "id" not in entry
        lease = head.get("taken") or {}
        final = lease.get("final", False)
        return State(
            head["lineage"],
            head["version"],
            head["structure"],
            head["revision"],
            head["next_entry"],
            decode_u64(head["usage"]["input_tokens"]),
            self._content(entries),
            len(head["segments"]),
            len(run),
            head["log_start"],
            lease.get("receipt"),
            {name: _texts(head, name) for name in _QUEUES},
            {name: () if final else _texts(head, aside) for name, aside in _QUEUES.items()},
        )

    def _content(self, entries: list[dict[str, Any]]) -> Content:
        apart = [entry["blob"]["b"] for entry in entries if "blob" in entry]
        pieces = {}
        if apart:
            found = self._database.blobs.find({"_id.b": {"$in": apart}, "c": self.id})
            pieces = {piece["_id"]["b"]: piece["data"] for piece in found}
        content = []
        for entry in entries:
            if "blob" in entry and entry["blob"]["b"] not in pieces:
                raise Wrong(f"a hole: the message of entry {entry['id']} is gone from blobs")
            content.append((entry["id"], token_of(decode_body(entry, pieces))))
        return tuple(content)

    # Judging

    def _judge(self, operation: Operation, before: State | None, after: State | None) -> None:
        if before is None or after is None:
            self._judge_life(operation, before, after)
            return
        if after.lineage != before.lineage:
            if operation.kind != "rewrite" or after.lineage in self.ids:
                raise Wrong(f"{operation} replaced a conversation by another")
            self.ids[after.lineage] = dict(self.ids[before.lineage])
        changed = after.version != before.version
        if changed:
            wanted = self._expected(operation, before)
            undone = operation.kind in ("undo", "redo")
            if after.version != before.version + 1 or (wanted is None and not undone):
                raise Wrong(f"{operation.kind} led from version {before.version} to {after.version}")
            used = int(operation.kind == "append")
            if after.usage != before.usage + used:
                raise Wrong(f"{operation} raised the usage from {before.usage} to {after.usage}")
        else:
            wanted = before.content
        if operation.kind in ("undo", "redo") and changed:
            # Whichever change is the newest in force: what stood before it, or after it, stands again.
            wanted = after.content if after.content in self._past else before.content
        if after.content != wanted:
            raise Wrong(
                f"{operation.kind} at version {before.version} to {after.version} of structure "
                f"{before.structure} to {after.structure} left {after.content} where {wanted} should stand"
            )
        if self._judge_queues(operation, before, after):
            self.count(operation.kind)
            changed = True
        if changed:
            self._applied(operation, after.lineage)
        self.versions[after.lineage, after.version] = after.content
        self._past |= {after.content, *operation.passed}
        self._note(operation, before, after)

    def _judge_life(self, operation: Operation, before: State | None, after: State | None) -> None:
        if before is None and after is None:
            return
        if after is None:
            if operation.kind != "delete":
                raise Wrong(f"{operation.kind} removed the conversation")
            self.count("deleted")
            return
        tokens = tuple(token for _, token in after.content)
        if operation.kind != "create" or after.lineage in self.ids or tokens != operation.tokens:
            raise Wrong(f"{operation} made a conversation of {tokens}")
        self._applied(operation, after.lineage)
        self.ids[after.lineage] = {token: id for id, token in after.content}
        self.versions[after.lineage, after.version] = after.content
        self._past |= {(), after.content}
        self.count("created")

    def _applied(self, operation: Operation, lineage: int) -> None:
        times = operation.applied[lineage] = operation.applied.get(lineage, 0) + 1
        if times > 1:
            raise Wrong(f"{operation} was applied {times} times")
        if operation.ended:
            raise Wrong(f"{operation} was applied after it had ended")

    def _expected(self, operation: Operation, before: State) -> Content | None:
        """The content after the operation; None when it may not change the version."""
        if operation.kind == "append":
            given = self.ids[before.lineage]
            fresh = [token for token in operation.tokens if token not in given]
            added = tuple(enumerate(fresh, before.next_entry))
            given.update((token, id) for id, token in added)
            return before.content + added if added else None
        if operation.kind == "edit":
            token = operation.tokens[0]
            return tuple((id, token if id == operation.entry else held) for id, held in before.content)
        if operation.kind == "save":
            return _saved(operation, before)
        if operation.kind == "transcript":
            return operation.wanted if operation.base == (before.lineage, before.content) else None
        return before.content if operation.kind in ("update", "rewrite") else None

    def _judge_queues(self, operation: Operation, before: State, after: State) -> bool:
        changed = False
        for name in _QUEUES:
            held, wanted = before.queued(name), after.queued(name)
            if operation.kind == "steer" and name == "steering_messages" and wanted != held:
                held += operation.tokens
                changed = True
            elif operation.kind == "take" and operation.for_good and wanted != held:
                operation.texts += before.leased[name]
                held = before.waiting[name]
                changed = True
            elif operation.receipt is not None and operation.receipt == before.receipt and not after.receipt:
                held = before.waiting[name]
            if wanted != held:
                raise Wrong(f"{operation} left {wanted} in {name} where {held} should wait")
        return changed

    def _note(self, operation: Operation, before: State, after: State) -> None:
        if after.log_start > before.log_start:
            self.count("log sealed")
        if after.version > before.version:
            self.count(operation.kind)
            sealed = len(before.content) - before.embedded
            if after.content[:sealed] != before.content[:sealed]:
                self.count(f"{operation.kind} of sealed messages")
        elif after.segments < before.segments:
            self.count("merged")
        elif after.embedded < before.embedded:
            self.count("sealed")
        elif after.structure > before.structure:
            self.count("fenced")


def _saved(operation: Operation, before: State) -> Content | None:
    """The content with the difference between the record in hand and its base put on top."""
    assert operation.base is not None
    lineage, base = operation.base
    if lineage != before.lineage:
        return None
    held = tuple(token for _, token in base)
    wanted = operation.tokens
    start = 0
    while start < min(len(held), len(wanted)) and held[start] == wanted[start]:
        start += 1
    end = 0
    while end < min(len(held), len(wanted)) - start and held[-1 - end] == wanted[-1 - end]:
        end += 1
    removed, placed = base[start : len(base) - end], wanted[start : len(wanted) - end]
    if not removed and not placed:
        return before.content
    ids = [id for id, _ in before.content]
    if start == len(base):
        at = len(ids)
    elif base[start][0] in ids:
        at = ids.index(base[start][0])
    else:
        return None
    if before.content[at : at + len(removed)] != removed:
        return None
    fresh = [id for id, _ in removed] if len(placed) == len(removed) else range(before.next_entry, 2**62)
    spliced = tuple(zip(fresh, placed, strict=False))
    return before.content[:at] + spliced + before.content[at + len(removed) :]


def _texts(head: dict[str, Any], name: str) -> tuple[str, ...]:
    return tuple(decode_text(item["text"]) for item in head.get(name, ()))


def token_of(message: Any) -> str:
    """The token in a message of the attack."""
    return str(message["content"]).rstrip(".")


def message_of(token: str, length: int = 0) -> dict[str, Any]:
    """A message that carries the token; ``length`` makes it so long that it lies apart."""
    return {"role": "user", "content": token.ljust(length, ".")}
