"""Another program's live database: looked at and read through, never written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Any, Final

import bson
from bson.codec_options import CodecOptions
from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument
from gridfs.errors import GridFSError
from pymongo import AsyncMongoClient
from pymongo.driver_info import DriverInfo
from pymongo.errors import ConfigurationError, OperationFailure

from convostore.schemas.errors import UnavailableError
from convostore.schemas.formats import Refused
from convostore.schemas.formats.documents import Layout, Placed
from convostore.schemas.formats.foreign import first_id
from convostore.schemas.formats.items import Found
from convostore.schemas.json_values import JSON
from convostore.store import faults
from convostore.store.asynchronous import _pace
from convostore.store.bson_documents import CODEC, document_json
from convostore.store.collections import layout_of
from convostore.store.source_layouts import SYSTEM_DATABASES, Candidate, Sample

__all__ = ["AsyncSource"]

_CALL: Final = "import"
_SCHEMES: Final = ("mongodb://", "mongodb+srv://")
_SAMPLE: Final = 5
_MOST_BYTES: Final = 256 << 20
_UNAUTHORIZED: Final = 13
_RAW: Final = CodecOptions[RawBSONDocument](document_class=RawBSONDocument)
# Comparing as bytes, whatever the collection's own rule, is how the parts of a conversation meet.
_BY_BYTES: Final = {"locale": "simple"}

_Order = tuple[tuple[int, Any], ...]


class AsyncSource:
    """The server that a URI names; its client is opened and closed here.

    The URI is kept by the driver alone: no error and no position has any of it.
    """

    def __init__(self, uri: str, timeout: float | None) -> None:
        """Connect at the first call.

        Raises:
            UnavailableError: the URI is not usable.

        """
        if not uri.startswith(_SCHEMES):
            raise UnavailableError(
                "import: the source's URI begins with neither mongodb:// nor mongodb+srv://"
            )
        options: dict[str, Any] = {"driver": DriverInfo("convostore", version("convostore"))}
        if timeout is not None and "serverselectiontimeoutms" not in uri.lower():
            options["serverSelectionTimeoutMS"] = max(1, int(timeout * 1000))
        self._client: Any
        with _readable():
            try:
                self._client = AsyncMongoClient(uri, **options)
            except ValueError:  # of the driver's own parsing; its text may hold a part of the URI
                raise UnavailableError(
                    "import: the source's URI is not usable: check its host, port and options"
                ) from None
        self._database: str | None = None
        with suppress(ConfigurationError):
            name = self._client.get_default_database().name
            self._database = None if name in SYSTEM_DATABASES else name

    async def close(self) -> None:
        """Close the client."""
        await _pace.settle(self._client.close())

    async def samples(self) -> list[Sample]:
        """A few documents of each collection that has any, of the URI's database or, without one, of all."""
        found = []
        with _readable():
            names = [self._database] if self._database is not None else await self._databases()
            for name in names:
                database = self._client.get_database(name, codec_options=_RAW)
                listed = await _pace.settle(database.list_collection_names(filter={"type": "collection"}))
                for collection in sorted(listed):
                    if not collection.startswith("system."):
                        cursor = database[collection].find({}, limit=_SAMPLE, comment=_CALL)
                        raw = await _pace.collect(_pace.iterate(cursor))
                        read = map(_document, raw)
                        documents = [one for one in read if not isinstance(one, Exception)]
                        if documents:
                            found.append(Sample(name, collection, documents))
        return found

    async def _databases(self) -> list[str]:
        listed = await _pace.settle(self._client.list_database_names())
        return sorted(set(listed) - SYSTEM_DATABASES)

    async def placed(self, candidate: Candidate) -> AsyncIterator[Placed | Refused]:
        """The documents, those of one conversation after each other, streamed."""
        layout = layout_of(candidate.format)
        streams = [
            self._part(layout, candidate.database, number, collection, members)
            for number, (collection, members) in sorted(candidate.collections.items())
        ]
        heads = [await anext(stream, None) for stream in streams]
        while True:
            waiting = [(head[0], number) for number, head in enumerate(heads) if head is not None]
            if not waiting:
                return
            number = min(waiting)[1]
            head = heads[number]
            assert head is not None
            yield head[1]
            heads[number] = await anext(streams[number], None)

    async def _part(
        self, layout: Layout, database: str, number: int, collection: str, members: Sequence[str]
    ) -> AsyncIterator[tuple[_Order, Placed | Refused]]:
        """The documents of one collection with what they are sorted by."""
        with _readable():
            cursor = (
                self._client.get_database(database, codec_options=_RAW)[collection]
                .find({}, comment=_CALL, sort=[(name, 1) for name in members], collation=_BY_BYTES)
                .allow_disk_use(True)
            )
            async for raw in _pace.iterate(cursor):
                document = _document(raw)
                position = f"{collection}: {first_id(document, '_id') or 'a document'}"
                if isinstance(document, Exception):
                    yield (), Refused(position, f"no BSON: {document}")
                    continue
                placed = layout.place(Found(position, document))
                order = _order([document.get(name) for name in members])
                if placed is None or placed.part != number or order is None:
                    kind = layout.parts[number].collection
                    yield (), Refused(position, f"it is no document of {kind}", first_id(document))
                else:
                    yield order, placed

    async def find_bytes(self, database: str, bucket: str, name: str) -> bytes | None:
        """The bytes of a file in GridFS; None when there is none, or it is larger than 256 MiB."""
        with _readable():
            files = _pace.bucket("pymongo", self._client[database], bucket)
            try:
                stream = await _pace.settle(files.open_download_stream_by_name(name))
                return None if stream.length > _MOST_BYTES else bytes(await _pace.settle(stream.read()))
            except GridFSError:
                return None


def _document(raw: RawBSONDocument) -> Any:
    """The document as JSON, or the error that says why it is none."""
    try:
        return document_json(bson.decode(raw.raw, CODEC))
    except (BSONError, ValueError, TypeError, RecursionError) as error:
        return error


def _order(values: Sequence[JSON]) -> _Order | None:
    """What MongoDB sorts values by; None for one that names no conversation."""
    found: list[tuple[int, Any]] = []
    for value in values:
        if value is None:
            found.append((0, 0))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found.append((1, value))
        elif isinstance(value, str):
            found.append((2, value.encode()))
        elif isinstance(value, dict) and set(value) == {"$oid"}:
            found.append((3, value["$oid"]))
        else:
            return None
    return tuple(found)


@contextmanager
def _readable() -> Iterator[None]:
    with faults.translated("reading the source"):
        try:
            yield
        except OperationFailure as error:
            if error.code != _UNAUTHORIZED:
                raise
            reason = "import: the user of the source may not read it; it needs read on the database"
            raise UnavailableError(reason) from error
