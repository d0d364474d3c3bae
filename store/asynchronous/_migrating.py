"""Carrying migrations out: the pre phase, and the pass over all documents of the post phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bson.int64 import Int64

from convostore.schemas.errors import ConflictError, InvalidRecordError, TooLargeError
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._leases import Lease, acquire
from convostore.store.asynchronous._lifting import lift, mend, present
from convostore.store.asynchronous._numbering import lift_counter
from convostore.store.asynchronous._setup import setup
from convostore.store.layout import SCHEMA_VERSION
from convostore.store.migrations import older_than
from convostore.store.migrations.reports import MigrationReport

__all__ = ["Run"]

_CALL: Final = "migration"
_LEASE_MS: Final = 15_000
_BATCH: Final = 200
_MOST_PASSES: Final = 5
_CLOCKS_MS: Final = 3_600_000
"""By how much the clocks of processes may differ."""
_NUMBER: Final = {"$type": "number"}


class Run:
    """One run: its report so far, and its lease while it rewrites documents."""

    def __init__(
        self,
        backend: AsyncBackend,
        report: MigrationReport,
        on_progress: Callable[[MigrationReport], object] | None,
    ) -> None:
        self.report = report
        self._backend = backend
        self._on_progress = on_progress
        self._lease: Lease | None = None

    async def prepare(self, *, first: bool) -> None:
        """The pre phase: what setup makes. ``first`` says that the database was never set up."""
        backend, report = self._backend, self.report
        adopting = first and await self._lies_there()
        with backend.call(_CALL):
            made = await setup(backend, dry_run=report.dry_run, adopting=adopting)
            if adopting and not report.dry_run:
                await self._lift_counter()
        report.version = made.schema_version
        report.prepared = (
            *made.created,
            *made.indexes,
            *(f"validator of {name}" for name in made.validators),
        )

    async def _lies_there(self) -> bool:
        """Whether documents lie in ``conversations`` that may be taken over, before anything was set up.

        Raises:
            ConflictError: there are documents, and none of them is a conversation: they are somebody else's.

        """
        backend = self._backend
        reason: object = None
        last: Any = None
        while True:
            query = {"_id": _NUMBER if last is None else {"$gt": last}, **older_than(1)}
            with backend.call(_CALL):
                found = await backend.find(
                    "conversations", query, {"_id": 1}, comment=_CALL, sort=[("_id", 1)], limit=_BATCH
                )
                for one in found:
                    try:
                        await present(backend, one, one, None, comment=_CALL)
                        return True
                    except (InvalidRecordError, TooLargeError) as error:
                        reason = error
            if len(found) < _BATCH:
                break
            last = found[-1]["_id"]
        with backend.call(_CALL):
            other = await backend.find_one("conversations", older_than(1), {"_id": 1}, comment=_CALL)
        if other is None:
            return False
        name = backend.names["conversations"]
        raise ConflictError(
            "collection",
            actual=name,
            reason=f"the collection {name} holds documents, and none is a conversation of Convostore's or "
            f"Anda's ({reason or 'their ids are no numbers'}); use another database or a prefix; "
            "nothing was changed",
        )

    async def _lift_counter(self) -> None:
        """Let ids be given out above those that are there, whatever they name."""
        query = {"_id": {"$lt": 2**53}}
        found = await self._backend.find(
            "conversations", query, {"_id": 1}, comment=_CALL, sort=[("_id", -1)], limit=1
        )
        for one in found:
            await lift_counter(self._backend, "conversation", int(one["_id"]), comment=_CALL)

    async def rewrite(self) -> None:
        """The post phase: every document below the target is brought to it, then the database's version."""
        backend, report = self._backend, self.report
        self._lease = await acquire(backend, _CALL, _LEASE_MS)
        try:
            for report.passes in range(1, _MOST_PASSES + 1):
                before = report.migrated
                report.refusals, report.refused = [], 0
                report.examined = report.migrated + report.elsewhere
                await self.pass_over()
                if report.migrated == before:
                    break
            await self.count_remaining()
            if not report.remaining:
                await self._mend()
                await self._raise_version(self._lease)
        finally:
            await self._lease.release()

    async def pass_over(self) -> None:
        """Look at every document below the target once, in order of id."""
        backend, report = self._backend, self.report
        last: Any = None
        while True:
            query = {"_id": _NUMBER if last is None else {"$gt": last}, **older_than(report.target)}
            with backend.call(_CALL):
                found = await backend.find(
                    "conversations",
                    query,
                    {"schema_version": 1},
                    comment=_CALL,
                    sort=[("_id", 1)],
                    limit=_BATCH,
                )
            for one in found:
                await self._take(one)
            if self._on_progress is not None:
                self._on_progress(report)
            if len(found) < _BATCH:
                break
            last = found[-1]["_id"]
        await self._refuse_nameless()

    async def _mend(self) -> None:
        """Look once more at conversations that old and new processes wrote to, side by side."""
        backend = self._backend
        with backend.call(_CALL):
            known = await backend.find_one("meta", {"_id": "schema"}, {"beside_since": 1}, comment=_CALL)
        if self.report.target < SCHEMA_VERSION or known is None or "beside_since" not in known:
            return
        start = int(known["beside_since"]) - _CLOCKS_MS
        since = {"schema_version": SCHEMA_VERSION, "updated_at": {"$gte": Int64(start)}}
        last: Any = None
        while True:
            query = {"_id": _NUMBER if last is None else {"$gt": last}, **since}
            with backend.call(_CALL):
                found = await backend.find(
                    "conversations", query, {"user": 1}, comment=_CALL, sort=[("_id", 1)], limit=_BATCH
                )
            for one in found:
                if self._lease is not None:
                    await self._lease.renew()
                with backend.call(_CALL):
                    self.report.mended += await mend(backend, one, comment=_CALL)
            if len(found) < _BATCH:
                return
            last = found[-1]["_id"]

    async def _take(self, one: Mapping[str, Any]) -> None:
        backend, report = self._backend, self.report
        if self._lease is not None:
            await self._lease.renew()
        report.examined += 1
        owner = {"_id": one["_id"]}
        try:
            with backend.call(_CALL):
                if report.dry_run:
                    done = await present(backend, owner, dict(one), None, comment=_CALL) is not None
                else:
                    done = await lift(backend, owner, to=report.target, comment=_CALL)
        except (InvalidRecordError, TooLargeError) as error:
            report.refuse(one["_id"], error)
            return
        report.migrated += done
        report.elsewhere += not done

    async def _refuse_nameless(self) -> None:
        """Documents whose id is no number are no conversations."""
        backend, report = self._backend, self.report
        query = {"_id": {"$not": _NUMBER}, **older_than(report.target)}
        with backend.call(_CALL):
            count = await backend.aggregate(
                "conversations", [{"$match": query}, {"$count": "n"}], comment=_CALL
            )
            some = await backend.find("conversations", query, {"_id": 1}, comment=_CALL, limit=_BATCH)
        for one in some:
            report.refuse(one["_id"], "_id: is no number, so this is no conversation")
        if count:
            report.refused += int(count[0]["n"]) - len(some)
            report.examined += int(count[0]["n"])

    async def count_remaining(self) -> None:
        """Count the documents below the target that could be brought there."""
        query = older_than(self.report.target)
        with self._backend.call(_CALL):
            rows = await self._backend.aggregate(
                "conversations", [{"$match": query}, {"$count": "n"}], comment=_CALL
            )
        waiting = int(rows[0]["n"]) if rows else 0
        self.report.remaining = max(waiting - self.report.refused, 0)

    async def _raise_version(self, lease: Lease) -> None:
        backend, target = self._backend, self.report.target
        await lease.renew()
        with backend.call(_CALL):
            query = {"_id": "schema", "fence": {"$not": {"$gt": lease.fence}}}
            update: dict[str, Any] = {
                "$max": {"version": target},
                "$set": {"fence": Int64(lease.fence), "migrated_at": Int64(backend.now())},
            }
            if target == SCHEMA_VERSION:
                update["$unset"] = {"beside_since": ""}
            await backend.update_many("meta", query, update, comment=_CALL)
            for kind in ("conversation", "resource"):
                least = {"$max": {"least": target}}
                await backend.update_many("meta", {"_id": f"{kind}_ids"}, least, comment=_CALL)
        self.report.version = max(self.report.version, target)
