"""CBOR as Anda has it: records keyed by name (RPC) or by index (disk) (``spec/anda.md`` 6.3, 10.3). Pure."""

from __future__ import annotations

import inspect
import io
from collections.abc import Mapping
from typing import Any

import cbor2

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import MAX_DEPTH

__all__ = ["dump_cbor", "field_names", "load_cbor", "named"]

# Release 6 stops at 400 levels unless told otherwise; earlier ones have no such option.
_OPTIONS: dict[str, Any] = (
    {"max_depth": MAX_DEPTH + 100} if "max_depth" in inspect.signature(cbor2.CBORDecoder).parameters else {}
)


def load_cbor(source: bytes, path: str = "") -> Any:
    """The one value that the bytes are; byte strings come as bytes.

    Raises:
        InvalidRecordError: they are no CBOR, cut short, or followed by something.

    """
    where = path or "conversation"
    stream = io.BytesIO(source)
    try:
        value = cbor2.CBORDecoder(stream, **_OPTIONS).decode()
    except (cbor2.CBORDecodeError, RecursionError, ValueError, TypeError) as error:
        raise InvalidRecordError(where, f"is no CBOR: {error}") from None
    if stream.tell() != len(source):
        raise InvalidRecordError(where, f"ends at byte {stream.tell()}, but {len(source)} are there")
    return value


def dump_cbor(value: Any) -> bytes:
    """The value as CBOR: numbers in their shortest form, keys in the order they have.

    Raises:
        InvalidRecordError: it holds what CBOR cannot say, or nests too deeply.

    """
    try:
        return cbor2.dumps(value)
    except (cbor2.CBOREncodeError, RecursionError, ValueError, TypeError) as error:
        raise InvalidRecordError("value", f"cannot be said in CBOR: {error}") from None


def named(document: Any, names: Mapping[int, str], path: str = "") -> dict[str, Any]:
    """The members by name of a document that has them by index, ``{"f": {0: ...}}``.

    ``names`` is that of the collection the document is from (:func:`field_names`): the same index means other
    members in other collections.

    Raises:
        InvalidRecordError: it is no such document, or has an index without a name.

    """
    fields = document.get("f") if isinstance(document, Mapping) else None
    if not isinstance(fields, Mapping):
        raise InvalidRecordError(path or "conversation", "is no document of AndaDB, which has 'f'")
    members = {}
    for index, value in fields.items():
        if index not in names or isinstance(index, bool):
            reason = f"field {index!a} is not in the schema of its collection"
            raise InvalidRecordError(path or "conversation", reason)
        members[names[index]] = value
    return members


def field_names(meta: Any, path: str = "meta.cbor") -> dict[int, str]:
    """The names by index that the schema in a collection's ``meta.cbor`` gives.

    An entry of the schema is ``{"n": name, "i": index, ...}``, or has these members by their long names.

    Raises:
        InvalidRecordError: there is no schema in it, or an entry without a name or an index.

    """
    schema = meta.get("schema") if isinstance(meta, Mapping) else None
    fields = schema.get("fields", schema) if isinstance(schema, Mapping) else schema
    entries = list(fields.items()) if isinstance(fields, Mapping) else []
    names = {}
    for name, entry in entries:
        if isinstance(entry, Mapping):
            index = entry.get("i", entry.get("index"))
            found = entry.get("n", entry.get("name", name))
            if not isinstance(index, int) or not isinstance(found, str):
                raise InvalidRecordError(path, f"the entry {name!a} of the schema has no name or no index")
            names[index] = found
    if not names:
        raise InvalidRecordError(path, "has no schema of a collection")
    return names
