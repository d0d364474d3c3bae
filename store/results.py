"""What the store's calls give back. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from convostore.schemas.conversations import ConversationStatus
from convostore.schemas.entries import Entry, Source
from convostore.schemas.json_values import JSON
from convostore.schemas.usage import Usage

__all__ = [
    "Appended",
    "Change",
    "CheckReport",
    "Collected",
    "ConversationHead",
    "Deleted",
    "Finding",
    "Queued",
    "Rewritten",
    "Saved",
    "SetupReport",
]


@dataclass(frozen=True, slots=True)
class Appended:
    """What :meth:`append` did.

    ``ids`` are the entry ids of the given messages in their order; ``status`` is the conversation's status
    afterwards (``cancelled`` when that stuck); ``replayed`` says that an earlier call with the same key had
    stored them; ``usage_errors`` names counters that were refused under ``usage_errors="report"``.
    """

    ids: tuple[int, ...]
    version: int
    status: ConversationStatus
    replayed: bool = False
    usage_errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Saved:
    """What :meth:`save` or :meth:`edit` did: the version now stored, the members changed, and whether other
    writers' changes were taken in first.
    """

    version: int
    changed: tuple[str, ...] = ()
    rebased: bool = False


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What :meth:`rewrite` did: the version now stored, and how many messages changed, removed ones included.

    ``forks`` are the conversations that were forked from this one: they have copies of their own.
    """

    version: int
    changed: int
    forks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationHead:
    """A conversation without its three lists, with what the store knows of it. It cannot be saved.

    ``message_count`` counts all messages and ``message_bytes`` their stored bytes; ``first`` and ``last`` are
    the first and last entry that the head itself holds (``first`` is None when older messages are sealed).
    """

    id: int
    user: str
    status: ConversationStatus
    usage: Usage
    period: int
    created_at: int
    updated_at: int
    version: int
    revision: int
    message_count: int
    message_bytes: int
    resource_count: int = 0
    artifact_count: int = 0
    thread: str | None = None
    failed_reason: str | None = None
    steering_messages: tuple[str, ...] = ()
    follow_up_messages: tuple[str, ...] = ()
    child: int | None = None
    ancestors: tuple[int, ...] = ()
    label: str | None = None
    extra: JSON = None
    first: Entry | None = None
    last: Entry | None = None
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Queued:
    """Texts taken from the queues under a lease, follow-ups to be delivered before steering.

    ``receipt`` goes to ``append(..., took=receipt)`` or ``give_back``; None when there was nothing to take.
    ``lease_until`` is milliseconds since 1970, None when they were taken for good.
    """

    follow_ups: tuple[str, ...] = ()
    steering: tuple[str, ...] = ()
    receipt: str | None = None
    lease_until: int | None = None

    def __bool__(self) -> bool:
        return bool(self.follow_ups or self.steering)


@dataclass(frozen=True, slots=True)
class Deleted:
    """What :meth:`delete` removed; ``existed`` is False for a conversation that was not there any more."""

    existed: bool
    segments: int = 0
    blobs: int = 0
    changes: int = 0


@dataclass(frozen=True, slots=True)
class SetupReport:
    """What :meth:`setup` did or, with ``dry_run``, would do."""

    created: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    validators: tuple[str, ...] = ()
    schema_version: int = 0
    dry_run: bool = False
    pending: bool = False
    """Whether the database is below this release's schema version: ``migrations`` bring it there."""

    def __bool__(self) -> bool:
        return bool(self.created or self.indexes or self.validators)


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that :meth:`watch` saw.

    ``kind`` is ``created``, ``appended``, ``changed`` (edited, or members of the record) or ``deleted``;
    ``entries`` are the new ones; ``token`` resumes the watch after this change.
    """

    id: int
    kind: Literal["created", "appended", "changed", "deleted"]
    version: int | None
    entries: tuple[Entry, ...] = ()
    token: Any = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing :meth:`check` found: ``broken`` (an invariant does not hold) or ``leftover`` (of a crash)."""

    severity: Literal["broken", "leftover"]
    kind: str
    id: object
    detail: str
    repaired: bool = False


@dataclass(slots=True)
class CheckReport:
    """The outcome of :meth:`check`; true when nothing is broken."""

    conversations: int = 0
    messages: int = 0
    segments: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def broken(self) -> tuple[Finding, ...]:
        """What contradicts an invariant."""
        return tuple(found for found in self.findings if found.severity == "broken")

    @property
    def leftovers(self) -> tuple[Finding, ...]:
        """What a crash left behind and nothing refers to."""
        return tuple(found for found in self.findings if found.severity == "leftover")

    def __bool__(self) -> bool:
        return not self.broken


@dataclass(frozen=True, slots=True)
class Collected:
    """What ``resources.collect`` did: how many it looked at, marked for next time, and removed."""

    examined: int
    marked: int
    removed: int
