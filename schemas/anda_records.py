"""What one value of Anda's programs holds: records, deltas, refusals (``spec/anda.md`` 10.4). Pure.

Records come bare, in lists, pages and answers of tools and servers, keyed by name or index, or rendered for a
model. :func:`anda_records` takes any of these, parsed; files and streams of many values are for the formats
to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from pydantic import ValidationError

from convostore.schemas.anda_cbor import load_cbor, named
from convostore.schemas.anda_documents import is_document, record_of_document, rendered_documents
from convostore.schemas.anda_json import load_json
from convostore.schemas.anda_reading import DELTA_MEMBERS, RecordReader
from convostore.schemas.anda_versions import infer_version
from convostore.schemas.byte_text import read_bytes
from convostore.schemas.conversations import Conversation, ConversationDelta
from convostore.schemas.errors import ConvostoreError, InvalidRecordError
from convostore.schemas.field_types import as_invalid_record
from convostore.schemas.json_values import JSON

__all__ = [
    "AndaDelta",
    "AndaItem",
    "AndaNotice",
    "AndaOptions",
    "AndaRecord",
    "AndaRefused",
    "anda_records",
    "read_anda",
]


@dataclass(frozen=True, slots=True)
class AndaOptions:
    """How to read.

    ``strict`` refuses what Anda refuses. ``version`` is the schema version of the writer, when that is known.
    ``user`` owns records that name nobody. ``binary`` is for values from CBOR, where bytes are bytes.
    ``names`` are those of the collection (``anda_cbor.field_names``), for documents keyed by index.
    """

    strict: bool = False
    version: int | None = None
    user: str | None = None
    binary: bool = False
    names: Mapping[int, str] | None = None

    def reader(self, path: str) -> RecordReader:
        """The reader of one object at ``path``."""
        return RecordReader(
            strict=self.strict, version=self.version, user=self.user, path=path, binary=self.binary
        )


@dataclass(frozen=True, slots=True)
class AndaRecord:
    """A record, with what the record itself has no name for.

    ``version`` is the one that was told, else the one inferred. ``unknown`` holds the members without a name;
    those of the usage and of resources lie under ``usage``, and under ``resources`` and ``artifacts`` by the
    number of the resource. ``notes`` say what was done to read it. ``lossy`` marks a record made from a
    rendered document, which has its messages pruned and no usage.
    """

    conversation: Conversation
    version: int
    unknown: Mapping[str, JSON] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    path: str = ""
    lossy: bool = False


@dataclass(frozen=True, slots=True)
class AndaDelta:
    """What a conversation got since an offset; no record of its own. ``given`` names the members it had."""

    delta: ConversationDelta
    given: frozenset[str]
    unknown: Mapping[str, JSON] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    path: str = ""


@dataclass(frozen=True, slots=True)
class AndaRefused:
    """A part that is none of these, or one that cannot be read; ``id`` is its own where it has one."""

    error: ConvostoreError
    path: str = ""
    id: int | None = None


@dataclass(frozen=True, slots=True)
class AndaNotice:
    """Something the reader of the whole should know, as that a page is not the last."""

    text: str
    path: str = ""


AndaItem: TypeAlias = AndaRecord | AndaDelta | AndaRefused | AndaNotice

_DEFAULT = AndaOptions()
_MOST_WRAPPED = 16
_DELTA_HAS = ("_id", "messages", "status", "usage")
_DELTA_LACKS = ("user", "created_at", "resources", "period")


def read_anda(source: str | bytes | Mapping[str, Any], options: AndaOptions = _DEFAULT) -> AndaRecord:
    """One record: JSON text, CBOR where the options say ``binary``, or the object parsed from either.

    Raises:
        InvalidRecordError: it is no such record; ``path`` is where.
        SchemaVersionError: there is no such version.

    """
    value: Any = source
    if isinstance(source, bytes) and options.binary:
        value = load_cbor(source)
    elif isinstance(source, (str, bytes)):
        value = load_json(source, strict=options.strict)
    return _record(value, options, "") if options.names is None else _indexed(value, options, "")


def anda_records(value: Any, options: AndaOptions = _DEFAULT, path: str = "") -> Iterator[AndaItem]:
    """All that one parsed value holds, in its order; what cannot be read comes as :class:`AndaRefused`.

    The value is a record, a delta, a document or the text of rendered documents; a list of these; or one of
    the envelopes around them: ``result`` (with ``next_cursor`` or ``error``), ``output``, ``Ok`` and ``Err``.
    """
    yield from _items(value, options, path, 0)


def _items(value: Any, options: AndaOptions, path: str, depth: int) -> Iterator[AndaItem]:
    if depth > _MOST_WRAPPED:
        yield _refused(path, f"is wrapped more than {_MOST_WRAPPED} times")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _items(item, options, f"{path}[{place}]", depth + 1)
    elif isinstance(value, str):
        yield from _rendered(value, options, path, depth + 1)
    elif not isinstance(value, Mapping):
        yield _refused(path, f"is no conversation but a {type(value).__name__}")
    elif "messages" in value or "f" in value or is_document(value):
        yield _single(value, options, path)
    else:
        yield from _unwrapped(value, options, path, depth + 1)


def _unwrapped(value: Mapping[str, Any], options: AndaOptions, path: str, depth: int) -> Iterator[AndaItem]:
    for name in ("error", "Err"):
        if value.get(name) is not None:
            yield _refused(f"{path}.{name}", f"the answer is an error: {ascii(value[name])[:300]}")
            return
    found = False
    for name in ("result", "output"):
        if name in value:
            if value[name] is not None:
                yield from _items(value[name], options, f"{path}.{name}", depth)
            else:
                yield AndaNotice("the answer is empty", f"{path}.{name}")
            found = True
    if value.get("next_cursor"):
        yield AndaNotice("this is one page of several: next_cursor is set", path)
    if "Ok" in value:
        found = True
        yield from _answer(value["Ok"], options, f"{path}.Ok", depth)
    if not found:
        yield AndaRefused(InvalidRecordError(_where(path), "is no conversation"), path, _id_of(value))


def _answer(value: Any, options: AndaOptions, path: str, depth: int) -> Iterator[AndaItem]:
    """The reply of an engine: base64 of JSON, or in CBOR the bytes of CBOR."""
    try:
        raw = read_bytes(value, path)
        inner = load_cbor(raw, path) if options.binary else load_json(raw, strict=options.strict, path=path)
    except InvalidRecordError as error:
        yield AndaRefused(error, path)
        return
    yield from _items(inner, options, path, depth)


def _rendered(value: str, options: AndaOptions, path: str, depth: int) -> Iterator[AndaItem]:
    found = rendered_documents(value)
    if found is None:
        yield _refused(path, f"is no conversation but a text: {value[:60]!a}")
        return
    for number, line in enumerate(found, 1):
        where = f"{path}#{number}"
        try:
            document = load_json(line, path=where)
        except InvalidRecordError as error:
            yield AndaRefused(error, where)
            continue
        yield from _items(document, options, where, depth)


def _single(value: Mapping[str, Any], options: AndaOptions, path: str) -> AndaItem:
    try:
        if "f" in value and "messages" not in value:
            return _indexed(value, options, path)
        if is_document(value):
            return _record(record_of_document(value, path), options, path, lossy=True)
        if all(name in value for name in _DELTA_HAS) and not any(name in value for name in _DELTA_LACKS):
            return _delta(value, options, path)
        return _record(value, options, path)
    except ConvostoreError as error:
        return AndaRefused(error, path, _id_of(value))


def _record(value: Any, options: AndaOptions, path: str, *, lossy: bool = False) -> AndaRecord:
    read = options.reader(path).record(value)
    conversation = Conversation.checked(read.members, path)
    return AndaRecord(conversation, read.version, read.unknown, tuple(read.notes), path, lossy)


def _indexed(value: Any, options: AndaOptions, path: str) -> AndaRecord:
    if options.names is None:
        reason = "is keyed by index, which only the meta.cbor of its collection explains"
        raise InvalidRecordError(_where(path), reason)
    # The names of the collection tell its version, which those of one document may not.
    version = options.version or infer_version(dict.fromkeys(options.names.values()))
    return _record(named(value, options.names, path), replace(options, version=version), path)


def _delta(value: Mapping[str, Any], options: AndaOptions, path: str) -> AndaDelta:
    read = options.reader(path).delta(value)
    try:
        delta = ConversationDelta.model_validate(read.members)
    except ValidationError as error:
        raise as_invalid_record(error, path) from None
    given = frozenset(DELTA_MEMBERS).intersection(value)
    return AndaDelta(delta, given, read.unknown, tuple(read.notes), path)


def _refused(path: str, reason: str) -> AndaRefused:
    return AndaRefused(InvalidRecordError(_where(path), reason), path)


def _where(path: str) -> str:
    return path or "conversation"


def _id_of(value: Mapping[str, Any]) -> int | None:
    found = value.get("_id")
    return found if type(found) is int else None
