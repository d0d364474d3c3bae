"""The seam to the driver: every command the store sends goes through here.

It takes a pymongo ``AsyncDatabase``, a Motor database or a mongomock one; asks for majority and journal on
every write and for the primary on every read; repeats what may be repeated after an error without a clear
answer.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import bson
import pymongo
from bson.codec_options import CodecOptions
from bson.objectid import ObjectId
from bson.raw_bson import RawBSONDocument
from pymongo import ReplaceOne
from pymongo.errors import BulkWriteError, CursorNotFound, DuplicateKeyError, PyMongoError, WriteConcernError
from pymongo.read_preferences import ReadPreference
from pymongo.write_concern import WriteConcern

from convostore.schemas.errors import UnavailableError
from convostore.store import faults
from convostore.store.asynchronous import _pace
from convostore.store.capabilities import engine_of
from convostore.store.codec import OPTIONS
from convostore.store.layout import COLLECTIONS, SCHEMA_VERSION, Bounds

__all__ = ["AsyncBackend", "wall_clock"]

_TRIES = 12
_DUPLICATE = 11000
_SAFE_WRITE = WriteConcern(w="majority", j=True)
_DEADLINE: ContextVar[float | None] = ContextVar("convostore_deadline", default=None)


def wall_clock() -> int:
    """Milliseconds since 1970 by this machine's clock."""
    return time.time_ns() // 1_000_000


