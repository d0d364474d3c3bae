"""Anda's own records, JSON and CBOR, in every form its programs hand them out (``spec/anda.md`` 10.4). Pure.

Read: one record, an array, JSON Lines, pages and other wrappings, deltas at offsets that the caller gives,
Documents and their rendered text as transcripts, CBOR keyed by name, and CBOR keyed by index with the names
of its collection. A conversation is known again by its ``_id`` and ``created_at`` (ids alone overlap between
collections), after the name of its collection when that is given; one without an id by the SHA-256 of its
content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from convostore.schemas.anda_documents import is_document
from convostore.schemas.anda_json import anda_text
from convostore.schemas.anda_records import (
    AndaDelta,
    AndaNotice,
    AndaOptions,
    AndaRecord,
    AndaRefused,
    anda_records,
    read_anda,
)
from convostore.schemas.anda_writing import RecordWriter
from convostore.schemas.conversations import Conversation
from convostore.schemas.dialects import dialect_of
from convostore.schemas.entries import Source
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.cbor_input import cbor_values, looks_like_cbor
from convostore.schemas.formats.items import (
    Facts,
    Found,
    Imported,
    ImportedDelta,
    Noticed,
    Position,
    ReadOptions,
    Refused,
)
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.identifiers import check_user
from convostore.schemas.json_values import JSON, text_digest

__all__ = ["NAME", "fits", "looks_rendered", "read", "read_document", "read_values", "write"]

NAME = "anda"
_RECORD_SIGNS = frozenset(("status", "usage", "period", "resources", "artifacts"))
_OF_MESSAGE = frozenset(("role", "content", "name", "user", "timestamp"))
_ENVELOPE_SIGNS = frozenset(("result", "Ok", "Err"))
# Results of batches at providers have it beside their ``result``.
_OF_BATCHES = frozenset(("custom_id",))
_STATES = frozenset(Conversation.model_fields)
_LOSSY = "read from the view for prompts: tool calls, files, resources and usage are not in it"

_Item: TypeAlias = Imported | ImportedDelta | Noticed | Refused


def fits(value: Any) -> bool:
    """Whether the value looks like what this format holds."""
    if isinstance(value, list):
        return any(map(fits, value[:3]))
    if not isinstance(value, Mapping):
        return False
    messages = value.get("messages")
    if isinstance(messages, list):
        signs = len(_RECORD_SIGNS & value.keys())
        return signs > 1 or (type(value.get("_id")) is int and (signs > 0 or "user" in value))
    is_envelope = bool(_ENVELOPE_SIGNS & value.keys()) and not _OF_BATCHES & value.keys()
    if is_envelope or is_document(value) or set(value) == {"f"}:
        return True
    return set(value) <= {"error", "next_cursor"} if "error" in value else fits(value.get("output"))


def looks_rendered(head: bytes) -> bool:
    """Whether the input begins as rendered Documents do."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def read(source: ByteInput, options: ReadOptions) -> Iterator[_Item]:
    """The conversations and deltas in the input.

    Raises:
        InvalidRecordError: ``options.user`` is given and no valid id.

    """
    if options.user is not None:
        check_user(options.user)
    head = source.peek(64)
    reader = _Reading(options, binary=looks_like_cbor(head))
    if reader.how.binary:
        values: Iterable[Found | Refused] = cbor_values(source)
    elif looks_rendered(head):
        text = b"".join(source).decode("utf-8-sig", "replace").replace("\r\n", "\n")
        values = [Found(1, text.strip() + "\n")]
    else:
        values = json_values(source)
    for found in values:
        yield from [found] if isinstance(found, Refused) else reader.take(found)


def read_values(values: Iterable[Found | Refused], options: ReadOptions) -> Iterator[_Item]:
    """The conversations in values from CBOR, as a collection's documents are; raises as :func:`read`."""
    if options.user is not None:
        check_user(options.user)
    reader = _Reading(options, binary=True)
    for found in values:
        yield from [found] if isinstance(found, Refused) else reader.take(found)


def read_document(value: Mapping[str, Any]) -> Imported:
    """One record as a document of a database holds it.

    Raises:
        InvalidRecordError: it is none, or cannot be read; ``path`` is where.

    """
    if not fits(value) or not isinstance(value.get("messages"), list):
        raise InvalidRecordError("conversation", "is no Anda record: it has no messages, status and usage")
    return _Reading(ReadOptions(), binary=False).record(str(value["_id"]), read_anda(value), ())


