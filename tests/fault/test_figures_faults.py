"""Exact figures, whatever becomes of writers, runners and connections."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.store import ALL_USERS, ConversationStore
from support.dying import BOUNDS, Mortuary, mortuary
from support.fail_point import FailPoint
from support.scale import SCALE, scaled
from support.servers import Server

pytestmark = pytest.mark.fault

USAGE = {"input_tokens": 3, "requests": 1}
MOST_COMMANDS = 60


def later() -> int:
    """A clock by which the lease of whoever was killed has run out."""
    return time.time_ns() // 1_000_000 + 120_000


def sums(store: ConversationStore) -> tuple[int, int, int, int]:
    rows = store.analytics.usage(user=ALL_USERS, by="hour")
    return (
        sum(row.messages for row in rows),
        sum(row.input_tokens for row in rows),
        sum(row.requests for row in rows),
        sum(row.created for row in rows),
    )


def together(calls: list[Callable[[], object]]) -> None:
    errors: list[BaseException] = []

    def guarded(call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


FAULTS: dict[str, dict[str, Any]] = {
    "the connection is cut": {"close_connection": True},
    "stored, and an error": {"write_concern_error": {"code": 64, "errmsg": "waiting for replication"}},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_writers_whose_calls_are_disturbed_end_with_exact_sums(
    replica_set: Server, database_name: str, fault: str
) -> None:
    writers, appends = 16, scaled(500, at_least=8)
    name = f"disturbed-{database_name}"
    with replica_set.client(appname=name) as client:
        store = ConversationStore(client[database_name])
        store.setup()
        # Two write to each conversation.
        made = [store.create(Conversation(user=f"user-{place % 3}")).id for place in range(writers // 2)]

        def write(id: int) -> None:
            for _ in range(appends):
                store.append(id, {"role": "user"}, usage=USAGE)

        with FailPoint(replica_set, ["findAndModify"], app_name=name, times=24, **FAULTS[fault]):
            together([lambda id=id: write(id) for id in made * 2])  # type: ignore[misc]
        expected = (writers * appends, 3 * writers * appends, writers * appends, writers // 2)
        assert sums(store) == expected
        store.analytics.rebuild()
        assert sums(store) == expected


def test_several_runners_beside_writers_end_with_exact_sums(replica_set: Server, database_name: str) -> None:
    with replica_set.client() as client:
        store = ConversationStore(client[database_name], bounds=BOUNDS)
        store.setup()
        made = [store.create(Conversation(user="alice")).id for _ in range(4)]
        rounds = scaled(500, at_least=8)
        stopped = threading.Event()

        def write(id: int) -> None:
            for number in range(rounds):
                store.append(id, {"role": "user"}, usage=USAGE)
                if number == rounds // 2:
                    store.edit(id, 0, {"role": "user", "content": "edited"})

        def run() -> None:
            while not stopped.is_set():
                store.analytics.advance()

        def all_writes() -> None:
            try:
                together([lambda id=id: write(id) for id in made])  # type: ignore[misc]
            finally:
                stopped.set()

        together([all_writes, run, run, run])
        assert sums(store) == (4 * rounds, 12 * rounds, 4 * rounds, 4)
        assert store.check().findings == []


@pytest.fixture(scope="module")
def at_work() -> Iterator[Mortuary]:
    with mortuary() as program:
        yield program


def world_of(store: ConversationStore, database: Any) -> list[int]:
    """Nothing but three conversations with sealed records, of which two are rolled up already."""
    for name in database.list_collection_names():
        database[name].delete_many({} if name != "meta" else {"_id": {"$ne": "schema"}})
    store.setup()
    ids = []
    for number in range(3):
        made = store.create(Conversation(user="alice", messages=[{"role": "user"}]))
        for _ in range(8):
            store.append(made.id, {"role": "assistant"}, usage=USAGE)
        ids.append(made.id)
        if number == 1:
            store.analytics.advance()
    store.append(ids[0], {"role": "assistant"}, usage=USAGE)
    return ids


WHOLE = (28, 75, 25, 3)


@pytest.mark.parametrize(
    ("call", "expected"),
    [("roll up", WHOLE), ("rebuild", WHOLE), ("delete", WHOLE), ("delete and drop", (18, 48, 16, 2))],
)
def test_a_client_killed_before_any_command_leaves_exact_figures(
    replica_set: Server, at_work: Mortuary, database_name: str, call: str, expected: tuple[int, ...]
) -> None:
    with MongoClient[dict[str, Any]](replica_set.uri()) as client:
        database = client[database_name]
        store = ConversationStore(database, bounds=BOUNDS, clock=later)
        for cut in range(1, MOST_COMMANDS, 1 if SCALE >= 1 else 4):
            ids = world_of(store, database)
            uri = replica_set.uri()
            ended = at_work.call(uri=uri, database=database_name, id=ids[0], call=call, cut=cut)
            assert ended in ("killed", "done")
            if call.startswith("delete"):
                # Whoever was killed tells nobody; the call is repeated.
                store.delete(ids[0], figures="drop" if call.endswith("drop") else "keep")
            assert sums(store) == expected, f"killed before command {cut}"
            assert [one for one in store.check().findings if one.severity == "broken"] == []
            if ended == "done":
                assert cut > 4, f"{call} took {cut - 1} commands: hardly a place to die"
                return
    raise AssertionError(f"{call} takes more than {MOST_COMMANDS} commands")


def test_a_lease_of_a_clock_that_went_back_holds_nobody_up(replica_set: Server, database_name: str) -> None:
    now = 1_790_848_800_000
    with replica_set.client() as client:
        store = ConversationStore(client[database_name], clock=lambda: now)
        store.setup()
        store.create(Conversation(user="alice", messages=[{"role": "user", "content": "hi"}]))
        left = {"_id": "rollup", "owner": "dead", "until": now + 3_600_000, "fence": 7}
        client[database_name].meta.insert_one(left)
        assert store.analytics.advance() == 1
