"""Exporting the bytes of resources: as lines of the canonical format, and for writers of other formats."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import IO, Any

from convostore.schemas.conversations import Conversation
from convostore.schemas.formats import canonical
from convostore.schemas.formats.outgoing import File
from convostore.store.asynchronous import _files, _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._listing import scan_ids
from convostore.store.codec import decode_body, decode_u64, encode_u64
from convostore.store.finding import Wanted
from convostore.store.heads import Head, named_resources
from convostore.store.portable import file_within

__all__ = ["files_of", "resource_lines", "wanted_resources"]

_CALL = "export"
_TOGETHER = 16


async def wanted_resources(backend: AsyncBackend, wanted: Wanted) -> AsyncIterator[Mapping[str, Any]]:
    """The resources in scope: all of the user's, or with more conditions those that the wanted name."""
    named = None if wanted == Wanted(wanted.user) else await _named(backend, wanted)
    query = {} if wanted.user is None else {"user": wanted.user}
    last: Any = None
    while True:
        where = query if last is None else {**query, "_id": {"$gt": last}}
        with backend.call(_CALL):
            found = await backend.find("resources", where, comment=_CALL, sort=[("_id", 1)], limit=_TOGETHER)
        for stored in found:
            if named is None or decode_u64(stored["_id"]) in named:
                yield stored
        if len(found) < _TOGETHER:
            return
        last = found[-1]["_id"]


async def _named(backend: AsyncBackend, wanted: Wanted) -> set[int]:
    fields = {"user": 1, "resources._id": 1, "artifacts._id": 1}
    named: set[int] = set()
    async for head in scan_ids(backend, wanted, fields=fields):
        named |= named_resources(head)
    return named


async def resource_lines(
    backend: AsyncBackend, writer: canonical.CanonicalWriter, stored: Mapping[str, Any]
) -> AsyncIterator[bytes]:
    """The lines of one resource, bytes that lie in a file a piece at a time."""
    id = decode_u64(stored["_id"])
    blob, stream, parts = stored.get("blob"), None, 0
    with backend.call(_CALL):
        if "file" in stored:
            stream = await _files.opened(backend, stored["file"])
            parts = canonical.count_parts(int(stream.length))
    line = canonical.ResourceLine(
        id,
        stored["user"],
        {**decode_body(stored["resource"], {}), "_id": id},
        None if blob is None else bytes(blob),
        parts,
        {name: int(stored[name]) for name in ("added_at", "marked") if name in stored},
    )
    yield writer.resource(line)
    for part in range(parts):
        with backend.call(_CALL):
            assert stream is not None
            data = bytes(await _pace.settle(stream.read(canonical.PART_BYTES)))
        yield writer.resource_bytes(id, part, data)


async def files_of(
    backend: AsyncBackend, head: Head, record: Conversation, held: IO[bytes]
) -> dict[int, File]:
    """The bytes of the resources that the record names, put into the file one behind the other."""
    found: dict[int, File] = {}
    for resource in (*record.resources, *record.artifacts):
        if not resource.id or resource.id in found or resource.blob is not None:
            continue
        query = {"_id": encode_u64(resource.id), "user": head["user"]}
        with backend.call(_CALL):
            stored = await backend.find_one("resources", query, {"blob": 1, "file": 1}, comment=_CALL)
        start = held.seek(0, 2)
        if stored is None or not await _put(backend, stored, held):
            continue
        found[resource.id] = file_within(resource, held, start, held.tell() - start)
    return found


async def _put(backend: AsyncBackend, stored: Mapping[str, Any], held: IO[bytes]) -> bool:
    """Write the bytes of a stored resource; whether it has any."""
    if "file" in stored:
        with backend.call(_CALL):
            stream = await _files.opened(backend, stored["file"])
        while True:
            with backend.call(_CALL):
                data = bytes(await _pace.settle(stream.read(canonical.PART_BYTES)))
            if not data:
                return True
            held.write(data)
    if stored.get("blob") is None:
        return False
    held.write(bytes(stored["blob"]))
    return True
