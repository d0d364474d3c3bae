"""Migrations of a live database: what they make of it, whoever writes, fails or dies meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from bson.int64 import Int64
from pymongo import MongoClient
from pymongo.database import Database

from convostore.schemas import Conversation
from convostore.schemas.errors import ConflictError, QueryError, SchemaVersionError
from convostore.store import ALL_USERS, ConversationStore, MigrationReport
from convostore.store.layout import SCHEMA_VERSION
from support.command_log import CommandLog
from support.faces import AsyncFace, Face, SyncFace
from support.older_documents import (
    EMPTY,
    IMPORTED,
    LATER,
    LONG,
    Document,
    anda,
    clock,
    documents,
    invalid_records,
    load,
    put,
    read_by_the_first_release,
    seen,
    state,
    valid_records,
    written_by_the_first_release,
)
from support.servers import Server

SAID = {"role": "user", "content": "said meanwhile"}
READS = {"find", "aggregate", "getMore", "listCollections", "listIndexes"}
FEW = [1, LONG, EMPTY, IMPORTED]


@pytest.fixture
def database(replica_set: Server, database_name: str) -> Iterator[Database[Document]]:
    with replica_set.client() as client:
        yield client[database_name]


@pytest.fixture
def store(database: Database[Document]) -> ConversationStore:
    return ConversationStore(database, clock=clock)


@pytest.fixture(params=["sync", "async"])
def face(request: pytest.FixtureRequest, replica_set: Server) -> Iterator[Face]:
    kinds = {"sync": SyncFace, "async": AsyncFace}
    opened = kinds[request.param](replica_set.uri())
    yield opened
    opened.close()


def emptied(database: Database[Document]) -> None:
    for name in database.list_collection_names():
        database[name].delete_many({})


def test_what_the_first_release_wrote_is_migrated(
    face: Face, database: Database[Document], database_name: str
) -> None:
    load(database, bare=False)
    store = face.open(database_name, clock=clock)
    assert store.setup().pending and store.setup().schema_version == 1
    before = store.migrations.status()
    assert (before.version, before.known, before.documents, before.pending) == (
        1,
        SCHEMA_VERSION,
        {1: 13},
        True,
    )
    report = store.migrations.run()
    assert report and (report.examined, report.migrated, report.version) == (13, 13, SCHEMA_VERSION)
    after = store.migrations.status()
    assert (after.version, after.documents, after.pending) == (SCHEMA_VERSION, {SCHEMA_VERSION: 13}, False)
    assert not store.setup().pending
    assert seen(store, map(int, read_by_the_first_release())) == read_by_the_first_release()
    assert not store.check().findings
    again = store.migrations.run()
    assert again and (again.examined, again.version) == (0, SCHEMA_VERSION)


def test_what_the_first_release_did_not_keep_is_there_after_a_migration(
    database: Database[Document], store: ConversationStore
) -> None:
    load(database, bare=False)
    before = {one["_id"]: one for one in database.conversations.find()}
    assert "dirty" not in before[EMPTY] and "log_before" not in before[LONG]
    store.migrations.run()
    after = {one["_id"]: one for one in database.conversations.find()}
    assert after[EMPTY]["dirty"] == before[EMPTY]["created_at"] // 3_600_000
    sealed = [record for one in database.changes.find({"c": LONG}) for record in one["recs"]]
    assert after[LONG]["log_before"] == max(record["at"] for record in sealed) + 1
    figures = store.analytics.usage(user="2vxsx-fae", since=1_761_350_400_000, until=1_761_696_000_000)
    assert [row.messages for row in figures] == [4, 6, 5, 4], "an import counts at its messages' times"
    said = {"role": "assistant", "content": [{"type": "Text", "text": "answer 3 " + "x" * 40}]}
    messages = [{"role": "user", "content": "question 3"}, said]
    usage = {"input_tokens": 3, "output_tokens": 2, "requests": 1}
    assert store.append(LONG, messages, usage=usage, key="long-3").replayed, "a call of that release"


def test_what_was_migrated_is_exported_imported_and_exported_the_same(
    database: Database[Document], store: ConversationStore, database_name: str
) -> None:
    load(database, raw=valid_records())
    store.migrations.run()
    other = ConversationStore(database, clock=clock, prefix="other_")
    other.setup()
    first: list[bytes] = []
    store.export_conversations(first.append, user=ALL_USERS)
    assert other.import_conversations(b"".join(first)).imported == len(valid_records()) + 13
    second: list[bytes] = []
    other.export_conversations(second.append, user=ALL_USERS)
    assert b"".join(second) == b"".join(first)
    assert not other.check().findings


def test_records_as_somebody_put_them_become_conversations(
    face: Face, database: Database[Document], database_name: str
) -> None:
    put(database, valid_records())
    store = face.open(database_name, clock=clock)
    with pytest.raises(ConflictError, match="migrate run"):
        store.setup()
    ids = sorted(int(str(one["_id"])) for one in valid_records())
    lazily = seen(store, ids)
    report = store.migrations.run()
    assert report and report.migrated == len(ids) and report.version == SCHEMA_VERSION
    assert "segments" in report.prepared and "validator of conversations" in report.prepared
    assert seen(store, ids) == lazily, "what was read before is what became of it"
    assert not store.check().findings
    head = database.conversations.find_one({"_id": 602})
    assert head is not None
    assert head["source"]["format"] == "anda" and head["source"]["id"] == "602@1700000000000"
    assert (head["schema_version"], head["embedded_count"], len(head["segments"])) == (SCHEMA_VERSION, 50, 1)
    assert store.create(Conversation(user="alice")).id == 607, "numbers go on behind those that are there"
    unknown = database.conversations.find_one({"_id": 605}, {"unknown": 1})
    assert unknown is not None and unknown["unknown"] == {"vendor": {"x": [1, None]}}
    store.delete(ids[-1], figures="drop")
    rows = store.analytics.usage(user="2vxsx-fae", since=1_699_920_000_000, until=1_700_092_800_000)
    assert [row.messages for row in rows] == [8, 25] and rows[0].created == len(ids) - 1
    assert store.find(user="2vxsx-fae", status="submitted").items[0].id == 603


def test_an_import_of_an_adopted_record_finds_it(
    database: Database[Document], store: ConversationStore
) -> None:
    put(database, [anda(601)])
    store.migrations.run()
    text = Conversation(**{**anda(601), "_id": 601}).to_json().encode()
    report = store.import_conversations(text, format="anda")
    assert (report.read, report.unchanged) == (1, 1)


def test_a_record_that_was_imported_before_is_refused_by_name(
    database: Database[Document], store: ConversationStore
) -> None:
    store.setup()
    text = Conversation(**{**anda(601), "_id": 601}).to_json().encode()
    store.create(Conversation(id=601, user="alice"))
    assert store.import_conversations(text, format="anda").renumbered == 1
    store.delete(601)
    put(database, [anda(601)])
    report = store.migrations.run()
    assert (report.migrated, report.refused) == (0, 1)
    assert report.refusals[0].id == "601" and "imported under another id" in report.refusals[0].reason
    assert database.segments.count_documents({}) == 0


def test_what_is_no_conversation_is_reported_and_left_alone(
    database: Database[Document], store: ConversationStore
) -> None:
    bad = invalid_records()
    put(database, [anda(601), *bad.values()])
    before = documents(database, [one["_id"] for one in bad.values()])
    report = store.migrations.run()
    assert not report and (report.examined, report.migrated) == (1 + len(bad), 1)
    assert report.refused == len(report.refusals) == len(bad) and report.remaining == 0
    reasons = {refusal.id: refusal.reason for refusal in report.refusals}
    for path, one in bad.items():
        assert reasons[str(one["_id"])].startswith(path)
    assert report.version == SCHEMA_VERSION
    assert documents(database, [one["_id"] for one in bad.values()]) == before
    assert not store.setup(), "and the store goes on"
    assert store.create(Conversation(user="alice")).id == 708


def test_a_collection_of_something_else_is_refused_untouched(
    database: Database[Document], store: ConversationStore
) -> None:
    foreign = [{"_id": number, "conversationId": str(number), "messages": []} for number in range(1, 4)]
    put(database, foreign)
    for dry_run in (True, False):
        with pytest.raises(ConflictError, match="another database or a prefix"):
            store.migrations.run(dry_run=dry_run)
    assert database.list_collection_names() == ["conversations"]
    assert list(database.conversations.find()) == foreign


def test_a_dry_run_writes_nothing_and_tells_what_a_run_does(
    replica_set: Server, database: Database[Document], database_name: str
) -> None:
    load(database, FEW, raw=[*valid_records(), *invalid_records().values()])
    before = {name: list(database[name].find().sort("_id")) for name in database.list_collection_names()}
    log = CommandLog()
    with MongoClient[Document](replica_set.uri(), event_listeners=[log]) as client:
        watched = ConversationStore(client[database_name], clock=clock)
        tried = watched.migrations.run(dry_run=True)
        watched.migrations.status()
        assert set(log.names) <= READS
    after = {name: list(database[name].find().sort("_id")) for name in database.list_collection_names()}
    assert after == before
    done = ConversationStore(database, clock=clock).migrations.run()
    for name in ("target", "prepared", "examined", "migrated", "refused", "refusals"):
        assert getattr(tried, name) == getattr(done, name), name


def test_the_phases_are_run_apart_in_a_rolling_deploy(
    database: Database[Document], store: ConversationStore
) -> None:
    load(database, FEW, bare=False)
    pre = store.migrations.run(phase="pre")
    assert "ledger" in pre.prepared and (pre.migrated, pre.remaining, pre.version) == (0, 4, 1)
    assert store.migrations.status().steps[-1].prepared
    store.append(1, SAID)  # of the new release
    written = {name: value for name, value in anda_of_the_old_release(database).items()}
    database.conversations.insert_one(written)  # of the old one, whose validator still takes it
    post = store.migrations.run(phase="post")
    assert (post.prepared, post.examined, post.migrated, post.version) == ((), 4, 4, SCHEMA_VERSION)
    assert not store.check().findings


def test_what_the_old_release_seals_beside_the_new_one_is_put_right(
    database: Database[Document], store: ConversationStore
) -> None:
    """In a rolling deploy it goes on with conversations that were lifted: it asks for no version."""
    load(database, FEW, bare=False)
    store.migrations.run(phase="pre")
    store.append(LONG, SAID)
    (old,) = [one["document"] for one in written_by_the_first_release() if _is_sealed(one)]
    database.changes.update_one({"_id": old["_id"]}, {"$set": {"sums": old["sums"]}})
    drift = {"$unset": {"log_before": ""}, "$inc": {"embedded_bytes": -500}}
    database.conversations.update_one({"_id": LONG}, drift)
    assert {found.kind for found in store.check().broken} == {"ledger", "embedded_bytes"}
    report = store.migrations.run(phase="post")
    assert report and (report.migrated, report.mended) == (3, 1)
    assert not store.check().findings
    head = database.conversations.find_one({"_id": LONG})
    assert head is not None and head["log_before"] > old["recs"][-1]["at"]
    assert store.migrations.run().mended == 0


def _is_sealed(line: Document) -> bool:
    """Whether it is the last of the long conversation's sealed change records."""
    return line["collection"] == "changes" and line.get("document", {}).get("to") == 24


