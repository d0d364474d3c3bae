"""Storing the resources of a canonical file again: each content once per user, under its id where free."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import IO, Any, cast

from bson.objectid import ObjectId
from pydantic import ValidationError

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.field_types import as_invalid_record
from convostore.schemas.formats.canonical import ResourceBytesLine, ResourceLine
from convostore.schemas.resources import Resource
from convostore.store.asynchronous import _files
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._numbering import lift_counter, next_ids
from convostore.store.codec import INT64_MAX, decode_u64, encode_body, encode_u64
from convostore.store.exchanging import ImportReport
from convostore.store.layout import Limits

__all__ = ["ResourceRestorer"]

_CALL = "import"
_IN_MEMORY = 8 << 20


class ResourceRestorer:
    """Takes resources and their bytes; ``became`` has new ids by owner and id in the file."""

    def __init__(
        self,
        backend: AsyncBackend,
        ids: Callable[[], int] | None,
        report: ImportReport,
        *,
        user: str | None,
    ) -> None:
        self._backend = backend
        self._ids = ids
        self._report = report
        self._user = user
        self._line: ResourceLine | None = None
        self._content: IO[bytes] | None = None
        self.became: dict[tuple[str, int], int] = {}

    async def begin(self, line: ResourceLine) -> None:
        """Take a resource; it is stored now unless lines of bytes follow."""
        self.drop()
        if not line.parts:
            await self._store(line, line.blob)
            return
        self._line = line
        spool = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by drop
        self._content = cast(IO[bytes], spool)

    async def add(self, line: ResourceBytesLine) -> None:
        """Take a piece of the bytes; the last one stores the resource."""
        if self._line is None or self._content is None:
            return
        self._content.write(line.data)
        if line.part + 1 == self._line.parts:
            self._content.seek(0)
            await self._store(self._line, self._content)
            self.drop()

    def drop(self) -> None:
        """Forget a resource that is not whole."""
        if self._content is not None:
            self._content.close()
        self._line = self._content = None

    async def _store(self, line: ResourceLine, content: bytes | IO[bytes] | None) -> None:
        try:
            resource = Resource.model_validate({**line.resource, "_id": 0})
        except ValidationError as error:
            raise as_invalid_record(error, f"resource {line.id}") from None
        user = self._user or line.user
        facts = encode_body({**resource.to_json(), "_id": 0}, "resource")
        if facts.pieces:
            raise InvalidRecordError(
                f"resource {line.id}", f"without its bytes is above {Limits.INLINE:,} bytes"
            )
        held = await self._held(user, resource, facts.fields)
        if held is None:
            held = (
                line.id
                if self._report.dry_run
                else await self._insert(line, user, resource, facts.fields, content)
            )
            self._report.resources += 1
        if held != line.id:
            self.became[line.user, line.id] = held

    async def _held(self, user: str, resource: Resource, facts: dict[str, Any]) -> int | None:
        """The id of the same content, or without a hash of the same resource, that the user has."""
        same: dict[str, Any] = {"hash": resource.hash} if resource.hash is not None else {"resource": facts}
        found = await self._backend.find_one("resources", {"user": user, **same}, {"_id": 1}, comment=_CALL)
        return None if found is None else decode_u64(found["_id"])

    async def _insert(
        self,
        line: ResourceLine,
        user: str,
        resource: Resource,
        facts: dict[str, Any],
        content: bytes | IO[bytes] | None,
    ) -> int:
        id = line.id
        query = {"_id": encode_u64(id)}
        if not id or await self._backend.find_one("resources", query, {"_id": 1}, comment=_CALL) is not None:
            id = (await next_ids(self._backend, "resource", 1, self._ids, comment=_CALL))[0]
            self._report.note(f"resource {line.id} is stored as {id}")
        else:
            await lift_counter(self._backend, "resource", id, comment=_CALL)
        stored: dict[str, Any] = {
            "_id": encode_u64(id),
            "user": user,
            "added_at": self._backend.now(),
            "mark": ObjectId(),
            "resource": facts,
        }
        said = {name: line.more.get(name) for name in ("added_at", "marked")}
        stored |= {name: at for name, at in said.items() if type(at) is int and 0 <= at <= INT64_MAX}
        if resource.hash is not None:
            stored["hash"] = resource.hash
        if isinstance(content, bytes):
            stored["blob"] = content
        elif content is not None:
            stored["file"] = await _files.upload(self._backend, content)
        await self._backend.insert_own("resources", [stored], comment=_CALL)
        return id
