"""Runners of migrations that are killed, or whose connection fails, at any command."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from convostore.store import ConversationStore
from convostore.store.layout import SCHEMA_VERSION
from support.disturbance import Disturber, Failure
from support.dying import BOUNDS, mortuary
from support.older_documents import EMPTY, IMPORTED, LONG, Document, anda, clock, load, state
from support.scale import SCALE
from support.servers import Server

pytestmark = pytest.mark.fault

SAID = {"role": "user", "content": "said before it was run again"}
APART = {"role": "user", "content": "n" * 70_000}
IDS = (LONG, EMPTY, IMPORTED, 601, 602)
MOST = 500
EVERY = 1 if SCALE >= 1 else 3
"""Each command in turn, at a small scale every third."""


@pytest.fixture
def database(replica_set: Server, database_name: str) -> Iterator[Database[Document]]:
    with replica_set.client() as client:
        yield client[database_name]


def loaded(database: Database[Document]) -> None:
    for name in database.list_collection_names():
        database[name].delete_many({})
    load(database, [LONG, EMPTY, IMPORTED], raw=[anda(601, 20), anda(602, messages=[APART])])


def written_to(store: ConversationStore) -> None:
    for id in IDS:
        store.append(id, SAID, key="meanwhile")


def migrated_without_a_fault(database: Database[Document]) -> dict[str, Any]:
    loaded(database)
    store = ConversationStore(database, clock=clock, bounds=BOUNDS)
    assert store.migrations.run(phase="post")
    written_to(store)
    return state(database)


def test_a_runner_killed_before_any_command_leaves_what_another_one_finishes(
    replica_set: Server, database: Database[Document], database_name: str
) -> None:
    """Killed with -9 before a command; a writer comes in; then it is run again."""
    expected = migrated_without_a_fault(database)
    uri = replica_set.uri()
    with mortuary() as dying:
        for cut in range(1, MOST, EVERY):
            loaded(database)
            ended = dying.call(uri=uri, database=database_name, id=0, call="migrate", cut=cut)
            if ended == "done":
                break
            assert ended == "killed"
            written_to(ConversationStore(database, clock=clock, bounds=BOUNDS))
            later = int(time.time() * 1000) + 60_000  # its lease has lapsed
            again = ConversationStore(database, clock=lambda now=later: now, bounds=BOUNDS)  # type: ignore[misc]
            report = again.migrations.run(phase="post")
            assert report and report.version == SCHEMA_VERSION
            assert state(database) == expected, f"killed before command {cut}"
            found = again.check()
            assert not found.broken and {one.kind for one in found.leftovers} <= {"segment", "blobs"}
    assert cut > 15


@pytest.mark.parametrize("failure", [Failure.CLOSED, Failure.REPORTED, Failure.LOST])
def test_a_failure_at_any_command_changes_nothing_in_the_end(
    replica_set: Server, database: Database[Document], database_name: str, failure: Failure
) -> None:
    """Commands in turn fail once or twice; the run gets over it by itself."""
    expected = migrated_without_a_fault(database)
    with (
        Disturber(replica_set, database_name) as disturber,
        MongoClient[Document](disturber.uri, event_listeners=[disturber.log]) as client,
    ):
        store = ConversationStore(client[database_name], clock=clock, bounds=BOUNDS)
        loaded(database)
        disturber.log.clear()
        store.migrations.run(phase="post")
        names = list(disturber.log.names)
        places = [place for place, name in enumerate(names) if failure.concerns(name)]
        for turn, place in enumerate(places[:: EVERY * 2 - 1]):
            loaded(database)
            with disturber.failing(failure, place, 1 + turn % 2):
                report = store.migrations.run(phase="post")
            assert report and report.version == SCHEMA_VERSION
            written_to(store)
            assert state(database) == expected, f"{failure} of command {place}, {names[place]}"
            assert not store.check().broken
