"""What a driver's error means for a call: was it applied, may it be repeated,
what does the caller see. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    DocumentTooLarge,
    ExecutionTimeout,
    InvalidURI,
    OperationFailure,
    PyMongoError,
    WaitQueueTimeoutError,
    WriteConcernError,
    WTimeoutError,
)

from convostore.schemas.errors import AuthenticationFailedError, TooLargeError, UnavailableError

__all__ = ["Unclear", "is_unclear", "is_write_conflict", "translated", "unavailable"]

_UNCLEAR_CODES: Final = frozenset(
    {6, 7, 50, 64, 79, 89, 91, 100, 189, 202, 262, 358, 9001, 10107, 11600, 11602, 13435, 13436, 317, 91331}
)
_WRITE_CONFLICT: Final = 112
_OUT_OF_DISK: Final = 14031
_UNAUTHORIZED: Final = 13
_DOCUMENT_TOO_LARGE: Final = frozenset({10334, 17419, 17420})
_DOCUMENT_BYTES: Final = 16 * 1024 * 1024
_SIZE: Final = re.compile(r"\b[0-9]{8,10}\b")
_AUTHENTICATION: Final = frozenset({18, 11, 334, 8000})


class Unclear(Exception):
    """Whether a write was applied is not known: look before repeating it. ``cause`` is the driver's error."""

    def __init__(self, cause: PyMongoError) -> None:
        self.cause = cause
        super().__init__(str(cause))


def is_unclear(error: PyMongoError) -> bool:
    """Whether the command may or may not have been applied, and may be tried again after a look."""
    if isinstance(error, (ConnectionFailure, WriteConcernError, WTimeoutError, ExecutionTimeout)):
        return True
    if isinstance(error, BulkWriteError):
        return bool(error.details["writeConcernErrors"]) and not error.details["writeErrors"]
    if isinstance(error, OperationFailure):
        known = error.code in _UNCLEAR_CODES or is_write_conflict(error)
        return known or error.has_error_label("RetryableWriteError")
    return False


def is_write_conflict(error: PyMongoError) -> bool:
    """Whether the server gave up because of another writer, having applied nothing."""
    return isinstance(error, OperationFailure) and error.code == _WRITE_CONFLICT


def write_concern_error(reply: dict[str, Any]) -> WriteConcernError | None:
    """The error a raw command's reply carries although the command was applied."""
    found = reply.get("writeConcernError")
    return None if not found else WriteConcernError(found.get("errmsg", ""), found.get("code"), found)


@contextmanager
def translated(call: str) -> Iterator[None]:
    """Raise a driver's error as one of ours, with the driver's chained."""
    try:
        yield
    except Unclear as error:
        raise unavailable(call, error.cause) from error.cause
    except DocumentTooLarge as error:
        raise _too_large(call, str(error)) from error
    except PyMongoError as error:
        if isinstance(error, OperationFailure) and error.code in _DOCUMENT_TOO_LARGE:
            raise _too_large(call, str(error)) from error
        raise unavailable(call, error) from error


def _too_large(call: str, said: str) -> TooLargeError:
    # What is too large has limits of its own, checked before; they may add up in one document.
    sizes = [int(size) for size in _SIZE.findall(said.split(", full error:")[0])]
    return TooLargeError(f"{call}: the document in the database", max(sizes, default=0), _DOCUMENT_BYTES)


def unavailable(call: str, error: PyMongoError) -> UnavailableError:
    """Our error for a driver's: what was tried, what happened, what to do; never a password or a URI."""
    code = error.code if isinstance(error, OperationFailure) else None
    if code in _AUTHENTICATION:
        return AuthenticationFailedError(
            f"{call}: the database refused the login; check user, password, authSource"
        )
    if code == _UNAUTHORIZED:
        return UnavailableError(
            f"{call}: the database user may not do this ({_first_line(error)}); it needs "
            "readWrite on the database"
        )
    if code == _OUT_OF_DISK:
        return UnavailableError(f"{call}: the server's disk is full; free some space, nothing was written")
    if isinstance(error, WaitQueueTimeoutError):
        return UnavailableError(
            f"{call}: no connection became free in time; raise maxPoolSize or the timeout"
        )
    if isinstance(error, (InvalidURI, ConfigurationError)):
        return UnavailableError(f"{call}: the URI is not usable: {_first_line(error)}")
    if isinstance(error, (WriteConcernError, WTimeoutError)):
        return UnavailableError(
            f"{call}: applied, but the server could not confirm that it is safe ({_first_line(error)}); "
            "repeat the call with the same key"
        )
    if error.timeout or isinstance(error, (AutoReconnect, ConnectionFailure)):
        return UnavailableError(
            f"{call}: the database did not answer ({_first_line(error)}); check that it "
            "runs and repeat the call"
        )
    return UnavailableError(f"{call}: the database refused it ({_first_line(error)})")


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    text = lines[0] if lines else type(error).__name__
    text = text.split(", Timeout:")[0].split(", full error:")[0]
    return text if len(text) <= 200 else f"{text[:199]}…"
