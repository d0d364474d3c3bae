"""What a look at the migrations, and a run of them, report. Pure data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["MigrationReport", "MigrationStatus", "Refusal", "StepStatus"]

MOST_REFUSALS: Final = 10_000


@dataclass(frozen=True, slots=True)
class StepStatus:
    """One step: what its two phases do, and how many documents wait for its post phase.

    ``prepared`` says that its pre phase is done.
    """

    number: int
    name: str
    pre: str
    post: str
    prepared: bool
    waiting: int


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    """Where a database stands.

    ``version`` is the schema version that every document of it has at least, 0 before it was set up around
    documents that lay there; None for a database that was never set up. ``known`` is what this release
    writes. ``documents`` counts conversations by their schema version, 0 being what no release wrote.
    ``running`` says that a runner holds the lease.
    """

    version: int | None
    known: int
    documents: dict[int, int]
    steps: tuple[StepStatus, ...]
    running: bool

    @property
    def pending(self) -> bool:
        """Whether a migration has something to do."""
        waits = any(not step.prepared or step.waiting for step in self.steps)
        return waits or (self.version is not None and self.version < self.known)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A document that was left as it is: its id, as text, and why."""

    id: str
    reason: str


@dataclass(slots=True)
class MigrationReport:
    """What a run did, or with ``dry_run`` would do.

    ``examined`` documents were below ``target``: ``migrated`` of them were brought there, ``elsewhere`` was
    deleted, or brought there by a writer, meanwhile, ``refused`` are no conversations and stay as they are.
    ``version`` is the database's afterwards; it is below ``target`` while ``remaining`` documents are,
    because processes of an older release go on writing them, or because the post phase was not asked for.
    ``mended`` were there already, and an older release had written to them since.
    """

    target: int
    dry_run: bool = False
    version: int = 0
    prepared: tuple[str, ...] = ()
    examined: int = 0
    migrated: int = 0
    elsewhere: int = 0
    refused: int = 0
    remaining: int = 0
    mended: int = 0
    refusals: list[Refusal] = field(default_factory=list)
    passes: int = 0

    def refuse(self, id: Any, reason: object) -> None:
        """Count a document that stays as it is; the first ones are named."""
        self.refused += 1
        if len(self.refusals) < MOST_REFUSALS:
            self.refusals.append(Refusal(str(id)[:80], str(reason)))

    def __bool__(self) -> bool:
        return not self.refused and not self.remaining
