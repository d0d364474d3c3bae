"""A command listener that keeps what a client sent; the same for sync, async and Motor clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

# What a driver sends by itself: logging in, and saying goodbye.
HOUSEKEEPING = frozenset(
    {"saslStart", "saslContinue", "authenticate", "endSessions", "hello", "ismaster", "isMaster", "ping"}
)


@dataclass(frozen=True, slots=True)
class Sent:
    """One command; ``command`` is the whole document as it was sent."""

    name: str
    database: str
    command: Mapping[str, Any]
    request_id: int

    @property
    def collection(self) -> str | None:
        """The collection it goes to, if it goes to one."""
        target = self.command.get("collection" if self.name == "getMore" else self.name)
        return target if isinstance(target, str) else None


class CommandLog(CommandListener):
    """Pass it as ``event_listeners=[log]``. ``sent`` is in the order of sending, housekeeping left out."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.failures: list[tuple[str, Mapping[str, Any]]] = []

    @property
    def names(self) -> list[str]:
        """The names of the commands sent."""
        return [one.name for one in self.sent]

    @property
    def round_trips(self) -> int:
        """How many commands were sent; a ``getMore`` is not counted (design 5)."""
        return sum(name != "getMore" for name in self.names)

    def clear(self) -> None:
        """Forget everything."""
        self.sent.clear()
        self.failures.clear()

    def started(self, event: CommandStartedEvent) -> None:
        if event.command_name not in HOUSEKEEPING:
            name, database = event.command_name, event.database_name
            self.sent.append(Sent(name, database, dict(event.command), event.request_id))

    def succeeded(self, event: CommandSucceededEvent) -> None:
        pass

    def failed(self, event: CommandFailedEvent) -> None:
        self.failures.append((event.command_name, event.failure))