def anda_of_the_old_release(database: Database[Document]) -> Document:
    """A conversation that a process of the first release makes."""
    found = database.conversations.find_one({"_id": EMPTY})
    assert found is not None
    return {**found, "_id": Int64(900), "lineage": Int64(900)}


def test_the_post_phase_needs_the_pre_phase(store: ConversationStore) -> None:
    with pytest.raises(ConflictError, match="pre phase first"):
        store.migrations.run(phase="post")


def test_a_run_stops_at_the_version_asked_for(database: Database[Document], store: ConversationStore) -> None:
    put(database, [anda(601, 90), anda(602)])
    first = store.migrations.run(to=1)
    assert first and (first.target, first.version) == (1, 1)
    assert store.migrations.status().documents == {1: 2} and store.setup().pending
    assert not store.check().findings
    assert store.migrations.run() and store.migrations.status().documents == {SCHEMA_VERSION: 2}
    with pytest.raises(QueryError, match="no way back"):
        store.migrations.run(to=1)
    for wrong in (0, SCHEMA_VERSION + 1, True, "1"):
        with pytest.raises(QueryError):
            store.migrations.run(to=wrong)  # type: ignore[arg-type]


def test_a_database_of_a_newer_release_is_refused_untouched(
    replica_set: Server, database: Database[Document], database_name: str
) -> None:
    load(database, [1])
    later = SCHEMA_VERSION + 1
    database.meta.update_one({"_id": "schema"}, {"$set": {"version": later, "digest": "newer"}})
    database.meta.update_one({"_id": "conversation_ids"}, {"$set": {"least": later}})
    before = {name: list(database[name].find()) for name in database.list_collection_names()}
    store = ConversationStore(database)
    calls: list[Callable[[], Any]] = [
        store.setup,
        store.migrations.status,
        store.migrations.run,
        lambda: store.migrations.run(dry_run=True),
        lambda: store.create(Conversation(user="alice")),
        lambda: ConversationStore.connect(replica_set.uri(database_name)).__enter__(),
    ]
    for call in calls:
        with pytest.raises(SchemaVersionError, match="upgrade convostore; nothing was changed"):
            call()
    assert {name: list(database[name].find()) for name in database.list_collection_names()} == before


