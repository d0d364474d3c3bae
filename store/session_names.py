"""Names of logs and files of saved sessions: none leads out of its session. Pure; ``spec/rig.md`` 7.5."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

from convostore.schemas.errors import InvalidRecordError

__all__ = ["SESSION_LOG", "file_name", "log_name"]

SESSION_LOG: Final = "session"
"""The log of the session's own saved values; every other log is an agent's."""

_MOST_BYTES: Final = 200  # with what a directory adds to it, below the 255 that file systems allow


def log_name(name: Any) -> str:
    """The name of a log: a single part of a path.

    Raises:
        InvalidRecordError: it is none.

    """
    return _part(name, "log")


def file_name(name: Any) -> str:
    """The name of a file: parts of a path with ``/`` between them.

    Raises:
        InvalidRecordError: it is none.

    """
    if type(name) is not str or len(name) > 1024:
        raise InvalidRecordError("file", "a file's name is text of at most 1024 characters")
    for part in name.split("/"):
        _part(part, "file")
    return name


def _part(name: Any, kind: str) -> str:
    if type(name) is not str:
        raise InvalidRecordError(kind, f"a name is text, not {type(name).__name__}")
    shown = ascii(name)[:80]
    if not name or name.startswith(".") or name != name.strip():
        raise InvalidRecordError(kind, f"{shown} is empty, begins with a dot, or has blanks around it")
    if any(letter in "/\\" or unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        raise InvalidRecordError(kind, f"{shown} holds a character that no part of a path may have")
    if len(name.encode()) > _MOST_BYTES:
        raise InvalidRecordError(kind, f"{shown} is longer than {_MOST_BYTES} bytes")
    return name
