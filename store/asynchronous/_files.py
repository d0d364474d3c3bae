"""Bytes in GridFS: those of resources above ``Limits.RESOURCE_INLINE``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any

from bson.objectid import ObjectId
from gridfs.errors import CorruptGridFile, FileExists, NoFile
from pymongo.errors import PyMongoError

from convostore.schemas.errors import NotFoundError, UnavailableError
from convostore.store import faults
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend

__all__ = ["delete", "download", "every_id", "opened", "upload", "whole"]


def _bucket(backend: AsyncBackend) -> Any:
    if backend.engine == "mongomock":
        raise UnavailableError(
            "mongomock has no GridFS: a resource's bytes may be at most 256 KiB there", capability="gridfs"
        )
    return _pace.bucket(backend.engine, backend.safe_database(), f"{backend.prefix}files")


async def upload(backend: AsyncBackend, data: bytes | IO[bytes]) -> ObjectId:
    """Store the bytes, or all that the file, which can be rewound, has to read; the id they lie under.

    Each try has an id of its own: what arrives late of an earlier one, its removal too, touches no other.
    """
    start = 0 if isinstance(data, bytes) else data.tell()
    for attempt in backend.attempts():
        id = ObjectId()
        try:
            await _pace.settle(_bucket(backend).upload_from_stream_with_id(id, str(id), data))
            return id
        except PyMongoError as error:
            # The id is this try's own: what exists under it was stored by the driver's first sending.
            again = isinstance(error, FileExists) or faults.is_unclear(error)
            if not again or backend.is_last(attempt):
                raise
        await _pace.pause(attempt)
        await delete(backend, id)
        if not isinstance(data, bytes):
            data.seek(start)
    raise AssertionError("the last try returns or raises")


async def download(backend: AsyncBackend, id: ObjectId) -> bytes:
    """The bytes stored under that id.

    Raises:
        NotFoundError: there are none.

    """

    async def read() -> bytes:
        stream = await opened(backend, id)
        try:
            return bytes(await _pace.settle(stream.read()))
        except CorruptGridFile as error:
            raise NotFoundError("file", str(id)) from error

    found: bytes = await backend.repeated(read)
    return found


async def opened(backend: AsyncBackend, id: ObjectId) -> Any:
    """The bytes stored under that id as the driver's stream, with a ``length`` and ``read(size)``.

    Raises:
        NotFoundError: there are none.

    """
    try:
        return await _pace.settle(_bucket(backend).open_download_stream(id))
    except NoFile as error:
        raise NotFoundError("file", str(id)) from error


async def delete(backend: AsyncBackend, id: ObjectId) -> None:
    """Remove the bytes; it is no error when they are gone."""
    with suppress(NoFile):
        await backend.repeated(lambda: _bucket(backend).delete(id))


async def every_id(backend: AsyncBackend) -> set[Any]:
    """The ids under which bytes lie, also those of an upload that broke off."""
    ids: list[dict[str, Any]] = [{"$sort": {"files_id": 1}}, {"$group": {"_id": "$files_id"}}]
    found = {row["_id"] for row in await _aggregate(backend, "chunks", ids)}
    return found | {row["_id"] for row in await _aggregate(backend, "files", [{"$project": {"_id": 1}}])}


async def whole(backend: AsyncBackend, ids: Sequence[ObjectId]) -> set[Any]:
    """Which of these have all their bytes."""
    wanted = {"$in": list(ids)}
    count: dict[str, Any] = {"$group": {"_id": "$files_id", "n": {"$sum": 1}}}
    pieces = {
        row["_id"]: row["n"]
        for row in await _aggregate(backend, "chunks", [{"$match": {"files_id": wanted}}, count])
    }
    files = await _aggregate(
        backend, "files", [{"$match": {"_id": wanted}}, {"$project": {"length": 1, "chunkSize": 1}}]
    )
    return {file["_id"] for file in files if pieces.get(file["_id"], 0) * file["chunkSize"] >= file["length"]}


async def _aggregate(
    backend: AsyncBackend, name: str, stages: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    collection = backend.safe_database()[f"{backend.prefix}files.{name}"]

    async def read() -> list[dict[str, Any]]:
        cursor = await _pace.settle(collection.aggregate(list(stages), comment="check"))
        return [document async for document in _pace.iterate(cursor)]

    found: list[dict[str, Any]] = await backend.repeated(read)
    return found
