"""Something done by somebody else just before or after one command of a client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent


class Meddler(CommandListener):
    """Does ``work`` once, at the first command that ``meddle`` names; pass it as ``event_listeners``."""

    def __init__(self) -> None:
        self._name = self._collection = ""
        self._before = False
        self._work: Callable[[], Any] = lambda: None
        self._meant: set[int] = set()
        self.done = True

    def meddle(self, name: str, collection: str, work: Callable[[], Any], *, before: bool = False) -> None:
        """Do it at the next command of that name on that collection, after the reply unless ``before``."""
        self._name, self._collection, self._work, self._before = name, collection, work, before
        self.done = False

    def started(self, event: CommandStartedEvent) -> None:
        """Do it, or note that the reply is awaited."""
        if not self.done and event.command.get(self._name) == self._collection:
            self._meant.add(event.request_id)
            if self._before:
                self._act()

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Do it."""
        if not self.done and event.request_id in self._meant:
            self._act()

    def failed(self, event: CommandFailedEvent) -> None:
        """Nothing is to be done."""

    def _act(self) -> None:
        self.done = True
        self._work()
