"""Step 1: Anda records that somebody put into the collection as they are become conversations. Pure.

A record is taken over where it lies, under its own id: its messages become entries with the times they state,
it gets a change record, a source (that of an import of the same record, so that one is recognised) and the
counters of a head. Nothing is invented: a document that is no such record is refused and stays as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import bson
from bson.dbref import DBRef
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.objectid import ObjectId
from bson.raw_bson import RawBSONDocument

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.formats import anda
from convostore.schemas.json_values import JSON
from convostore.store import history
from convostore.store.births import first_records
from convostore.store.codec import INT64_MAX, OPTIONS, U64_MAX
from convostore.store.exchanging import encode_facts
from convostore.store.heads import LISTS, Head, new_head, record_fields
from convostore.store.layout import Bounds
from convostore.store.migrations.steps import Change, Step
from convostore.store.requests import attachments
from convostore.store.runs import NewEntry, StoredEntry, entries_size, newest_page, numbered

__all__ = ["STEP", "Adopted", "adopt", "as_head", "planned"]

STEP: Final = Step(
    1,
    "anda_records",
    "collections, indexes, validators and counters are made; ids are given out above those that are there",
    "Anda records that lie in the collection as they are become conversations; what is none stays",
)

_NUMBERS: Final = ("period", "created_at", "updated_at", "child")
_WHOLE_GUARD_BYTES: Final = 6 * 1024 * 1024
"""Documents up to this are compared whole; the command holds them twice and may have 16 MiB."""

_GUARDED: Final = (
    "user",
    "thread",
    "status",
    "failed_reason",
    "usage",
    "child",
    "ancestors",
    "label",
    "period",
    "created_at",
    "updated_at",
)


@dataclass(frozen=True, slots=True)
class Adopted:
    """A record read from a foreign document, encoded but not stored.

    ``fields`` are those of its head without messages; ``attached`` its resources and artifacts, by member.
    """

    fields: Head
    lineage: int
    entries: tuple[NewEntry, ...]
    attached: Mapping[str, tuple[NewEntry, ...]]
    log: tuple[history.Record, ...]

    def head(
        self, run: list[StoredEntry], attached: Mapping[str, list[StoredEntry]], *, structure: int
    ) -> Head:
        """The head with that embedded run, in the layout of the first release."""
        made = new_head(
            {**self.fields, **attached},
            lineage=self.lineage,
            entries=run,
            size=entries_size(run),
            segments=[],
            next_entry=len(self.entries),
            record_log=self.log,
        )
        return {**made, "schema_version": STEP.number, "structure": Int64(structure)}


def adopt(document: Mapping[str, Any], data: bytes) -> Adopted:
    """Read a foreign document, decoded and as the bytes it is.

    Raises:
        InvalidRecordError: it is no Anda record; ``path`` says where and ``reason`` why.
        TooLargeError: it is beyond a limit.

    """
    value = _as_json(document)
    item = anda.read_document(value)
    record = item.conversation
    if not record.created_at:
        raise InvalidRecordError("created_at", "is missing or 0, and no time is made up for a record")
    entries = tuple(encode_facts(record.messages, item.entries))
    attached = {name: attachments(name, getattr(record, name)) for name in ("resources", "artifacts")}
    fields = record_fields(
        record,
        id=record.id,
        now=min(record.updated_at, INT64_MAX),
        attachments={name: [one.stored for one in listed] for name, listed in attached.items()},
        source=item.source,
        unknown=item.unknown,
    )
    made = [entry.stored.get("made") for entry in entries]
    log = tuple(first_records(record, made, ObjectId()))
    return Adopted(fields, _lineage(data), entries, attached, log)


def planned(document: Mapping[str, Any], data: bytes, bounds: Bounds) -> Change:
    """The replacement of a foreign document by a head; the errors of :func:`adopt`.

    Its structure is 1, as after a seal: a record that was read before, of structure 0, is read again before
    anything is planned on it.
    """
    adopted = adopt(document, data)
    stored = [numbered(entry.stored, place) for place, entry in enumerate(adopted.entries)]
    kept = len(stored)
    if kept > bounds.soft_count or sum(entry.size for entry in adopted.entries) > bounds.soft_bytes:
        kept = newest_page(stored, bounds)
    older, run = stored[: len(stored) - kept], stored[len(stored) - kept :]
    attached = {name: [one.stored for one in listed] for name, listed in adopted.attached.items()}
    parts = [*adopted.entries, *(one for listed in adopted.attached.values() for one in listed)]
    head = adopted.head(run, attached, structure=1)
    id = head.pop("_id")
    query = {"_id": id, "schema_version": document.get("schema_version", {"$exists": False})}
    return Change({**query, "$expr": _unchanged(document, data)}, head, parts, older)


def as_head(document: Mapping[str, Any], data: bytes) -> Head:
    """A foreign document as a head that holds everything itself, whatever its size: to read, not to store.

    The same document gives the same head; the errors of :func:`adopt`.
    """
    adopted = adopt(document, data)
    run = [numbered(_inlined(entry), place) for place, entry in enumerate(adopted.entries)]
    attached = {name: list(map(_inlined_attachment, listed)) for name, listed in adopted.attached.items()}
    return adopted.head(run, attached, structure=0)


def _inlined(entry: NewEntry) -> StoredEntry:
    if not entry.pieces:
        return entry.stored
    rest = {name: value for name, value in entry.stored.items() if name != "blob"}
    return {**rest, **_joined(entry)}


def _inlined_attachment(entry: NewEntry) -> StoredEntry:
    if not entry.pieces:
        return entry.stored
    body = _joined(entry)
    return {**body.get("m", body), "_id": entry.stored["_id"]}


def _joined(entry: NewEntry) -> dict[str, Any]:
    data = b"".join(entry.pieces)
    if entry.stored["blob"]["f"] == "m":
        return {"m": bson.decode(data, OPTIONS)["m"]}
    return {"t": data.decode("ascii")}


def _lineage(data: bytes) -> int:
    """The lineage of a record that lies there as it is: it follows from what it is, so that whoever reads it
    before it is taken over can save it afterwards.
    """
    hashed = hashlib.blake2b(data, digest_size=8, person=b"anda_record")
    return int.from_bytes(hashed.digest(), "big") % (2**63 - 1) + 1


def _unchanged(document: Mapping[str, Any], data: bytes) -> Head:
    """The expression that is true of the document only as it was read: what is in it is never an operator."""
    if len(data) <= _WHOLE_GUARD_BYTES:
        return {"$eq": ["$$ROOT", {"$literal": RawBSONDocument(data)}]}
    raw = RawBSONDocument(data)
    same: list[Head] = [{"$eq": [{"$bsonSize": "$$ROOT"}, len(data)]}]
    same += [{"$eq": [f"${name}", {"$literal": raw[name]}]} for name in _GUARDED if name in raw]
    lists = [name for name in LISTS if isinstance(document.get(name), list)]
    same += [{"$eq": [{"$size": f"${name}"}, len(document[name])]} for name in lists]
    return {"$and": same}


def _as_json(document: Mapping[str, Any]) -> dict[str, JSON]:
    """The document as JSON: numbers that a shell wrote as floating point are whole again where they must be.

    Raises:
        InvalidRecordError: its id is none of a conversation.

    """
    value = {name: _plain(item) for name, item in document.items()}
    id = value.get("_id")
    if isinstance(id, float):
        raise InvalidRecordError(
            "_id",
            f"is the floating point number {id:g}, which cannot be changed in place: insert it as a long",
        )
    if type(id) is not int or not 0 < id <= U64_MAX:
        raise InvalidRecordError("_id", f"is no id of a conversation but {_shown(document.get('_id'))}")
    for name in _NUMBERS:
        if name in value:
            value[name] = _whole(value[name])
    if isinstance(value.get("ancestors"), list):
        value["ancestors"] = list(map(_whole, value["ancestors"]))
    if isinstance(value.get("usage"), dict):
        value["usage"] = {name: _whole(item) for name, item in value["usage"].items()}
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, DBRef):  # a dict with $ref and $id, as the driver gives it
        value = dict(value.as_doc())
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return list(map(_plain, value))
    if isinstance(value, Decimal128):
        number = value.to_decimal()
        if number.is_finite() and number == number.to_integral_value() and abs(number) <= U64_MAX:
            return int(number)
    return value


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _shown(value: Any) -> str:
    return "missing" if value is None else f"{type(value).__name__} {str(value)[:60]!a}"
