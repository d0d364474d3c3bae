"""What figures cost (design 10): a year by the hour beside one aggregation over all messages, the command
line's answer, the roll-up of one more day.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from pymongo import MongoClient
from typer.testing import CliRunner

from convostore.cli import app
from convostore.store import ALL_USERS, ConversationStore
from support.command_log import CommandLog
from support.measuring import Figure, Figures, interleaved, message
from support.scale import scaled
from support.servers import Server
from support.year import HOUR, LENGTH, START, Life, make_year, store_year

from .conftest import Bench

pytestmark = pytest.mark.benchmark

DAY = 24 * HOUR


def put_messages(bench: Bench, lives: list[Life]) -> int:
    """The same year, a document for each message; the usage of an append stands on its last message."""
    rows: list[dict[str, Any]] = []
    count = 0
    for life in lives:
        number = 0
        for append in life.appends:
            for place in range(append.messages):
                row = {"c": life.id, "n": number, "user": life.user, "at": append.at, **message(number, 500)}
                if append.tokens is not None and place == append.messages - 1:
                    names = ("input", "output", "cached")
                    row |= dict(zip(names, append.tokens, strict=True)) | {"requests": 1}
                rows.append(row)
                number += 1
        count += number
        if len(rows) > 20_000:
            bench.bare.insert_many(rows, ordered=False)
            rows = []
    if rows:
        bench.bare.insert_many(rows, ordered=False)
    bench.bare.create_index([("at", 1)])
    return count


def from_messages(bench: Bench) -> list[dict[str, Any]]:
    """Usage by hour, computed from the messages in one aggregation."""
    counted = {name: {"$sum": f"${name}"} for name in ("input", "output", "cached", "requests")}
    return list(
        bench.bare.aggregate(
            [
                {"$match": {"at": {"$gte": START, "$lt": START + LENGTH}}},
                {
                    "$group": {
                        "_id": {"$subtract": ["$at", {"$mod": ["$at", HOUR]}]},
                        "messages": {"$sum": 1},
                        "conversations": {"$addToSet": "$c"},
                        "users": {"$addToSet": "$user"},
                        **counted,
                    }
                },
                {
                    "$set": {
                        "conversations": {"$size": "$conversations"},
                        "users": {"$size": "$users"},
                    }
                },
                {"$sort": {"_id": 1}},
            ],
            allowDiskUse=True,
        )
    )


def test_a_year_of_usage(replica_bench: Bench, replica_set: Server, figures: Figures) -> None:
    lives = make_year(scaled(100_000, at_least=500))
    store, database = replica_bench.store, replica_bench.database
    store_year(database, lives, cut=False)
    messages = put_messages(replica_bench, lives)
    began = time.perf_counter()
    store.analytics.advance()
    rolled_up = time.perf_counter() - began
    year = {"user": ALL_USERS, "since": START, "until": START + LENGTH}
    of = f"{len(lives):,} conversations with {messages:,} messages"

    rows = store.analytics.usage(**year, by="hour")
    computed = from_messages(replica_bench)
    assert [(row.start, row.messages, row.input_tokens) for row in rows if row.messages] == [
        (row["_id"], row["messages"], row["input"]) for row in computed
    ]

    rounds = 5
    taken = interleaved(
        {
            "roll-ups": lambda _: store.analytics.usage(**year, by="hour"),
            "messages": lambda _: from_messages(replica_bench),
            "New York": lambda _: store.analytics.usage(**year, by="day", tz="America/New_York"),
            "Kolkata": lambda _: store.analytics.usage(**year, by="hour", tz="Asia/Kolkata"),
            "a label": lambda _: store.analytics.usage(**year, by="day", label="work"),
            "a user": lambda _: store.analytics.usage(**{**year, "user": "user-1"}, by="day"),
            "users": lambda _: store.analytics.users(**year, by="week"),
            "statuses": lambda _: store.analytics.statuses(**year, by="week"),
            "durations": lambda _: store.analytics.durations(**year, by="week"),
            "top users": lambda _: store.analytics.top("users", **year),
        },
        rounds,
    )
    ours, theirs = taken.pop("roll-ups"), taken.pop("messages")
    figures.add(
        Figure(
            f"usage by hour over a year, aggregated from messages / from roll-ups: {of}",
            replica_bench.on,
            theirs.median / ours.median,
            at_least=50,
            detail=f"{theirs.median:.2f} s to {ours.median * 1e3:.0f} ms",
        )
    )
    for name, timing in taken.items():
        figures.add(Figure(f"a year of figures: {name}", replica_bench.on, timing.median, "s"))
    figures.add(Figure(f"first roll-up: {of}", replica_bench.on, rolled_up, "s"))

    uri = replica_set.uri(database.name)

    def ask(_: int) -> None:
        done = CliRunner().invoke(app, ["stats", "usage", "--by", "day", "--uri", uri])
        assert done.exit_code == 0 and len(done.output.splitlines()) > 300, done.output

    asked = interleaved({"stats": ask}, rounds)["stats"]
    figures.add(
        Figure(
            "stats usage --by day, from connect to output", replica_bench.on, asked.median, "s", at_most=0.3
        )
    )
    _one_more_day(replica_bench, replica_set, lives, figures)


def _one_more_day(bench: Bench, server: Server, lives: list[Life], figures: Figures) -> None:
    """What a day's writes let the roll-up do: so many conversations of a 366th of the year."""
    log = CommandLog()
    with MongoClient[dict[str, Any]](server.uri(), event_listeners=[log]) as client:
        now = START + LENGTH + DAY
        store = ConversationStore(client[bench.database.name], clock=lambda: now)
        touched = max(len(lives) // 366, 2)
        for life in lives[:touched]:
            now = START + LENGTH + DAY + life.id % DAY
            store.append(life.id, {"role": "user"}, usage={"input_tokens": 1})
        rows, sheets = (bench.database[name].count_documents({}) for name in ("ledger", "sheets"))
        log.clear()
        began = time.perf_counter()
        assert store.analytics.advance() == touched
        seconds = time.perf_counter() - began
        written = {"ledger": 0, "sheets": 0}
        for one in log.sent:
            if one.collection in written:
                for part in ("documents", "updates", "deletes"):
                    written[one.collection] += len(one.command.get(part, ()))
    detail = (
        f"{written['ledger']:,} of {rows:,} rows and {written['sheets']:,} of {sheets:,} sheets "
        f"for {touched:,} conversations"
    )
    figures.add(Figure("roll-up of one more day", bench.on, seconds, "s", detail=detail))
