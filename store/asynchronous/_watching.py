"""Watching conversations: a change stream wakes the watcher, or the clock does; what is new is then read.

A change of a document says little: a seal looks like an edit. So an event is only a reason to look, and
entries are read from the last one seen (``storage.md`` A25).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import bson
from bson.decimal128 import Decimal128
from bson.errors import BSONError
from pymongo.errors import OperationFailure

from convostore.schemas.entries import Entry
from convostore.schemas.errors import QueryError
from convostore.store import paging
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._reading import read_page
from convostore.store.codec import decode_u64, encode_u64
from convostore.store.results import Change

__all__ = ["AsyncWatch"]

_NO_STREAMS = frozenset({40573, 40324})
_AWAIT_MS = 250
_FIELDS = {"version": 1, "next_entry": 1, "user": 1, "revision": 1}
_UNKNOWN = 2**62
_ENDS = frozenset({"drop", "dropDatabase", "rename", "invalidate"})
_EVENT: dict[str, Any] = {"documentKey": 1, "operationType": 1}
_PUSHED: dict[str, Any] = {
    "next": "$updateDescription.updatedFields.next_entry",
    "pushed": {
        "$size": {
            "$filter": {
                "input": {"$objectToArray": {"$ifNull": ["$updateDescription.updatedFields", {}]}},
                "cond": {"$regexMatch": {"input": "$$this.k", "regex": r"^messages\.[0-9]+$"}},
            }
        }
    },
}
"""What an event says of the entries before it, for conversations that a resumed watch never looked at."""


@dataclass(slots=True)
class _Seen:
    version: int
    next_entry: int


class AsyncWatch:
    """What changes from now on, or after ``resume_after``, a token of an earlier change.

    Use it in a ``with`` statement and iterate; iteration waits for the next change and ends when the watch is
    closed. On a replica set a change stream wakes it; a standalone is looked at every ``poll`` seconds, which
    for a watch on everything reads the version of every conversation in scope. A token can be kept as JSON;
    a watch on everything that resumes may give entries a second time, which their ids tell.
    """

    def __init__(
        self,
        opened: Callable[[], Awaitable[AsyncBackend]],
        id: int | None,
        user: str | None,
        resume_after: Any,
        poll: float,
    ) -> None:
        self._opened = opened
        self._backend: AsyncBackend
        self._id = id
        self._user = user
        self._token = _checked(resume_after)
        self._blind = False
        self._poll = poll
        self._stream: Any = None
        self._early: Any = None
        self._seen: dict[int, _Seen] = {}
        self._closed = False

    async def __aenter__(self) -> AsyncWatch:
        self._backend = await self._opened()
        with self._backend.call("watch"):
            self._stream = await self._open()
            await self._remember()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the watch; an iteration under way ends too."""
        self._closed = True
        if self._stream is not None:
            await _pace.settle(self._stream.close())

    def __aiter__(self) -> AsyncIterator[Change]:
        return self._changes()

    def _query(self) -> dict[str, Any]:
        query: dict[str, Any] = {} if self._user is None else {"user": self._user}
        return query if self._id is None else {**query, "_id": encode_u64(self._id)}

    async def _open(self) -> Any:
        if self._backend.engine == "mongomock":
            return None
        match = [] if self._id is None else [{"$match": {"documentKey._id": encode_u64(self._id)}}]
        token = None if self._token is None else self._token.get("stream")
        self._blind = token is not None and self._token is not None and self._token.get("seen") is None
        fields = {"$project": {**_EVENT, **(_PUSHED if self._blind else {})}}
        try:
            stream = await _pace.settle(
                self._backend.collection("conversations").watch(
                    [*match, fields], resume_after=_stream_token(token), max_await_time_ms=_AWAIT_MS
                )
            )
            # The stream begins when the server has been asked, not when it was described.
            self._early = await _pace.settle(stream.try_next())
            return stream
        except OperationFailure as error:
            if error.code in _NO_STREAMS:
                return None
            raise

    async def _remember(self) -> None:
        if self._blind:  # what is there now was not seen: the events since the token tell what was
            return
        noted = None if self._token is None else self._token.get("seen")
        if noted is not None:
            self._seen = {int(id): _Seen(*pair) for id, pair in noted.items()}
            return
        heads = await self._backend.find("conversations", self._query(), _FIELDS, comment="watch")
        self._seen = {decode_u64(head["_id"]): _seen(head) for head in heads if _is_conversation(head)}

    async def _changes(self) -> AsyncIterator[Change]:
        pending = list(self._seen) if self._token is not None else []
        while not self._closed:
            for id in pending:
                change = await self._look(id)
                if change is not None:
                    yield change
            pending = await self._wait()

    async def _wait(self) -> list[int]:
        """The ids worth a look, once there are any or the time is over."""
        if self._stream is None:
            await _pace.sleep(self._poll)
            return await self._moved()
        with self._backend.call("watch"):
            event, self._early = self._early, None
            if event is None:
                event = await _pace.settle(self._stream.try_next())
        if event is None:
            # One conversation's stream says nothing of a collection that is dropped: it only ends.
            self._closed = self._closed or not self._stream.alive
            return []
        if event["operationType"] in _ENDS:
            self._closed = True
            return []
        if not isinstance(event["documentKey"]["_id"], (int, Decimal128)):
            return []
        id = decode_u64(event["documentKey"]["_id"])
        if self._blind and id not in self._seen and event["operationType"] != "insert":
            known = "next" in event
            self._seen[id] = _Seen(-1, int(event["next"]) - int(event["pushed"]) if known else _UNKNOWN)
        return [id]

    async def _moved(self) -> list[int]:
        with self._backend.call("watch"):
            heads = await self._backend.find("conversations", self._query(), _FIELDS, comment="watch")
        now = {decode_u64(head["_id"]): _seen(head) for head in heads if _is_conversation(head)}
        moved = [id for id, seen in now.items() if self._seen.get(id) != seen]
        return moved + [id for id in self._seen if id not in now]

    async def _look(self, id: int) -> Change | None:
        """What became of one conversation since it was last looked at;
        None when nothing a reader sees did.
        """
        owner = {**self._query(), "_id": encode_u64(id)}
        with self._backend.call("watch"):
            head = await self._backend.find_one("conversations", owner, _FIELDS, comment="watch")
            before = self._seen.get(id)
            if head is not None and not _is_conversation(head):
                return None
            if head is None:
                if before is None:
                    return None
                del self._seen[id]
                return Change(id, "deleted", None, (), self._mark())
            after = _seen(head)
            if before == after:
                return None
            self._seen[id] = after
            if before is not None and before.next_entry == _UNKNOWN:
                del self._seen[id]  # a later event may tell what was there before it
            entries: list[Entry] = []
            start = 0 if before is None else before.next_entry
            last: int | None = start - 1 if start else None
            while after.next_entry > start:
                asked = paging.PageRequest(500, after=last, forwards=True)
                page = await read_page(self._backend, owner, asked, comment="watch")
                entries += [entry for entry in page.items if entry.id >= start]
                if page.cursor is None:
                    break
                last = page.items[-1].id
            kind: Any = "created" if before is None else "appended" if entries else "changed"
            return Change(id, kind, after.version, tuple(entries), self._mark())

    def _mark(self) -> dict[str, Any]:
        mark: dict[str, Any] = {
            "seen": {str(id): (seen.version, seen.next_entry) for id, seen in self._seen.items()}
            if self._id is not None or self._user is not None or self._stream is None
            else None
        }
        if self._stream is not None:
            mark["stream"] = bson.encode(self._stream.resume_token).hex()
        return mark


def _checked(token: Any) -> Mapping[str, Any] | None:
    """A token of a change, as it was given out or back from JSON.

    Raises:
        QueryError: it is none.

    """
    if token is None:
        return None
    try:
        for id, pair in (token.get("seen") or {}).items():
            version, next_entry = pair
            if not (int(id) >= 0 <= version and next_entry >= 0):
                raise ValueError(id)
        _stream_token(token.get("stream"))
    except (AttributeError, TypeError, ValueError, BSONError):
        raise QueryError("resume_after", "must be the token of a change that a watch gave") from None
    found: Mapping[str, Any] = token
    return found


def _stream_token(text: str | None) -> Mapping[str, Any] | None:
    return None if text is None else bson.decode(bytes.fromhex(text))


def _is_conversation(head: Mapping[str, Any]) -> bool:
    """Whether it is one already; a record that lies there as somebody put it is news once it is adopted."""
    return "version" in head and "next_entry" in head


def _seen(head: Mapping[str, Any]) -> _Seen:
    return _Seen(int(head["version"]), int(head["next_entry"]))
