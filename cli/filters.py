"""The filters of commands, as the store takes them. Pure but for the clock."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import tzinfo
from typing import Any

from convostore.cli.dates import parse_moment
from convostore.schemas.conversations import ConversationStatus
from convostore.schemas.errors import QueryError

__all__ = ["now_ms", "statuses", "wanted"]


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def statuses(names: Sequence[str] | None) -> list[ConversationStatus]:
    """The statuses of those names.

    Raises:
        QueryError: there is none of a name.

    """
    known = {status.value: status for status in ConversationStatus}
    for name in names or ():
        if name not in known:
            raise QueryError("status", f"{name!a} is none of {', '.join(known)}")
    return [known[name] for name in names or ()]


def wanted(
    user: str | None,
    thread: str | None,
    status: Sequence[str] | None,
    label: str | None,
    since: str | None,
    until: str | None,
    zone: tzinfo,
) -> dict[str, Any]:
    """The filters as keyword arguments of ``find``, ``count`` and ``export_conversations``."""
    from convostore.store import ALL_USERS

    now = now_ms()
    return {
        "user": ALL_USERS if user is None else user,
        "thread": thread,
        "status": statuses(status) or None,
        "label": label,
        "since": None if since is None else parse_moment(since, "since", zone, now),
        "until": None if until is None else parse_moment(until, "until", zone, now),
    }
