"""What callers may pass: each check refuses before anything is sent. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import Enum
from typing import Any, Final, Literal, TypeAlias

from convostore.schemas.authors import Author
from convostore.schemas.conversations import ConversationStatus
from convostore.schemas.entries import Source
from convostore.schemas.errors import InvalidRecordError, QueryError, TooLargeError
from convostore.schemas.identifiers import check_text, check_user
from convostore.schemas.json_values import JSON
from convostore.schemas.messages import Message
from convostore.schemas.resources import Resource
from convostore.store.layout import Limits

__all__ = ["ALL_USERS", "UNSET", "AllUsers", "Unset", "UserScope"]


class Unset(Enum):
    """The type of :data:`UNSET`."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


class AllUsers(Enum):
    """The type of :data:`ALL_USERS`."""

    ALL_USERS = "ALL_USERS"

    def __repr__(self) -> str:
        return "ALL_USERS"


UNSET: Final = Unset.UNSET
"""An argument that was not given, where None means something."""

ALL_USERS: Final = AllUsers.ALL_USERS
"""Every user's conversations: the operator's scope for calls over many."""

UserScope: TypeAlias = str | AllUsers

_U64_MAX = 2**64 - 1


def conversation_id(value: Any, name: str = "id") -> int:
    """An unsigned 64-bit id; never a filter, a text, a bool or a float."""
    if type(value) is not int:
        raise InvalidRecordError(name, f"must be an int from 0 to 2^64-1, not {type(value).__name__}")
    if not 0 <= value <= _U64_MAX:
        raise InvalidRecordError(name, f"{_short(value)} is outside 0 to 2^64-1")
    return value


def entry_id(value: Any, name: str) -> int:
    """An entry id: an int from 0 to 2^63-1."""
    if type(value) is not int or not 0 <= value < 2**63:
        raise InvalidRecordError(name, f"an entry id is an int from 0 to 2^63-1, not {_short(value)}")
    return value


def one_user(value: Any) -> str | None:
    """The user a call is made for; None when it was left out, which is the operator's unscoped call."""
    return None if value is UNSET else check_user(value)


def many_users(value: Any) -> str | None:
    """The user of a call over many; None for ALL_USERS, which must be said."""
    return None if value is ALL_USERS else check_user(value)


def page_limit(value: Any, *, most: int, name: str = "limit") -> int:
    """How many a page holds: 1 to ``most``."""
    if type(value) is not int or not 1 <= value <= most:
        raise QueryError(name, f"must be an int from 1 to {most}, not {_short(value)}")
    return value


def offset(value: Any, name: str) -> int:
    """A place in a list, from 0."""
    if type(value) is not int or not 0 <= value <= _U64_MAX:
        raise QueryError(name, f"must be an int from 0, not {_short(value)}")
    return value


def milliseconds(value: Any, name: str) -> int:
    """Milliseconds since 1970, unsigned."""
    if type(value) is not int or not 0 <= value <= _U64_MAX:
        raise QueryError(name, f"must be milliseconds since 1970, an int, not {_short(value)}")
    return value


def version(value: Any, name: str = "expected") -> int | None:
    """The version a caller builds on, when given."""
    if value is not None and (type(value) is not int or not 0 <= value < 2**63):
        raise InvalidRecordError(name, f"must be a version, an int from 0, not {_short(value)}")
    return value


def plain_text(value: Any, name: str, *, most: int = Limits.ID) -> str:
    """A short text that can be compared and indexed: no control characters, no lone surrogates, not empty."""
    if type(value) is not str:
        raise InvalidRecordError(name, f"must be text, not {type(value).__name__}")
    if not value:
        raise InvalidRecordError(name, "must not be empty")
    if len(value) > most:
        raise TooLargeError(name, len(value), most)
    if not value.isprintable() and any(
        ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) < 0xE000 for c in value
    ):
        raise InvalidRecordError(name, "must have no control characters and no lone surrogates")
    return value


def call_key(value: Any, name: str = "key") -> str | None:
    """The key of an idempotent call, when given: 1 to 256 characters."""
    return None if value is None else plain_text(value, name)


def call_keys(value: Any, count: int) -> tuple[str, ...] | None:
    """One key per message, all different."""
    if value is None:
        return None
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise InvalidRecordError("keys", "must be a list of texts, one per message")
    keys = tuple(plain_text(key, f"keys[{place}]") for place, key in enumerate(value))
    if len(keys) != count:
        raise InvalidRecordError("keys", f"has {len(keys)} keys for {count} messages")
    if len(set(keys)) != count:
        raise InvalidRecordError("keys", "has a key twice")
    size = sum(len(key.encode()) for key in keys)
    if size > Limits.KEYS:
        raise TooLargeError("keys", size, Limits.KEYS)
    return keys


