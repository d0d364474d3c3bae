"""Importing conversations of foreign formats: recognised by their source, stored many at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

from convostore.schemas.entries import Source
from convostore.schemas.errors import (
    ConflictError,
    ConvostoreError,
    InvalidRecordError,
    NotFoundError,
    TooLargeError,
)
from convostore.schemas.formats import Imported, ImportedDelta, Item, Noticed, Origin, Refused
from convostore.store import parameters
from convostore.store.asynchronous import _creating, _pace, _saving
from convostore.store.asynchronous._arriving import Arrivals
from convostore.store.asynchronous._attaching import Attacher, FindBytes
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._grafting import graft
from convostore.store.asynchronous._reading import read_record
from convostore.store.asynchronous._updating import bring_up_to_date
from convostore.store.branching import whole_branches
from convostore.store.codec import decode_u64, encode_u64
from convostore.store.exchanging import ImportReport, merge_delta
from convostore.store.heads import Head
from convostore.store.identities import Identities
from convostore.store.links import Links

__all__ = ["Importer"]

_CALL = "import"
_BATCH = 1000
_BATCH_BYTES = 2 << 20
_LARGE_BATCH = 4 << 20
"""Bytes of conversations that are stored before others are read, so that there is memory for them."""
_BREATH = 16
"""Conversations after which commands under way get their turn."""
_FACTS = {"user": 1, "source": 1, "version": 1}


_Identity: TypeAlias = tuple[str, str, str]
"""User, format and id of a source."""


class _Found(NamedTuple):
    """A batch that was looked up: what the store has of it, by identity, the rest, and ids for the rest.

    Without ids they have to be found when everything before the batch is stored.
    """

    batch: Sequence[Imported]
    held: Mapping[_Identity, Head]
    fresh: Sequence[Imported]
    ids: Sequence[int] | None


class Importer:
    """Takes what a reader gives, in order, and stores it in batches; ``finish`` ends it.

    A conversation whose source identity the user has already is compared: equal by the hash of its content it
    is unchanged, else brought up to date by :func:`plan_update`. A new one keeps its id when that is free.
    ``child`` and ``ancestors`` that name conversations of the same input follow their renumbering; what they
    name outside of it stays and is noted.

    A branch is stored as a fork of what it leaves, exactly there, after the conversation that it belongs to,
    and so is a conversation that goes on from another one. Where the stored one is not what it leaves, the
    whole line is stored and that is noted. With ``branches`` ``active`` branches are skipped.
    """

    def __init__(
        self,
        backend: AsyncBackend,
        ids: Callable[[], int] | None,
        report: ImportReport,
        *,
        user: str | None = None,
        into: int | None = None,
        branches: str = "all",
        find_bytes: FindBytes | None = None,
        on_progress: Callable[[ImportReport], object] | None = None,
    ) -> None:
        self._backend = backend
        self._ids = ids
        self._report = report
        self._user = user
        self._into = into
        self._with_branches = branches != "active"
        self._attacher = Attacher(backend, ids, report, find_bytes)
        self._on_progress = on_progress
        self._batch: list[Imported] = []
        self._bytes = 0
        self._lookups = _pace.Beside[_Found]()
        self._seen = Identities()
        self._links = Links()
        self._arrivals = Arrivals(backend, ids, report, self._links, self._attacher)

    async def take(self, item: Item) -> None:
        """Take one thing that was read."""
        report = self._report
        if isinstance(item, Refused):
            report.add("skipped" if item.skipped else "failed", item.position, item.reason, item.id)
        elif isinstance(item, Noticed):
            report.note(f"{item.position}: {item.text}")
        elif isinstance(item, ImportedDelta):
            await self._flush()
            await self._settle()
            await self._merge(item)
        elif not self._is_new(item):
            return
        elif item.origin is not None:
            await self._flush()
            await self._take_lines([item])
            await self._take_branches([item])
        else:
            self._batch.append(item)
            self._bytes += item.size
            if len(self._batch) >= _BATCH or self._bytes >= _BATCH_BYTES:
                await self._flush()
            elif not len(self._batch) % _BREATH:
                await _pace.breathe()

    async def finish(self) -> None:
        """Store what is left, and note the ids that lead out of the input."""
        await self._flush()
        await self._settle()
        self._tell_progress()
        count, some = self._links.outside()
        if count:
            ids = ", ".join(map(str, some))
            self._report.note(f"{count:,} links lead out of the input, to conversations {ids}; kept")

    def _is_new(self, item: Imported) -> bool:
        """Whether its identity was not read before in this input; otherwise it is reported."""
        for note in item.notes:
            self._report.note(f"{item.position}: {note}")
        source = item.source
        try:
            parameters.source(source)
        except ConvostoreError as error:
            self._report.add("failed", item.position, str(error))
            return False
        key = hash((item.conversation.user, source.format, source.id))
        content = hash(source.sha256)
        known = self._seen.note(key, content)
        if known is None:
            return True
        if known == content:
            self._arrivals.count(item)
            self._report.unchanged += 1
        else:
            reason = "the input holds another conversation of the same identity; the first one was taken"
            self._report.add("failed", item.position, reason, source.id)
        return False

    async def aclose(self) -> None:
        """Wait for what is under way, whatever becomes of it."""
        await self._lookups.close()
        await self._arrivals.close()

    async def _flush(self) -> None:
        batch, is_large = self._batch, self._bytes > _LARGE_BATCH
        self._batch, self._bytes = [], 0
        if not batch:
            return
        await self._go_on()
        await self._lookups.start(lambda: self._look_up(batch))
        if is_large:
            await self._settle()
        await self._take_branches(batch)
        self._tell_progress()

    async def _look_up(self, batch: Sequence[Imported]) -> _Found:
        """What the store has of these, while the ones behind them are read."""
        with self._backend.call(_CALL):
            held = await self._held(batch)
            fresh = [item for item in batch if _identity(item) not in held]
            return _Found(batch, held, fresh, await self._arrivals.fresh_ids(fresh))

    async def _go_on(self) -> None:
        """Go on with what was looked up: what is held is compared, the rest begins to be stored."""
        while len(self._lookups):
            batch, held, fresh, ids = await self._lookups.next()
            if held:
                await self._arrivals.settle()
                for item in batch:
                    if found := held.get(_identity(item)):
                        await self._again(item, found)
            await self._arrivals.store(fresh, ids)

    async def _settle(self) -> None:
        """Wait until everything that was taken is stored."""
        await self._go_on()
        await self._arrivals.settle()

    def _tell_progress(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self._report)

    async def _held(self, batch: Sequence[Imported]) -> dict[_Identity, Head]:
        """What the store has of these sources."""
        held: dict[_Identity, Head] = {}
        by_user: dict[tuple[str, str], list[str]] = {}
        for user, format, id in map(_identity, batch):
            by_user.setdefault((user, format), []).append(id)
        for (user, format), identities in by_user.items():
            query = {"user": user, "source.format": format, "source.id": {"$in": identities}}
            for head in await self._backend.find("conversations", query, _FACTS, comment=_CALL):
                held[user, format, head["source"]["id"]] = head
        return held

    # What goes on from another one

    async def _take_branches(self, items: Sequence[Imported]) -> None:
        lines = []
        for line in chain.from_iterable(map(whole_branches, items)):
            self._report.branches += 1
            if not self._with_branches:
                reason = "a branch beside the active one; left out as asked"
                self._report.add("skipped", line.position, reason, line.source.id)
            elif self._is_new(line):
                lines.append(line)
        await self._take_lines(lines)

    async def _take_lines(self, lines: Sequence[Imported]) -> None:
        """Store those that go on from another conversation, or begin by themselves, one after the other."""
        if not lines:
            return
        await self._settle()
        with self._backend.call(_CALL):
            held = await self._held(lines)
        for line in lines:
            found = held.get(_identity(line))
            if found is not None:
                await self._again(line, found)
                continue
            if line.origin is not None and not self._report.dry_run:
                await self._continue(line, line.origin)
            else:
                await self._store_now(line)

    async def _store_now(self, item: Imported) -> None:
        await self._arrivals.store([item])
        await self._arrivals.settle()

    async def _continue(self, item: Imported, origin: Origin) -> None:
        """Store it as a fork of its origin, or whole where that is not stored as it is here."""
        try:
            with self._backend.call(_CALL):
                parent, id = await self._grafted(item, origin)
        except ConflictError as error:
            with self._backend.call(_CALL):
                user = item.conversation.user
                held = await _creating.find_source(self._backend, user, item.source, comment=_CALL)
            kind: Literal["failed", "skipped"] = "failed" if held is None else "skipped"
            self._report.add(kind, item.position, str(error), item.source.id)
            return
        except (InvalidRecordError, TooLargeError) as error:
            self._report.add("failed", item.position, str(error), item.source.id)
            return
        if id is None:
            why = "is not stored" if parent is None else f"is stored as {parent} and was changed"
            self._report.note(
                f"{item.position}: {item.source.id} goes on from {origin.id}, which {why}; it is stored whole"
            )
            await self._store_now(item)
            return
        self._arrivals.count(item)
        with self._backend.call(_CALL):
            await self._arrivals.stored(item, id)

    async def _grafted(self, item: Imported, origin: Origin) -> tuple[int | None, int | None]:
        """The id of its origin and the one that it is stored under as a fork of that; None for neither."""
        user = item.conversation.user
        parent = await _creating.find_source(
            self._backend, user, Source(item.source.format, origin.id), comment=_CALL
        )
        if parent is None:
            return None, None
        draft = self._arrivals.draft(await self._attacher.attached(item), 0, origin.after)
        owner = {"_id": encode_u64(parent), "user": user}
        try:
            return parent, await graft(self._backend, owner, draft, origin.after, self._ids, comment=_CALL)
        except NotFoundError:  # It was deleted here while the import went on.
            return parent, None

    # What is there already

    async def _again(self, item: Imported, found: Head) -> None:
        self._arrivals.count(item)
        id = decode_u64(found["_id"])
        await self._arrivals.link(item, id)
        if found["source"].get("sha256") == item.source.sha256:
            self._report.unchanged += 1
            return
        try:
            with self._backend.call(_CALL):
                untouched = found["source"].get("version") == found["version"]
                with_references = await self._attacher.attached(item)
                kept = await bring_up_to_date(
                    self._backend,
                    found,
                    with_references,
                    untouched=untouched,
                    with_branches=self._with_branches,
                    dry_run=self._report.dry_run,
                )
        except NotFoundError:
            kept = "it was deleted here while the import went on"
        except ConvostoreError as error:
            self._report.read -= 1
            self._report.add("failed", item.position, str(error), item.source.id)
            return
        if kept is None:
            self._report.updated += 1
        elif kept == "":
            self._report.unchanged += 1
        else:
            self._report.read -= 1
            self._report.add("skipped", item.position, kept, item.source.id)

    # Deltas

    async def _merge(self, item: ImportedDelta) -> None:
        """Put a delta's messages and state where its offsets say, into a record that is known."""
        delta = item.delta
        id = delta.id if self._into is None else self._into
        position = item.position
        try:
            with self._backend.call(_CALL):
                query: dict[str, Any] = {"_id": encode_u64(id)}
                if self._user is not None:
                    query["user"] = self._user
                stored = await read_record(self._backend, query, comment=_CALL)
                changed = merge_delta(stored, item)
                if changed and not self._report.dry_run:
                    owner = {**query, "user": stored.user}
                    await _saving.save(self._backend, stored, owner, force=True)
        except ConvostoreError as error:
            self._report.add("failed", position, str(error), str(delta.id))
            return
        self._report.read += 1
        self._report.messages += len(delta.messages)
        if changed:
            self._report.updated += 1
        else:
            self._report.unchanged += 1


def _identity(item: Imported) -> _Identity:
    return item.conversation.user, item.source.format, item.source.id
