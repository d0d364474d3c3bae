"""The forms in which Anda's programs write ids, bytes and texts (``spec/anda.md`` 6.3). Pure.

The engine's JSON has principals and xids as text, CBOR has them as bytes, and AndaDB's own JSON has bytes as
base64: with ``b64:`` in front since 0.9, when texts that begin so got ``txt:`` in front, and bare before.
"""

from __future__ import annotations

from typing import Any

from convostore.schemas.byte_text import PREFIX, read_bytes, write_bytes
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.identifiers import Principal, Xid
from convostore.schemas.json_values import JSON, MAX_DEPTH

__all__ = ["is_andadb", "is_bare_principal", "read_thread", "read_user", "unescaped", "without_bytes"]

_ESCAPE = "txt:"
_IN_USE = ((10, b"\x01"), (29, b"\x02"))
_PRINCIPALS = frozenset(("user", "remoteId", "recipients"))


def is_andadb(user: Any) -> bool:
    """Whether the text of a user is bytes as AndaDB's JSON writes them since 0.9."""
    return isinstance(user, str) and user.startswith(PREFIX) and _principal_bytes(user) is not None


def is_bare_principal(user: Any) -> bool:
    """Whether it is bytes as AndaDB's JSON wrote them before 0.9, and not an opaque user by all signs.

    Base64 alone says nothing, as names are base64 too: it must have padding and decode to a kind of principal
    that is in use: the anonymous (04), a host's own (01), a canister's (10 bytes, the last 01), a key's (29,
    the last 02).
    """
    if not isinstance(user, str) or not user.endswith("=") or ":" in user:
        return False
    raw = _principal_bytes(user)
    return raw in (b"\x01", b"\x04") or (raw is not None and (len(raw), raw[-1:]) in _IN_USE)


def read_user(value: Any, path: str, *, strict: bool) -> Any:
    """The text form of a principal in any form; without ``strict`` everything else as it is, for the model.

    Raises:
        InvalidRecordError: bytes are no principal, or with ``strict`` the value is none in text or bytes.

    """
    if isinstance(value, bytes):
        if len(value) > 29:
            raise InvalidRecordError(path, f"a principal has at most 29 bytes, not {len(value)}")
        return Principal(value).text
    if strict or (isinstance(value, str) and Principal.is_valid(value)):
        return Principal.parse(value, path).text
    if is_andadb(value) or is_bare_principal(value):
        return Principal(read_bytes(value, path)).text
    return value


def read_thread(value: Any, path: str, *, strict: bool, andadb: bool) -> Any:
    """The text form of an xid in any form; without ``strict`` everything else as it is, for the model.

    Text in base64 counts as an xid only in a record that has bytes so (``andadb``).

    Raises:
        InvalidRecordError: bytes are no xid, or with ``strict`` the value is none in text or bytes.

    """
    if isinstance(value, bytes):
        if len(value) != 12:
            raise InvalidRecordError(path, f"an xid has 12 bytes, not {len(value)}")
        return Xid(value).text
    if strict:
        return Xid.parse(value, path).text
    if andadb and isinstance(value, str) and not Xid.is_valid(value):
        try:
            raw = read_bytes(value, path)
        except InvalidRecordError:
            raw = b""
        if len(raw) == 12:
            return Xid(raw).text
    return value


def unescaped(value: JSON) -> JSON:
    """The JSON without the ``txt:`` that AndaDB puts before texts that begin like its own signs."""
    if isinstance(value, str):
        return value.removeprefix(_ESCAPE)
    if isinstance(value, list):
        items = []
        for item in value:
            items.append(unescaped(item))
        return items
    if isinstance(value, dict):
        members = {}
        for name, item in value.items():
            members[unescaped(name)] = unescaped(item)
        return members
    return value


def without_bytes(value: Any, path: str, notes: list[str], member: str = "", depth: int = 0) -> JSON:
    """The value with bytes as JSON has them: senders and recipients as principals, others as ``b64:`` text.

    ``notes`` gets a line for each. What else JSON cannot say is left for ``check_json`` to refuse.
    """
    if isinstance(value, bytes):
        principal = member in _PRINCIPALS and len(value) <= 29
        notes.append(f"{path}: bytes, read as {'a principal' if principal else 'base64 text'}")
        return Principal(value).text if principal else write_bytes(value)
    if depth > MAX_DEPTH:
        return value
    below = depth + 1
    if isinstance(value, list):
        items = []
        for place, item in enumerate(value):
            items.append(without_bytes(item, f"{path}[{place}]", notes, member, below))
        return items
    if isinstance(value, dict):
        members = {}
        for name, item in value.items():
            members[name] = without_bytes(item, f"{path}.{name}", notes, str(name), below)
        return members
    return value


def _principal_bytes(text: str) -> bytes | None:
    try:
        raw = read_bytes(text, "user")
    except InvalidRecordError:
        return None
    return raw if len(raw) <= 29 else None