def reason_text(value: Any, name: str) -> str | None:
    """A reason in words that UTF-8 can hold, when given."""
    return None if value is None else check_text(value, name)


def queued_text(value: Any) -> str:
    """A text for a queue: not blank, at most 1 MiB."""
    text = check_text(value, "text")
    if not text.strip():
        raise InvalidRecordError("text", "must not be blank")
    size = len(text.encode())
    if size > Limits.QUEUED_TEXT:
        raise TooLargeError("text", size, Limits.QUEUED_TEXT)
    return text


def status(value: Any, name: str = "status") -> ConversationStatus:
    """One of the six statuses."""
    try:
        if isinstance(value, str):
            return ConversationStatus(value)
    except ValueError:
        pass
    known = ", ".join(member.value for member in ConversationStatus)
    raise InvalidRecordError(name, f"must be one of {known}, not {_short(value)}")


def statuses(value: Any) -> tuple[ConversationStatus, ...]:
    """One status or several, without repeats, in the order of the enum."""
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, Iterable) or isinstance(given, (bytes, dict)):
        raise QueryError("status", f"must be a status or a list of them, not {_short(value)}")
    found = {status(item) for item in given}
    if not found:
        raise QueryError("status", "must name at least one status")
    return tuple(member for member in ConversationStatus if member in found)


def author(value: Any) -> Author | None:
    """An author as an :class:`Author` or its JSON form, when given; its texts are short and storable."""
    if value is None:
        return None
    # An Author made by hand is read as its JSON will be: what it says must be what comes back.
    found = Author.from_json(value.to_json() if isinstance(value, Author) else value)
    for name in ("name", "source", "request", "title"):
        text = getattr(found, name)
        if text is not None:
            plain_text(text, f"author.{name}", most=1024)
    return found


def source(value: Any) -> Source | None:
    """Where a record came from, when given: short texts that UTF-8 can hold."""
    if value is None:
        return None
    if not isinstance(value, Source):
        raise InvalidRecordError("source", f"must be a Source, not a {type(value).__name__}")
    _named(value.format, "source.format")
    _named(value.id, "source.id")
    if value.file is not None:
        _named(value.file, "source.file")
    if value.sha256 is not None:
        _named(value.sha256, "source.sha256")
    return value


def _named(value: Any, name: str) -> None:
    text = check_text(value, name)
    if not text:
        raise InvalidRecordError(name, "must not be empty")
    if len(text) > Limits.SOURCE:
        raise TooLargeError(f"{name} (in characters)", len(text), Limits.SOURCE)


def messages(value: Any, name: str = "messages") -> list[JSON]:
    """One message or a list of them, as plain JSON."""
    given = value if isinstance(value, (list, tuple)) else [value]
    return [item.to_json() if isinstance(item, Message) else item for item in given]


def flag(value: Any, name: str) -> bool:
    """True or False, nothing that only looks like it."""
    if type(value) is not bool:
        raise InvalidRecordError(name, f"must be True or False, not {_short(value)}")
    return value


def figures(value: Any) -> Literal["keep", "drop"]:
    """What becomes of the figures of what is deleted."""
    if value == "keep":
        return "keep"
    if value == "drop":
        return "drop"
    raise QueryError("figures", f"must be 'keep' or 'drop', not {_short(value)}")


def expiry_basis(value: Any) -> Literal["created", "updated"]:
    """What the age of a conversation is counted from."""
    if value == "created":
        return "created"
    if value == "updated":
        return "updated"
    raise QueryError("by", f"must be created or updated, not {_short(value)}")


def resources(value: Any) -> Sequence[Resource]:
    """A list of resources."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise InvalidRecordError("resources", f"must be a list of resources, not {_short(value)}")
    for place, one in enumerate(value):
        if not isinstance(one, Resource):
            raise InvalidRecordError(f"resources[{place}]", f"must be a Resource, not a {type(one).__name__}")
    return value


def one_of(value: Any, known: Collection[str], name: str) -> str:
    """One of a few words.

    Raises:
        QueryError: it is none of them.

    """
    if not isinstance(value, str) or value not in known:
        raise QueryError(name, f"{_short(value)} is none of {', '.join(known)}")
    return value


def _short(value: Any) -> str:
    if type(value) is int and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    try:
        text = ascii(value)
    except RecursionError:
        return f"a deeply nested {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:79]}…"
