"""Anda's own records, JSON and CBOR, in every form its programs hand them out (``spec/anda.md`` 10.4). Pure.

Read: one record, an array, JSON Lines, pages and other wrappings, deltas at offsets that the caller gives,
Documents and their rendered text as transcripts, CBOR keyed by name, and CBOR keyed by index with the names
of its collection. A conversation is known again by its ``_id`` and ``created_at`` (ids alone overlap between
collections), after the name of its collection when that is given; one without an id by the SHA-256 of its
content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from convostore.schemas.anda_cbor import named
from convostore.schemas.anda_json import anda_text
from convostore.schemas.anda_reading import ReadMembers, RecordReader
from convostore.schemas.anda_writing import RecordWriter
from convostore.schemas.conversations import Conversation
from convostore.schemas.entries import Source
from convostore.schemas.errors import ConvostoreError, InvalidRecordError
from convostore.schemas.field_types import as_invalid_record
from convostore.schemas.formats.anda_documents import document_record, is_document, rendered_lines
from convostore.schemas.formats.anda_envelopes import is_envelope, unwrapped
from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.cbor_input import cbor_values, looks_like_cbor
from convostore.schemas.formats.items import Facts, Found, Imported, ImportedDelta, ReadOptions, Refused
from convostore.schemas.formats.json_input import decode
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.identifiers import MAX_U64, check_user
from convostore.schemas.json_values import JSON, dump_exact

__all__ = ["NAME", "fits", "looks_rendered", "read", "write"]

NAME = "anda"
_RECORD_SIGNS = frozenset(("status", "usage", "period", "resources", "artifacts"))
_LOSSY = "read from the view for prompts: tool calls, files, resources and usage are not in it"


def fits(value: Any) -> bool:
    """Whether the value looks like what this format holds."""
    if isinstance(value, list):
        return any(map(fits, value[:3]))
    if not isinstance(value, Mapping):
        return False
    if is_envelope(value) or is_document(value) or _is_stored(value):
        return True
    messages = value.get("messages")
    if not isinstance(messages, list):
        return False
    signs = len(_RECORD_SIGNS & value.keys())
    return signs > 1 or (type(value.get("_id")) is int and (signs > 0 or "user" in value))


def looks_rendered(head: bytes) -> bool:
    """Whether the input begins as rendered Documents do."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def read(source: ByteInput, options: ReadOptions) -> Iterator[Imported | ImportedDelta | Refused]:
    """The conversations and deltas in the input."""
    head = source.peek(64)
    reader = _Reading(options, binary=looks_like_cbor(head))
    if options.user is not None:
        check_user(options.user)
    if reader.binary:
        values: Iterable[Found | Refused] = cbor_values(source)
    elif looks_rendered(head):
        values = [Found(1, b"".join(source).decode("utf-8", "replace"))]
    else:
        values = json_values(source)
    for found in values:
        yield from reader.take(found)


