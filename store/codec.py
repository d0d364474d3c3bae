"""Messages to BSON and back, nothing changed on the way. Pure: knows ``bson``, sends nothing.

A value is held *natively* when BSON gives the JSON back equal, else as its ASCII JSON text; above
``Limits.INLINE`` it is cut into pieces that lie apart. Which form it takes is found by one walk over its
types, not by encoding and comparing.

Half a surrogate pair comes back as it is; two halves side by side are the character that JSON takes them for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import bson
from bson.binary import UuidRepresentation
from bson.codec_options import CodecOptions, TypeDecoder, TypeRegistry
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.schemas.errors import InvalidRecordError, TooLargeError
from convostore.schemas.json_values import JSON, check_json, dump_text
from convostore.store.layout import Limits

__all__ = [
    "OPTIONS",
    "U64_MAX",
    "Body",
    "are_native",
    "blob_of",
    "blob_piece_ids",
    "decode_body",
    "decode_text",
    "decode_u64",
    "document_size",
    "encode_body",
    "encode_text",
    "encode_u64",
]

INT64_MAX: Final = 2**63 - 1
U64_MAX: Final = 2**64 - 1
_INT64_MIN: Final = -(2**63)
_NATIVE_DEPTH: Final = 100  # the server stops at 180, of which the history takes some
_REFERENCE_KEYS: Final = frozenset({"$ref", "$id", "$db"})  # drivers turn a dict with these into a DBRef


class _PlainInt(TypeDecoder):
    """Gives 64-bit integers back as ``int``: no driver class reaches the caller."""

    bson_type = Int64
    # The driver calls it for the time of every message: int itself spares a Python frame each.
    transform_bson = staticmethod(int)  # type: ignore[assignment]


OPTIONS: Final[CodecOptions[dict[str, Any]]] = CodecOptions(
    document_class=dict,
    uuid_representation=UuidRepresentation.STANDARD,
    type_registry=TypeRegistry([_PlainInt()]),
)


@dataclass(frozen=True, slots=True)
class Body:
    """One JSON value in its stored form: ``fields`` go into the document, ``pieces`` into ``blobs`` before
    it.

    ``fields`` is ``{"m": value}``, ``{"t": text}`` or ``{"blob": {"b", "n", "s", "f"}}``: the id of the
    pieces, their number, their size in bytes, and the form (``m`` or ``t``) of what they hold. ``size``
    counts the bytes of ``fields`` in BSON.
    """

    fields: dict[str, Any]
    size: int
    pieces: tuple[bytes, ...] = ()


def encode_u64(value: int) -> int | Decimal128:
    """An unsigned 64-bit number as MongoDB compares and sorts it: Int64, above 2^63-1 Decimal128."""
    return Int64(value) if value <= INT64_MAX else Decimal128(str(value))


def decode_u64(value: Any) -> int:
    """The number that :func:`encode_u64` stored."""
    return int(value.to_decimal()) if isinstance(value, Decimal128) else int(value)


def document_size(document: Mapping[str, Any]) -> int:
    """Bytes of the document in BSON."""
    return len(bson.encode(document, codec_options=OPTIONS))


def are_native(values: Iterable[JSON]) -> bool:
    """Whether BSON gives each value back equal; it refuses lone surrogates, which this does not look for."""
    # Only asks; what JSON cannot say is refused by check_json, which names the path.
    try:
        return all([_walk(value, 0) for value in values])
    except RecursionError:
        return False


def _walk(value: JSON, depth: int) -> bool:
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is float:
        return True
    if kind is int:
        return bool(_INT64_MIN <= value <= INT64_MAX)
    if depth >= _NATIVE_DEPTH:
        return False
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or key in _REFERENCE_KEYS or "\0" in key:
                return False
            if type(item) is not str and not _walk(item, depth + 1):  # most are: a call less for each
                return False
        return True
    return bool(kind is list and all(_walk(item, depth + 1) for item in value))


def encode_body(value: JSON, path: str, *, index: int | None = None) -> Body:
    """The stored form of one JSON value.

    Raises:
        InvalidRecordError: JSON cannot say it; ``path`` leads to the place.
        TooLargeError: above 2 GiB.

    """
    if are_native((value,)):
        try:
            data = bson.encode({"m": value})
        except UnicodeEncodeError:  # a lone surrogate somewhere: its JSON text has it escaped
            return _as_text(value, path, index)
        return _placed({"m": value}, "m", data, path, index)
    return _as_text(value, path, index)


def _as_text(value: JSON, path: str, index: int | None) -> Body:
    check_json(value, path, index=index)
    try:
        text = dump_text(value)
    except RecursionError:
        raise InvalidRecordError(
            path, "nested too deeply for the stack of this thread", index=index
        ) from None
    return _placed({"t": text}, "t", text.encode("ascii"), path, index)


def _placed(fields: dict[str, Any], form: str, data: bytes, path: str, index: int | None) -> Body:
    size = len(data)
    if size <= Limits.INLINE:
        return Body(fields, size)
    if size > Limits.MESSAGE:
        raise TooLargeError(path, size, Limits.MESSAGE, index=index)
    pieces = tuple(data[at : at + Limits.BLOB_PIECE] for at in range(0, size, Limits.BLOB_PIECE))
    reference = {"b": ObjectId(), "n": len(pieces), "s": Int64(size), "f": form}
    return Body({"blob": reference}, 80, pieces)


def encode_text(value: str) -> str | dict[str, str]:
    """A text for a field of its own: itself, or ``{"t": JSON text}`` when UTF-8 cannot hold it."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return {"t": dump_text(value)}
    return value


def decode_text(value: Any) -> str:
    """The text that :func:`encode_text` stored."""
    return str(json.loads(value["t"])) if isinstance(value, dict) else value


def blob_of(stored: Mapping[str, Any]) -> dict[str, Any] | None:
    """The reference to pieces that lie apart, when the stored value has one."""
    found = stored.get("blob")
    # In a resource of a record it may be the resource's own member, which is text.
    return found if isinstance(found, dict) else None


def blob_piece_ids(references: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The ``_id`` of every piece of these references."""
    for reference in references:
        for k in range(reference["n"]):
            yield {"b": reference["b"], "k": k}


def decode_body(stored: Mapping[str, Any], blobs: Mapping[ObjectId, bytes]) -> JSON:
    """The JSON value of a stored form; ``blobs`` holds the joined pieces of what lies apart."""
    if "m" in stored:
        return stored["m"]
    if "t" in stored:
        return json.loads(stored["t"])
    reference = stored["blob"]
    data = blobs[reference["b"]]
    return bson.decode(data, OPTIONS)["m"] if reference["f"] == "m" else json.loads(data)