def test_a_large_record_is_guarded_by_its_members(
    database: Database[Document], store: ConversationStore
) -> None:
    messages = [{"role": "user", "content": "n" * 9_000_000}, {"role": "user", "content": "small"}]
    put(database, [anda(601, messages=messages)])
    assert store.head(601).message_count == 2
    assert store.migrations.run()
    assert store.get(601).messages == messages and not store.check().findings


# Others meanwhile


class Between(CommandLog):
    """Lets somebody act just before command number ``place`` is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.place: int | None = None
        self.act: Callable[[], Any] = lambda: None

    def started(self, event: Any) -> None:
        super().started(event)
        if self.place is not None and len(self.sent) == self.place + 1:
            self.place = None
            self.act()


def appended(store: ConversationStore, database: Database[Document]) -> None:
    """A process of this release writes."""
    for id in (LONG, IMPORTED, 602):
        store.append(id, SAID, key="meanwhile")


def pushed_by_the_first_release(store: ConversationStore, database: Database[Document]) -> None:
    """A process of the first release writes: it asks for no schema version."""
    for id in (LONG, IMPORTED):
        entry = {"made": Int64(LATER), "m": SAID}
        update = {
            "$push": {"messages": entry, "log": {"at": Int64(LATER), "k": "meanwhile"}},
            "$inc": {
                "version": 1,
                "revision": 1,
                "next_entry": Int64(1),
                "embedded_count": 1,
                "embedded_bytes": Int64(90),
            },
            "$max": {"updated_at": Int64(LATER)},
            "$min": {"dirty": Int64(LATER // 3_600_000)},
        }
        assert database.conversations.update_one({"_id": id, "log.k": {"$ne": "meanwhile"}}, update)


def written_by_the_other_program(store: ConversationStore, database: Database[Document]) -> None:
    """The program whose record it is writes, as long as it is its own."""
    query = {"_id": 602, "schema_version": {"$exists": False}}
    update = {"$push": {"messages": SAID}, "$set": {"updated_at": 1_700_000_999_999}}
    database.conversations.update_one(query, update)


@pytest.mark.parametrize("writer", [appended, pushed_by_the_first_release, written_by_the_other_program])
def test_a_writer_between_any_two_commands_loses_nothing(
    replica_set: Server, database: Database[Document], database_name: str, writer: Callable[..., None]
) -> None:
    store = ConversationStore(database, clock=clock)
    between = Between()

    def loaded() -> None:
        emptied(database)
        load(database, [LONG, IMPORTED], raw=[anda(602, 90)])

    with MongoClient[Document](replica_set.uri(), event_listeners=[between]) as client:
        migrating = ConversationStore(client[database_name], clock=clock)
        loaded()
        between.clear()
        assert migrating.migrations.run(phase="post")
        commands = len(between.sent)
        told = {id: len(store.get(id).messages) for id in (LONG, IMPORTED, 602)}
        states = set()
        for place in range(commands):
            loaded()
            between.clear()
            between.act, between.place = lambda: writer(store, database), place
            report = migrating.migrations.run(phase="post")
            assert report and report.version == SCHEMA_VERSION
            assert not store.check().broken
            for id, count in told.items():
                messages = store.get(id).messages
                said = messages.count(SAID)
                assert len(messages) == count + said and said <= 1
                assert said == 1 or writer is not appended
                assert [entry.id for entry in store.entries(id)] == sorted(
                    entry.id for entry in store.entries(id)
                )
            heads = state(database)["heads"]
            states.add(repr([_settled(head) for head in heads]))
    assert commands > 15
    if writer is appended:
        assert len(states) == 1, "wherever it came in, the end is the same"
    assert len(states) <= 2


def _settled(head: Document) -> Any:
    """The head without what follows from how it lay before: a measure, the lineage of a foreign record."""
    return {name: value for name, value in head.items() if name not in ("embedded_bytes", "lineage")}


def test_many_write_while_a_migration_runs(database: Database[Document], store: ConversationStore) -> None:
    load(database, [1, LONG, IMPORTED], bare=False)
    copies = {name: list(database[name].find({"c": LONG})) for name in ("segments", "changes")}
    head = database.conversations.find_one({"_id": LONG})
    assert head is not None
    for number in range(1000, 1030):
        _copy(database, head, copies, number)
    put(database, [anda(number, number % 100) for number in range(2000, 2030)])
    ids = [*range(1000, 1030), *range(2000, 2030)]
    before = {id: len(store.get(id).messages) for id in ids}
    ended = threading.Event()
    written: dict[int, list[int]] = {id: [0, 0] for id in ids}

    def write(worker: int) -> None:
        mine = ids[worker::4]
        while not ended.is_set():
            for id in mine:
                store.append(id, {"role": "user", "content": f"{worker}"})
                store.steer(id, f"{written[id][1]}")
                written[id][0] += 1
                written[id][1] += 1

    with ThreadPoolExecutor(4) as threads:
        work = [threads.submit(write, worker) for worker in range(4)]
        try:
            report = store.migrations.run()
        finally:
            ended.set()
        for one in work:
            one.result()
    assert report and report.version == SCHEMA_VERSION
    assert store.migrations.status().documents == {SCHEMA_VERSION: 63}
    assert sum(count for count, _ in written.values()) > 0
    for id in ids:
        record = store.get(id)
        assert len(record.messages) == before[id] + written[id][0]
        assert record.steering_messages in ([str(n) for n in range(written[id][1])], None)
    assert not store.check().broken


def _copy(database: Database[Document], head: Document, parts: dict[str, list[Document]], id: int) -> None:
    """The same conversation under another id."""
    database.conversations.insert_one({**head, "_id": Int64(id), "lineage": Int64(id)})
    segments = [{**one, "c": Int64(id), "lin": Int64(id)} for one in parts["segments"]]
    named = {}
    for one in segments:
        old = one.pop("_id")
        named[old] = database.segments.insert_one(one).inserted_id
    items = [{**item, "i": named[item["i"]]} for item in head["segments"]]
    database.conversations.update_one({"_id": id}, {"$set": {"segments": items}})
    for one in parts["changes"]:
        key = {**one["_id"], "c": Int64(id), "lin": Int64(id)}
        database.changes.insert_one({**one, "_id": key, "c": Int64(id), "lin": Int64(id)})


# Several runners


def test_of_two_runners_one_works_and_the_end_is_the_same(
    face: Face, database: Database[Document], database_name: str
) -> None:
    load(database, raw=valid_records())
    alone = ConversationStore(database, clock=clock)
    assert alone.migrations.run(phase="post")
    expected = state(database)
    emptied(database)
    load(database, raw=valid_records())
    store = face.open(database_name, clock=clock)
    ended = face.together(store, [lambda one: one.migrations.run(phase="post")] * 3)
    reports = [one for one in ended if isinstance(one, MigrationReport)]
    refused = [one for one in ended if not isinstance(one, MigrationReport)]
    assert reports and all(isinstance(one, ConflictError) for one in refused), refused
    assert sum(report.migrated for report in reports) == len(expected["heads"])
    assert state(database) == expected and not store.check().findings


def test_a_runner_is_told_while_another_one_is_alive(database: Database[Document]) -> None:
    load(database, FEW)
    now = [LATER]
    store = ConversationStore(database, clock=lambda: now[0])
    other = ConversationStore(database, clock=lambda: now[0])
    refused: list[Exception] = []

    def meanwhile(report: MigrationReport) -> None:
        if refused:
            return
        alive = threading.Timer(0.3, renew)
        alive.start()
        with pytest.raises(ConflictError, match="another runner is at work") as told:
            other.migrations.run()
        assert other.migrations.status().running
        refused.append(told.value)
        alive.join()

    def renew() -> None:
        database.meta.update_one({"_id": "migration"}, {"$inc": {"until": 1}})

    report = store.migrations.run(on_progress=meanwhile)
    assert report and refused and report.migrated == 4
    assert not store.migrations.status().running


def test_a_runner_takes_over_from_one_that_died(database: Database[Document]) -> None:
    load(database, FEW)
    dead = {"$set": {"until": Int64(LATER + 500), "owner": "dead", "fence": Int64(7)}}
    database.meta.update_one({"_id": "migration"}, dead, upsert=True)
    ticks = iter(range(10**9))
    store = ConversationStore(database, clock=lambda: LATER + next(ticks) * 100)
    report = store.migrations.run()
    assert report and report.migrated == 4
    schema = database.meta.find_one({"_id": "schema"})
    assert schema is not None and schema["fence"] == 8


def test_a_runner_that_stood_still_does_not_go_on(database: Database[Document]) -> None:
    load(database, FEW, bare=False)
    now = [LATER]
    store = ConversationStore(database, clock=lambda: now[0])

    def stand_still(report: MigrationReport) -> None:
        now[0] += 60_000
        database.meta.update_one({"_id": "migration"}, {"$set": {"owner": "another"}, "$inc": {"fence": 1}})

    with pytest.raises(ConflictError, match="another runner took over"):
        store.migrations.run(on_progress=stand_still)
    schema = database.meta.find_one({"_id": "schema"})
    assert schema is not None and schema["version"] == 1, "the version is for the other one to raise"


def test_the_version_is_not_raised_while_an_old_release_goes_on_writing(
    database: Database[Document], store: ConversationStore
) -> None:
    load(database, FEW, bare=False)
    old = anda_of_the_old_release(database)
    made = iter(range(1, 100))

    def another(report: MigrationReport) -> None:
        id = next(made)
        database.conversations.insert_one({**old, "_id": Int64(id + 10), "lineage": Int64(id)})

    report = store.migrations.run(on_progress=another)
    assert not report and report.remaining >= 1 and report.version == 1
    assert store.migrations.status().version == 1
    assert store.migrations.run().version == SCHEMA_VERSION
    assert store.count(user=ALL_USERS) == store.migrations.status().documents[SCHEMA_VERSION]
