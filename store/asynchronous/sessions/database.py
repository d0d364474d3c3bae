"""A saved session in MongoDB: a document for each log and file, what is older or large in pieces apart.

All of it lies in one collection, ``agent_sessions``. A log's document is ``{_id: {user, session, log}, user,
session, size, edition, parts: [{i, n}], tail: [bytes], tail_size, recent: [keys]}``: ``parts`` name pieces
that never change, ``tail`` holds what was appended since. A file's is the same under ``{user, session,
file}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from bson.int64 import Int64
from bson.objectid import ObjectId
from pymongo.errors import DuplicateKeyError

from convostore.schemas.errors import ConflictError, NotFoundError, UnavailableError
from convostore.schemas.identifiers import check_user
from convostore.store import parameters
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._splicing import gave_up
from convostore.store.faults import Unclear
from convostore.store.session_names import file_name, log_name

__all__ = ["AsyncMongoSessionStore"]

COLLECTION: Final = "agent_sessions"
_PIECE: Final = 4 * 1024 * 1024
_TAIL: Final = 512 * 1024
_RECENT: Final = 32
_CALL: Final = "session"
_TOGETHER: Final = 8


class AsyncMongoSessionStore:
    """The session ``name`` of ``user`` in a database, which is neither opened nor closed here.

    ``database``, ``prefix``, ``clock`` and ``timeout`` are those of ``AsyncConversationStore``. An append is
    one round trip, of a cost that does not grow with the log, and is acknowledged by a majority. Users do not
    see each other's sessions of the same name.
    """

    def __init__(
        self,
        database: Any,
        name: str,
        *,
        user: str,
        prefix: str = "",
        clock: Callable[[], int] | None = None,
        timeout: float | None = 30.0,
    ) -> None:
        self._owner = {"user": check_user(user), "session": parameters.plain_text(name, "session")}
        self._backend = AsyncBackend(
            database, prefix=prefix, clock=clock, timeout=timeout, collections=(COLLECTION,)
        )

    async def setup(self) -> None:
        """Make the index that finds a session's documents; safe to call at every start."""
        with self._backend.call("setup"):
            await _pace.settle(
                self._backend.collection(COLLECTION).create_index(
                    [("user", 1), ("session", 1), ("_id", 1)], name="session"
                )
            )

    # Logs

    async def logs(self) -> list[str]:
        """The names of the logs."""
        return await self._names("log")

    async def read_log(self, name: str) -> bytes:
        """All bytes of a log."""
        return await self._read("log", log_name(name))

    async def append_log(self, name: str, length: int, data: bytes) -> None:
        """Append if the log is that long."""
        id, key = self._id("log", log_name(name)), self._backend.key()
        with self._backend.call(_CALL):
            doubted = False
            for attempt in self._backend.attempts():
                try:
                    if not length and await self._started(id, key, data):
                        return
                    if await self._appended(id, key, length, data):
                        return
                except Unclear:
                    if self._backend.is_last(attempt):
                        raise
                    doubted = True
                held = await self._document(id)
                if doubted and held is not None and key in held["recent"]:
                    return
                _refuse_changed(name, held, length)
                await _pace.pause(attempt)
        raise gave_up(_CALL)

    async def replace_log(self, name: str, length: int, data: bytes) -> None:
        """Replace if the log is that long."""
        id, key = self._id("log", log_name(name)), self._backend.key()
        if not length:
            await self.append_log(name, 0, data)
            return
        with self._backend.call(_CALL):
            for attempt in self._backend.attempts():
                held = await self._document(id)
                if held is not None and key in held["recent"]:
                    return
                _refuse_changed(name, held, length)
                assert held is not None
                try:
                    if await self._replaced(id, key, held, data):
                        return
                except Unclear:
                    if self._backend.is_last(attempt):
                        raise
                await _pace.pause(attempt)
        raise gave_up(_CALL)

    async def _started(self, id: Mapping[str, Any], key: ObjectId, data: bytes) -> bool:
        document = self._fresh(id, key)
        try:
            await self._backend.insert_new(COLLECTION, document | await self._placed(data), comment=_CALL)
        except DuplicateKeyError:
            return False
        return True

    async def _appended(self, id: Mapping[str, Any], key: ObjectId, length: int, data: bytes) -> bool:
        noted = {"$each": [key], "$slice": -_RECENT}
        if len(data) <= _TAIL:
            query = {"_id": id, "size": length, "tail_size": {"$lte": _TAIL - len(data)}}
            update = {
                "$push": {"tail": data, "recent": noted},
                "$inc": {"size": Int64(len(data)), "tail_size": len(data)},
            }
            if await self._modified(query, update):
                return True
        held = await self._document(id)
        if held is None or held["size"] != length:
            return False
        parts = await self._pieces(b"".join(held["tail"]) + data)
        query = {"_id": id, "size": length, "edition": held["edition"]}
        update = {
            "$push": {"parts": {"$each": parts}, "recent": noted},
            "$set": {"tail": [], "tail_size": 0},
            "$inc": {"size": Int64(len(data)), "edition": 1},
        }
        if await self._modified(query, update):
            return True
        await self._drop(parts)
        return False

    async def _replaced(
        self, id: Mapping[str, Any], key: ObjectId, held: Mapping[str, Any], data: bytes
    ) -> bool:
        placed = await self._placed(data)
        query = {"_id": id, "size": held["size"], "edition": held["edition"]}
        update = {
            "$set": placed,
            "$inc": {"edition": 1},
            "$push": {"recent": {"$each": [key], "$slice": -_RECENT}},
        }
        done = await self._modified(query, update)
        await self._drop(held["parts"] if done else placed["parts"])
        return done

    async def _modified(self, query: Mapping[str, Any], update: Mapping[str, Any]) -> bool:
        owned = {**query, "user": self._owner["user"]}
        return await self._backend.modify(COLLECTION, owned, update, {"_id": 1}, comment=_CALL) is not None

    # Files

    async def files(self) -> list[str]:
        """The names of the files."""
        return await self._names("file")

    async def read_file(self, name: str) -> bytes:
        """All bytes of a file."""
        return await self._read("file", file_name(name))

    async def write_file(self, name: str, data: bytes) -> None:
        """Write a file."""
        id = self._id("file", file_name(name))
        with self._backend.call(_CALL):
            held = await self._document(id)
            # Of two writers at once the last one counts; the pieces of the other stay until ``destroy``.
            whole = {**self._owner, "edition": 0, "recent": [], **await self._placed(data)}
            await self._backend.put(COLLECTION, {"_id": id}, {"$set": whole}, comment=_CALL)
            await self._drop(held["parts"] if held is not None else ())

    async def remove_file(self, name: str) -> None:
        """Remove a file."""
        id = self._id("file", file_name(name))
        with self._backend.call(_CALL):
            held = await self._document(id)
            if held is not None:
                await self._backend.delete(COLLECTION, self._owned(id), comment=_CALL)
                await self._drop(held["parts"])

    async def destroy(self) -> None:
        """Remove the session."""
        with self._backend.call(_CALL):
            await self._backend.delete(COLLECTION, self._owner, comment=_CALL)

    # Both

    def _id(self, kind: str, name: str) -> dict[str, Any]:
        return {**self._owner, kind: name}

    def _owned(self, id: Any) -> dict[str, Any]:
        return {"_id": id, "user": self._owner["user"]}

    def _fresh(self, id: Mapping[str, Any], key: ObjectId) -> dict[str, Any]:
        return {"_id": id, **self._owner, "edition": 0, "recent": [key]}

    async def _names(self, kind: str) -> list[str]:
        query = {**self._owner, f"_id.{kind}": {"$exists": True}}
        with self._backend.call(_CALL):
            found = await self._backend.find(COLLECTION, query, {"_id": 1}, comment=_CALL)
        return sorted(one["_id"][kind] for one in found)

    async def _document(self, id: Mapping[str, Any]) -> dict[str, Any] | None:
        return await self._backend.find_one(COLLECTION, self._owned(id), comment=_CALL)

    async def _read(self, kind: str, name: str) -> bytes:
        with self._backend.call(_CALL):
            for attempt in self._backend.attempts():
                held = await self._document(self._id(kind, name))
                if held is None:
                    raise NotFoundError(kind, name)
                pieces = await self._joined(held["parts"])
                if pieces is not None:
                    return b"".join([pieces, *held["tail"]])
                await _pace.pause(attempt)
        raise UnavailableError(f"the {kind} {name!a} was being replaced at every try to read it; try again")

    async def _joined(self, parts: Sequence[Mapping[str, Any]]) -> bytes | None:
        """The bytes of the pieces in order; None when one is gone: then the document must be read again."""
        data: list[bytes] = []
        for start in range(0, len(parts), _TOGETHER):
            ids = [part["i"] for part in parts[start : start + _TOGETHER]]
            query = {"user": self._owner["user"], "_id": {"$in": ids}}
            found = await self._backend.find(COLLECTION, query, {"data": 1}, comment=_CALL)
            by_id = {one["_id"]: one["data"] for one in found}
            if len(by_id) < len(ids):
                return None
            data += [by_id[id] for id in ids]
        return b"".join(data)

    async def _placed(self, data: bytes) -> dict[str, Any]:
        """The members of a document that hold these bytes, pieces stored."""
        small = len(data) <= _TAIL
        return {
            "size": Int64(len(data)),
            "parts": [] if small else await self._pieces(data),
            "tail": [data] if small and data else [],
            "tail_size": len(data) if small else 0,
        }

    async def _pieces(self, data: bytes) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        for at in range(0, len(data), _PIECE):
            id, piece = ObjectId(), data[at : at + _PIECE]
            document = {"_id": id, **self._owner, "data": piece}
            await self._backend.insert_own(COLLECTION, [document], comment=_CALL)
            parts.append({"i": id, "n": len(piece)})
        return parts

    async def _drop(self, parts: Sequence[Mapping[str, Any]]) -> None:
        if parts:
            ids = [part["i"] for part in parts]
            query = {"user": self._owner["user"], "_id": {"$in": ids}}
            await self._backend.delete(COLLECTION, query, comment=_CALL)


def _refuse_changed(name: str, held: Mapping[str, Any] | None, length: int) -> None:
    size = 0 if held is None else int(held["size"])
    if size != length:
        reason = f"the log {name!a} has {size} bytes, not {length}: another writer was there; load again"
        raise ConflictError("log", expected=length, actual=size, reason=reason)
