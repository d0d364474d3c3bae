"""Stores that break one promise each, to show that the contracts notice."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.entries import Entry, Page
from convostore.schemas.errors import ConflictError
from convostore.store.layout import Bounds
from convostore.store.parameters import ALL_USERS, UNSET
from convostore.store.results import (
    Appended,
    CheckReport,
    ConversationHead,
    Deleted,
    Saved,
)
from convostore.store.synchronous.resources import Resources
from convostore.store.synchronous.store import ConversationStore

SUBMITTED = ConversationStatus.SUBMITTED


class ForgetsLabels(ConversationStore):
    """Gives records back without their label."""

    def get(self, id: int, **scope: Any) -> Conversation:
        record = super().get(id, **scope)
        record.label = None
        return record


class DropsTheTenthAppend(ConversationStore):
    """Says of every tenth append that it was stored, and stores nothing."""

    calls = 0

    def append(self, target: Any, messages: Any = (), **options: Any) -> Appended:
        self.calls += 1
        if self.calls % 10 == 0:
            return Appended((0,), 1, SUBMITTED)
        return super().append(target, messages, **options)


class ForgetsKeys(ConversationStore):
    """Takes a repeated call for a new one."""

    def append(self, target: Any, messages: Any = (), **options: Any) -> Appended:
        return super().append(target, messages, **options | {"key": None, "keys": None})


class NeverSeals(ConversationStore):
    """Keeps every message in the conversation's document."""

    def __init__(self, database: Any, **options: Any) -> None:
        many = 10**6
        bounds = Bounds(soft_count=many, soft_bytes=many, hard_count=many, hard_bytes=many, bulk_count=many)
        super().__init__(database, **options | {"bounds": bounds})


class EditsTheNeighbour(ConversationStore):
    """Puts the new message in the place of the entry before."""

    def edit(self, id: int, entry_id: int, message: Any, **options: Any) -> Saved:
        return super().edit(id, max(entry_id - 1, 0), message, **options)


class LastWriterWins(ConversationStore):
    """Overwrites what another writer changed."""

    def save(self, conversation: Conversation, **options: Any) -> Saved:
        try:
            return super().save(conversation, **options)
        except ConflictError as conflict:
            fresh = self.get(conversation.id)
            setattr(fresh, conflict.field, getattr(conversation, conflict.field))
            return super().save(fresh, **options)


class RepeatsTheBound(ConversationStore):
    """Begins a page with the entry that the last one ended with."""

    def messages(self, id: int, *, before: int | None = None, **options: Any) -> Page[Entry]:
        return super().messages(id, before=None if before is None else before + 1, **options)


class ClearsQueues(ConversationStore):
    """Loses what waits when something is appended."""

    def append(self, target: Any, messages: Any = (), **options: Any) -> Appended:
        done = super().append(target, messages, **options)
        self.take(target if isinstance(target, int) else target.id, lease_ms=0)
        return done


class AllowsEveryStatus(ConversationStore):
    """Lets any status follow any."""

    def set_status(self, id: int, status: Any, **options: Any) -> ConversationHead:
        return super().set_status(id, status, **options | {"force": True})


class ForgetsAncestors(ConversationStore):
    """Continues a conversation without saying what came before it."""

    def continue_from(self, parent: Any, **options: Any) -> Conversation:
        head = self.head(parent if isinstance(parent, int) else parent.id)
        return self.create(Conversation(user=head.user, messages=options.get("messages", [])))


class IgnoresConditions(ConversationStore):
    """Lists conversations whatever their label."""

    def find(self, **conditions: Any) -> Page[ConversationHead]:
        return super().find(**conditions | {"label": None})


class KeepsParts(ConversationStore):
    """Deletes the conversation's document and leaves the rest."""

    def delete(self, id: int, **scope: Any) -> Deleted:
        backend = self._opened()
        return Deleted(backend.delete("conversations", {"_id": id}, comment="delete") > 0)


class ExpiresWhatIsToRun(ConversationStore):
    """Deletes old conversations that nobody has worked on yet."""

    def delete_expired(self, before_ms: int, **options: Any) -> int:
        return super().delete_expired(before_ms, **options | {"include": list(ConversationStatus)})


class _OpenResources(Resources):
    def get(self, id: int, *, user: Any = UNSET, conversation: int | None = None) -> Any:
        return super().get(id, conversation=conversation)


class SharesResources(ConversationStore):
    """Gives a resource to whoever knows its id."""

    @property
    def resources(self) -> Resources:
        return _OpenResources(self._opened, self._ids)


class CutsLargeTexts(ConversationStore):
    """Keeps the first 64 KiB of a text."""

    def append(self, target: Any, messages: Any = (), **options: Any) -> Appended:
        given = messages if isinstance(messages, list) else [messages]
        return super().append(target, [_cut(message) for message in given], **options)


def _cut(message: Any) -> Any:
    if not isinstance(message, Mapping):
        return message
    return {name: value[:65_536] if isinstance(value, str) else value for name, value in message.items()}


class CountsTo63Bits(ConversationStore):
    """Takes counters for signed numbers."""

    def append(self, target: Any, messages: Any = (), *, usage: Any = None, **options: Any) -> Appended:
        if isinstance(usage, dict):
            usage = {name: min(count, 2**62) for name, count in usage.items()}
        return super().append(target, messages, usage=usage, **options)


class IgnoresUsers(ConversationStore):
    """Reads whatever id it is given."""

    def get(self, id: int, **scope: Any) -> Conversation:
        return super().get(id)


class WatchesEverybody(ConversationStore):
    """Tells a user what others do."""

    def watch(self, id: int | None = None, **options: Any) -> Any:
        return super().watch(id, **options | {"user": UNSET})


class SeesNoDamage(ConversationStore):
    """Finds everything in order."""

    def check(self, *, user: Any = ALL_USERS, repair: bool = False) -> CheckReport:
        return CheckReport()


class LosesOverlappingAppends(ConversationStore):
    """Drops an append while another one is under way, as a read and a write without a guard would."""

    busy = threading.Lock()

    def append(self, target: Any, messages: Any = (), **options: Any) -> Appended:
        if not self.busy.acquire(blocking=False):
            return Appended((0,), 1, SUBMITTED)
        try:
            return super().append(target, messages, **options)
        finally:
            self.busy.release()


BROKEN: dict[str, tuple[type[ConversationStore], str]] = {
    "records": (ForgetsLabels, "C002"),
    "append": (DropsTheTenthAppend, "C022"),
    "retries": (ForgetsKeys, "C041"),
    "seal": (NeverSeals, "C062"),
    "edit": (EditsTheNeighbour, "C081"),
    "save": (LastWriterWins, "C109"),
    "paging": (RepeatsTheBound, "C123"),
    "queues": (ClearsQueues, "C146"),
    "status": (AllowsEveryStatus, "C161"),
    "lineage": (ForgetsAncestors, "C181"),
    "find": (IgnoresConditions, "C203"),
    "delete": (KeepsParts, "C223"),
    "expiry": (ExpiresWhatIsToRun, "C242"),
    "resources": (SharesResources, "C263"),
    "blobs": (CutsLargeTexts, "C281"),
    "u64": (CountsTo63Bits, "C303"),
    "scoping": (IgnoresUsers, "C321"),
    "watch": (WatchesEverybody, "C345"),
    "check": (SeesNoDamage, "C362"),
    "concurrency": (LosesOverlappingAppends, "C381"),
}
"""For each group of contracts a store that breaks it, and a contract that must notice."""
