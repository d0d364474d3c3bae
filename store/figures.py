"""Rows of figures: what ``store.analytics`` gives back. Named tuples: a year has 8,784 hours.

A *series* has a row for each period of the range, in order, with zeros where nothing happened. Its rows begin
with ``start`` (ms since 1970, where the period begins) and ``label`` (its name in the zone asked for:
``2026-03-08``, ``2026-03-08T05:00-05:00`` by hour, ``2026-W10``, ``2026-03``). Durations are milliseconds.
Costs are in the price table's currency, summed exactly and then rounded to millionths; None without a table.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

__all__ = [
    "ConversationsRow",
    "DurationsRow",
    "FailuresRow",
    "HeatRow",
    "MessagesRow",
    "QueuesRow",
    "ReasonCount",
    "SeriesRow",
    "StatusRow",
    "TopRow",
    "UsageRow",
    "UsersRow",
    "WaitingRow",
    "members_of",
]


class UsageRow(NamedTuple):
    """What was credited to a period.

    ``conversations`` and ``users`` are the active ones: made in it, written to, or with usage; ``created``
    the conversations made in it. ``known`` are the appends that gave their usage, ``unknown`` those that did
    not; ``by_creation`` the imported messages without a time of their own, which count when their
    conversation was made, and ``tokens_by_creation`` the tokens (input and output) of imports that give them
    for a conversation as a whole.
    ``cost`` is what the tokens cost, as far as the table has a price; ``unpriced`` are the tokens of models
    that it does not name, or of no model that is known.
    """

    start: int
    label: str
    conversations: int
    users: int
    messages: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    requests: int
    created: int = 0
    known: int = 0
    unknown: int = 0
    by_creation: int = 0
    tokens_by_creation: int = 0
    cost: float | None = None
    unpriced: int = 0


class ConversationsRow(NamedTuple):
    """Conversations of a period: ``created`` in it, and ``active``: made, written to, or with usage.

    Of the created ones ``imported`` came from elsewhere, and ``forked`` from another conversation.
    """

    start: int
    label: str
    created: int
    active: int
    imported: int = 0
    forked: int = 0


class UsersRow(NamedTuple):
    """Active users of a period: ``new`` for the first time ever, ``returning`` others;
    ``users`` both.
    """

    start: int
    label: str
    users: int
    new: int = 0
    returning: int = 0


class MessagesRow(NamedTuple):
    """Messages written in a period.

    ``appends`` are the calls that wrote them, ``edits`` the changes of messages already stored,
    ``conversations`` those written to; ``by_creation`` as in :class:`UsageRow`.
    """

    start: int
    label: str
    messages: int
    appends: int = 0
    edits: int = 0
    conversations: int = 0
    by_creation: int = 0


class StatusRow(NamedTuple):
    """Conversations created in a period, by the status they have now (deleted ones: had at the end)."""

    start: int
    label: str
    conversations: int
    submitted: int = 0
    working: int = 0
    idle: int = 0
    completed: int = 0
    cancelled: int = 0
    failed: int = 0


class ReasonCount(NamedTuple):
    """How often conversations failed for a reason; ``reason`` is None where none was given."""

    reason: str | None
    failures: int


class FailuresRow(NamedTuple):
    """Failures of a period: each time a conversation became ``failed`` in it, with the reasons, the most
    frequent first.

    ``conversations`` are those that failed at least once.
    """

    start: int
    label: str
    failures: int
    conversations: int = 0
    reasons: tuple[ReasonCount, ...] = ()


class QueuesRow(NamedTuple):
    """Waits that ended in a period: how long conversations were ``submitted`` before work on them began.

    Percentiles are nearest-rank, None without a wait.
    """

    start: int
    label: str
    waits: int
    p50: int | None = None
    p90: int | None = None
    p99: int | None = None
    longest: int | None = None


class WaitingRow(NamedTuple):
    """What waits now, and for how long so far. No series: ``queue`` is ``submitted`` (conversations to be
    run), ``steering`` or ``follow_up`` (texts).

    ``waiting`` counts texts, for ``submitted`` conversations; ``conversations`` those they are in.
    """

    queue: str
    waiting: int
    conversations: int = 0
    p50: int | None = None
    p90: int | None = None
    p99: int | None = None
    longest: int | None = None


class DurationsRow(NamedTuple):
    """Conversations created in a period: how long they lasted, and how long the first answer took.

    A conversation lasts from its first to its last message (``conversations`` have two that tell their
    times); the first answer is the first reply of the model behind the first message of the user
    (``answered``). Percentiles are nearest-rank, None where nothing was measured.
    """

    start: int
    label: str
    conversations: int
    p50: int | None = None
    p90: int | None = None
    p99: int | None = None
    longest: int | None = None
    answered: int = 0
    answer_p50: int | None = None
    answer_p90: int | None = None
    answer_p99: int | None = None
    answer_longest: int | None = None


class TopRow(NamedTuple):
    """One user, label or model over a range. No series: ``name`` says which, None where there is none (no
    label, a model that is not known).
    """

    name: str | None
    conversations: int
    users: int
    messages: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    requests: int
    cost: float | None = None
    unpriced: int = 0


class HeatRow(NamedTuple):
    """One local hour of the week over a range: ``weekday`` from 0 (Monday) to 6, ``hour`` from 0 to 23.

    168 rows by weekday and hour, with zeros. An hour that the clock skips or repeats counts where the clock
    showed it.
    """

    weekday: int
    hour: int
    messages: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    requests: int


SeriesRow: TypeAlias = (
    UsageRow | ConversationsRow | UsersRow | MessagesRow | StatusRow | FailuresRow | QueuesRow | DurationsRow
)
"""A row of a series: it has ``start`` and ``label``."""


def members_of(row: Any) -> dict[str, Any]:
    """A row of figures as a dictionary, its lists of rows as lists of dictionaries."""
    return {
        name: [members_of(one) for one in value] if isinstance(value, tuple) else value
        for name, value in row._asdict().items()
    }
