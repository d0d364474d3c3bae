"""Planning lists: filters, their order, and the cursor that goes on where a page ended. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from convostore.schemas.conversations import ConversationStatus, period_of
from convostore.schemas.cursors import decode_cursor, encode_cursor
from convostore.schemas.errors import QueryError
from convostore.store.codec import encode_u64

__all__ = ["Wanted", "cursor_after", "query_for"]

_MOST_HOURS: Final = 200
"""The server turns a list of at most so many values into one ordered index scan each; beyond it would sort.
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which conversations: all conditions hold. ``user`` None is every user's."""

    user: str | None
    thread: str | None = None
    statuses: tuple[ConversationStatus, ...] = ()
    label: str | None = None
    since: int | None = None
    until: int | None = None


def query_for(wanted: Wanted, cursor: str | None = None) -> dict[str, Any]:
    """The filter, with the page's bound on ``_id``.

    ``since`` (included) and ``until`` (excluded) are of ``created_at``; the hours they span are given as
    well, so that an index answers.

    Raises:
        QueryError: the range is empty, or the cursor is none of ours.

    """
    query: dict[str, Any] = {}
    if wanted.user is not None:
        query["user"] = wanted.user
    if wanted.thread is not None:
        query["thread"] = wanted.thread
    if wanted.statuses:
        values = [member.value for member in wanted.statuses]
        query["status"] = values[0] if len(values) == 1 else {"$in": values}
    if wanted.label is not None:
        query["label"] = wanted.label
    query |= _created(wanted.since, wanted.until)
    if cursor is not None:
        query["_id"] = {"$lt": encode_u64(decode_cursor(cursor))}
    return query


def _created(since: int | None, until: int | None) -> Mapping[str, Any]:
    if since is None and until is None:
        return {}
    if since is not None and until is not None and since >= until:
        raise QueryError("since", f"{since} is not before until, {until}")
    times: dict[str, Any] = {}
    hours: dict[str, Any] = {}
    if since is not None:
        times["$gte"], hours["$gte"] = encode_u64(since), encode_u64(period_of(since))
    if until is not None:
        times["$lt"], hours["$lte"] = encode_u64(until), encode_u64(period_of(max(until - 1, 0)))
    if since is not None and until is not None:
        first, last = period_of(since), period_of(until - 1)
        if last - first < _MOST_HOURS:
            hours = {"$in": [encode_u64(hour) for hour in range(first, last + 1)]}
    return {"created_at": times, "period": hours}


def cursor_after(ids: Sequence[int], limit: int) -> str | None:
    """The cursor behind a page that may have a successor: one longer than asked was read."""
    return encode_cursor(ids[limit - 1]) if len(ids) > limit else None
