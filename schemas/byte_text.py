"""Bytes as text: the base64 flavours of Anda (``spec/anda.md`` 4.2). Pure.

Anda writes URL-safe base64 with padding: bare before engine 0.14, with ``b64:`` in front since. Both are read
always.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from convostore.schemas.errors import InvalidRecordError

__all__ = ["PREFIX", "read_bytes", "write_bytes"]

PREFIX = "b64:"


def write_bytes(value: bytes, *, prefixed: bool = True) -> str:
    """The bytes as URL-safe base64 with padding, with ``b64:`` in front unless ``prefixed`` is false.

    >>> write_bytes(b"\\x00\\x9f\\x92\\x96", prefixed=False)
    'AJ-Slg=='
    """
    text = base64.urlsafe_b64encode(value).decode()
    return PREFIX + text if prefixed else text


def read_bytes(value: Any, path: str) -> bytes:
    """The bytes in any form that Anda's readers take.

    Those are bytes, a list of byte numbers, and base64 text: one ``b64:`` in front or none, padding or none,
    standard when it holds ``+`` or ``/``, else URL-safe.

    Raises:
        InvalidRecordError: it is none of these.

    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, list):
        if any(isinstance(item, bool) or not isinstance(item, int) or not 0 <= item <= 255 for item in value):
            raise InvalidRecordError(path, "a list of bytes holds numbers from 0 to 255")
        return bytes(value)
    if not isinstance(value, str):
        raise InvalidRecordError(path, f"must be base64 text, not a {type(value).__name__}")
    text = value.removeprefix(PREFIX).rstrip("=")
    standard = "+" in text or "/" in text
    padded = text + "=" * (-len(text) % 4)
    try:
        return base64.b64decode(padded, altchars=None if standard else b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRecordError(path, "is no base64") from None
