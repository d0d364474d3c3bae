"""The record of a conversation, its status, state and delta (``spec/anda.md`` 1, 2, 7). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from convostore.schemas.anda_cbor import dump_cbor, load_cbor
from convostore.schemas.anda_json import anda_text, load_json
from convostore.schemas.anda_reading import RecordReader
from convostore.schemas.anda_times import rfc3339
from convostore.schemas.anda_writing import RecordWriter
from convostore.schemas.dialects import message_of
from convostore.schemas.documents import Document
from convostore.schemas.field_types import U64, JsonList, Label, Text, Thread, User, as_invalid_record
from convostore.schemas.identifiers import check_u64
from convostore.schemas.json_values import JSON, check_json, same_json
from convostore.schemas.messages import Message
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage

__all__ = [
    "Conversation",
    "ConversationDelta",
    "ConversationState",
    "ConversationStatus",
    "baseline_of",
    "period_of",
    "set_baseline",
]


_EMBEDDED = ("resources", "artifacts")


class ConversationStatus(str, Enum):
    """Where a conversation stands; design 5 says which may follow which."""

    SUBMITTED = "submitted"
    WORKING = "working"
    IDLE = "idle"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"

    def __str__(self) -> str:
        return self.value


def period_of(created_at: int) -> int:
    """The whole hours since 1970 of a time in milliseconds; the same for every u64.

    >>> period_of(1_700_000_000_000)
    472222
    """
    return created_at // 3_600_000


class ConversationState(BaseModel):
    """Which conversation and where it stands."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    id: U64 = Field(default=0, validation_alias=AliasChoices("_id", "id"), serialization_alias="_id")
    status: ConversationStatus = ConversationStatus.SUBMITTED

    def to_json(self) -> dict[str, JSON]:
        """``{"_id": ..., "status": ...}``."""
        return {"_id": self.id, "status": self.status.value}


