"""What Anda's schema versions 1 to 4 have and how their own writers write it (``spec/anda.md`` 1). Pure data.

Of each version its last writer counts: engine 0.9.26, 0.11.1, 0.11.25 and 0.14 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from convostore.schemas.errors import SchemaVersionError

__all__ = ["NEWEST", "REQUIRED", "VERSIONS", "AndaVersion", "ancestor_order", "infer_version", "version_of"]

_MEMBERS = (
    "_id",
    "user",
    "thread",
    "messages",
    "resources",
    "artifacts",
    "status",
    "failed_reason",
    "usage",
    "steering_messages",
    "follow_up_messages",
    "child",
    "ancestors",
    "label",
    "extra",
    "period",
    "created_at",
    "updated_at",
)
REQUIRED = frozenset(
    (
        "_id",
        "user",
        "messages",
        "resources",
        "artifacts",
        "status",
        "usage",
        "period",
        "created_at",
        "updated_at",
    )
)
"""Members that a reader of Anda's misses when they are absent or null."""

_CHANGES = (
    "messages",
    "artifacts",
    "status",
    "usage",
    "updated_at",
    "steering_messages",
    "follow_up_messages",
)


@dataclass(frozen=True, slots=True)
class AndaVersion:
    """One schema version: its members in order, those of a partial update, and how it writes what it has."""

    number: int
    members: tuple[str, ...]
    changes: tuple[str, ...]
    idle: bool = True
    cached_tokens: bool = True
    root_first: bool = True
    prefixed_bytes: bool = True


def _version(number: int, absent: Sequence[str], changes: Sequence[str], **ways: bool) -> AndaVersion:
    members = tuple(name for name in _MEMBERS if name not in absent)
    return AndaVersion(number, members, (*_CHANGES, "failed_reason", *changes), **ways)


VERSIONS: dict[int, AndaVersion] = {
    1: _version(
        1,
        ("child", "label", "extra"),
        (),
        idle=False,
        cached_tokens=False,
        root_first=False,
        prefixed_bytes=False,
    ),
    2: _version(2, ("child", "extra"), ("label",), idle=False, root_first=False, prefixed_bytes=False),
    3: _version(3, ("child",), ("label", "extra"), prefixed_bytes=False),
    4: _version(4, (), ("label", "extra", "child", "resources")),
}
NEWEST = 4


def version_of(number: Any) -> AndaVersion:
    """The version of that number.

    Raises:
        SchemaVersionError: it is none of 1, 2, 3 and 4.

    """
    found = VERSIONS.get(number) if type(number) is int else None
    if found is None:
        reason = f"the record has versions 1 to {NEWEST}, not {ascii(number)[:40]}"
        raise SchemaVersionError(reason, found=number, known=tuple(VERSIONS))
    return found


def infer_version(record: Mapping[str, Any]) -> int:
    """The oldest version that knows every member of the JSON object; absence proves nothing (10.4).

    >>> infer_version({"label": "travel", "child": None}), infer_version({})
    (4, 1)
    """
    return next((number for name, number in (("child", 4), ("extra", 3), ("label", 2)) if name in record), 1)


def ancestor_order(ancestors: Sequence[int]) -> int:
    """1 when the ids only rise (root to parent), -1 when they only fall (nearest first), else 0 (1.5).

    Ids grow with time, so the order shows; a list of none or one reads both ways and counts as rising.
    """
    if all(first < second for first, second in pairwise(ancestors)):
        return 1
    return -1 if all(first > second for first, second in pairwise(ancestors)) else 0
