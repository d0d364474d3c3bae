"""A made-up year of conversations, their stored form, and what a plain computation over it says."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.store import history, sealing
from convostore.store.heads import new_head, record_fields
from convostore.store.layout import Bounds
from convostore.store.runs import cut_into_segments, encode_entries, entries_size, numbered

ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Europe/London", "Australia/Lord_Howe")
PERIODS = ("hour", "day", "week", "month")
START = int(datetime(2024, 1, 1, tzinfo=timezone.utc).timestamp() * 1000)
LENGTH = 366 * 86_400_000
HOUR = 3_600_000
LABELS = (None, "travel", "work")
MODELS = (None, "small", "large")
REASONS = (None, "the model is overloaded", "no answer from the tool")

# Both changes of the clock of 2024 in New York, London and on Lord Howe, UTC.
CHANGES = [
    int(datetime(2024, month, day, hour, minute, tzinfo=timezone.utc).timestamp() * 1000)
    for month, day, hour, minute in (
        (3, 10, 7, 0),
        (11, 3, 6, 0),
        (3, 31, 1, 0),
        (10, 27, 1, 0),
        (4, 6, 15, 0),
        (10, 5, 15, 30),
    )
]


@dataclass(frozen=True)
class Written:
    """An append: so many messages and, unless unknown, tokens (input, output, cached)."""

    at: int
    messages: int
    tokens: tuple[int, int, int] | None
    model: str | None


@dataclass
class Life:
    """One conversation of the year."""

    id: int
    user: str
    label: str | None
    created: int
    appends: list[Written]
    states: list[tuple[int, str, str | None]] = field(default_factory=list)

    @property
    def status(self) -> str:
        return self.states[-1][1]


def make_year(count: int, seed: int = 7) -> list[Life]:
    """``count`` conversations; one in eight at a change of some zone's clock, times spread over hours."""
    dice = random.Random(seed)
    users = [f"user-{number}" for number in range(max(count // 20, 3))]
    return [_life(dice, number + 1, dice.choice(users)) for number in range(count)]


def _life(dice: random.Random, id: int, user: str) -> Life:
    end = START + LENGTH
    at = START + dice.randrange(LENGTH)
    if dice.random() < 1 / 8:
        at = dice.choice(CHANGES) + dice.randrange(-2 * HOUR, 2 * HOUR)
    life = Life(id, user, dice.choice(LABELS), at, [Written(at, dice.randrange(3), None, None)])
    life.states.append((at, "submitted", None))
    for _ in range(dice.choice([0, 1, 2, 3, 3, 4, 8])):
        at = min(at + dice.choice([900, 60_000, 20 * 60_000, 3 * HOUR]) + dice.randrange(1_000), end - 1)
        if life.status == "submitted":
            life.states.append((at, "working", None))
        tokens: tuple[int, int, int] | None = None
        model = None
        if dice.random() > 0.2:
            given = dice.randrange(2_000)
            tokens = (given, dice.randrange(500), dice.randrange(given + 1))
            model = dice.choice(MODELS)
        life.appends.append(Written(at, dice.choice([1, 1, 2]), tokens, model))
    final = dice.choice(["completed", "completed", "failed", "cancelled", None, "again"])
    if final is not None:
        at = min(at + dice.randrange(1, HOUR), end - 1)
        life.states.append((at, "failed" if final == "again" else final, None))
        if life.status == "failed":
            life.states[-1] = (at, "failed", dice.choice(REASONS))
    if final == "again":
        life.states.append((min(at + 5_000, end - 1), "submitted", None))
    return life


# As it is stored


def documents(
    life: Life, *, cut: bool = True
) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """The head, the segments and the sealed records that the store's calls would leave of this life.

    ``cut`` lets a few messages and records be many already, so that most lives have older parts.
    """
    record = Conversation(
        id=life.id,
        user=life.user,
        label=life.label,
        status=ConversationStatus(life.status),
        created_at=life.created,
        updated_at=max(life.states[-1][0], life.appends[-1].at),
    )
    fields = record_fields(
        record, id=life.id, now=life.created, attachments={"resources": [], "artifacts": []}
    )
    fields["states"] = [
        {"at": Int64(at), "s": status, **({} if reason is None else {"r": reason})}
        for at, status, reason in life.states
    ]
    if life.status == "failed" and life.states[-1][2] is not None:
        fields["failed_reason"] = life.states[-1][2]
    entries, records = [], []
    for append in life.appends:
        for _ in range(append.messages):
            message = {
                "role": "assistant" if len(entries) % 2 else "user",
                "content": f"message {len(entries)}",
            }
            (entry,) = encode_entries([message], made=append.at)
            entries.append(numbered(entry.stored, len(entries)))
        usage = None
        if append.tokens is not None:
            usage = dict(zip(("input_tokens", "output_tokens", "cached_tokens"), append.tokens, strict=True))
            usage["requests"] = 1
        if append.messages or usage:
            records.append(
                history.push_record(
                    append.at, append.messages, key=ObjectId(), usage=usage, model=append.model
                )
            )
    facts = {"user": life.user, "lineage": life.id, "next_entry": len(entries)}
    bounds = Bounds(log_soft=4, log_keep=2, keep=4) if cut else Bounds()
    sealed, log = sealing.sealed_at_birth(Int64(life.id), facts, records, bounds)
    kept = min(len(entries), bounds.keep)
    older, run = entries[: len(entries) - kept], entries[len(entries) - kept :]
    segments, items = [], []
    for segment in cut_into_segments(older, Bounds(segment_count=3)):
        document = {
            "_id": ObjectId(),
            "user": life.user,
            "c": Int64(life.id),
            "lin": Int64(life.id),
            "g": 0,
            "n": len(segment.entries),
            "e": list(segment.entries),
        }
        segments.append(document)
        low, high = (int(segment.entries[place]["id"]) for place in (0, -1))
        items.append({"i": document["_id"], "n": document["n"], "b": segment.size, "lo": low, "hi": high})
    head = new_head(
        fields,
        lineage=life.id,
        entries=run,
        size=entries_size(run),
        segments=items,
        next_entry=len(entries),
        record_log=log,
    )
    head |= {"revision": Int64(len(records)), "log_start": Int64(len(records) - len(log))}
    return head, segments, sealed


def store_year(database: Any, lives: Sequence[Life], *, cut: bool = True) -> None:
    """Put the year into a database that is set up."""
    for start in range(0, len(lives), 2_000):
        made = [documents(life, cut=cut) for life in lives[start : start + 2_000]]
        for name, place in (("segments", 1), ("changes", 2)):
            parts = [document for one in made for document in one[place]]
            if parts:
                database[name].insert_many(parts, ordered=False)
        database.conversations.insert_many([one[0] for one in made], ordered=False)
    database.meta.update_one({"_id": "conversation_ids"}, {"$max": {"last": Int64(len(lives))}}, upsert=True)


# What a plain computation says


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def period_of(at: int, by: str, zone: str) -> str:
    """The name of the period by the calendar alone, independent of the code under test."""
    return _period_of(at // 900_000, by, zone)


@cache
def _period_of(quarter: int, by: str, zone: str) -> str:
    moment = datetime.fromtimestamp(quarter * 900, timezone.utc)
    local = moment.astimezone(_zone(zone))
    if by == "hour":
        # Back by quarters to where the wall clock stands at a full hour, or was changed.
        while True:
            before = (moment - timedelta(minutes=15)).astimezone(_zone(zone))
            if local.minute == 0 or before.utcoffset() != local.utcoffset():
                return local.isoformat(timespec="minutes")
            moment -= timedelta(minutes=15)
            local = before
    if by == "week":
        year, week, _ = local.isocalendar()
        return f"{year:04d}-W{week:02d}"
    return local.strftime("%Y-%m" if by == "month" else "%Y-%m-%d")


def grouped(items: Sequence[Any], at: Callable[[Any], int], by: str, zone: str) -> dict[str, list[Any]]:
    """The items by the period in which their moments lie."""
    found: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        found[period_of(at(item), by, zone)].append(item)
    return found


def writings(lives: Sequence[Life]) -> list[tuple[Life, Written]]:
    """Every append that wrote or used something, and each creation."""
    return [(life, append) for life in lives for append in life.appends]


def rank(values: list[int], percent: int) -> int | None:
    """The nearest-rank percentile."""
    return sorted(values)[math.ceil(percent * len(values) / 100) - 1] if values else None


def usage_of(lives: Sequence[Life], by: str, zone: str, model: Any = ...) -> dict[str, tuple[int, ...]]:
    """Conversations, users, messages, tokens (three), requests, created, known, unknown by period.

    A creation is of no model; with ``model`` only what was used by it counts.
    """
    found = {}
    events = [
        (life, one, place == 0)
        for life in lives
        for place, one in enumerate(life.appends)
        if model is ... or one.model == model
    ]
    for label, group in grouped(events, lambda event: event[1].at, by, zone).items():
        tokens = [one.tokens for _, one, _ in group if one.tokens is not None]
        found[label] = (
            len({life.id for life, _, _ in group}),
            len({life.user for life, _, _ in group}),
            sum(one.messages for _, one, _ in group),
            *(sum(one[place] for one in tokens) for place in range(3)),
            len(tokens),
            sum(first for _, _, first in group),
            len(tokens),
            sum(one.tokens is None and one.messages > 0 for _, one, _ in group),
        )
    return found


def failures_of(lives: Sequence[Life], by: str, zone: str) -> dict[str, tuple[int, int, dict[Any, int]]]:
    """Failures, conversations and reasons by period."""
    events = [
        (life, at, reason) for life in lives for at, status, reason in life.states if status == "failed"
    ]
    return {
        label: (len(group), len({life.id for life, _, _ in group}), dict(Counter(one[2] for one in group)))
        for label, group in grouped(events, lambda event: event[1], by, zone).items()
    }


def waits_of(lives: Sequence[Life], by: str, zone: str) -> dict[str, list[int]]:
    """Waits as submitted by the period in which they ended."""
    ends = [
        (two[0], two[0] - one[0])
        for life in lives
        for one, two in zip(life.states, life.states[1:], strict=False)
        if one[1] == "submitted"
    ]
    groups = grouped(ends, lambda end: end[0], by, zone)
    return {label: [wait for _, wait in group] for label, group in groups.items()}


def turns(life: Life) -> Iterator[tuple[int, str]]:
    """When each message was made, and by which side."""
    number = 0
    for append in life.appends:
        for _ in range(append.messages):
            yield append.at, "assistant" if number % 2 else "user"
            number += 1


def durations_of(lives: Sequence[Life], by: str, zone: str) -> dict[str, tuple[list[int], list[int]]]:
    """Durations and times to the first answer of the conversations created in each period."""
    found = {}
    for label, group in grouped(lives, lambda life: life.created, by, zone).items():
        lasted, answered = [], []
        for life in group:
            said = list(turns(life))
            if len(said) > 1:
                lasted.append(said[-1][0] - said[0][0])
                answered.append(said[1][0] - said[0][0])  # the second is the first reply
        found[label] = (lasted, answered)
    return found
