"""Migrations of a live database: where it stands, and bringing it to this release's schema version."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from convostore.schemas.errors import (
    ConflictError,
    QueryError,
    UnavailableError,
)
from convostore.store import parameters
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._migrating import Run
from convostore.store.asynchronous._setup import known_schema, setup
from convostore.store.layout import SCHEMA_VERSION
from convostore.store.migrations import STEPS, version_of
from convostore.store.migrations.reports import MigrationReport, MigrationStatus, StepStatus

__all__ = ["AsyncMigrations"]

_CALL = "migration"

Phase = Literal["all", "pre", "post"]


class AsyncMigrations:
    """The migrations of one database: ``store.migrations``.

    Each step has two phases. *pre* makes what this release needs and older ones do not mind; then processes
    of this release may start beside old ones. *post* rewrites documents, once no old process is left. The
    store works before, during and after both: what is not migrated yet is read as if it were, and lifted when
    it is written to.
    """

    def __init__(self, opened: Callable[[], Awaitable[AsyncBackend]]) -> None:
        self._opened = opened

    async def status(self) -> MigrationStatus:
        """Where the database stands. Counts every conversation once; changes nothing.

        Raises:
            SchemaVersionError: a newer release migrated it.

        """
        backend = await _checked(self._opened)
        with backend.call(_CALL):
            known = await known_schema(backend, comment=_CALL)
            prepared = not await setup(backend, dry_run=True, adopting=True) if known is not None else False
            group = {"$group": {"_id": "$schema_version", "n": {"$sum": 1}}}
            rows = await backend.aggregate("conversations", [group], comment=_CALL)
            lease = await backend.find_one("meta", {"_id": _CALL}, comment=_CALL)
        documents: dict[int, int] = {}
        for row in rows:
            written = version_of({"schema_version": row["_id"]})
            documents[written] = documents.get(written, 0) + int(row["n"])
        steps = tuple(
            StepStatus(
                step.number,
                step.name,
                step.pre,
                step.post,
                prepared,
                sum(count for version, count in documents.items() if version < step.number),
            )
            for step in STEPS
        )
        running = lease is not None and int(lease.get("until", 0)) > backend.now()
        version = None if known is None else int(known["version"])
        return MigrationStatus(version, SCHEMA_VERSION, dict(sorted(documents.items())), steps, running)

    async def run(
        self,
        *,
        to: int | None = None,
        phase: Phase = "all",
        dry_run: bool = False,
        on_progress: Callable[[MigrationReport], object] | None = None,
    ) -> MigrationReport:
        """Run the phases up to a schema version, that of this release when ``to`` is left out.

        May be interrupted anywhere and run again: what is done is done, document by document, each by one
        guarded update. Conversations may be written to meanwhile. Of two runners one works; the other is
        told, or takes over from one that died. Documents that are no conversations are reported and stay.
        With ``dry_run`` nothing is written. The timeout is each document's.

        Raises:
            SchemaVersionError: a newer release migrated the database; nothing was changed.
            ConflictError: another runner is at work; or nothing in a collection of one of our names is ours,
                or could be: nothing was changed.
            QueryError: there is no such version, or the database is above it.

        """
        target: int = SCHEMA_VERSION if to is None else to
        if type(target) is not int or not 1 <= target <= SCHEMA_VERSION:
            raise QueryError("to", f"must be a schema version from 1 to {SCHEMA_VERSION}, not {target!r:.40}")
        if phase not in ("all", "pre", "post"):
            raise QueryError("phase", "must be all, pre or post")
        parameters.flag(dry_run, "dry_run")
        backend = await _checked(self._opened)
        with backend.call(_CALL):
            known = await known_schema(backend, comment=_CALL)
        version = 0 if known is None else int(known["version"])
        if version > target:
            raise QueryError("to", f"the database is at schema version {version}; there is no way back")
        run = Run(backend, MigrationReport(target, dry_run, version), on_progress)
        if phase != "post":
            await run.prepare(first=known is None)
        elif known is None:
            raise ConflictError("phase", reason="the database was never set up: run the pre phase first")
        if phase == "pre":
            await run.count_remaining()
        elif dry_run:
            await run.pass_over()
        else:
            await run.rewrite()
        return run.report


async def _checked(opened: Callable[[], Awaitable[AsyncBackend]]) -> AsyncBackend:
    backend = await opened()
    if backend.engine == "mongomock":
        raise UnavailableError("migrations need a MongoDB server", capability="migrations")
    return backend
