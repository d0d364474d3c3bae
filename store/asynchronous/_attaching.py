"""Resources of imported conversations: their bytes go to the store's resources, the record refers to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from convostore.schemas.errors import ImportFormatError
from convostore.schemas.formats import Imported
from convostore.schemas.resources import Resource
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous.resources import AsyncResources
from convostore.store.exchanging import ImportReport

__all__ = ["Attacher", "FindBytes"]

FindBytes = Callable[[str], "bytes | Awaitable[bytes | None] | None"]
"""Gives the bytes that the input has for an address; None when it has none."""


class Attacher:
    """Stores what an import's resources hold, each content once per user."""

    def __init__(
        self,
        backend: AsyncBackend,
        ids: Callable[[], int] | None,
        report: ImportReport,
        find_bytes: FindBytes | None,
    ) -> None:
        self._backend = backend
        self._report = report
        self._find_bytes = find_bytes
        self._resources = AsyncResources(self._opened, ids)
        self._stored: dict[tuple[str, bytes | None], int] = {}

    async def _opened(self) -> AsyncBackend:
        return self._backend

    async def attached(self, item: Imported) -> Imported:
        """The item with references in the place of resources that have bytes, or whose bytes the input has.

        A resource that has an id already stays as it is, and so does everything in a dry run.

        Raises:
            InvalidRecordError: a resource cannot be stored.

        """
        record, changed = item.conversation, dict[str, list[Resource]]()
        if not record.resources and not record.artifacts:
            return item
        for name in ("resources", "artifacts"):
            given: list[Resource] = getattr(record, name)
            held = [await self._attached(one, record.user) for one in given]
            if any(one is not other for one, other in zip(held, given, strict=True)):
                changed[name] = held
        return replace(item, conversation=record.model_copy(update=changed)) if changed else item

    async def _attached(self, resource: Resource, user: str) -> Resource:
        if resource.id:
            return resource
        blob = resource.blob
        if blob is None and resource.uri is not None:
            blob = await self._found(resource.uri)
        if blob is None:
            return resource
        prepared = resource.model_copy(update={"blob": blob}).prepare(user, self._backend.now())
        key = (user, prepared.hash)
        if key not in self._stored:
            self._report.resources += 1
            added = resource if self._report.dry_run else await self._resources.add(prepared, user=user)
            self._stored[key] = added.id
        return resource if self._report.dry_run else prepared.reference(self._stored[key])

    async def _found(self, uri: str) -> bytes | None:
        if self._find_bytes is None:
            return None
        try:
            found: bytes | None = await _pace.settle(self._find_bytes(uri))
            return found
        except ImportFormatError as error:
            self._report.note(f"{error}; the resource is kept without its bytes")
            return None
