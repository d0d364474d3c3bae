"""Imports and exports: what they report, and how what is stored already is brought up to date. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any, Final, Literal, TypeVar

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import ImportFormatError, InvalidRecordError, SchemaVersionError
from convostore.schemas.formats import Facts, Imported, ImportedDelta, Position
from convostore.schemas.formats.writers import PARQUET, ROWS_LEAVE_OUT, WRITERS
from convostore.schemas.json_values import JSON, same_json
from convostore.store.runs import NewEntry, encode_entries

__all__ = [
    "ExportReport",
    "ImportReport",
    "Problem",
    "Update",
    "encode_facts",
    "merge_delta",
    "note_left_out",
    "plan_update",
    "until_broken",
]

T = TypeVar("T")

MOST_PROBLEMS: Final = 10_000
MOST_NOTES: Final = 1_000
_LONGEST_ERROR: Final = 4_000

_COUNTED: Final = (
    "read",
    "imported",
    "updated",
    "unchanged",
    "renumbered",
    "skipped",
    "failed",
    "branches",
    "messages",
    "resources",
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing of an input that was not taken as it stood there.

    ``kind`` is ``failed`` (it could not be read or stored), ``skipped`` (left out by a rule) or
    ``renumbered`` (stored under another id). ``id`` is its own in the source, where it has one.
    """

    kind: Literal["failed", "skipped", "renumbered"]
    position: Position
    reason: str
    id: str | None = None


@dataclass(slots=True)
class ImportReport:
    """What an import did, or with ``dry_run`` would have done.

    ``read`` = ``imported`` + ``updated`` + ``unchanged`` + ``skipped`` + ``failed``; ``renumbered`` counts
    those of ``imported`` that got another id. A branch is stored as a conversation and counts as one,
    ``branches`` says how many of ``read`` are branches. ``messages`` are those of what was taken, each once:
    a branch, or a conversation that goes on from another one, counts what it has of its own.
    ``error`` says why the reading ended before the input did; None when all of it was read. Of many problems
    and notes the first are kept, ``more_problems`` and ``more_notes`` count the others.
    """

    format: str
    dry_run: bool = False
    read: int = 0
    imported: int = 0
    updated: int = 0
    unchanged: int = 0
    renumbered: int = 0
    skipped: int = 0
    failed: int = 0
    branches: int = 0
    messages: int = 0
    resources: int = 0
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    more_problems: int = 0
    more_notes: int = 0
    error: str | None = None

    def __bool__(self) -> bool:
        """Whether everything was taken."""
        return not self.failed and self.error is None

    def add(
        self,
        kind: Literal["failed", "skipped", "renumbered"],
        position: Position,
        reason: str,
        id: str | None = None,
    ) -> None:
        """Count and keep one problem; what failed or was skipped counts as read."""
        if kind != "renumbered":
            self.read += 1
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(kind, position, reason, id))
        else:
            self.more_problems += 1

    def note(self, text: str) -> None:
        """Keep a note, once."""
        if len(self.notes) >= MOST_NOTES:
            self.more_notes += 1
        elif text not in self.notes:
            self.notes.append(text)

    def stop(self, reason: str) -> None:
        """Note why reading ended early; the first reasons are told."""
        self.error = reason if self.error is None else f"{self.error}; {reason}"[:_LONGEST_ERROR]

    def merge(self, other: ImportReport) -> None:
        """Add what another import of the same format did."""
        for count in (*_COUNTED, "more_problems", "more_notes"):
            setattr(self, count, getattr(self, count) + getattr(other, count))
        self.problems += other.problems
        for text in other.notes:
            self.note(text)
        if other.error is not None:
            self.stop(other.error)

    def to_json(self) -> dict[str, JSON]:
        """Everything in it."""
        counts = {name: getattr(self, name) for name in ("format", "dry_run", *_COUNTED)}
        return counts | {
            "problems": [asdict(one) for one in self.problems],
            "more_problems": self.more_problems,
            "notes": self.notes,
            "more_notes": self.more_notes,
            "error": self.error,
        }


def until_broken(items: Iterable[T], report: ImportReport) -> Iterator[T]:
    """The items; what ends them early goes to the report, or is raised when there was nothing at all."""
    count = 0
    try:
        for item in items:
            count += 1
            held = [item]
            del item
            yield held.pop()  # so that nothing here holds it any more: it may be large
    except (ImportFormatError, SchemaVersionError) as error:
        if not count:
            raise
        report.stop(str(error))