class _Reading:
    """One input being read."""

    def __init__(self, options: ReadOptions, *, binary: bool) -> None:
        self.options = options
        self.binary = binary
        self._seen: dict[int, int] = {}

    def take(self, found: Found | Refused) -> Iterator[Imported | ImportedDelta | Refused]:
        if isinstance(found, Refused):
            yield found
            return
        for item in unwrapped(found):
            if isinstance(item, Refused):
                yield item
            elif isinstance(item.value, str):
                yield from self._rendered(item)
            else:
                yield self._one(item)

    def _rendered(self, found: Found) -> Iterator[Imported | ImportedDelta | Refused]:
        lines = rendered_lines(found.value)
        if lines is None:
            yield Refused(found.position, "text that is no rendered documents")
            return
        for number, line in lines:
            document = decode(line, number if found.position == 1 else f"{found.position}, line {number}")
            yield document if isinstance(document, Refused) else self._one(document)

    def _one(self, found: Found) -> Imported | ImportedDelta | Refused:
        value, prefix, notes = found.value, "", list(found.notes)
        id = str(value["_id"]) if isinstance(value, Mapping) and type(value.get("_id")) is int else None
        try:
            if not isinstance(value, Mapping):
                return Refused(found.position, f"no record but {_kind(value)}")
            if is_document(value):
                value, prefix = document_record(value), "document/"
                notes.append(_LOSSY)
            elif _is_stored(value):
                value = self._by_name(value)
            elif _is_delta(value):
                return self._delta(found, value)
            elif "messages" not in value:
                return Refused(found.position, "no record: it has no messages", id)
            return self._record(found, value, prefix, notes)
        except (ConvostoreError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            return Refused(found.position, reason, id)

    def _by_name(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        if self.options.field_names is None:
            reason = "a document keyed by index; it needs the meta.cbor of its own collection"
            raise InvalidRecordError("f", reason)
        return named(value, self.options.field_names)

    def _record(self, found: Found, value: Mapping[str, Any], prefix: str, notes: list[str]) -> Imported:
        options = self.options
        read = RecordReader(version=options.version, user=options.user, binary=self.binary).record(value)
        unknown = dict(read.unknown)
        if options.user is not None and read.members["user"] != options.user:
            notes.append(f"the record's own user is {read.members['user']!a}")
            unknown["user"] = read.members["user"]
            read.members["user"] = options.user
        conversation = _model(read)
        content = hashlib.sha256(dump_exact(conversation.to_json_object()).encode()).hexdigest()
        return Imported(
            position=found.position,
            conversation=conversation,
            source=Source(NAME, prefix + self._identity(conversation, content), options.file, content),
            entries=[_facts(message) for message in conversation.messages],
            unknown=unknown,
            notes=(*notes, *read.notes),
        )

    def _identity(self, conversation: Conversation, content: str) -> str:
        where = f"{self.options.collection}/" if self.options.collection else ""
        if conversation.id:
            return f"{where}{conversation.id}@{conversation.created_at}"
        key = int(content[:16], 16)
        self._seen[key] = count = self._seen.get(key, 0) + 1
        return f"{where}sha256:{content}" + (f"#{count}" if count > 1 else "")

    def _delta(self, found: Found, value: Mapping[str, Any]) -> ImportedDelta:
        messages_offset, artifacts_offset = self.options.messages_offset, self.options.artifacts_offset
        if messages_offset is None or artifacts_offset is None:
            reason = "what was added to a record, not a record; it needs the offsets it was asked for at"
            raise InvalidRecordError("delta", reason)
        read = RecordReader(version=self.options.version, binary=self.binary).delta(value)
        members = dict(read.members)
        cleared = [name for name in ("failed_reason", "child") if name in value and name not in members]
        return ImportedDelta(
            position=found.position,
            id=members.pop("_id"),
            messages=members.pop("messages"),
            artifacts=members.pop("artifacts"),
            members=members | dict.fromkeys(cleared),
            messages_offset=messages_offset,
            artifacts_offset=artifacts_offset,
        )


def _model(read: ReadMembers) -> Conversation:
    try:
        return Conversation.model_validate(read.members)
    except ValidationError as error:
        raise as_invalid_record(error) from None


def _facts(message: JSON) -> Facts:
    if not isinstance(message, dict) or "role" not in message:
        return Facts()
    made = message.get("timestamp")
    return Facts(made if type(made) is int and 0 <= made <= MAX_U64 else None, dialect=NAME)


def _is_stored(value: Mapping[Any, Any]) -> bool:
    return set(value) == {"f"} and isinstance(value["f"], Mapping)


def _is_delta(value: Mapping[str, Any]) -> bool:
    wanted = {"_id", "messages", "artifacts", "status", "updated_at"}
    return wanted <= value.keys() and not {"user", "created_at", "period", "resources"} & value.keys()


def _kind(value: Any) -> str:
    return "null" if value is None else f"a {type(value).__name__}"


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
            (written,) = writer.member("messages", [message])
            yield ("," if number else "") + anda_text(written)
        yield "]"
    yield "}\n"