class _Reading:
    """One input being read."""

    def __init__(self, options: ReadOptions, *, binary: bool) -> None:
        self.options = options
        self.how = AndaOptions(
            version=options.version, user=options.user, binary=binary, names=options.field_names
        )
        self._seen: dict[int, int] = {}

    def take(self, found: Found) -> Iterator[_Item]:
        for item in anda_records(found.value, self.how):
            position: Position = f"{found.position}{item.path}" if item.path else found.position
            if isinstance(item, AndaRecord):
                yield self.record(position, item, found.notes)
            elif isinstance(item, AndaDelta):
                yield self._delta(position, item)
            elif isinstance(item, AndaNotice):
                yield Noticed(position, item.text)
            else:
                yield _refused(position, item)

    def record(self, position: Position, item: AndaRecord, notes: tuple[str, ...]) -> Imported:
        """One record, with the identity by which it is known again."""
        record, unknown, user = item.conversation, dict(item.unknown), self.options.user
        notes += item.notes
        if item.lossy:
            notes += (_LOSSY,)
        if user is not None and record.user != user:
            notes += (f"the record's own user is {record.user!a}",)
            unknown["user"] = record.user
            record = record.model_copy(update={"user": user})
        content, size = text_digest(record.to_json_object())
        return Imported(
            position=position,
            conversation=record,
            source=Source(NAME, self._identity(record, content, item.lossy), self.options.file, content),
            entries=[_facts(message) for message in record.messages],
            unknown=unknown,
            states=frozenset({"messages"}) if item.lossy else _STATES,
            notes=notes,
            size=size,
        )

    def _identity(self, record: Conversation, content: str, lossy: bool) -> str:
        where = f"{self.options.collection}/" if self.options.collection else ""
        # The view for prompts must not pass for a later state of the record that it shows.
        where = f"document/{where}" if lossy else where
        if record.id:
            return f"{where}{record.id}@{record.created_at}"
        key = int(content[:16], 16)
        self._seen[key] = count = self._seen.get(key, 0) + 1
        return f"{where}sha256:{content}" + (f"#{count}" if count > 1 else "")

    def _delta(self, position: Position, item: AndaDelta) -> ImportedDelta | Refused:
        messages_offset, artifacts_offset = self.options.messages_offset, self.options.artifacts_offset
        if messages_offset is None or artifacts_offset is None:
            reason = (
                "what was added to a record, not a record; it needs the offsets it was asked for at, "
                "messages_offset and artifacts_offset (--messages-offset, --artifacts-offset)"
            )
            return Refused(position, reason, str(item.delta.id))
        return ImportedDelta(position, item.delta, item.given, messages_offset, artifacts_offset)


def _refused(position: Position, item: AndaRefused) -> Refused:
    return Refused(position, str(item.error), None if item.id is None else str(item.id))


def _facts(message: JSON) -> Facts:
    if not isinstance(message, dict) or "role" not in message:
        return Facts()
    made = message.get("timestamp")
    # Hosts keep messages of other dialects in records of Anda's; plain text is the same in all of them.
    plain = isinstance(message.get("content"), str) and message.keys() <= _OF_MESSAGE
    dialect = NAME if plain else dialect_of(message) or NAME
    # A time that no clock shows is the message's own affair.
    return Facts(made if type(made) is int and 0 <= made < 2**63 else None, dialect=dialect)


def write(
    record: Conversation,
    messages: Iterable[JSON],
    *,
    version: int = 4,
    strict: bool = False,
    notes: list[str] | None = None,
) -> Iterator[str]:
    """One record as a line, as the writer of that schema version would, in pieces.

    ``messages`` take the place of the record's own, so that they need not be in memory at once. What the
    version cannot say goes to ``notes``.

    Raises:
        SchemaVersionError: there is no such version, or with ``strict`` it cannot say what the record holds.

    """
    writer = RecordWriter(version, strict=strict, binary=False, notes=notes)
    members = writer.record(record.members() | {"messages": []})
    for place, (name, value) in enumerate(members.items()):
        yield ("," if place else "{") + f"{anda_text(name)}:"
        if name != "messages":
            yield anda_text(value)
            continue
        yield "["
        for number, message in enumerate(messages):
            yield ("," if number else "") + anda_text(writer.message(message, number))
        yield "]"
    yield "}\n"
