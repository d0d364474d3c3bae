"""Both faces of the store behind one: a test calls the synchronous names and runs on either."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pymongo import AsyncMongoClient, MongoClient

from convostore.store import AsyncConversationStore, ConversationStore


class Face:
    """Opens stores of one face on a server's databases; a call of :meth:`together` runs many at once."""

    name: str

    def open(self, database: str, **options: Any) -> Any:
        """A store on the database of that name."""
        raise NotImplementedError

    def together(self, store: Any, calls: Sequence[Callable[[Any], Any]]) -> list[Any]:
        """What each call gives, or the error it raises; ``store`` is one of :meth:`open`, given to each."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the client."""
        raise NotImplementedError


class SyncFace(Face):
    """``ConversationStore``; many at once are threads."""

    name = "sync"

    def __init__(self, uri: str, **options: Any) -> None:
        self.client: MongoClient[dict[str, Any]] = MongoClient(uri, **options)

    def open(self, database: str, **options: Any) -> Any:
        return ConversationStore(self.client[database], **options)

    def together(self, store: Any, calls: Sequence[Callable[[Any], Any]]) -> list[Any]:
        def settle(call: Callable[[Any], Any]) -> Any:
            try:
                return call(store)
            except Exception as error:
                return error

        with ThreadPoolExecutor(len(calls)) as threads:
            return list(threads.map(settle, calls))

    def close(self) -> None:
        self.client.close()


class AsyncFace(Face):
    """``AsyncConversationStore`` on an event loop of its own; many at once are tasks."""

    name = "async"

    def __init__(self, uri: str, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self.client: AsyncMongoClient[dict[str, Any]] = self._run(self._connect(uri, options))

    def open(self, database: str, **options: Any) -> Any:
        return Blocking(AsyncConversationStore(self.client[database], **options), self._run)

    def together(self, store: Any, calls: Sequence[Callable[[Any], Any]]) -> list[Any]:
        async def gather() -> list[Any]:
            return await asyncio.gather(*(call(store.target) for call in calls), return_exceptions=True)

        found: list[Any] = self._run(gather())
        return found

    def close(self) -> None:
        self._run(self.client.close())
        self._loop.close()

    def _run(self, call: Any) -> Any:
        return self._loop.run_until_complete(call)

    @staticmethod
    async def _connect(uri: str, options: dict[str, Any]) -> AsyncMongoClient[dict[str, Any]]:
        return AsyncMongoClient(uri, **options)


class Blocking:
    """An asynchronous object whose calls are waited for; what they iterate over comes as a list."""

    def __init__(self, target: Any, run: Callable[[Any], Any]) -> None:
        self.target = target
        self._run = run

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.target, name)
        return self._settled_call(value) if callable(value) else self._wrapped(value)

    def _settled_call(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def settled(*arguments: Any, **options: Any) -> Any:
            result = call(*arguments, **options)
            if inspect.isawaitable(result):
                return self._run(result)
            if hasattr(result, "__aiter__"):
                return self._run(_collected(result))
            return self._wrapped(result)

        return settled

    def _wrapped(self, value: Any) -> Any:
        asynchronous = type(value).__module__.startswith("convostore.store.asynchronous")
        return Blocking(value, self._run) if asynchronous else value


async def _collected(items: Any) -> list[Any]:
    return [item async for item in items]
