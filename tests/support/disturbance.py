"""Failures of the connection, aimed at the k-th command that a client sends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from pymongo.monitoring import CommandStartedEvent

from support.command_log import CommandLog
from support.proxy import Proxy
from support.servers import Server

WRITES = frozenset({"insert", "update", "delete", "findAndModify"})
_COMMANDS = [*sorted(WRITES), "find", "getMore", "aggregate", "listIndexes", "createIndexes"]


class Failure(Enum):
    """How a command fails."""

    CLOSED = "the connection is closed before it runs"
    REPORTED = "it is stored, and the reply says that no majority confirmed it"
    RETRYABLE = "it is stored, and the reply says that the server was shutting down"
    LOST = "it is delivered, and its reply is lost"
    LATE = "the connection is closed, and it is delivered when the call is over"

    def concerns(self, command: str) -> bool:
        """Whether a command can fail so."""
        return command in WRITES or self in (Failure.CLOSED, Failure.LOST)


_REPORTS: dict[Failure, dict[str, Any]] = {
    Failure.CLOSED: {"closeConnection": True},
    Failure.REPORTED: {"writeConcernError": {"code": 64, "errmsg": "waiting for replication timed out"}},
    Failure.RETRYABLE: {
        "writeConcernError": {"code": 91, "errmsg": "the server is in quiesce mode"},
        "errorLabels": ["RetryableWriteError"],
    },
}


class Disturber:
    """Stands between a client and a server: connect to ``uri`` with ``log`` among the ``event_listeners``."""

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self._name = name
        self._proxy = Proxy(server.port)
        self._admin = server.client()
        self.log = _AimedLog()

    def __enter__(self) -> Disturber:
        self._proxy.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._admin.close()
        self._proxy.__exit__(None, None, None)

    @property
    def uri(self) -> str:
        return self._server.uri(port=self._proxy.port, appName=self._name, serverMonitoringMode="poll")

    @contextmanager
    def failing(self, failure: Failure, at: int, times: int) -> Iterator[None]:
        """While entered, command number ``at`` (from 0) and those that follow, ``times`` in all, fail."""
        self.log.clear()
        if failure in _REPORTS:
            with self._fail_point(failure, at, times):
                yield
            return
        add = self._proxy.hold if failure is Failure.LATE else self._proxy.lose_reply
        rule = add(skip=at, times=times)
        try:
            yield
            assert rule.met, f"no command met {failure}"
            rule.deliver_held()
        finally:
            self._proxy.clear()

    @contextmanager
    def _fail_point(self, failure: Failure, at: int, times: int) -> Iterator[None]:
        point = {"configureFailPoint": "failCommand"}
        data = {"failCommands": _COMMANDS, "appName": self._name, **_REPORTS[failure]}
        before = self._admin.admin.command({**point, "mode": "off"})["count"]
        self.log.aim(at, lambda: self._admin.admin.command({**point, "mode": {"times": times}, "data": data}))
        try:
            yield
        finally:
            hits = self._admin.admin.command({**point, "mode": "off"})["count"] - before
            self.log.aim(None, lambda: None)
        assert hits, f"no command met {failure}"


class _AimedLog(CommandLog):
    """Calls a function just before the command of a number is sent, in the thread that sends it."""

    def __init__(self) -> None:
        super().__init__()
        self._at: int | None = None
        self._strike: Callable[[], object] = lambda: None

    def aim(self, at: int | None, strike: Callable[[], object]) -> None:
        self._at, self._strike = at, strike

    def started(self, event: CommandStartedEvent) -> None:
        before = len(self.sent)
        super().started(event)
        if before == self._at and len(self.sent) > before:
            self._at = None
            self._strike()
