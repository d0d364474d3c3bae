"""One command at a time: actors share a database, a scheduler says whose command runs next and how it ends.

A :class:`SteppedDatabase` takes the place of pymongo's asynchronous database. Each command that an actor
sends through it waits for the actor's turn; the turn says whether it runs and whether its answer arrives.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextvars import ContextVar
from enum import Enum
from typing import Any

from pymongo.errors import AutoReconnect, PyMongoError

_ACTOR: ContextVar[Actor | None] = ContextVar("actor", default=None)

Send = Callable[[], Awaitable[Any]]

DELAYABLE = frozenset({"findAndModify", "update_one", "insert_many", "delete_many"})
"""Methods whose command may run long after its sender gave it up. Not the insertion of a single document: a
conversation's head that arrives after the conversation was deleted makes it again, whatever one does."""


class Fate(Enum):
    """What becomes of a command, and of its sender. ``LATE`` is ``CUT`` for what cannot be late."""

    ANSWERED = "it runs and is answered"
    CUT = "it never runs; the sender gets a connection error"
    LOST = "it runs; the sender gets a connection error"
    LATE = "it runs some steps later; the sender gets a connection error at once"
    DEAD_BEFORE = "it never runs; the sender never does anything again"
    DEAD_AFTER = "it runs; the sender never does anything again"


class Actor:
    """A coroutine that runs until its next command and then waits for its turn.

    ``operation`` is what it is about; ``ran`` is called with it after each of its commands, with the
    command's name and the collection's. What is to run late goes into ``late``.
    """

    def __init__(
        self,
        work: Coroutine[Any, Any, None],
        ran: Callable[[Any, str, str], None],
        late: list[Callable[[], Awaitable[None]]],
    ) -> None:
        self.operation: Any = None
        self.dead = False
        self._ran = ran
        self._late = late
        self._turn: asyncio.Future[Fate] = asyncio.get_running_loop().create_future()
        self._resting = asyncio.Event()
        self._task = asyncio.create_task(self._work(work))

    @property
    def done(self) -> bool:
        return self._task.done()

    async def rested(self) -> None:
        """Wait until it is at its next command, or at its end; its error is raised here."""
        await self._resting.wait()
        await asyncio.sleep(0)
        if self._task.done():
            self._task.result()

    async def step(self, fate: Fate) -> None:
        """Let its command go that way, and wait for the next one."""
        self._resting.clear()
        turn, self._turn = self._turn, asyncio.get_running_loop().create_future()
        turn.set_result(fate)
        await self.rested()

    async def dismiss(self) -> None:
        """End it wherever it is."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def command(self, name: str, collection: str, send: Send) -> Any:
        """Send the command when and how the turn says."""
        operation = self.operation

        async def run() -> Any:
            answer = await send()
            self._ran(operation, name, collection)
            return answer

        self._resting.set()
        fate = await self._turn
        if fate is Fate.DEAD_BEFORE:
            await self._die()
        if fate is Fate.LATE and name in DELAYABLE:
            self._late.append(lambda: _unheard(run))
        if fate in (Fate.CUT, Fate.LATE):
            raise AutoReconnect("the connection was closed before the command ran")
        answer = await run()
        if fate is Fate.DEAD_AFTER:
            await self._die()
        if fate is Fate.LOST:
            raise AutoReconnect("the connection was closed before the answer")
        return answer

    async def _work(self, work: Coroutine[Any, Any, None]) -> None:
        _ACTOR.set(self)
        try:
            await work
        finally:
            self._resting.set()

    async def _die(self) -> None:
        self.dead = True
        self._resting.set()
        await asyncio.get_running_loop().create_future()


def actor() -> Actor:
    """The actor whose coroutine this is."""
    found = _ACTOR.get()
    assert found is not None
    return found


async def _unheard(run: Send) -> None:
    # Nobody is there any more to be told of an error, such as that it was repeated and is stored already.
    with contextlib.suppress(PyMongoError):
        await run()


async def _send(name: str, collection: str, send: Send) -> Any:
    sender = _ACTOR.get()
    return await (send() if sender is None else sender.command(name, collection, send))


class SteppedDatabase:
    """An asynchronous database whose commands wait for their sender's turn, as far as the store uses it."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self.client = database.client

    def get_collection(self, name: str, **options: Any) -> SteppedCollection:
        return SteppedCollection(self._database.get_collection(name, **options))

    async def command(self, command: dict[str, Any], **options: Any) -> Any:
        name = next(iter(command))
        return await _send(name, str(command[name]), lambda: self._database.command(command, **options))


class SteppedCollection:
    """A collection of a :class:`SteppedDatabase`."""

    def __init__(self, collection: Any) -> None:
        self._collection = collection

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._collection, name)

        async def sent(*arguments: Any, **options: Any) -> Any:
            return await _send(name, self._collection.name, lambda: method(*arguments, **options))

        return sent

    def find(self, *arguments: Any, **options: Any) -> SteppedCursor:
        return SteppedCursor(self._collection, self._collection.find(*arguments, **options))

    async def aggregate(self, *arguments: Any, **options: Any) -> list[Any]:
        async def read() -> Any:
            return await (await self._collection.aggregate(*arguments, **options)).to_list()

        found: list[Any] = await _send("aggregate", self._collection.name, read)
        return found


class SteppedCursor:
    """A cursor whose documents all come in one batch."""

    def __init__(self, collection: Any, cursor: Any) -> None:
        self._collection = collection
        self._cursor = cursor

    def sort(self, *arguments: Any) -> SteppedCursor:
        return SteppedCursor(self._collection, self._cursor.sort(*arguments))

    def limit(self, count: int) -> SteppedCursor:
        return SteppedCursor(self._collection, self._cursor.limit(count))

    def batch_size(self, count: int) -> SteppedCursor:
        return SteppedCursor(self._collection, self._cursor.batch_size(count))

    async def __aiter__(self) -> AsyncIterator[Any]:
        for document in await _send("find", self._collection.name, lambda: self._cursor.clone().to_list()):
            yield document
