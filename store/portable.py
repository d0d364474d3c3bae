"""What lies beside a record in the database, as JSON and back: for the canonical format. Pure.

Numbers, texts, lists and objects are themselves; an ``ObjectId`` is ``{"$oid": "..."}``, bytes are
``{"$bytes": base64}``. An object that only looks so has one more ``$`` in its key.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, Final

from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.schemas.authors import Author
from convostore.schemas.conversations import Conversation
from convostore.schemas.entries import Entry, Source
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.formats.canonical import ConversationLine, QueuedText, entry_json
from convostore.schemas.formats.canonical_reader import read_entry
from convostore.schemas.formats.outgoing import File, Fork
from convostore.schemas.identifiers import check_text
from convostore.schemas.json_values import JSON, load_exact
from convostore.schemas.resources import Resource
from convostore.store.codec import INT64_MAX, U64_MAX, decode_body, decode_text, decode_u64, document_size
from convostore.store.crediting import first_hour
from convostore.store.heads import LISTS, QUEUES, Head, decode_unknown, queue_items, source_of
from convostore.store.history import Record
from convostore.store.runs import StoredEntry, blob_references, to_entry

__all__ = [
    "SOURCE_VERSION",
    "EntriesWithin",
    "change_from_json",
    "change_to_json",
    "conversation_line",
    "entry_to_json",
    "file_within",
    "fork_of",
    "from_portable",
    "has_whole_history",
    "head_extras",
    "is_one_document",
    "removed_of",
    "to_portable",
]

SOURCE_VERSION: Final = "source_version"
"""The member of ``more`` with the version that the last import left: what is above it was changed here."""

_CHUNK: Final = 192 << 10

_OID, _BYTES = "$oid", "$bytes"
_LIKE_A_TAG = re.compile(r"\$+(?:oid|bytes)")

_OF_RECORD: Final = frozenset(Conversation.model_fields) | {"_id", "extra_text", "messages"}
_SAID_ELSEWHERE: Final = frozenset(
    ("source", "unknown", "unknown_text", "version", "revision", "lineage", "next_entry", "schema_version")
)
_FOLLOWS: Final = frozenset(
    (
        "segments",
        "structure",
        "embedded_count",
        "embedded_bytes",
        "queue_bytes",
        "attachment_bytes",
        "dirty",
        "rolled",
    )
)
"""Where messages lie, and sums: made anew where a conversation is restored."""

_KINDS: Final[Mapping[str, type]] = {
    "asides": list,
    "due": int,
    "forked_from": dict,
    "halt": str,
    "next_aside": int,
    "recent": list,
    "states": list,
}
"""What calls read of a head without looking at its kind."""

_LOG: Final = frozenset(("log", "log_start", "log_before"))
_LEASES: Final = frozenset(("taken", "taken_bytes", "owner", "fence", "lease", *QUEUES.values()))
_LINES_OF_THEIR_OWN: Final = frozenset(("messages", *QUEUES))
_NOT_MORE: Final = _OF_RECORD | _SAID_ELSEWHERE | _FOLLOWS | _LOG | _LEASES
"""The members of a head that are none of ``more``."""


def to_portable(value: Any) -> JSON:
    """A value of the database as JSON.

    Raises:
        TypeError: it holds what neither JSON nor this can say.

    """
    if isinstance(value, ObjectId):
        return {_OID: str(value)}
    if isinstance(value, (bytes, bytearray)):
        return {_BYTES: base64.b64encode(value).decode()}
    if isinstance(value, Decimal128):
        return decode_u64(value)
    if isinstance(value, Mapping):
        plain = {}
        for name, item in value.items():
            plain[name] = to_portable(item)
        if len(plain) == 1 and _LIKE_A_TAG.fullmatch(name):
            return {"$" + name: plain[name]}
        return plain
    if isinstance(value, (list, tuple)):
        items = []
        for item in value:
            items.append(to_portable(item))
        return items
    if isinstance(value, bool) or value is None or isinstance(value, (str, float)):
        return value
    if isinstance(value, int):
        return int(value)
    raise TypeError(f"{type(value).__name__} cannot be exported")


def from_portable(value: JSON, path: str) -> Any:
    """The value that :func:`to_portable` wrote, as the database takes it.

    Raises:
        InvalidRecordError: a tag holds what it cannot, or a number is too large.

    """
    if isinstance(value, dict):
        return _object(value, path)
    if isinstance(value, list):
        items = []
        for place, item in enumerate(value):
            items.append(from_portable(item, f"{path}[{place}]"))
        return items
    if isinstance(value, int) and not isinstance(value, bool):
        if value > U64_MAX or value < -INT64_MAX - 1:
            raise InvalidRecordError(path, "a number below -2^63 or above 2^64-1")
        if value > INT64_MAX:
            return Decimal128(str(value))
    return check_text(value, path) if isinstance(value, str) else value


def _object(value: dict[str, JSON], path: str) -> Any:
    escaped = False
    if len(value) == 1:
        tag, held = next(iter(value.items()))
        try:
            if tag == _OID:
                return ObjectId(held)
            if tag == _BYTES:
                return base64.b64decode(held, validate=True)
        except Exception:
            raise InvalidRecordError(path, f"{tag} holds {held!a:.80}, which it cannot") from None
        escaped = _LIKE_A_TAG.fullmatch(tag) is not None
    plain = {}
    for name, item in value.items():
        if "\0" in name:
            raise InvalidRecordError(path, f"the key {name!a:.80} has a NUL in it")
        check_text(name, path)
        plain[name[1:] if escaped else name] = from_portable(item, f"{path}.{name}")
    return plain


# Heads


def conversation_line(head: Head, record: Conversation) -> ConversationLine:
    """The head as a line, given its record without messages."""
    written = {
        name: value
        for name, value in record.members().items()
        if value is not None and name not in _LINES_OF_THEIR_OWN
    }
    written["status"], written["usage"] = record.status.value, record.usage.to_json()
    for name in ("resources", "artifacts"):
        written[name] = [item.to_json() for item in written[name]]
    more = {
        name: to_portable(head[name])
        for name in sorted(head.keys() - _NOT_MORE)
        if name != "due" or head["status"] == "submitted"
    }
    version = head.get("source", {}).get("version")
    if version is not None:
        more[SOURCE_VERSION] = int(version)
    return ConversationLine(
        id=record.id,
        user=record.user,
        record=written,
        version=int(head["version"]),
        revision=int(head["revision"]),
        lineage=int(head["lineage"]),
        next_entry=int(head["next_entry"]),
        schema_version=int(head["schema_version"]),
        source=source_of(head),
        unknown=decode_unknown(head),
        queues=_queues(head),
        more=more,
    )


def _queues(head: Head) -> dict[str, tuple[QueuedText, ...]]:
    found = {}
    for name in QUEUES:
        items = queue_items(head, name)
        if items is not None:
            found[name] = tuple(map(_queued, items))
    return found


def _queued(item: Mapping[str, Any]) -> QueuedText:
    return QueuedText(str(item["id"]), decode_text(item["text"]), int(item["at"]))


def head_extras(line: ConversationLine, records: Sequence[Record]) -> Head:
    """The members of a restored head that its record does not give: queues, what else the line says, sums.

    Raises:
        InvalidRecordError: a member is of another kind than it ever was.

    """
    extras: Head = {}
    for name, value in line.more.items():
        if name in _KINDS and type(value) is not _KINDS[name]:
            raise InvalidRecordError(f"more.{name}", f"is no {_KINDS[name].__name__}")
        if name != SOURCE_VERSION and name not in _NOT_MORE:
            extras[name] = from_portable(value, f"more.{name}")
    size = 0
    for name, texts in line.queues.items():
        if name not in QUEUES:
            raise InvalidRecordError(f"queues.{name}", "is no queue")
        items = [_queue_item(text, f"queues.{name}[{place}]") for place, text in enumerate(texts)]
        extras[name] = items
        size += sum(map(document_size, items))
    if size:
        extras["queue_bytes"] = size
    if records:
        extras["dirty"] = Int64(first_hour(records) or 0)
    return extras


def _queue_item(queued: QueuedText, path: str) -> dict[str, Any]:
    if not ObjectId.is_valid(queued.id):
        raise InvalidRecordError(f"{path}.id", "is no id of a queued text")
    return {
        "id": ObjectId(queued.id),
        "text": check_text(queued.text, f"{path}.text"),
        "at": Int64(queued.at),
    }


def restored_source(line: ConversationLine, source: Source | None) -> Head:
    """The member ``source`` of a restored head."""
    if source is None:
        return {}
    version = line.more.get(SOURCE_VERSION)
    return {"source": source.to_json() | ({} if version is None else {"version": Int64(version)})}


# Entries


def entry_to_json(stored: StoredEntry, blobs: Mapping[ObjectId, bytes]) -> dict[str, JSON]:
    """A stored entry, which has its id, as :func:`entry_json` writes the entry that it is."""
    if "author" in stored:
        return entry_json(to_entry(stored, blobs))
    written: dict[str, JSON] = {"id": int(stored["id"])}
    for name in ("made", "dialect"):
        if stored.get(name) is not None:
            written[name] = stored[name]
    if stored.get("unfinished", False):
        written["unfinished"] = True
    written["message"] = stored["m"] if "m" in stored else decode_body(stored, blobs)
    return written


# Conversations of one document


def is_one_document(head: Head) -> bool:
    """Whether the head holds all messages and attachments."""
    if head["segments"]:
        return False
    return not any(blob_references(head.get(name, ())) for name in LISTS)


def has_whole_history(head: Head) -> bool:
    """Whether the head holds all change records with what they took out, and the asides."""
    if head["log_start"] or "asides_body" in head:
        return False
    return not any("body" in record or blob_references(record.get("rm", ())) for record in head["log"])


# Change records


def removed_of(record: Record, bodies: Mapping[ObjectId, Sequence[StoredEntry]]) -> list[StoredEntry]:
    """The entries that the change took out, from the record or from where they lie."""
    if "body" in record:
        return [entry for id in record["body"] for entry in bodies[id]]
    return list(record.get("rm", ()))


def change_to_json(record: Record, removed: Sequence[StoredEntry], blobs: Mapping[ObjectId, bytes]) -> JSON:
    """A change record as JSON, with the entries that it took out whole."""
    written = {name: to_portable(value) for name, value in record.items() if name not in ("rm", "body")}
    if removed:
        written["rm"] = [entry_json(to_entry(entry, blobs)) for entry in removed]
    return written


def change_from_json(value: JSON, path: str) -> tuple[Record, list[Entry]]:
    """A change record without the entries that it took out, and those.

    Raises:
        InvalidRecordError: it is no change record.

    """
    if not isinstance(value, dict) or not _are_int64([value.get("at")]):
        raise InvalidRecordError(path, "is no change record: it has no time")
    removed = value.get("rm", [])
    if not isinstance(removed, list):
        raise InvalidRecordError(f"{path}.rm", "is no list of entries")
    record = {name: from_portable(item, f"{path}.{name}") for name, item in value.items() if name != "rm"}
    record["at"] = Int64(record["at"])
    if "h" in record:
        digests = record["h"]
        if not _are_int64(digests if isinstance(digests, list) else [digests]):
            raise InvalidRecordError(f"{path}.h", "is no digest")
        record["h"] = list(map(Int64, digests)) if isinstance(digests, list) else Int64(digests)
    if not all(isinstance(entry, dict) for entry in removed):
        raise InvalidRecordError(f"{path}.rm", "is no list of entries")
    return record, [read_entry(entry) for entry in removed]


def _are_int64(values: Sequence[Any]) -> bool:
    return all(type(value) is int and -INT64_MAX - 1 <= value <= INT64_MAX for value in values)


def fork_of(head: Head) -> Fork | None:
    """What the conversation was forked from; None for one that was not."""
    origin = head.get("forked_from")
    return None if origin is None else Fork(decode_u64(origin["id"]), int(origin["entries"]))


class EntriesWithin:
    """The entries that lie in a file, a line each, as often as they are asked for."""

    def __init__(self, held: IO[str]) -> None:
        self._held = held

    def __iter__(self) -> Iterator[Entry]:
        self._held.seek(0)
        return (_written_entry(load_exact(line)) for line in self._held)


def _written_entry(value: Mapping[str, JSON]) -> Entry:
    """The entry that :func:`entry_to_json` wrote, which needs no checks."""
    author = value.get("author")
    return Entry(
        value["id"],
        value["message"],
        value.get("made"),
        None if author is None else Author.from_json(author),
        value.get("dialect"),
        value.get("unfinished", False),
    )


def file_within(resource: Resource, held: IO[bytes], start: int, size: int) -> File:
    """The bytes of a resource that lie within a file."""

    def chunks() -> Iterator[bytes]:
        for place in range(start, start + size, _CHUNK):
            held.seek(place)
            yield held.read(min(_CHUNK, start + size - place))

    return File(resource, size, chunks)
