"""What a store's URI names: a MongoDB server, or a folder for the embedded engine."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from convostore.schemas.errors import InvalidRecordError
from convostore.store.engine.embedded import EmbeddedEngine

__all__ = ["VARIABLE", "default_folder", "folder_of", "resolve_uri"]

VARIABLE = "CONVOSTORE_URI"

_EMBEDDED = "embedded:"
_MONGODB = ("mongodb://", "mongodb+srv://")


def default_folder() -> Path:
    """The folder of ``embedded:`` without a path: ``convostore`` among the user's application data."""
    return platformdirs.user_data_path("convostore", appauthor=False)


def folder_of(uri: str) -> Path | None:
    """The folder that ``embedded:PATH`` or ``embedded:`` names; None for a ``mongodb://`` URI.

    Raises:
        InvalidRecordError: it is neither.
    """
    if uri.startswith(_EMBEDDED):
        path = uri[len(_EMBEDDED) :]
        return Path(path).expanduser() if path else default_folder()
    if uri.startswith(_MONGODB):
        return None
    # The text is not repeated: it may hold a password.
    raise InvalidRecordError("uri", "begins with neither mongodb:// nor mongodb+srv:// nor embedded:")


def resolve_uri(uri: str | None = None) -> tuple[str, EmbeddedEngine | None]:
    """The ``mongodb`` URI to connect to, and the engine that was started for it, which the caller stops.

    None means the URI in ``CONVOSTORE_URI``, and where that is not set, ``embedded:``. Blocks while a server
    starts.

    Raises:
        InvalidRecordError: not a URI of these kinds.
        EngineNotFoundError, UnavailableError: as :meth:`EmbeddedEngine.start`.
    """
    named = uri if uri is not None else os.environ.get(VARIABLE) or _EMBEDDED
    folder = folder_of(named)
    if folder is None:
        return named, None
    engine = EmbeddedEngine(folder)
    return engine.start(), engine
