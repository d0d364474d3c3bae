"""LangGraph's checkpoints: of its MongoDB collection ``checkpoints``, or listed as JSON. Pure.

One conversation for each thread and namespace: the messages of the newest checkpoint, and every other line of
messages that a checkpoint has as a branch. A message's time is that of the first checkpoint that has it, or
that has it waiting in its input. Messages are read as LangChain's (format ``langchain``); those of an input
in a short form stay as they came. The newest checkpoint's other channels, its metadata and other members lie
beside the record, up to 64 KiB each; those of older ones are left out. A conversation is known again by its
thread, and its namespace where that is not the root's.

What checkpoints hold is msgpack, read by LangGraph's own serializer (extra ``langgraph``), as data: no class
named in it is made, no pickle read. Pending writes (``checkpoint_writes``) are no conversation. Channels that
keep only changes (``DeltaChannel``) are refused where the newest checkpoint has no snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from convostore.schemas.errors import ConvostoreError, UnavailableError
from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.documents import Gatherer, Layout, Part, extended, gathered
from convostore.schemas.formats.extended_json import binary_of
from convostore.schemas.formats.foreign import Draft, Item, Sources, active_and_branches, tree_lines
from convostore.schemas.formats.items import Found, ReadOptions, Refused
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.formats.langgraph_states import State, States, chat_in, pending_in
from convostore.schemas.formats.langgraph_values import decode
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.parts import rest_of
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.json_values import JSON, dump_text, text_digest

__all__ = ["LAYOUT", "NAME", "fits", "read"]

NAME = "langgraph"

_KEY = ("thread_id", "checkpoint_ns")
_MOST_BESIDE = 64 << 10


def fits(value: JSON) -> bool:
    """Whether the value is a checkpoint as LangGraph lists them, or a list of such."""
    items = value if isinstance(value, list) else [value]
    return any(_is_listed(item) for item in items[:3])


def _is_listed(value: JSON) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("checkpoint"), dict)
        and "channel_values" in value["checkpoint"]
        and isinstance(_configured(value.get("config")).get("thread_id"), str)
    )


def _configured(config: JSON) -> Mapping[str, JSON]:
    held = config.get("configurable") if isinstance(config, dict) else None
    return held if isinstance(held, dict) else {}


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The conversations in the input.

    Raises:
        InvalidRecordError: ``options.user`` is missing or no valid id.
        UnavailableError: the extra ``langgraph`` is needed and not installed.

    """
    return gathered(_flat(extended(json_values(source))), LAYOUT, options)


def _flat(values: Iterable[Found | Refused]) -> Iterator[Found | Refused]:
    """The values, those that are listed checkpoints in the form of the collection's documents."""
    for found in values:
        if isinstance(found, Found) and _is_listed(found.value):
            config = _configured(found.value["config"])
            parent = _configured(found.value.get("parent_config")).get("checkpoint_id")
            value = {**config, "parent_checkpoint_id": parent, "checkpoint": found.value["checkpoint"]}
            found = replace(found, value={**value, "metadata": found.value.get("metadata")})
        yield found


def _members_of_checkpoint(document: Mapping[str, JSON]) -> tuple[str, ...] | None:
    named = {"thread_id", "checkpoint_id", "checkpoint"} <= document.keys()
    return _KEY if named and isinstance(document["checkpoint"], dict) else None


def _members_of_write(document: Mapping[str, JSON]) -> tuple[str, ...] | None:
    return _KEY if {"thread_id", "checkpoint_id", "task_id", "channel"} <= document.keys() else None


