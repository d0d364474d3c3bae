"""The server's ``failCommand`` fail point, aimed at the clients of one ``appName``."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from support.servers import Server


class FailPoint:
    """While it is entered, the next ``times`` of ``commands`` sent by clients named ``app_name`` fail.

    ``close_connection`` cuts the connection *before* the command runs. ``error_code`` answers with that error
    instead of running it. ``write_concern_error`` runs it and then reports the error: stored, yet an error.
    ``hits`` is, afterwards, how many commands met it; leaving fails when there was none, since the test then
    showed nothing.
    """

    def __init__(
        self,
        server: Server,
        commands: Sequence[str],
        *,
        app_name: str,
        times: int = 1,
        close_connection: bool = False,
        error_code: int | None = None,
        error_labels: Sequence[str] | None = None,
        write_concern_error: dict[str, Any] | None = None,
    ) -> None:
        data: dict[str, Any] = {"failCommands": list(commands), "appName": app_name}
        if close_connection:
            data["closeConnection"] = True
        if error_code is not None:
            data["errorCode"] = error_code
        if error_labels is not None:
            data["errorLabels"] = list(error_labels)
        if write_concern_error is not None:
            data["writeConcernError"] = write_concern_error
        self.hits = 0
        self._server = server
        self._order = {"configureFailPoint": "failCommand", "mode": {"times": times}, "data": data}
        self._before = 0

    def __enter__(self) -> FailPoint:
        with self._server.client() as client:
            self._before = client.admin.command(self._order)["count"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._server.client() as client:
            reply = client.admin.command({"configureFailPoint": "failCommand", "mode": "off"})
        self.hits = reply["count"] - self._before
        if kind is None:
            assert self.hits, f"no command met the fail point {self._order['data']}"
