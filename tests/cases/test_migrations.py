"""Cases P01 and P03: a migration that stopped half way, and documents of several releases side by side."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from convostore.schemas import Conversation
from convostore.store import ALL_USERS, ConversationStore
from convostore.store.layout import SCHEMA_VERSION
from support.dying import BOUNDS, mortuary
from support.older_documents import LONG, Document, anda, clock, load, put, valid_records
from support.scale import scaled
from support.servers import Server

FIRST = 10_000
SAID = {"role": "user", "content": "said meanwhile"}


@pytest.fixture
def database(raw: MongoClient[Document], database_name: str) -> Iterator[Database[Document]]:
    yield raw[database_name]


@pytest.mark.fault
def test_P01_a_migration_killed_half_way_is_finished_by_the_next(
    database: Database[Document], database_name: str, replica_set: Server
) -> None:
    count = scaled(1000, at_least=20)
    ids = range(FIRST, FIRST + count)
    records = [anda(id, number % 12) for number, id in enumerate(ids)]
    ownerless = records[count // 2]
    del ownerless["user"]
    put(database, records)
    before = {one["_id"]: len(one["messages"]) for one in records if one is not ownerless}
    written = list(before)[::4]
    ConversationStore(database, clock=clock).migrations.run(phase="pre")
    later = int(time.time() * 1000)
    with mortuary() as dying:
        for share in (0.4, 0.2):  # of all, then of what is left; each time inside of one conversation
            cut = int(share * count * 7) + 3
            call: dict[str, Any] = {"id": 0, "call": "migrate", "cut": cut}
            assert dying.call(uri=replica_set.uri(), database=database_name, **call) == "killed"
            waiting = ConversationStore(database).migrations.status()
            assert waiting.version == 0 and 1 < sum(n for v, n in waiting.documents.items() if v < 2) < count
            database.meta.update_one({"_id": "migration"}, {"$set": {"until": 0}})  # its lease lapses
            store = ConversationStore(database, clock=clock, bounds=BOUNDS)
            for id in written:
                store.append(id, SAID, key=f"meanwhile {share}")
    store = ConversationStore(database, clock=lambda: later, bounds=BOUNDS)
    report = store.migrations.run()
    assert [(one.id, one.reason) for one in report.refusals] == [(str(ownerless["_id"]), "user: is missing")]
    assert report.version == SCHEMA_VERSION and report.remaining == 0
    for id, held in before.items():
        assert store.head(id).message_count == held + 2 * (id in written)
    assert store.create(Conversation(user="alice")).id == FIRST + count
    again = store.migrations.run()
    assert (again.migrated, again.refused) == (0, 1)
    assert [found.kind for found in store.check().broken] == ["foreign"]


def test_P03_documents_of_three_releases_side_by_side(database: Database[Document]) -> None:
    store = ConversationStore(database, clock=clock)
    store.setup()
    database.meta.delete_many({})
    load(database, raw=valid_records())
    new = store.create(Conversation(user="alice", thread="trip", messages=[SAID], label="long"))
    versions = {decoded(one["_id"]): one.get("schema_version", 0) for one in database.conversations.find()}
    assert {versions[id] for id in (602, LONG, new.id)} == {0, 1, 2}, "the version is in each document"
    assert {head.id for head in store.scan(user=ALL_USERS)} == versions.keys()
    assert store.count(user=ALL_USERS) == len(versions)
    assert {head.id for head in store.find(user="alice", label="long").items} == {LONG, new.id}
    assert {head.id for head in store.find(user="alice", thread="trip").items} == {1, new.id}
    assert {head.id for head in store.find(user="2vxsx-fae", label="long").items} == {602}
    submitted = store.find(user=ALL_USERS, status="submitted", limit=100).items
    assert {head.id for head in submitted} >= {603, new.id} and 602 not in {head.id for head in submitted}
    for id in versions:
        assert store.get(id).id == id and store.head(id).message_count == len(store.get(id).messages)
    before = exported(store)
    assert store.migrations.run(phase="post")
    assert exported(store) == before, "an export does not tell whether what it reads was migrated"


def decoded(id: Any) -> int:
    return int(str(id))


def exported(store: ConversationStore) -> list[str]:
    """An Anda export, which says of each conversation what its record holds, by id."""
    written: list[bytes] = []
    assert not store.export_conversations(written.append, user=ALL_USERS, format="anda").notes or written
    return sorted(b"".join(written).decode().splitlines())