class ConversationDelta(BaseModel):
    """What a conversation got since a reader's offsets, with its present state (``spec/anda.md`` 7.3)."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True, serialize_by_alias=True)

    id: U64 = Field(default=0, validation_alias=AliasChoices("_id", "id"), serialization_alias="_id")
    messages: JsonList = Field(default_factory=list)
    artifacts: list[Resource] = Field(default_factory=list)
    status: ConversationStatus = ConversationStatus.SUBMITTED
    usage: Usage = Field(default_factory=Usage)
    failed_reason: Text | None = None
    updated_at: U64 = 0
    child: U64 | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConversationDelta):
            return NotImplemented
        return same_json(self.to_json(), other.to_json())

    def to_json(self, *, prefixed: bool = True) -> dict[str, JSON]:
        """The JSON form; ``failed_reason`` and ``child`` are null when unset, as Anda writes them."""
        return {
            "_id": self.id,
            "messages": self.messages,
            "artifacts": [item.to_json(prefixed=prefixed) for item in self.artifacts],
            "status": self.status.value,
            "usage": self.usage.to_json(),
            "failed_reason": self.failed_reason,
            "updated_at": self.updated_at,
            "child": self.child,
        }


class Conversation(BaseModel):
    """One conversation: Anda's record, the union of its schema versions 1 to 4, in their order of members.

    ``id`` is ``_id`` in JSON and in the database; 0 means that none was given yet. Times are milliseconds
    since 1970. ``messages`` holds JSON as it came, in the very list that was given; nothing here looks into
    it. ``ancestors`` run from the root to the parent. ``period`` always follows from ``created_at``, whatever
    was given. Members that may be absent are None then. Two conversations are equal when every member is
    equal JSON: 1 and 1.0 differ.

    What a store knows beyond the record goes along in copies and pickles, outside equality and dump.

    Raises:
        pydantic.ValidationError: a member is unknown or is not what it must be, at construction or
        assignment.

    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True, serialize_by_alias=True)

    id: U64 = Field(default=0, validation_alias=AliasChoices("_id", "id"), serialization_alias="_id")
    user: User
    thread: Thread | None = None
    messages: JsonList = Field(default_factory=list)
    resources: list[Resource] = Field(default_factory=list)
    artifacts: list[Resource] = Field(default_factory=list)
    status: ConversationStatus = ConversationStatus.SUBMITTED
    failed_reason: Text | None = None
    usage: Usage = Field(default_factory=Usage)
    steering_messages: list[Text] | None = None
    follow_up_messages: list[Text] | None = None
    child: U64 | None = None
    ancestors: list[U64] | None = None
    label: Label | None = None
    extra: Any = None
    period: U64 = 0
    created_at: U64 = 0
    updated_at: U64 = 0

    _baseline: Any = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _follow_creation(self) -> Conversation:
        # Written past the validation of assignments, which would call this again.
        self.__dict__["period"] = period_of(self.created_at)
        return self

    def model_copy(self, *, update: Any = None, deep: bool = False) -> Conversation:
        """A copy; its ``period`` follows its ``created_at``, other values of ``update`` are not checked."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__["period"] = period_of(copied.created_at)
        return copied

    def give_times(self, now: int) -> None:
        """Let a conversation that has no times have been created, and updated, ``now``."""
        # Written past the validation of assignments: this is done for every conversation of an import.
        held = self.__dict__
        if not held["created_at"]:
            held["created_at"], held["period"] = now, period_of(now)
        if not held["updated_at"]:
            held["updated_at"] = max(now, held["created_at"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conversation):
            return NotImplemented
        return self is other or same_json(self._plain(), other._plain())

    @classmethod
    def from_json(
        cls,
        source: str | bytes | Mapping[str, Any],
        *,
        strict: bool = False,
        version: int | None = None,
        notes: list[str] | None = None,
    ) -> Conversation:
        """Read one record from JSON: its text, or the object parsed from it.

        The kind default takes all that Anda's programs have written (``spec/anda.md`` 10.4): null for absent,
        missing members, ids and bytes in every form, members it does not know. ``notes`` gets a line for each
        such thing; :func:`convostore.schemas.anda_records.read_anda` also gives the unknown members. With
        ``strict`` it refuses what Anda refuses. ``version`` is the schema version, else inferred; a record of
        version 2 may lack its user, who is then the anonymous principal.

        Raises:
            InvalidRecordError: it is no such record; ``path`` is where.
            SchemaVersionError: there is no such version.

        """
        value = load_json(source, strict=strict) if isinstance(source, (str, bytes)) else source
        return cls._read(RecordReader(strict=strict, version=version), value, notes)

    @classmethod
    def from_cbor(
        cls,
        source: bytes,
        *,
        strict: bool = False,
        version: int | None = None,
        notes: list[str] | None = None,
    ) -> Conversation:
        """Read one record from CBOR with names for keys; else as :meth:`from_json`."""
        return cls._read(RecordReader(strict=strict, version=version, binary=True), load_cbor(source), notes)

    @classmethod
    def _read(cls, reader: RecordReader, value: Any, notes: list[str] | None) -> Conversation:
        read = reader.record(value)
        if notes is not None:
            notes += read.notes
            notes += [f"{name}: unknown; left out" for name in read.unknown]
        return cls.checked(read.members)

    @classmethod
    def checked(cls, members: Mapping[str, Any], path: str = "") -> Conversation:
        """A conversation of these members, for callers who expect the errors of Convostore.

        Raises:
            InvalidRecordError: one is not what it must be, where pydantic would raise ``ValidationError``.

        """
        try:
            return cls.model_validate(members)
        except ValidationError as error:
            raise as_invalid_record(error, path) from None

    def to_json(self, version: int = 4, *, strict: bool = False, notes: list[str] | None = None) -> str:
        """The record as compact JSON text, as the writers of that version of Anda write it.

        What the version cannot say is left out, replaced or written against its rules, and ``notes`` gets a
        line for each such thing (``path: what happened``); with ``strict`` it is refused.

        Raises:
            SchemaVersionError: there is no such version, or with ``strict`` it cannot say a value.
            InvalidRecordError: a message or ``extra`` holds what JSON cannot say.

        """
        return anda_text(self.to_json_object(version, strict=strict, notes=notes))

    def to_json_object(
        self, version: int = 4, *, strict: bool = False, notes: list[str] | None = None
    ) -> dict[str, JSON]:
        """The object of :meth:`to_json`; messages in it are those of the record, not copies."""
        return RecordWriter(version, strict=strict, binary=False, notes=notes).record(self.members())

    def to_cbor(self, version: int = 4, *, strict: bool = False, notes: list[str] | None = None) -> bytes:
        """The record as CBOR keyed by name, with principals, xids and blobs as bytes; else as to_json."""
        return dump_cbor(
            RecordWriter(version, strict=strict, binary=True, notes=notes).record(self.members())
        )

    def to_changes(self, version: int = 4) -> dict[str, Any]:
        """Anda's partial update with the record's present values (``spec/anda.md`` 7.2); null clears.

        Every member the version's own map can have is in it, so that a reason or a child that is gone goes in
        the database too. It overwrites both queues: whoever uses it must own them. Bytes are bytes.

        Raises:
            SchemaVersionError: there is no such version.

        """
        writer = RecordWriter(version, strict=False, binary=True, notes=None)
        resources = {name: [item.members() for item in getattr(self, name)] for name in _EMBEDDED}
        written = {name: writer.member(name, getattr(self, name)) for name in ("status", "usage")}
        held = self.members() | resources | written
        return {name: held[name] for name in writer.version.changes}

    def _plain(self) -> dict[str, JSON]:
        resources = {name: [item.to_json() for item in getattr(self, name)] for name in _EMBEDDED}
        return self.members() | resources | {"status": self.status.value, "usage": self.usage.to_json()}

    def members(self) -> dict[str, Any]:
        """Every member by its name in JSON, in order, as it is held: the same lists, resources as models."""
        return {"_id" if name == "id" else name: value for name, value in self.__dict__.items()}

    def append_messages(self, messages: Iterable[JSON | Message] | Message) -> None:
        """Append all or none to ``messages``: JSON as it is, models as their JSON; one may come bare.

        Times and status stay (``spec/anda.md`` 7.1).

        Raises:
            InvalidRecordError: one holds what JSON cannot say; ``index`` is its place in what was given.

        """
        given = [messages] if isinstance(messages, (dict, Message)) else list(messages)
        added = [item.to_json() if isinstance(item, Message) else item for item in given]
        for place, item in enumerate(added):
            check_json(item, f"messages[{place}]", index=place)
        self.messages.extend(added)

    @property
    def parsed(self) -> list[Message | None]:
        """The messages as models, None where one is no message; made anew at each access."""
        return [message_of(message) for message in self.messages]

    def state(self) -> ConversationState:
        """Its id and status."""
        return ConversationState(id=self.id, status=self.status)

    def to_delta(self, messages_offset: int = 0, artifacts_offset: int = 0) -> ConversationDelta:
        """Its state with the messages and artifacts from the offsets on, none where that is past the end.

        Raises:
            InvalidRecordError: an offset is no u64.

        """
        messages_from = check_u64(messages_offset, "messages_offset")
        artifacts_from = check_u64(artifacts_offset, "artifacts_offset")
        return ConversationDelta(
            id=self.id,
            messages=self.messages[messages_from:],
            artifacts=self.artifacts[artifacts_from:],
            status=self.status,
            usage=self.usage.model_copy(),
            failed_reason=self.failed_reason,
            updated_at=self.updated_at,
            child=self.child,
        )

    def to_document(self) -> Document:
        """The view for prompts: who, when and where it stands, and its messages pruned to what people said.

        Messages that are none are left out; the record's id is ``_id``, times are RFC 3339 (``spec/anda.md``
        7.5).
        """
        metadata = {
            "_id": self.id,
            "created_at": rfc3339(self.created_at),
            "label": self.label,
            "status": self.status.value,
            "thread": self.thread,
            "type": "Conversation",
            "updated_at": rfc3339(self.updated_at),
            "user": self.user,
        }
        content = [_shown(message) for message in self.parsed if message is not None]
        return Document({name: value for name, value in metadata.items() if value is not None}, content)


def _shown(message: Message) -> dict[str, JSON]:
    written = message.pruned()[0].to_json()
    if message.timestamp is not None:
        time = rfc3339(message.timestamp)
        if time is None:
            del written["timestamp"]
        else:
            written["timestamp"] = time
    return written


def baseline_of(conversation: Conversation) -> Any:
    """What the store noted when the conversation was last loaded or saved; None for one built by hand."""
    return conversation._baseline


def set_baseline(conversation: Conversation, baseline: Any) -> None:
    """Note what the store knows of the conversation; for the store alone."""
    conversation._baseline = baseline
