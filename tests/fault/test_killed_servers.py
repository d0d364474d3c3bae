"""The database is killed under load: what was acknowledged is there when it comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.store import ConversationStore
from support.acknowledged import Load
from support.scale import SCALE
from support.servers import ReplicaSet, Server, wait_until

pytestmark = [pytest.mark.fault, pytest.mark.soak]

KILLS = max(2, round(20 * SCALE))
WRITERS = 3
BETWEEN = 40
"""Appends that are acknowledged between two kills."""


@pytest.fixture(params=["replica set", "standalone"])
def mortal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    name = "mortal" if request.param == "replica set" else None
    server = Server(tmp_path / "mortal", replica_set=name).start()
    yield server
    server.remove()


def test_a_server_killed_under_load_keeps_what_it_acknowledged(mortal: Server) -> None:
    with MongoClient[dict[str, Any]](mortal.uri()) as client:
        store = ConversationStore(client.killed, timeout=60)
        store.setup()
        load = Load(store, WRITERS)
        with load.running():
            for _ in range(KILLS):
                go_on(load)
                mortal.kill9()
                mortal.restart()
        load.check()
        print(f"{KILLS} kills, {load.count} appends acknowledged, {load.unanswered} calls unanswered")


def test_a_failover_under_load_keeps_what_was_acknowledged(failover_set: ReplicaSet) -> None:
    favourite = failover_set.members[0]
    with MongoClient[dict[str, Any]](failover_set.uri()) as client:
        store = ConversationStore(client.failover, timeout=60)
        store.setup()
        load = Load(store, WRITERS)
        with load.running():
            for _ in range(max(1, KILLS // 8)):
                go_on(load)
                favourite.kill9()
                wait_until(lambda: failover_set.primary() is not favourite, "another member takes over")
                go_on(load)
                favourite.restart()  # and it is elected again, having the highest priority
                go_on(load)
                failover_set.step_down(4)
                go_on(load)
                wait_until(lambda: failover_set.primary() is favourite, "the first member takes over again")
        load.check()
        print(f"{load.count} appends acknowledged, {load.unanswered} calls unanswered")


def go_on(load: Load) -> None:
    """Wait for some more appends to be acknowledged."""
    before = load.count
    wait_until(lambda: load.count >= before + BETWEEN, "the load goes on")
