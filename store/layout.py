"""Names and bounds of what lies in MongoDB. Pure; ``storage.md`` S1 and A10 say why these numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["COLLECTIONS", "SCHEMA_VERSION", "Bounds", "Limits"]

KIB: Final = 1024
MIB: Final = 1024 * KIB

SCHEMA_VERSION: Final = 2
"""Of the documents this release writes; kept in each head and in ``meta``; see ``store/migrations``."""

COLLECTIONS: Final = (
    "conversations",
    "segments",
    "blobs",
    "resources",
    "changes",
    "bodies",
    "ledger",
    "sheets",
    "meta",
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """When the run of messages in a conversation's own document is cut, and how large its older parts grow.

    Appends get dearer with every byte embedded; reading the last page needs a second trip when the run holds
    less than a page. 80 and 50 meet the budgets of design 10 at both ends (``tests/benchmarks`` prints the
    curve).
    """

    keep: int = 50
    """Messages that stay embedded when older ones are sealed: one page."""
    soft_count: int = 80
    """Embedded messages from which an append asks for a seal."""
    soft_bytes: int = 128 * KIB
    hard_count: int = 256
    """Embedded messages at which appends wait for a seal."""
    hard_bytes: int = MIB
    step: int = 16
    """Of the appends over the soft bound only one in so many seals, so that not every writer does."""
    bulk_count: int = 200
    """An append of more messages than this goes to segments directly."""
    bulk_bytes: int = 512 * KIB
    segment_bytes: int = MIB
    segment_count: int = 4096
    merge_width: int = 8
    """Neighbouring segments of one size class that become one."""
    log_soft: int = 64
    """Change records in the head from which the older ones are sealed. Each makes every append dearer, nearly
    as much as a message does.
    """
    log_bytes: int = 32 * KIB
    log_keep: int = 32
    log_hard_bytes: int = 2 * MIB
    """Bytes of change records in the head from which all but the newest ``log_heavy_keep`` are sealed."""
    log_heavy_keep: int = 8


class Limits:
    """What is refused with ``TooLargeError``, in bytes of the encoded form unless said otherwise."""

    RECORD: Final = 4 * MIB
    """The record without its three lists."""
    ATTACHMENTS: Final = 4 * MIB
    """``resources`` and ``artifacts`` of one conversation without the bytes they carry."""
    QUEUED_TEXT: Final = MIB
    QUEUED_TOTAL: Final = 4 * MIB
    MESSAGE: Final = 2 * 1024 * MIB
    ID: Final = 256
    """Characters of a user, thread or key."""
    KEYS: Final = 256 * KIB
    """``keys`` of one call together: they are kept with the change record, in one document."""
    SOURCE: Final = 1024
    """Characters of a source's format, id, file or hash."""
    INLINE: Final = 64 * KIB
    """A message above this lies apart, in ``blobs``."""
    BLOB_PIECE: Final = 4 * MIB
    REMOVED_INLINE: Final = 16 * KIB
    """Entries taken out by one change; above this they lie apart, in ``bodies``."""
    RESOURCE_INLINE: Final = 256 * KIB
    """A resource's bytes above this lie in GridFS."""
    RECENT: Final = 32
    """Keys of the newest calls that leave no change record, kept in the head."""
