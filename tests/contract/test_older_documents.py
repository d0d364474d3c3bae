"""Documents of the first release, and Anda records as somebody put them, before any migration.

What readers see, and that a call which writes does there what it does after a migration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from convostore.schemas.authors import Author
from convostore.schemas.errors import InvalidRecordError, SchemaVersionError
from convostore.store import ALL_USERS, ConversationStore
from convostore.store.layout import SCHEMA_VERSION
from support.command_log import CommandLog
from support.faces import AsyncFace, Face, SyncFace
from support.older_documents import (
    LONG,
    Call,
    Document,
    anda,
    clock,
    documents,
    invalid_records,
    load,
    read_by_the_first_release,
    seen,
    state,
    valid_records,
)
from support.servers import Server

RAW = 602
SAID = {"role": "user", "content": "said since"}
LARGE = {"role": "user", "content": "x" * 70_000}
DRAWN = re.compile("[0-9a-f]{32}")

WRITES: dict[str, Call] = {
    "append": lambda store, id: store.append(id, SAID, key="k", usage={"input_tokens": 3}),
    "append a large message": lambda store, id: store.append(
        id, {"role": "user", "content": "x" * 70_000}, key="k"
    ),
    "append many": lambda store, id: store.append(id, [SAID] * 250, key="k"),
    "append to a record in hand": lambda store, id: store.append(store.get(id), SAID, key="k"),
    "save": lambda store, id: saved(store, id),
    "save an edit": lambda store, id: saved(store, id, replaced=1),
    "edit": lambda store, id: store.edit(id, 1, SAID),
    "edit the last": lambda store, id: store.edit(id, store.messages(id, limit=1).items[-1].id, SAID),
    "update": lambda store, id: store.update(id, merge={"a": 1}, label="named"),
    "set_status": lambda store, id: store.set_status(id, "failed", reason="it broke", force=True),
    "stop": lambda store, id: store.stop(id),
    "steer": lambda store, id: store.steer(id, "faster", key="k"),
    "follow_up": lambda store, id: store.follow_up(id, "and then", key="k"),
    "take": lambda store, id: store.take(id, key="k").steering,
    "steer and take": lambda store, id: (store.steer(id, "now", key="k"), store.take(id, key="t").steering)[
        1
    ],
    "continue_from": lambda store, id: store.continue_from(id, key="k").ancestors,
    "continue_from a record": lambda store, id: store.continue_from(store.get(id), key="k").ancestors,
    "fork": lambda store, id: len(store.fork(id).messages),
    "save_transcript": lambda store, id: pushed(store, id),
    "undo": lambda store, id: store.undo(id),
    "undo and redo": lambda store, id: (store.undo(id), store.redo(id))[1],
    "rewrite": lambda store, id: store.rewrite(id, lambda message: message).changed,
    "delete": lambda store, id: store.delete(id).existed,
}


def saved(store: Any, id: int, *, replaced: int | None = None) -> Any:
    record = store.get(id)
    if replaced is None:
        record.append_messages([SAID])
        record.label = "saved"
    else:
        record.messages[replaced] = SAID
    return store.save(record), [message for message in record.messages if message == SAID]


def pushed(store: Any, id: int) -> Any:
    value = store.transcript(id)
    value.push(SAID)
    value.splice(slice(0, 1), [SAID], by=Author.plugin("compact"))
    return store.save_transcript(value)


@pytest.fixture
def database(replica_set: Server, database_name: str) -> Iterator[Database[Document]]:
    with replica_set.client() as client:
        yield client[database_name]


@pytest.fixture(params=["sync", "async"])
def face(request: pytest.FixtureRequest, replica_set: Server) -> Iterator[Face]:
    kinds = {"sync": SyncFace, "async": AsyncFace}
    opened = kinds[request.param](replica_set.uri())
    yield opened
    opened.close()


def test_the_first_releases_documents_read_as_that_release_read_them(
    face: Face, database: Database[Document], database_name: str
) -> None:
    load(database)
    before = list(database.conversations.find().sort("_id"))
    store = face.open(database_name, clock=clock)
    assert seen(store, map(int, read_by_the_first_release())) == read_by_the_first_release()
    heads = store.find(user=ALL_USERS).items
    assert len(heads) == store.count(user=ALL_USERS) == len(read_by_the_first_release())
    assert [record.id for record in store.batch_get([1, LONG, 502], user=ALL_USERS)] == [1, LONG, 502]
    assert not store.check().findings
    assert list(database.conversations.find().sort("_id")) == before, "a reader wrote"


def test_records_as_somebody_put_them_are_read_as_conversations(
    face: Face, database: Database[Document], database_name: str
) -> None:
    put = [anda(1, 0), *valid_records()]
    load(database, [-1], raw=put)
    before = documents(database, [one["_id"] for one in put])
    store = face.open(database_name, clock=clock)
    steered = store.get(601)
    assert [message["timestamp"] for message in steered.messages] == [
        message["timestamp"] for message in put[1]["messages"]
    ]
    assert (steered.steering_messages, steered.extra) == (["faster"], {"a": {"b": 1}})
    long = store.head(602)
    assert (long.message_count, long.child, long.thread) == (130, 601, "cl9v200a1c609kg0000g")
    assert long.ancestors == (1, 4) and long.last.id == 129 and long.version == 1
    assert [entry.id for entry in store.messages(602, limit=3).items] == [127, 128, 129]
    assert [entry.id for entry in store.messages(602, limit=3, before=3).items] == [0, 1, 2]
    assert [entry.id for entry in store.messages(602, limit=2, after=10).items] == [11, 12]
    assert len(store.messages(602, limit=3, for_model=True).items) >= 3
    assert [entry.id for entry in store.entries(602)] == list(range(130))
    assert [one.kind for one in store.history(602)] == ["push"]
    assert len(list(store.as_of(602, 0).entries())) == 0
    assert len(list(store.transcript(602).entries())) == 130
    assert len(store.delta(602, 128).messages) == 2
    assert store.get(604).created_at == 1_700_000_000_000
    assert store.get(605).resources[0].blob == b"hello"
    large, odd = store.get(606).messages
    assert len(large["content"]) == 90_000 and odd == {"$ref": "a", "$id": 1, "role": "x"}
    ids = sorted(int(str(one["_id"])) for one in put)
    assert sorted(head.id for head in store.find(user="2vxsx-fae").items) == ids
    assert sorted(head.id for head in store.scan(user=ALL_USERS)) == ids
    assert [record.id for record in store.batch_get([601, 602], user="2vxsx-fae")] == [601, 602]
    assert [head.id for head in store.find(user="2vxsx-fae", label="long").items] == [602]
    assert store.for_user("2vxsx-fae").get(601).id == 601
    assert {found.kind for found in store.check().findings} == {"unmigrated"}
    assert documents(database, [one["_id"] for one in put]) == before, "a reader wrote"


@pytest.mark.parametrize("call", WRITES)
def test_a_call_does_before_a_migration_what_it_does_after(
    database: Database[Document], database_name: str, call: str
) -> None:
    act = WRITES[call]
    answers, states = [], []
    for first in ("call", "migrate"):
        for name in database.list_collection_names():
            database[name].delete_many({})
        load(database, [LONG], raw=[anda(RAW, 130, status="working", steering_messages=["at first"])])
        database.meta.update_one({"_id": "conversation_ids"}, {"$set": {"last": 1000}})
        store = ConversationStore(database, clock=clock)
        if first == "migrate":
            assert store.migrations.run(phase="post")
        given = [act(store, id) for id in (LONG, RAW)]
        if first == "call":
            assert store.migrations.run(phase="post")
        answers.append(given)
        states.append(state(database))
        assert not store.check().broken
    assert answers[0] == answers[1]
    assert without_lots(states[0]) == without_lots(states[1])


def without_lots(found: Any) -> Any:
    """The state without what is drawn by lot: receipts, lineages of copies and of what was rewritten."""
    if isinstance(found, dict):
        return {name: without_lots(item) for name, item in found.items() if name not in ("lineage", "lin")}
    if isinstance(found, str) and DRAWN.fullmatch(found):
        return "drawn"
    return [without_lots(item) for item in found] if isinstance(found, list) else found


def test_a_document_that_is_no_conversation_is_named_and_hides_no_other(database: Database[Document]) -> None:
    bad = invalid_records()
    load(database, [-1], raw=[anda(601), *bad.values()])
    before = documents(database, [one["_id"] for one in bad.values()])
    store = ConversationStore(database, clock=clock)
    for path, one in bad.items():
        if isinstance(one["_id"], int):
            for call in (store.get, store.head, store.history, store.delete, store.stop):
                with pytest.raises(InvalidRecordError) as refused:
                    call(one["_id"])
                assert refused.value.path.startswith(path.split(":")[0])
    assert [head.id for head in store.find(user="2vxsx-fae").items] == [601]
    assert [head.id for head in store.scan(user=ALL_USERS)] == [601]
    assert [record.id for record in store.batch_get([601, 701], user=ALL_USERS)] == [601]
    written: list[bytes] = []
    report = store.export_conversations(written.append, user=ALL_USERS)
    assert report.conversations == 1 and len(report.notes) == len(bad) - 1
    assert store.delete_expired(clock(), user=ALL_USERS) == 0
    assert sum(found.kind == "foreign" for found in store.check().findings) == len(bad)
    assert documents(database, [one["_id"] for one in bad.values()]) == before


def test_the_first_write_to_an_older_document_costs_five_round_trips_more_and_the_next_none(
    replica_set: Server, database: Database[Document], database_name: str
) -> None:
    load(database, [1])
    log = CommandLog()
    with MongoClient[Document](replica_set.uri(), event_listeners=[log]) as client:
        store = ConversationStore(client[database_name], clock=clock)
        store.append(1, SAID)
        assert log.names == ["findAndModify", "find", "find", "update", "find", "findAndModify"]
        log.clear()
        store.append(1, SAID)
        assert log.names == ["findAndModify"]


def test_what_a_newer_release_wrote_is_neither_read_nor_written(database: Database[Document]) -> None:
    load(database, [1])
    later = SCHEMA_VERSION + 1
    database.conversations.update_one({"_id": 1}, {"$set": {"schema_version": later}})
    before = documents(database, [1])
    store = ConversationStore(database, clock=clock)
    reads: list[Call] = [
        lambda store, id: store.get(id),
        lambda store, id: store.head(id),
        lambda store, id: store.messages(id),
        lambda store, id: store.history(id),
        lambda store, id: store.find(user="alice"),
        lambda store, id: store.check(),
    ]
    for call in (*reads, *WRITES.values()):
        with pytest.raises(SchemaVersionError, match="upgrade convostore") as refused:
            call(store, 1)
        assert (refused.value.found, refused.value.known) == (later, SCHEMA_VERSION)
    assert documents(database, [1]) == before
