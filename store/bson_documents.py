"""BSON, as ``mongodump`` writes it, as JSON values: MongoDB's extended JSON in the relaxed form. Pure."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final

import bson
from bson import json_util
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError
from bson.int64 import Int64

from convostore.schemas.formats import ByteInput, Refused
from convostore.schemas.formats.items import Found
from convostore.schemas.json_values import JSON

__all__ = ["ARCHIVE_SIGN", "CODEC", "END_OF_BLOCK", "bson_values", "document_json", "looks_like_bson"]

CODEC: Final = CodecOptions[dict[str, Any]](
    document_class=dict,
    datetime_conversion=DatetimeConversion.DATETIME_AUTO,
    tz_aware=True,
)
"""How documents of other programs are decoded: dates beyond those of Python, too."""

ARCHIVE_SIGN: Final = b"\x6d\xe2\x99\x81"
"""What ``mongodump --archive`` begins with."""

END_OF_BLOCK: Final = b"\xff\xff\xff\xff"

_LENIENT: Final = CODEC.with_options(unicode_decode_error_handler="replace")
_SMALLEST: Final = 5
_LARGEST: Final = 48 << 20  # the server's own limit of a message; stored documents end at 16 MiB
_TYPES: Final = frozenset((*range(0x01, 0x14), 0x7F, 0xFF))
_NAME: Final = 256
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})


def looks_like_bson(source: ByteInput) -> bool:
    """Whether the input begins with a document in BSON; it stays as it is."""
    head = source.peek(_SMALLEST + _NAME)
    if len(head) < _SMALLEST + 2:
        return False
    size = struct.unpack_from("<i", head)[0]
    if not _SMALLEST < size <= _LARGEST or head[4] not in _TYPES:
        return False
    end = head.find(b"\0", 5)
    if end <= 5 or end >= size:
        return False
    document = source.peek(size)
    return len(document) < size or _is_document(document)


def _is_document(data: bytes) -> bool:
    try:
        bson.decode(data, _LENIENT)
    except (BSONError, ValueError, RecursionError):
        return False
    return True


def bson_values(source: ByteInput) -> Iterator[Found | Refused]:
    """The documents, at their numbers from ``[0]`` on, to the end of the input or of an archive's block.

    One that is broken inside stops nothing; after one whose length is none there is no place to go on at.
    """
    number = 0
    while True:
        head = source.peek(4)
        if not head or head == END_OF_BLOCK:
            return
        position = f"[{number}]"
        size = struct.unpack("<i", head)[0] if len(head) == 4 else 0
        if not _SMALLEST <= size <= _LARGEST:
            yield Refused(position, "no BSON: what should be a document's length is none")
            source.read(len(head))
            return
        data = source.read(size)
        if len(data) < size:
            yield Refused(position, "the input ends in the middle of this document")
            return
        try:
            yield Found(position, document_json(bson.decode(data, CODEC)))
        except (BSONError, ValueError, TypeError) as error:
            yield Refused(position, f"no BSON: {error}")
        except RecursionError:
            yield Refused(position, "nested too deeply")
        number += 1


def document_json(value: Any) -> JSON:
    """A value as pymongo decodes it with ``CODEC``, in the relaxed form of extended JSON."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        return {name: document_json(item) for name, item in value.items()}
    if kind is list:
        return [document_json(item) for item in value]
    if kind is Int64:
        return int(value)
    written = json_util.default(value, json_util.RELAXED_JSON_OPTIONS)
    # Code with a scope, or a reference, has documents inside.
    return {name: _inner(item) for name, item in written.items()} if isinstance(written, Mapping) else written


def _inner(value: Any) -> JSON:
    return value if type(value) in _PLAIN else document_json(value)