@dataclass(slots=True)
class ExportReport:
    """What an export wrote; ``notes`` say what the format could not say, each once, with how often.

    ``more_notes`` counts those beyond the first thousand different ones.
    """

    format: str
    conversations: int = 0
    messages: int = 0
    resources: int = 0
    bytes: int = 0
    more_notes: int = 0
    _counted: dict[str, int] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Keep a note."""
        if text in self._counted or len(self._counted) < MOST_NOTES:
            self._counted[text] = self._counted.get(text, 0) + 1
        else:
            self.more_notes += 1

    def merge(self, other: ExportReport) -> None:
        """Add what another export to the same format wrote."""
        for name in ("conversations", "messages", "resources", "bytes", "more_notes"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for text, count in other._counted.items():
            self._counted[text] = self._counted.get(text, 0) + count

    @property
    def notes(self) -> list[str]:
        """What could not be said, the first of it first."""
        return [text if count == 1 else f"{text} ({count:,} times)" for text, count in self._counted.items()]

    def to_json(self) -> dict[str, JSON]:
        """Everything in it."""
        return {
            "format": self.format,
            "conversations": self.conversations,
            "messages": self.messages,
            "resources": self.resources,
            "bytes": self.bytes,
            "notes": self.notes,
            "more_notes": self.more_notes,
        }


def note_left_out(report: ExportReport) -> None:
    """Note what the format takes along of no conversation."""
    left_out = ROWS_LEAVE_OUT if report.format == PARQUET else WRITERS[report.format].leaves_out
    if left_out is not None and report.conversations:
        report.note(left_out)


@dataclass(frozen=True, slots=True)
class Update:
    """How a stored conversation is brought up to date: members to set, and where messages begin to differ.

    ``is_other_line`` says that those from there on are no later state of the stored ones, but other messages.
    ``kept`` says why nothing may be done instead.
    """

    members: Mapping[str, Any] = field(default_factory=dict)
    messages_from: int | None = None
    is_other_line: bool = False
    kept: str | None = None

    def __bool__(self) -> bool:
        return self.kept is None and (bool(self.members) or self.messages_from is not None)


def plan_update(
    stored: Conversation,
    found: Imported,
    *,
    untouched: bool,
    others: Callable[[], Iterable[Sequence[JSON]]] = tuple,
) -> Update:
    """What a source that has changed since its import changes in the store.

    ``untouched`` says that nobody else has changed the stored conversation since. Then messages and members
    become those of the source, unless its history has become shorter: imports never delete. If it was changed
    here too, only messages that follow the stored ones are taken; a history that differs is kept and the
    reason given.

    ``others`` gives the other lines of the source, whole, which are stored as well. When the stored messages
    go on in one of those, the active branch has become another one: then it is taken though it is shorter,
    since nothing is deleted.
    """
    ours, theirs = stored.messages, found.conversation.messages
    differs = _first_difference(ours, theirs)
    leaves = untouched and differs is not None and differs < len(ours)
    is_other_line = leaves and any(_first_difference(line, ours) is None for line in others())
    if len(theirs) < len(ours) and not is_other_line:
        counts = f"{len(theirs):,} messages, the stored one {len(ours):,}"
        return Update(kept=f"the source has {counts}; imports delete none")
    if differs is not None and differs < len(ours) and not untouched:
        return Update(kept=f"message {differs} was changed here and in the source; the stored one is kept")
    members = _members(stored, found) if untouched else {}
    return Update(members, differs, is_other_line)


def _first_difference(ours: Sequence[JSON], theirs: Sequence[JSON]) -> int | None:
    for place, message in enumerate(theirs):
        if place >= len(ours) or not same_json(ours[place], message):
            return place
    return None


_COMPARED: Final = (
    "thread",
    "resources",
    "artifacts",
    "status",
    "failed_reason",
    "usage",
    "child",
    "label",
    "extra",
)


def _members(stored: Conversation, found: Imported) -> dict[str, Any]:
    """The members that the source states and that differ; what it says nothing of stays."""
    before, after = stored.to_json_object(), found.conversation.to_json_object()
    changed: dict[str, Any] = {}
    for name in _COMPARED:
        if name not in found.states or same_json(before.get(name), after.get(name)):
            continue
        changed[name] = getattr(found.conversation, name)
    return changed


def merge_delta(stored: Conversation, item: ImportedDelta) -> bool:
    """Put the delta into the record; whether anything changed.

    Raises:
        InvalidRecordError: the record ends before the offset, or goes on beyond the delta.

    """
    delta, before = item.delta, stored.to_json_object()
    for name, start, items in (
        ("messages", item.messages_offset, delta.messages),
        ("artifacts", item.artifacts_offset, delta.artifacts),
    ):
        held: list[Any] = getattr(stored, name)
        if start > len(held):
            raise InvalidRecordError(
                name, f"the delta begins at {start:,}, the record has only {len(held):,}"
            )
        if start + len(items) < len(held):
            reason = (
                f"the record has {len(held):,}, the delta ends at {start + len(items):,}; imports delete none"
            )
            raise InvalidRecordError(name, reason)
        held[start:] = items
    for name in ("status", "usage", "failed_reason", "child"):
        if name in item.given:
            setattr(stored, name, getattr(delta, name))
    return stored.to_json_object() != before


def encode_facts(messages: Sequence[JSON], facts: Sequence[Facts] | None, first: int = 0) -> list[NewEntry]:
    """The messages as entries, with what a source says of each; ``first`` is the place of the first one.

    Raises:
        InvalidRecordError: JSON cannot say a message; ``path`` leads to the value.

    """
    known = [Facts()] * len(messages) if facts is None else facts
    entries: list[NewEntry] = []
    for (dialect, unfinished, author), run in groupby(
        zip(messages, known, strict=True), lambda pair: (pair[1].dialect, pair[1].unfinished, pair[1].author)
    ):
        pairs = list(run)
        entries += encode_entries(
            [message for message, _ in pairs],
            made=[fact.made for _, fact in pairs],
            author=None if author is None else author.to_json(),
            dialect=dialect,
            unfinished=unfinished,
            first=first + len(entries),
        )
    return entries