class AsyncBackend:
    """One database as the store uses it. ``names`` maps what a collection is for to its name there."""

    def __init__(
        self,
        database: Any,
        *,
        prefix: str = "",
        clock: Callable[[], int] | None = None,
        timeout: float | None = 30.0,
        bounds: Bounds | None = None,
        collections: Sequence[str] = COLLECTIONS,
    ) -> None:
        self.database = database
        self.engine = engine_of(database)
        self.prefix = prefix
        self.names = {name: f"{prefix}{name}" for name in collections}
        self.clock = clock or wall_clock
        self.timeout = timeout
        self.bounds = bounds or Bounds()
        self.failed_seals = 0
        self._bound_to: tuple[int, object] | None = None
        self._collections = {name: self._open(full) for name, full in self.names.items()}

    def _open(self, name: str) -> Any:
        if self.engine == "mongomock":
            return self.database[name]
        return self.database.get_collection(
            name, codec_options=OPTIONS, write_concern=_SAFE_WRITE, read_preference=ReadPreference.PRIMARY
        )

    def is_sharded(self) -> bool:
        """Whether the client, which has sent something by now, found a sharded cluster."""
        client = getattr(self.database, "client", None)
        description = getattr(client, "topology_description", None)
        return getattr(description, "topology_type_name", "") == "Sharded"

    def safe_database(self) -> Any:
        """The driver's database object with the store's write concern and read preference."""
        return self.database.with_options(
            codec_options=OPTIONS, write_concern=_SAFE_WRITE, read_preference=ReadPreference.PRIMARY
        )

    def collection(self, name: str) -> Any:
        """The driver's collection object."""
        return self._collections[name]

    @contextmanager
    def call(self, name: str) -> Iterator[None]:
        """One call of the store: within the timeout, in the process and event loop it began in, errors ours.

        Raises:
            UnavailableError: the database cannot be reached or refused; or the store is used after a fork or
            in
                a second event loop.

        """
        self.check_binding(name)
        if self._bound_to is None:
            self._bound_to = _pace.binding()
        with faults.translated(name):
            if self.timeout is None or self.engine == "mongomock":
                yield
            else:
                outer = _DEADLINE.set(_pace.monotonic() + self.timeout)
                try:
                    with pymongo.timeout(self.timeout):
                        yield
                finally:
                    _DEADLINE.reset(outer)

    def check_binding(self, name: str) -> None:
        """Refuse a call in another process or event loop than the first one.

        Raises:
            UnavailableError: it is another.

        """
        bound = _pace.binding()
        if self._bound_to is not None and self._bound_to != bound:
            place = "process" if self._bound_to[0] != bound[0] else "event loop"
            raise UnavailableError(
                f"{name}: this store was opened in another {place}; open one in each {place}"
            )

    # Reads

    async def find_one(
        self, name: str, query: Mapping[str, Any], fields: Mapping[str, Any] | None = None, *, comment: str
    ) -> dict[str, Any] | None:
        """One document."""
        found: dict[str, Any] | None = await self.repeated(
            lambda: self.collection(name).find_one(query, _own(fields), **self._comment(comment))
        )
        return found

    async def find_raw(self, name: str, query: Mapping[str, Any], *, comment: str) -> bytes | None:
        """The bytes of one document, as the server gave them."""
        if self.engine == "mongomock":
            found = await self.find_one(name, query, comment=comment)
            return None if found is None else bson.encode(found, codec_options=OPTIONS)
        raw: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
        collection = self.collection(name).with_options(codec_options=raw)
        document = await self.repeated(lambda: collection.find_one(query, **self._comment(comment)))
        return None if document is None else bytes(document.raw)

    async def find(
        self,
        name: str,
        query: Mapping[str, Any],
        fields: Mapping[str, Any] | None = None,
        *,
        comment: str,
        sort: Sequence[tuple[str, int]] | None = None,
        limit: int = 0,
    ) -> list[dict[str, Any]]:
        """All documents of a query, read whole or not at all.

        A negative ``limit`` is one reply of the server: so many documents at most, and 16 MiB.
        """

        async def read() -> list[dict[str, Any]]:
            cursor = self._cursor(name, query, fields, comment, sort, limit)
            return [document async for document in _pace.iterate(cursor)]

        found: list[dict[str, Any]] = await self.repeated(read)
        return found

    async def stream(
        self,
        name: str,
        query: Mapping[str, Any],
        fields: Mapping[str, Any] | None = None,
        *,
        comment: str,
        sort: Sequence[tuple[str, int]] | None = None,
        batch: int = 0,
    ) -> AsyncIterator[dict[str, Any]]:
        """The documents of a query one by one; a lost cursor is an error the caller resumes from."""
        cursor = self._cursor(name, query, fields, comment, sort, 0)
        if batch:
            cursor = cursor.batch_size(batch)
        async for document in _pace.iterate(cursor):
            yield document

    def _cursor(
        self,
        name: str,
        query: Mapping[str, Any],
        fields: Mapping[str, Any] | None,
        comment: str,
        sort: Sequence[tuple[str, int]] | None,
        limit: int,
    ) -> Any:
        cursor = self.collection(name).find(query, _own(fields), **self._comment(comment))
        if sort:
            cursor = cursor.sort(list(sort))
        if limit > 0 or self.engine == "mongomock":
            # One batch: a page is one round trip whatever its size in documents.
            cursor = cursor.limit(abs(limit)).batch_size(abs(limit) + 1)
        elif limit:
            # Without a size the server's one reply would have no more than 101 documents.
            cursor = cursor.limit(limit).batch_size(-limit)
        return cursor

    async def aggregate(
        self, name: str, pipeline: Sequence[Mapping[str, Any]], *, comment: str
    ) -> list[dict[str, Any]]:
        """The documents of an aggregation."""

        async def read() -> list[dict[str, Any]]:
            cursor = await _pace.settle(
                self.collection(name).aggregate(list(pipeline), **self._comment(comment))
            )
            return [document async for document in _pace.iterate(cursor)]

        found: list[dict[str, Any]] = await self.repeated(read)
        return found

    # Writes

    async def modify(
        self,
        name: str,
        query: Mapping[str, Any],
        update: Any,
        fields: Mapping[str, Any] | None = None,
        *,
        comment: str,
    ) -> dict[str, Any] | None:
        """Change one document and give it back as it is then; None when none fits the query.

        Sent without a transaction number: a retryable findAndModify would write the document's image as well,
        and its replay would ignore ``fields`` (``storage.md`` A9). So nothing repeats it but the caller.

        A conversation must be of the present schema version, unless ``query`` names another one; so it must
        for :meth:`remove` and :meth:`update_once`. No write touches what an older or a newer release wrote.

        Raises:
            Unclear: it may have been applied.

        """
        return await self._modify(name, query, {"update": update, "new": True}, fields, comment)

    async def remove(
        self, name: str, query: Mapping[str, Any], fields: Mapping[str, Any] | None = None, *, comment: str
    ) -> dict[str, Any] | None:
        """Remove one document and give it back as it was; as :meth:`modify` otherwise."""
        return await self._modify(name, query, {"remove": True}, fields, comment)

    async def _modify(
        self,
        name: str,
        query: Mapping[str, Any],
        action: dict[str, Any],
        fields: Mapping[str, Any] | None,
        comment: str,
    ) -> dict[str, Any] | None:
        query = _of_this_release(name, query)
        if self.engine == "mongomock":
            if "remove" in action:
                return await _pace.settle(  # type: ignore[no-any-return]
                    self.collection(name).find_one_and_delete(query, _own(fields))
                )
            return await _pace.settle(  # type: ignore[no-any-return]
                self.collection(name).find_one_and_update(
                    query, action["update"], _own(fields), return_document=True
                )
            )
        command = {
            "findAndModify": self.names[name],
            "query": query,
            **action,
            **({"fields": fields} if fields else {}),
            "writeConcern": {"w": "majority", "j": True},
            "comment": comment,
        }
        try:
            reply = await _pace.settle(
                self.database.command(command, codec_options=OPTIONS, read_preference=ReadPreference.PRIMARY)
            )
        except PyMongoError as error:
            if "update" in action and faults.is_write_conflict(error):
                return None
            if faults.is_unclear(error):
                raise faults.Unclear(error) from error
            raise
        failed = faults.write_concern_error(reply)
        if failed is not None:
            raise faults.Unclear(failed)
        return reply["value"]  # type: ignore[no-any-return]

    async def update_once(self, name: str, query: Mapping[str, Any], update: Any, *, comment: str) -> bool:
        """Send a guarded update that can apply once at most; whether it did.

        Raises:
            Unclear: it may have been applied.

        """
        query = _of_this_release(name, query)
        try:
            result = await _pace.settle(
                self.collection(name).update_one(query, update, **self._comment(comment))
            )
        except PyMongoError as error:
            if faults.is_unclear(error):
                raise faults.Unclear(error) from error
            raise
        return bool(result.modified_count)

    async def update_many(
        self, name: str, query: Mapping[str, Any], update: Mapping[str, Any], *, comment: str
    ) -> int:
        """Apply an update that may be repeated to every document that fits; how many fit."""
        result = await self.repeated(
            lambda: self.collection(name).update_many(query, update, **self._comment(comment))
        )
        return int(result.matched_count)

    async def put(
        self, name: str, query: Mapping[str, Any], update: Mapping[str, Any], *, comment: str
    ) -> None:
        """Apply an update that may be repeated, making the document when there is none."""
        await self.repeated(
            lambda: self.collection(name).update_one(query, update, upsert=True, **self._comment(comment))
        )

    async def insert_own(self, name: str, documents: Sequence[Mapping[str, Any]], *, comment: str) -> None:
        """Insert documents whose ``_id`` is fresh and random: one found there already is this call's own."""
        if not documents:
            return

        async def send() -> None:
            try:
                await _pace.settle(
                    self.collection(name).insert_many(documents, ordered=False, **self._comment(comment))
                )
            except BulkWriteError as error:
                if any(failed["code"] != _DUPLICATE for failed in error.details["writeErrors"]):
                    raise
                failed = error.details["writeConcernErrors"]
                if failed:
                    raise WriteConcernError(failed[0].get("errmsg", ""), failed[0].get("code")) from error

        await self.repeated(send)

    async def insert_new(self, name: str, document: Mapping[str, Any], *, comment: str) -> None:
        """Insert a document whose ``_id`` others may hold.

        Raises:
            DuplicateKeyError: somebody holds it, perhaps an earlier try of this call.
            Unclear: it may have been applied.

        """
        try:
            await _pace.settle(self.collection(name).insert_one(document, **self._comment(comment)))
        except DuplicateKeyError:
            raise
        except PyMongoError as error:
            if faults.is_unclear(error):
                raise faults.Unclear(error) from error
            raise

    async def insert_some(
        self, name: str, documents: Sequence[Mapping[str, Any]], *, comment: str
    ) -> list[int]:
        """Insert documents whose ``_id`` others may hold; the places of those that were refused for it.

        Raises:
            Unclear: any of them may have been inserted.

        """
        try:
            await _pace.settle(
                self.collection(name).insert_many(documents, ordered=False, **self._comment(comment))
            )
        except BulkWriteError as error:
            refused = error.details["writeErrors"]
            if any(failed["code"] != _DUPLICATE for failed in refused):
                raise
            if error.details["writeConcernErrors"]:
                raise faults.Unclear(error) from error
            return [int(failed["index"]) for failed in refused]
        except PyMongoError as error:
            if faults.is_unclear(error):
                raise faults.Unclear(error) from error
            raise
        return []

    async def write_all(self, name: str, writes: Sequence[Any], *, comment: str) -> None:
        """Send replacements and updates that may be repeated.

        A replacement whose query does not fit the document of that id is left out.
        """
        if not writes:
            return
        if self.engine == "mongomock":  # its bulk writes do not fit this pymongo
            for write in writes:
                await self._write_one(name, write)
            return

        async def send() -> None:
            try:
                await _pace.settle(
                    self.collection(name).bulk_write(list(writes), ordered=False, **self._comment(comment))
                )
            except BulkWriteError as error:
                if any(failed["code"] != _DUPLICATE for failed in error.details["writeErrors"]):
                    raise

        await self.repeated(send)

    async def _write_one(self, name: str, write: Any) -> None:
        collection = self.collection(name)
        if isinstance(write, ReplaceOne):
            try:
                await _pace.settle(collection.replace_one(write._filter, write._doc, upsert=True))
            except DuplicateKeyError:
                return
        else:
            await _pace.settle(collection.update_one(write._filter, write._doc))

    async def delete(self, name: str, query: Mapping[str, Any], *, comment: str) -> int:
        """Delete every document that fits; how many went."""
        result = await self.repeated(
            lambda: self.collection(name).delete_many(query, **self._comment(comment))
        )
        return int(result.deleted_count)

    async def command(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Run a database command that may be repeated."""
        reply: dict[str, Any] = await self.repeated(lambda: self.database.command(command))
        return reply

    # Repeating

    async def repeated(self, send: Callable[[], Any]) -> Any:
        """The answer to what may be sent any number of times, sent until there is one."""
        for attempt in self.attempts():
            try:
                return await _pace.settle(send())
            except CursorNotFound:
                if attempt == _TRIES:
                    raise
            except PyMongoError as error:
                if attempt == _TRIES or not faults.is_unclear(error) or self._expired():
                    raise
            await _pace.pause(attempt)
        raise AssertionError("unreachable")

    def attempts(self) -> Iterable[int]:
        """Numbers of the tries of one step, from 1; whoever uses up the last gives up."""
        return range(1, _TRIES + 1)

    def is_last(self, attempt: int) -> bool:
        """Whether no try follows this one."""
        return attempt >= _TRIES or self._expired()

    def _expired(self) -> bool:
        deadline = _DEADLINE.get()
        return deadline is not None and _pace.monotonic() >= deadline

    def _comment(self, comment: str) -> dict[str, Any]:
        return {} if self.engine == "mongomock" else {"comment": comment}

    # What is made here

    def now(self) -> int:
        """The time by the store's clock, ms."""
        return self.clock()

    def lineage(self) -> int:
        """63 random bits that name one life of a conversation; never 0."""
        return secrets.randbits(63) or 1

    def key(self) -> ObjectId:
        """A key for one call, unlike any other."""
        return ObjectId()


def _own(fields: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Fields that the driver may change: mongomock does, and other threads read the same constant."""
    return None if fields is None else dict(fields)


def _of_this_release(name: str, query: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"schema_version": SCHEMA_VERSION, **query} if name == "conversations" else query