class _Gatherer(Gatherer):
    """One thread after the other; a checkpoint is decoded when it comes, and only what is new of it kept."""

    def __init__(self, options: ReadOptions) -> None:
        super().__init__(Sources(NAME, options, names_user=False))
        self._begin()

    def _begin(self) -> None:
        self._remarks = Remarks()
        self._moments = Moments(self._remarks)
        self._states = States()
        self._times: list[int] = []
        self._first: Found | None = None
        self._newest: tuple[State, Mapping[str, Any], Mapping[str, Any]] | None = None
        self._refused: list[Refused] = []
        self._writes: list[Found] = []
        self._notes: list[str] = []

    def take(self, part: int, found: Found) -> None:
        """Take a checkpoint, or a pending write.

        Raises:
            UnavailableError: the extra ``langgraph`` is needed and not installed.

        """
        if part:
            self._writes.append(replace(found, value=None))
            return
        self._first = self._first or found
        self._notes += found.notes
        try:
            self._take(found.value)
        except UnavailableError:
            raise
        except (ConvostoreError, RecursionError) as error:
            self._refused.append(Refused(found.position, str(error), _text(found.value.get("checkpoint_id"))))

    def _take(self, document: Mapping[str, Any]) -> None:
        held = document["checkpoint"]
        data = binary_of(held)
        checkpoint = held if data is None else decode(str(document.get("type", "json")), data)
        checkpoint = checkpoint if isinstance(checkpoint, dict) else {}
        values = checkpoint.get("channel_values")
        values = values if isinstance(values, dict) else {}
        chat = chat_in(values)
        written = checkpoint.get("ts")
        made = self._moments.read(written)
        if made is not None:
            self._times.append(made)
        id = _text(document.get("checkpoint_id")) or ""
        state = State(
            id=id,
            parent=_text(document.get("parent_checkpoint_id")),
            messages=[] if chat is None else chat[1],
            pending=pending_in(values, None if chat is None else chat[0]),
            made=made,
            order=(_text(written) or "", id),
        )
        self._states.add(state)
        if self._newest is None or state.order > self._newest[0].order:
            self._newest = (state, checkpoint, document)

    def end(self) -> Iterator[Item]:
        first, newest, writes = self._first, self._newest, self._writes
        yield from self._refused
        if first is not None and newest is not None:
            yield from self.sources.each([first], lambda found: [self._conversation(found, *newest)])
        elif first is None and writes:
            reason = "pending writes, which are no conversation; their checkpoints are not in the input"
            yield Refused(writes[0].position, f"{len(writes):,} {reason}", skipped=True)
        self._begin()

    def _conversation(
        self, found: Found, newest: State, checkpoint: Mapping[str, Any], document: Mapping[str, Any]
    ) -> Item:
        thread, namespace = (_text(found.value.get(name)) for name in _KEY)
        id = f"{thread}/{namespace}" if namespace else thread
        values, versions = checkpoint.get("channel_values"), checkpoint.get("channel_versions")
        chat = chat_in(values) if isinstance(values, dict) else None
        if chat is None and isinstance(versions, dict) and "messages" in versions:
            reason = "its newest checkpoint holds no messages but changes of them, which are not read"
            return Refused(found.position, reason, id)
        nodes, pieces, leaf = self._states.tree(newest.id, self._remarks)
        if not nodes:
            return Refused(found.position, "its checkpoints hold no messages", id, skipped=True)
        facts = [[key, node.made] for key, node in nodes.items()]
        digest, _ = text_digest([id, newest.id, leaf, facts])
        source = self.sources.identified(id, digest)
        active, branches = active_and_branches(
            tree_lines(nodes, pieces.__getitem__, leaf, self._remarks), source, self.sources
        )
        unknown = self._beside(document, checkpoint, None if chat is None else chat[0])
        return Draft(
            user=self.sources.owner(),
            source=source,
            pieces=active,
            branches=branches,
            size=sum(len(dump_text(piece.message)) for piece in pieces.values()),
            created=self._times,
            updated=self._times,
            unknown=unknown,
            notes=(*self._notes, *self._remarks.lines()),
        ).imported(found.position)

    def _beside(
        self, document: Mapping[str, Any], checkpoint: Mapping[str, Any], chat: str | None
    ) -> dict[str, JSON]:
        """What the newest checkpoint says beside its messages, as far as it is small."""
        values = checkpoint.get("channel_values")
        others = values
        if isinstance(values, Mapping):
            others = {name: held for name, held in values.items() if name not in (chat, "__start__")}
        found: dict[str, JSON] = {"checkpoint_id": document.get("checkpoint_id")}
        more = rest_of(document, *_KEY, "_id", "checkpoint_id", "parent_checkpoint_id", "type", "checkpoint")
        more["metadata"] = _metadata(document.get("metadata"))
        for name, held in (*more.items(), ("channel_values", others)):
            if held in (None, {}):
                continue
            if len(dump_text(held)) <= _MOST_BESIDE:
                found[name] = held
            else:
                self._remarks.add(f"{name} of more than 64 KiB are left out")
        return found


def _metadata(held: JSON) -> JSON:
    """Metadata, each value of which is bytes of JSON, or bytes with their form before them."""
    data = binary_of(held)
    if data is not None:
        return _decoded("json", data, held)
    if isinstance(held, list) and len(held) == 2 and isinstance(held[0], str):
        data = binary_of(held[1])
        return held if data is None else _decoded(held[0], data, held)
    if isinstance(held, dict):
        return {name: _metadata(item) for name, item in held.items()}
    return held


def _decoded(kind: str, data: bytes, held: JSON) -> JSON:
    try:
        return decode(kind, data)
    except ConvostoreError:
        return held


def _text(value: JSON) -> str | None:
    return None if value is None else value if isinstance(value, str) else dump_text(value)


LAYOUT = Layout(
    (
        Part("checkpoints", _members_of_checkpoint),
        Part("checkpoint_writes", _members_of_write, is_spare=True),
    ),
    _Gatherer,
)
"""How MongoDBSaver keeps checkpoints: each a document, indexed by thread, namespace and id."""
