"""Migrations: what becomes of documents of older schema versions, one numbered module a step. Pure.

Each step leads from the version before to its own ``number``; a document goes through as many as it needs.
``store/asynchronous/_lifting.py`` carries them out, document by document, and reads old documents by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from convostore.schemas.errors import SchemaVersionError
from convostore.store.heads import Head
from convostore.store.layout import SCHEMA_VERSION
from convostore.store.migrations import m0001_anda_records, m0002_first_release
from convostore.store.migrations.steps import Change, Found, Step, version_of

__all__ = ["STEPS", "Change", "Found", "Step", "as_head", "newer", "older_than", "version_of"]

STEPS: Final[tuple[Step, ...]] = (m0001_anda_records.STEP, m0002_first_release.STEP)
"""In order; the last one leads to ``SCHEMA_VERSION``."""


def as_head(document: Mapping[str, Any], data: bytes) -> Head:
    """A whole document of any older version as a head of the present one: to read, not to store.

    ``data`` are its bytes, of which only those of a foreign document are looked at.

    Raises:
        InvalidRecordError, TooLargeError: it is no conversation.

    """
    head = dict(document)
    if version_of(head) == 0:
        head = m0001_anda_records.as_head(document, data)
    return m0002_first_release.as_head(head)


def older_than(version: int) -> dict[str, Any]:
    """The filter of documents below a version, those that no release wrote included."""
    return {"schema_version": {"$not": {"$gte": version}}}


def newer(found: int, what: str) -> SchemaVersionError:
    """The error for something that a newer release wrote."""
    return SchemaVersionError(
        f"{what} is at schema version {found}, this release knows {SCHEMA_VERSION}: upgrade convostore; "
        "nothing was changed",
        found=found,
        known=SCHEMA_VERSION,
    )
