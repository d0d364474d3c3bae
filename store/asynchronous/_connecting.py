"""Opening a store of its own: the URI, the embedded engine behind it, the client. Nothing happens before
first use.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from pymongo import AsyncMongoClient
from pymongo.driver_info import DriverInfo
from pymongo.errors import ConfigurationError

from convostore.schemas.errors import UnavailableError
from convostore.store import faults
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._setup import known_schema
from convostore.store.engine import EmbeddedEngine, resolve_uri
from convostore.store.layout import Bounds

__all__ = ["AsyncConnection"]

_DATABASE = "convostore"


class AsyncConnection:
    """A database to be opened at first use, and closed with the client and the engine that were started for
    it.
    """

    def __init__(
        self,
        uri: str | None,
        *,
        prefix: str,
        clock: Callable[[], int] | None,
        timeout: float | None,
        bounds: Bounds | None,
    ) -> None:
        self._uri = uri
        self._prefix = prefix
        self._clock = clock
        self._timeout = timeout
        self._bounds = bounds
        self._lock = _pace.Lock()
        self._backend: AsyncBackend | None = None
        self._client: Any = None
        self._engine: EmbeddedEngine | None = None

    async def open(self) -> AsyncBackend:
        """The opened database.

        Raises:
            UnavailableError: the URI is not usable or the engine does not start.

        """
        if self._backend is None:
            async with self._lock:
                if self._backend is None:
                    try:
                        self._backend = await self._open()
                    except BaseException:
                        await self.close()
                        raise
        return self._backend

    async def _open(self) -> AsyncBackend:
        uri, self._engine = await _pace.run_blocking(lambda: resolve_uri(self._uri))
        with faults.translated("connect"):
            options: dict[str, Any] = {"driver": DriverInfo("convostore", version("convostore"))}
            if self._timeout is not None:
                for name in ("serverSelectionTimeoutMS", "connectTimeoutMS"):
                    # What the URI says holds: an argument would win over it.
                    if name.lower() not in uri.lower():
                        options[name] = max(1, int(self._timeout * 1000))
            try:
                self._client = AsyncMongoClient(uri, uuidRepresentation="standard", **options)
            except ValueError:  # of the driver's own parsing; its text may hold a part of the URI
                raise UnavailableError(
                    "connect: the URI is not usable: check its host, port and options"
                ) from None
            try:
                database = self._client.get_default_database(_DATABASE)
            except ConfigurationError:
                database = self._client[_DATABASE]
            # Within a call its timeout would count for finding a server, not that of the URI.
            await _pace.settle(self._client.admin.command("ping"))
        backend = AsyncBackend(
            database, prefix=self._prefix, clock=self._clock, timeout=self._timeout, bounds=self._bounds
        )
        with backend.call("connect"):
            await known_schema(backend, comment="connect")
        return backend

    async def close(self) -> None:
        """Close what was opened; the engine stops when nobody else uses its folder.

        Raises:
            UnavailableError: it was opened in another process or event loop; it stays open.

        """
        client, engine = self._client, self._engine
        if self._backend is not None:
            self._backend.check_binding("close")
        self._client = self._engine = self._backend = None
        if client is not None:
            await _pace.settle(client.close())
        if engine is not None:
            await _pace.run_blocking(engine.stop)
