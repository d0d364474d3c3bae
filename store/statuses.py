"""Which status may follow which, and what happens when one may not (design 5, "Status"). Pure."""

from __future__ import annotations

from typing import Final

from convostore.schemas.conversations import ConversationStatus as Status
from convostore.schemas.errors import StatusError

__all__ = ["STOPPABLE", "sources", "sticks"]

_MOVES: Final[dict[Status, frozenset[Status]]] = {
    Status.SUBMITTED: frozenset(Status),
    Status.WORKING: frozenset(
        {Status.SUBMITTED, Status.IDLE, Status.COMPLETED, Status.CANCELLED, Status.FAILED}
    ),
    Status.IDLE: frozenset(
        {Status.SUBMITTED, Status.WORKING, Status.COMPLETED, Status.CANCELLED, Status.FAILED}
    ),
    Status.COMPLETED: frozenset({Status.SUBMITTED, Status.WORKING}),
    Status.FAILED: frozenset({Status.SUBMITTED, Status.WORKING, Status.COMPLETED}),
    Status.CANCELLED: frozenset(),
}

STOPPABLE: Final = (Status.SUBMITTED, Status.WORKING, Status.IDLE)
"""What ``stop`` cancels."""


def sources(wanted: Status, *, reopening: bool = False) -> list[str]:
    """The statuses from which ``wanted`` may follow, itself included, as a filter lists them.

    ``reopening`` is the caller's explicit ``set_status``, which alone leads from cancelled to submitted.
    """
    found = {actual for actual, following in _MOVES.items() if wanted in following} | {wanted}
    if reopening and wanted is Status.SUBMITTED:
        found.add(Status.CANCELLED)
    return [member.value for member in Status if member in found]


def sticks(actual: Status, wanted: Status) -> bool:
    """Whether ``actual`` stays and everything else of the write is stored: cancelled under a running agent.

    Raises:
        StatusError: ``wanted`` may not follow and does not give way either.

    """
    if wanted.value in sources(wanted) and actual.value in sources(wanted):
        return False
    if actual is Status.CANCELLED and wanted in STOPPABLE:
        return True
    raise StatusError(actual.value, wanted.value)
