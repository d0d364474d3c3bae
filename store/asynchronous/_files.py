"""Bytes in GridFS: those of resources above ``Limits.RESOURCE_INLINE``."""

from __future__ import annotations

from typing import Any

from bson.objectid import ObjectId
from gridfs.errors import NoFile

from convostore.schemas.errors import NotFoundError, UnavailableError
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend

__all__ = ["delete", "download", "upload"]


def _bucket(backend: AsyncBackend) -> Any:
    if backend.engine == "mongomock":
        raise UnavailableError(
            "mongomock has no GridFS: a resource's bytes may be at most 256 KiB there", capability="gridfs"
        )
    return _pace.bucket(backend.engine, backend.safe_database(), f"{backend.prefix}files")


async def upload(backend: AsyncBackend, id: ObjectId, data: bytes) -> None:
    """Store the bytes under that id."""
    await _pace.settle(_bucket(backend).upload_from_stream_with_id(id, str(id), data))


async def download(backend: AsyncBackend, id: ObjectId) -> bytes:
    """The bytes stored under that id.

    Raises:
        NotFoundError: there are none.

    """
    try:
        stream = await _pace.settle(_bucket(backend).open_download_stream(id))
        return bytes(await _pace.settle(stream.read()))
    except NoFile as error:
        raise NotFoundError("file", str(id)) from error


async def delete(backend: AsyncBackend, id: ObjectId) -> None:
    """Remove the bytes; it is no error when they are gone."""
    try:
        await _pace.settle(_bucket(backend).delete(id))
    except NoFile:
        return
