"""Whether a record stays within its limits, told before a write. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from convostore.schemas.errors import TooLargeError
from convostore.store.codec import document_size
from convostore.store.layout import Limits

__all__ = ["check_attachments", "check_queued", "check_record", "is_heavy"]

_RECORD: Final = frozenset(
    {
        "user",
        "thread",
        "status",
        "failed_reason",
        "usage",
        "child",
        "ancestors",
        "label",
        "extra",
        "extra_text",
        "period",
        "created_at",
        "updated_at",
        "source",
        "unknown",
        "unknown_text",
    }
)
"""The fields of a head that its record is held in; its lists and queues have limits of their own."""

_GROWING: Final = frozenset(
    {"failed_reason", "ancestors", "label", "extra", "extra_text", "unknown", "unknown_text"}
)
"""Those of them that have no small bound of their own."""


def is_heavy(sets: Mapping[str, Any]) -> bool:
    """Whether these members are so large that what else the record holds must be seen before they are set."""
    return document_size(sets) > Limits.INLINE


def check_record(
    head: Mapping[str, Any], sets: Mapping[str, Any] | None = None, gone: Collection[str] = ()
) -> None:
    """Refuse a record that is too large without its lists, once ``sets`` are set and ``gone`` are unset.

    Raises:
        TooLargeError: it is.

    """
    if not sets and _GROWING.isdisjoint(head):
        return
    after = {**head, **(sets or {})}
    members = {name: value for name, value in after.items() if name in _RECORD and name not in gone}
    size = document_size(members)
    if size > Limits.RECORD:
        raise TooLargeError("the record without its lists", size, Limits.RECORD)


def check_attachments(size: int) -> None:
    """Refuse resources and artifacts that together take too many bytes, those that lie apart not counted.

    Raises:
        TooLargeError: they do.

    """
    if size > Limits.ATTACHMENTS:
        raise TooLargeError("resources and artifacts of the record", size, Limits.ATTACHMENTS)


def check_queued(items: Iterable[Mapping[str, Any]]) -> int:
    """Refuse texts that are too large for the queues; how many bytes they take.

    Raises:
        TooLargeError: one is, or all together are.

    """
    total = 0
    for item in items:
        size = document_size(item)
        total += size
        if size - 64 > Limits.QUEUED_TEXT:
            raise TooLargeError("a queued text", size, Limits.QUEUED_TEXT)
    if total > Limits.QUEUED_TOTAL:
        raise TooLargeError("the queued texts", total, Limits.QUEUED_TOTAL)
    return total
