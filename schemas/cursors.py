"""Anda's cursors: the id before which the next page of a listing begins (``spec/anda.md`` 8.3). Pure."""

from __future__ import annotations

from typing import Any

import cbor2

from convostore.schemas.byte_text import read_bytes, write_bytes
from convostore.schemas.errors import InvalidRecordError, QueryError
from convostore.schemas.identifiers import MAX_U64, check_u64

__all__ = ["decode_cursor", "encode_cursor"]


def encode_cursor(id: int, *, prefixed: bool = True) -> str:
    """The id as a cursor: base64 of its CBOR, with ``b64:`` in front as engines since 0.14 have it.

    Raises:
        InvalidRecordError: it is no u64.

    >>> encode_cursor(123), encode_cursor(1000, prefixed=False)
    ('b64:GHs=', 'GQPo')
    """
    return write_bytes(cbor2.dumps(check_u64(id, "id")), prefixed=prefixed)


def decode_cursor(text: Any) -> int:
    """The id of a cursor in either form.

    Raises:
        QueryError: it is no such cursor.

    """
    try:
        raw = read_bytes(text, "cursor") if isinstance(text, str) else b""
        id = cbor2.loads(raw)
    except (InvalidRecordError, cbor2.CBORDecodeError, RecursionError):
        id = None
    # Written again, so that trailing bytes and longer forms of a number are no cursors.
    if type(id) is not int or not 0 <= id <= MAX_U64 or cbor2.dumps(id) != raw:
        raise QueryError("cursor", f"{ascii(text)[:80]} is none that this listing gave out")
    return id
