"""The ids of a record: whole numbers, users, threads, ICP principals and xids. Pure values and checks.

A user or thread is text, kept as it came. A user that *looks like* a principal, that is five or more groups
between dashes, all but the last of exactly five characters ``a-z2-7``, must be one: a typing error in it
would otherwise quietly become somebody else. Everything else is opaque.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets
import time
import unicodedata
import zlib
from dataclasses import dataclass
from typing import Any

from convostore.schemas.errors import InvalidRecordError, TooLargeError

__all__ = [
    "MAX_ID_LENGTH",
    "MAX_U64",
    "Principal",
    "Xid",
    "check_label",
    "check_text",
    "check_thread",
    "check_u64",
    "check_user",
]

MAX_U64 = 2**64 - 1
MAX_ID_LENGTH = 256
"""Characters a user or a thread may have."""

_PRINCIPAL_LIKE = re.compile(r"(?:[a-z2-7]{5}-){4,}[^-]*")
_PRINCIPAL_LETTERS = re.compile(r"(?:[a-z2-7]{5}-)+[a-z2-7]{1,5}", re.IGNORECASE)


def check_u64(value: Any, path: str) -> int:
    """The value as a plain int from 0 to 2^64-1.

    Raises:
        InvalidRecordError: it is a bool, a float, text or anything else, or out of that range.

    """
    if isinstance(value, bool) or not isinstance(value, int):
        kind = "nothing" if value is None else f"a {type(value).__name__}"
        raise InvalidRecordError(path, f"must be a whole number from 0 to 2^64-1, not {kind}")
    if not 0 <= value <= MAX_U64:
        raise InvalidRecordError(path, "must be a whole number from 0 to 2^64-1")
    return int(value)


def check_text(value: Any, path: str) -> str:
    """The value as text that UTF-8 can hold.

    Raises:
        InvalidRecordError: it is no text, or has half a surrogate pair in it.

    """
    if not isinstance(value, str):
        kind = "nothing" if value is None else f"a {type(value).__name__}"
        raise InvalidRecordError(path, f"must be text, not {kind}")
    try:
        value.isascii() or value.encode()
    except UnicodeEncodeError as error:
        reason = f"has half a surrogate pair at character {error.start}, which no database holds"
        raise InvalidRecordError(path, reason) from None
    return str.__str__(value)


def check_user(value: Any, path: str = "user") -> str:
    """The value as a user: 1 to 256 characters, none of them a control character.

    Raises:
        InvalidRecordError: it is no such text, or looks like a principal and fails its checksum.
        TooLargeError: it has more than 256 characters.

    """
    user = _check_id(value, path)
    if _PRINCIPAL_LIKE.fullmatch(user) and Principal.parse(user, path).text != user:
        raise InvalidRecordError(path, "a principal is written in small letters")
    return user


def check_thread(value: Any, path: str = "thread") -> str:
    """The value as a thread: an xid or any other 1 to 256 characters, none of them a control character.

    Raises:
        InvalidRecordError: it is no such text.
        TooLargeError: it has more than 256 characters.

    """
    return _check_id(value, path)


def check_label(value: Any, path: str = "label") -> str:
    """The value as a label: any text that UTF-8 can hold, also the empty one, as Anda takes it.

    Raises:
        InvalidRecordError: it is no such text.

    """
    return check_text(value, path)


def _check_id(value: Any, path: str) -> str:
    found = check_text(value, path)
    if not found:
        raise InvalidRecordError(path, "must not be empty")
    if len(found) > MAX_ID_LENGTH:
        raise TooLargeError(f"{path} (in characters)", len(found), MAX_ID_LENGTH)
    if not found.isprintable():
        for place, character in enumerate(found):
            if unicodedata.category(character) == "Cc":
                raise InvalidRecordError(path, f"has the control character {character!a} at place {place}")
    return found


@dataclass(frozen=True, slots=True)
class Principal:
    """An ICP principal: 0 to 29 bytes and their text form with a checksum (``spec/anda.md`` 6.1).

    >>> str(Principal(b"\\x04"))
    '2vxsx-fae'
    >>> Principal.parse("uuc56-gyb").raw
    b'\\x01'
    """

    raw: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.raw, bytes) or len(self.raw) > 29:
            raise InvalidRecordError("principal", "must be at most 29 bytes")

    @classmethod
    def from_bytes(cls, raw: bytes) -> Principal:
        """The principal of these 0 to 29 bytes.

        Raises:
            InvalidRecordError: they are more than 29, or no bytes.

        """
        return cls(raw)

    @classmethod
    def anonymous(cls) -> Principal:
        """The principal of callers without an identity, ``2vxsx-fae``."""
        return cls(b"\x04")

    @classmethod
    def self_authenticating(cls, public_key: bytes) -> Principal:
        """The principal of the holder of a key: SHA-224 of its DER form, then the byte 2."""
        return cls(hashlib.sha224(public_key).digest() + b"\x02")

    @classmethod
    def parse(cls, text: str, path: str = "principal") -> Principal:
        """Read the text form; capital letters are accepted, misplaced dashes are not.

        Raises:
            InvalidRecordError: it is no principal, or its checksum is wrong.

        """
        if not isinstance(text, str):
            raise InvalidRecordError(path, f"a principal is text, not a {type(text).__name__}")
        letters = text.replace("-", "").upper()
        try:
            decoded = base64.b32decode(letters + "=" * (-len(letters) % 8))
        except (binascii.Error, ValueError):
            raise InvalidRecordError(path, f"{ascii(text)[:80]} is no principal") from None
        if not 4 <= len(decoded) <= 33:
            raise InvalidRecordError(path, f"{ascii(text)[:80]} is no principal: wrong length")
        found = cls(decoded[4:])
        if found.text != text.lower():
            reason = f"{ascii(text)[:80]} looks like a principal but its checksum or its dashes are wrong"
            raise InvalidRecordError(path, reason)
        return found

    @classmethod
    def is_valid(cls, text: str) -> bool:
        """Whether the text is a principal."""
        if isinstance(text, str) and not _PRINCIPAL_LETTERS.fullmatch(text):
            return False  # most that is none is told so without decoding it
        try:
            cls.parse(text)
        except InvalidRecordError:
            return False
        return True

    @property
    def text(self) -> str:
        """The text form: 8 to 63 characters in groups of five."""
        checked = zlib.crc32(self.raw).to_bytes(4, "big") + self.raw
        letters = base64.b32encode(checked).decode().rstrip("=").lower()
        return "-".join(letters[start : start + 5] for start in range(0, len(letters), 5))

    def __str__(self) -> str:
        return self.text

    def __bytes__(self) -> bytes:
        return self.raw


@dataclass(frozen=True, slots=True, order=True)
class Xid:
    """A 12-byte id that sorts by time: seconds, machine, process, counter (``spec/anda.md`` 6.2).

    >>> Xid.parse("cl9v200a1c609kg0000g").seconds
    1700000000
    """

    raw: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.raw, bytes) or len(self.raw) != 12:
            raise InvalidRecordError("xid", "must be 12 bytes")

    @classmethod
    def from_bytes(cls, raw: bytes) -> Xid:
        """The xid of these 12 bytes.

        Raises:
            InvalidRecordError: they are not 12, or no bytes.

        """
        return cls(raw)

    @classmethod
    def make(cls, now_ms: int | None = None, tail: bytes | None = None) -> Xid:
        """A new xid: the seconds of ``now_ms``, then 8 bytes; left out, the clock's and random ones."""
        now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        return cls((now // 1000).to_bytes(4, "big") + (secrets.token_bytes(8) if tail is None else tail))

    @classmethod
    def parse(cls, text: str, path: str = "xid") -> Xid:
        """Read the text form of exactly 20 characters ``0-9a-v``.

        Raises:
            InvalidRecordError: it is no xid.

        """
        try:
            found = cls(base64.b32hexdecode(text.upper() + "===="))
        except (binascii.Error, ValueError, AttributeError, InvalidRecordError):
            found = None
        # Compared, since decoding overlooks capital letters and the four padding bits.
        if found is None or found.text != text:
            raise InvalidRecordError(path, f"{ascii(text)[:80]} is no xid")
        return found

    @classmethod
    def is_valid(cls, text: str) -> bool:
        """Whether the text is an xid."""
        try:
            cls.parse(text)
        except InvalidRecordError:
            return False
        return True

    @property
    def text(self) -> str:
        """The text form, 20 characters."""
        return base64.b32hexencode(self.raw).decode().rstrip("=").lower()

    @property
    def seconds(self) -> int:
        """When it was made, in seconds since 1970."""
        return int.from_bytes(self.raw[:4], "big")

    @property
    def machine(self) -> bytes:
        """The three bytes that stand for the machine."""
        return self.raw[4:7]

    @property
    def process(self) -> int:
        """The process that made it."""
        return int.from_bytes(self.raw[7:9], "big")

    @property
    def counter(self) -> int:
        """The number within its process."""
        return int.from_bytes(self.raw[9:], "big")

    def __str__(self) -> str:
        return self.text

    def __bytes__(self) -> bytes:
        return self.raw
