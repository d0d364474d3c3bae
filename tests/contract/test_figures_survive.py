"""Figures after edits, deletes, rewriting, expiry, export and import, forks and renewed roll-ups."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.store import ALL_USERS, ConversationStore, members_of
from convostore.store.synchronous import _sheeting
from support.command_log import CommandLog
from support.servers import Server

DAY = 86_400_000
MONDAY = int(datetime(2026, 3, 2, 9, tzinfo=timezone.utc).timestamp() * 1000)
USAGE = {"input_tokens": 100, "output_tokens": 20, "cached_tokens": 10, "requests": 1}
HI, ANSWER = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}


@dataclass
class World:
    store: ConversationStore
    database: Any
    log: CommandLog
    now: int = MONDAY

    def clock(self) -> int:
        return self.now

    def at(self, days: int) -> ConversationStore:
        """The store on that day after the first."""
        self.now = MONDAY + days * DAY
        return self.store

    def figures(self) -> dict[str, Any]:
        """What every question answers."""
        analytics = self.store.analytics
        found = {
            name: [members_of(row) for row in getattr(analytics, name)(user=ALL_USERS)]
            for name in (
                "usage",
                "conversations",
                "users",
                "messages",
                "statuses",
                "failures",
                "queues",
                "durations",
            )
        }
        for of in ("users", "labels", "models"):
            found[of] = [members_of(row) for row in analytics.top(of, user=ALL_USERS)]
        return found

    def sums(self) -> tuple[int, int, int]:
        """Messages, input tokens and conversations made, in all."""
        rows = self.store.analytics.usage(user=ALL_USERS, by="month")
        return (
            sum(row.messages for row in rows),
            sum(row.input_tokens for row in rows),
            sum(row.created for row in rows),
        )


def opened(client: Any, name: str, log: CommandLog) -> World:
    world = World(ConversationStore(client[name]), client[name], log)
    world.store = ConversationStore(client[name], clock=world.clock)
    world.store.setup()
    return world


@pytest.fixture
def client(replica_set: Server) -> Iterator[tuple[Any, CommandLog]]:
    log = CommandLog()
    with MongoClient[dict[str, Any]](replica_set.uri(), event_listeners=[log]) as client:
        yield client, log


@pytest.fixture
def world(client: tuple[Any, CommandLog], database_name: str) -> World:
    return opened(client[0], database_name, client[1])


def some_days(world: World, days: int = 4) -> list[int]:
    """A conversation a day, each going on the day after; one fails, one has a history of its own."""
    ids = []
    for day in range(days):
        user, label = ("alice", "travel") if day % 2 else ("bob", None)
        made = world.at(day).create(Conversation(user=user, label=label, messages=[HI]))
        ids.append(made.id)
        world.now += 60_000
        world.store.set_status(made.id, "working")
        world.now += 60_000
        world.store.append(made.id, ANSWER, usage=USAGE, model="small", status="completed")
        world.at(day + 1).append(made.id, [HI, ANSWER])
    world.store.set_status(ids[0], "working")
    world.store.set_status(ids[0], "failed", reason="no answer")
    return ids


def test_edits_and_removals_take_nothing_back(world: World) -> None:
    first, second, *_ = some_days(world)
    before = world.figures()
    world.at(9).edit(first, 0, {"role": "user", "content": "edited"})
    record = world.store.get(second)
    del record.messages[1:3]
    world.store.save(record)
    after = world.figures()
    assert world.sums() == (16, 400, 4)
    assert [row for row in after["usage"] if row["messages"]] == [
        row for row in before["usage"] if row["messages"]
    ]
    assert sum(row["edits"] for row in after["messages"]) == 2
    world.store.undo(second)
    assert world.sums() == (16, 400, 4), "what comes back was written before"
    world.store.analytics.rebuild()
    assert world.sums() == (16, 400, 4)


def test_rewriting_changes_no_figure(world: World) -> None:
    first, *_ = some_days(world)
    before = world.figures()
    world.store.rewrite(first, lambda message: {**message, "content": "***"})
    assert world.figures() == before
    world.store.analytics.rebuild()
    assert world.figures() == before


@pytest.mark.parametrize("rolled_up", [True, False], ids=["rolled up before", "never rolled up"])
def test_figures_of_what_is_deleted_are_kept_unless_dropped(world: World, rolled_up: bool) -> None:
    first, second, third, _ = some_days(world)
    if rolled_up:
        world.figures()
    kept = world.at(5).delete(first)
    assert kept.existed
    world.store.delete(second, figures="keep", user="alice")
    assert world.sums() == (16, 400, 4)
    before = world.figures()
    world.store.analytics.rebuild()
    assert world.figures() == before
    world.store.delete(third, figures="drop")
    assert world.sums() == (12, 300, 3)
    assert not world.store.delete(first, figures="drop").existed
    assert world.sums() == (8, 200, 2)
    assert not world.store.delete(second, figures="drop", user="bob").existed
    assert world.sums() == (8, 200, 2), "another user's"
    before = world.figures()
    world.store.analytics.rebuild()
    assert world.figures() == before
    assert world.store.check().findings == []


def test_expiry_keeps_or_drops_figures(world: World) -> None:
    some_days(world)
    assert world.at(40).delete_expired(MONDAY + 2 * DAY, user=ALL_USERS) == 2
    assert world.sums() == (16, 400, 4)
    assert world.store.delete_expired(MONDAY + 3 * DAY, user=ALL_USERS, figures="drop") == 1
    assert world.sums() == (12, 300, 3)


def test_kept_figures_hold_nothing_that_was_said(world: World) -> None:
    first, *_ = some_days(world)
    world.store.delete(first)
    rows = list(world.database.ledger.find({"_id.c": first}))
    assert rows and all("hello" not in repr(row) and "content" not in repr(row) for row in rows)
    names = {name for row in rows for name in row}
    assert names <= {"_id", "user", "label", "h", "v", "kept", "status", "lasted", "answered", "waits"} | {
        "failures",
        *"niocrkxezbgypd",
    }


def exported(store: ConversationStore) -> bytes:
    pieces: list[bytes] = []
    store.export_conversations(pieces.append, user=ALL_USERS)
    return b"".join(pieces)


def test_export_and_import_bring_the_same_figures(
    world: World, client: tuple[Any, CommandLog], database_name: str
) -> None:
    ids = some_days(world)
    world.store.fork(ids[1])
    before = world.figures()
    data = exported(world.store)
    other = opened(client[0], f"{database_name}-copy", client[1])
    other.now = MONDAY + 300 * DAY
    other.store.import_conversations(data)
    assert other.figures() == before
    client[0].drop_database(other.database.name)


def test_what_comes_back_from_an_export_counts_once(world: World) -> None:
    first, *_ = some_days(world)
    before = world.figures()
    data = exported(world.store)
    world.at(30).delete(first)
    assert world.figures() == before
    world.store.import_conversations(data)
    assert world.figures() == before
    world.store.analytics.rebuild()
    assert world.figures() == before
    assert world.store.check().findings == []


def test_an_id_used_again_keeps_the_figures_of_its_first_life(world: World) -> None:
    first, *_ = some_days(world)
    world.at(5).delete(first)
    world.store.create(Conversation(id=first, user="bob", messages=[HI]))
    assert world.sums() == (17, 400, 5)
    world.store.analytics.rebuild()
    assert world.sums() == (17, 400, 5)
    world.store.delete(first, figures="drop")
    assert world.sums() == (12, 300, 3), "both lives"


def test_a_fork_counts_what_it_shares_once(world: World) -> None:
    first, *_ = some_days(world)
    fork = world.at(6).fork(first)
    assert world.sums() == (16, 400, 5)
    world.store.append(fork.id, ANSWER, usage=USAGE)
    rows = world.store.analytics.conversations(user=ALL_USERS, by="month")
    assert [(row.created, row.forked) for row in rows] == [(5, 1)]
    assert world.sums() == (17, 500, 5)


def test_imported_messages_count_at_their_own_times_else_at_creation(world: World) -> None:
    world.now = MONDAY + 100 * DAY
    timed = [{**HI, "timestamp": MONDAY}, {**ANSWER, "timestamp": MONDAY + 2 * DAY}, HI]
    record = {
        "_id": 0,
        "user": "alice",
        "messages": timed,
        "resources": [],
        "artifacts": [],
        "status": "completed",
        "usage": USAGE,
        "created_at": MONDAY,
        "updated_at": MONDAY + 2 * DAY,
    }
    report = world.store.import_conversations(json.dumps(record).encode() + b"\n", format="anda")
    assert report.imported == 1
    rows = world.store.analytics.usage(user="alice")
    assert [(row.label, row.messages, row.by_creation) for row in rows] == [
        ("2026-03-02", 2, 1),
        ("2026-03-03", 0, 0),
        ("2026-03-04", 1, 0),
    ]
    assert (rows[0].input_tokens, rows[0].tokens_by_creation) == (100, 120)
    (row,) = world.store.analytics.conversations(user="alice", by="month")
    assert (row.created, row.imported) == (1, 1)


def test_a_label_that_changes_takes_its_figures_along(world: World) -> None:
    first, *_ = some_days(world)
    world.store.update(first, label="work")
    rows = world.store.analytics.top("labels", user=ALL_USERS)
    assert {row.name: row.conversations for row in rows} == {"travel": 2, "work": 1, None: 1}
    usage = world.store.analytics.usage(user=ALL_USERS, by="month", label="work")
    assert [row.messages for row in usage] == [4]
    assert world.sums() == (16, 400, 4)


def test_reasons_and_statuses_follow_the_conversation(world: World) -> None:
    first, second, *_ = some_days(world)
    world.store.update(first, failed_reason="the tool did not answer")
    world.store.set_status(first, "working")
    world.store.set_status(first, "failed", reason="again")
    rows = world.store.analytics.failures(user=ALL_USERS, by="month")
    assert [(row.failures, row.conversations) for row in rows] == [(2, 1)]
    assert {one.reason for one in rows[0].reasons} == {"no answer", "again"}
    record = world.store.get(second)
    record.status = "working"
    world.store.save(record)
    (row,) = world.store.analytics.statuses(user=ALL_USERS, by="month")
    assert (row.working, row.failed, row.completed) == (1, 1, 2)


def test_texts_that_wait_are_told_until_they_are_taken(world: World) -> None:
    first, *_ = some_days(world)

    def waits() -> dict[str, tuple[int, int | None]]:
        return {row.queue: (row.waiting, row.longest) for row in world.store.analytics.waiting(user="bob")}

    world.store.steer(first, "use the train")
    world.now += 5_000
    world.store.follow_up(first, "and then?")
    world.store.create(Conversation(user="bob"))
    world.now += 1_000
    assert waits() == {"submitted": (1, 1_000), "steering": (1, 6_000), "follow_up": (1, 1_000)}
    taken = world.store.take(first)
    assert waits()["steering"] == (1, 6_000), "under a lease it still waits"
    world.store.append(first, HI, took=taken.receipt)
    assert waits() == {"submitted": (1, 1_000), "steering": (0, None), "follow_up": (0, None)}


def test_a_roll_up_of_one_more_day_writes_only_what_changed(world: World) -> None:
    ids = some_days(world, days=12)
    world.figures()
    rows = {str(row["_id"]): row for row in world.database.ledger.find()}
    world.at(20).append(ids[3], ANSWER, usage=USAGE)
    world.log.clear()
    assert world.store.analytics.advance() == 1
    inserted = [one for one in world.log.sent if one.name == "insert" and one.collection == "ledger"]
    replaced = [one for one in world.log.sent if one.name == "update" and one.collection == "ledger"]
    sheets = [one for one in world.log.sent if one.name == "update" and one.collection == "sheets"]
    assert [len(one.command["documents"]) for one in inserted] == [1]
    changed = [str(row["u"]["_id"]) for one in replaced for row in one.command["updates"]]
    assert len(changed) == 1, "how long it lasted stands where it was made"
    hours = [row["u"]["h"] for one in sheets for row in one.command["updates"] if "h" in row["u"]]
    assert hours == [world.now // 3_600_000], "its hour of birth has the same sheet as before"
    assert not [one for one in world.log.sent if one.name == "delete"]
    after = {str(row["_id"]): row for row in world.database.ledger.find()}
    assert [id for id, row in rows.items() if after[id] != row] == changed


def test_a_repeated_roll_up_changes_nothing(world: World) -> None:
    some_days(world)
    world.figures()
    held = {name: list(world.database[name].find()) for name in ("ledger", "sheets")}
    world.database.conversations.update_many({}, {"$set": {"dirty": 0}})
    assert world.store.analytics.advance() == 4
    assert {name: list(world.database[name].find()) for name in ("ledger", "sheets")} == held


# What the doctor sees


def test_sheets_of_an_older_format_are_made_anew(world: World) -> None:
    some_days(world)
    before = world.figures()
    held = list(world.database.sheets.find({}, {"f": 0}, sort=[("_id", 1)]))
    world.database.sheets.update_many(
        {"_id.d": {"$gt": 0}}, {"$unset": dict.fromkeys(("dc", "du", "cs", "ch", "us", "uh", "sc"), "")}
    )
    world.database.meta.update_one({"_id": "rollup"}, {"$unset": {"format": ""}})
    assert world.figures() == before
    assert list(world.database.sheets.find({}, {"f": 0}, sort=[("_id", 1)])) == held
    world.log.clear()
    assert world.figures() == before
    assert not [one for one in world.log.sent if one.collection == "sheets" and one.name == "update"]


def test_hours_of_many_rows_are_made_a_few_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    some_days(world)
    before = world.figures()
    held = list(world.database.sheets.find({}, {"f": 0}, sort=[("_id", 1)]))
    monkeypatch.setattr(_sheeting, "_ROWS", 2)
    world.log.clear()
    world.store.analytics.rebuild()
    reads = [
        one.command["filter"]["h"]["$in"]
        for one in world.log.sent
        if one.name == "find" and one.collection == "ledger" and "h" in one.command["filter"]
    ]
    assert len(reads) > 3
    for hours in reads:
        assert len(hours) == 1 or world.database.ledger.count_documents({"h": {"$in": hours}}) <= 2
    assert list(world.database.sheets.find({}, {"f": 0}, sort=[("_id", 1)])) == held
    assert world.figures() == before


BREAKS: dict[str, tuple[str, Any]] = {
    "a row says more": (
        "ledger_rows",
        lambda database: database.ledger.update_one({"n": {"$gt": 0}}, {"$inc": {"n": 1}}),
    ),
    "a row is gone": ("ledger_rows", lambda database: database.ledger.delete_one({"k": 1})),
    "a row too many": (
        "ledger_rows",
        lambda database: database.ledger.insert_one(
            {**database.ledger.find_one({"n": 1}), "_id": {"c": 1, "l": 5, "q": 9, "m": ""}}
        ),
    ),
    "a sheet says more": (
        "sheet",
        lambda database: database.sheets.update_one({"t.n": {"$gt": 0}}, {"$inc": {"t.n": 1}}),
    ),
    "a sheet is gone": ("sheet", lambda database: database.sheets.delete_one({"t.n": {"$gt": 0}})),
    "a sheet's user is another": (
        "sheet",
        lambda database: database.sheets.update_one(
            {"h": {"$gt": 0}, "us": "bob"}, {"$set": {"us": ["mallory"]}}
        ),
    ),
    "a day's total says more": (
        "totals",
        lambda database: database.sheets.update_one({"_id.d": {"$gt": 0}}, {"$inc": {"n.9": 1}}),
    ),
    "a day's user is another": (
        "totals",
        lambda database: database.sheets.update_one(
            {"_id.d": {"$gt": 0}, "us": "bob"}, {"$set": {"us.$": "mallory"}}
        ),
    ),
    "a day has a further part": (
        "totals",
        lambda database: database.sheets.insert_one(
            {
                **database.sheets.find_one({"_id.d": {"$gt": 0}, "us": "bob"}, {"us": 1, "uh": 1}),
                "_id": {**database.sheets.find_one({"_id.d": {"$gt": 0}, "us": "bob"})["_id"], "p": 1},
            }
        ),
    ),
    "a sheet too many": (
        "sheet",
        lambda database: database.sheets.insert_one(
            {**database.sheets.find_one({"h": {"$gt": 0}}), "_id": {"h": 7, "p": 0}, "h": 7}
        ),
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_the_doctor_sees_figures_that_do_not_agree(world: World, name: str) -> None:
    some_days(world)
    before = world.figures()
    assert world.store.check().findings == []
    kind, damage = BREAKS[name]
    damage(world.database)
    report = world.store.check()
    assert kind in {finding.kind for finding in report.broken}
    assert all("--rebuild" in finding.detail for finding in report.broken)
    world.store.analytics.rebuild()
    assert world.figures() == before
    assert world.store.check().findings == []


def test_the_doctor_sees_sealed_sums_that_are_not_the_records(world: World) -> None:
    made = world.store.create(Conversation(user="alice"))
    for _ in range(90):
        world.store.append(made.id, HI, usage=USAGE)
    assert world.database.changes.update_one({"c": made.id}, {"$inc": {"sums.0.i": 1}}).modified_count
    assert {finding.kind for finding in world.store.check().broken} == {"ledger"}


def test_the_doctor_removes_figures_of_nothing(world: World) -> None:
    some_days(world)
    before = world.figures()
    row = world.database.ledger.find_one({"n": 1})
    world.database.ledger.insert_one({**row, "_id": {"c": 999, "l": 5, "q": row["_id"]["q"], "m": ""}})
    found = {(one.kind, one.severity, one.repaired) for one in world.store.check(repair=True).findings}
    assert ("ledger_rows", "leftover", True) in found
    assert world.figures() == before
    assert world.store.check().findings == []
