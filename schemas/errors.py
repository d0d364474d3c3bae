"""The errors of Convostore, all in one tree.

::

    ConvostoreError
    ├── NotFoundError                 nothing of that id for that user
    ├── ConflictError                 another writer was there first; nothing was written
    │   ├── MismatchError             a change record does not fit the value it is applied to
    │   └── LeaseLostError            a receipt or a claim lapsed or belongs to somebody else
    ├── StatusError                   the status does not allow it
    ├── InvalidRecordError            bad input, refused before anything was written
    │   └── PairingError              tool calls and results do not pair
    ├── TooLargeError                 beyond a documented limit
    ├── SchemaVersionError            stored by a newer release, or a version that cannot say this
    ├── ImportFormatError             a file is not what it should be
    │   └── SessionFormatError        a saved session is not what it should be
    ├── QueryError                    a filter, cursor or range that makes no sense
    ├── RunError                      an agent run cannot go on
    │   ├── MaxTurnsError
    │   ├── UnknownToolCallError
    │   ├── RunCancelledError
    │   └── ProtocolError
    └── UnavailableError              the database cannot be reached or cannot do this
        ├── AuthenticationFailedError
        └── EngineNotFoundError

Facts are attributes; the text of an error says what was asked, what was found and what to do.
A model built by hand raises pydantic's ``ValidationError`` instead.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "AuthenticationFailedError",
    "ConflictError",
    "ConvostoreError",
    "EngineNotFoundError",
    "ImportFormatError",
    "InvalidRecordError",
    "LeaseLostError",
    "MaxTurnsError",
    "MismatchError",
    "NotFoundError",
    "PairingError",
    "ProtocolError",
    "QueryError",
    "RunCancelledError",
    "RunError",
    "SchemaVersionError",
    "SessionFormatError",
    "StatusError",
    "TooLargeError",
    "UnavailableError",
    "UnknownToolCallError",
]


def _shown(value: object, limit: int = 120) -> str:
    """A short ASCII-safe ``repr`` for an error text."""
    try:
        text = ascii(value)
    except RecursionError:
        return f"a deeply nested {type(value).__name__}"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


class ConvostoreError(Exception):
    """Every error of Convostore."""


class NotFoundError(ConvostoreError):
    """Nothing of that id exists for that user; another user's is not found either."""

    def __init__(self, kind: str, id: object) -> None:
        self.kind = kind
        self.id = id
        super().__init__(f"{kind} {_shown(id)} does not exist")


class ConflictError(ConvostoreError):
    """Another writer was there first, or a key was used for something else; nothing was written.

    ``field`` names the member, ``expected`` is what the caller built on, ``actual`` what is stored.
    """

    def __init__(
        self, field: str, *, expected: object = None, actual: object = None, reason: str | None = None
    ) -> None:
        self.field = field
        self.expected = expected
        self.actual = actual
        self.reason = reason
        super().__init__(
            reason
            or f"{field} was changed by another writer: expected {_shown(expected)}, "
            f"found {_shown(actual)}; read again and repeat"
        )


class MismatchError(ConflictError):
    """A change record does not fit the value it is applied to; the value is unchanged."""


class LeaseLostError(ConflictError):
    """A receipt or a claim lapsed, was used, or belongs to somebody else; nothing was written."""


class StatusError(ConvostoreError):
    """The conversation's status does not allow what was asked."""

    def __init__(self, actual: str, wanted: str, *, reason: str | None = None) -> None:
        self.actual = actual
        self.wanted = wanted
        super().__init__(reason or f"a conversation that is {actual} cannot become {wanted}")


class InvalidRecordError(ConvostoreError):
    """Bad input, refused before anything was written.

    ``path`` is where (``messages[3].content``), ``reason`` what is wrong, ``index`` the place in the list
    that was given, when there was one.
    """

    def __init__(self, path: str, reason: str, *, index: int | None = None) -> None:
        self.path = path
        self.reason = reason
        self.index = index
        super().__init__(f"{path}: {reason}")


class PairingError(InvalidRecordError):
    """Tool calls and tool results do not pair.

    ``kind`` says how (``consecutive_assistant``, ``unanswered_call``, ``orphan_result``, ``unknown_call``,
    ``not_a_result``), ``calls`` names the call ids it is about.
    """

    def __init__(
        self, path: str, reason: str, *, index: int | None = None, kind: str = "", calls: tuple[str, ...] = ()
    ) -> None:
        self.kind = kind
        self.calls = calls
        super().__init__(path, reason, index=index)


class TooLargeError(ConvostoreError):
    """Beyond a documented limit; nothing was written. ``size`` and ``limit`` are in bytes or characters."""

    def __init__(self, what: str, size: int, limit: int, *, index: int | None = None) -> None:
        self.what = what
        self.size = size
        self.limit = limit
        self.index = index
        super().__init__(f"{what} is {size:,} where at most {limit:,} are allowed")


class SchemaVersionError(ConvostoreError):
    """A version this release does not know, or one that cannot say what the record holds."""

    def __init__(self, reason: str, *, found: object = None, known: object = None) -> None:
        self.found = found
        self.known = known
        super().__init__(reason)


class ImportFormatError(ConvostoreError):
    """A file is not what it should be. ``position`` is a line number (from 1), an index or a path in it."""

    def __init__(self, reason: str, *, file: str | None = None, position: int | str | None = None) -> None:
        self.reason = reason
        self.file = file
        self.position = position
        at = "".join(
            [f"{file}: " if file is not None else "", f"at {position}: " if position is not None else ""]
        )
        super().__init__(f"{at}{reason}")


class SessionFormatError(ImportFormatError):
    """A saved session is not what it should be."""


class QueryError(ConvostoreError):
    """A filter, cursor or range that makes no sense, refused before any query."""

    def __init__(self, parameter: str, reason: str) -> None:
        self.parameter = parameter
        self.reason = reason
        super().__init__(f"{parameter}: {reason}")


class RunError(ConvostoreError):
    """An agent run cannot go on."""


class MaxTurnsError(RunError):
    """The run used up its turns."""


class UnknownToolCallError(RunError):
    """A result names a call that was not made."""


class RunCancelledError(RunError):
    """The run was cancelled."""


class ProtocolError(RunError):
    """A step was answered with what it did not ask for."""


class UnavailableError(ConvostoreError):
    """The database cannot be reached, or lacks what the call needs (``capability``)."""

    def __init__(self, reason: str, *, capability: str | None = None) -> None:
        self.reason = reason
        self.capability = capability
        super().__init__(reason)


class AuthenticationFailedError(UnavailableError):
    """The database refused the user name or password."""


class EngineNotFoundError(UnavailableError):
    """No mongod to run for an ``embedded:`` URI. ``cause`` is ``missing``, ``broken`` or ``newer``."""

    def __init__(self, reason: str, *, cause: str = "missing", detail: Any = None) -> None:
        self.cause = cause
        self.detail = detail
        super().__init__(reason)
