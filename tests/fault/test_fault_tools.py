"""The test support itself: a proxy or fail point that did nothing would let every fault test pass."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest
from pymongo import AsyncMongoClient, MongoClient
from pymongo.errors import AutoReconnect, WriteConcernError

from support.command_log import CommandLog
from support.fail_point import FailPoint
from support.proxy import Proxy
from support.servers import ReplicaSet, Server

Note: TypeAlias = dict[str, Any]


def through(proxy: Proxy, server: Server) -> MongoClient[Note]:
    return MongoClient(server.uri(port=proxy.port), retryWrites=False)


def test_a_cut_request_never_runs(server: Server, database_name: str) -> None:
    with (
        Proxy(server.port) as proxy,
        through(proxy, server) as client,
    ):
        notes = client[database_name].notes
        notes.insert_one({"_id": 1})
        rule = proxy.cut("insert")
        with pytest.raises(AutoReconnect):
            notes.insert_one({"_id": 2})
        assert rule.met == 1
        assert [note["_id"] for note in notes.find()] == [1]


def test_a_lost_reply_belongs_to_a_request_that_ran(server: Server, database_name: str) -> None:
    with (
        Proxy(server.port) as proxy,
        through(proxy, server) as client,
    ):
        notes = client[database_name].notes
        rule = proxy.lose_reply("insert", comment="second", times=1)
        notes.insert_one({"_id": 1}, comment="the first")
        with pytest.raises(AutoReconnect):
            notes.insert_one({"_id": 2}, comment="the second")
        assert rule.met == 1
        assert [note["_id"] for note in notes.find()] == [1, 2]


def test_a_held_request_runs_when_it_is_delivered(server: Server, database_name: str) -> None:
    with (
        Proxy(server.port) as proxy,
        through(proxy, server) as client,
    ):
        notes = client[database_name].notes
        rule = proxy.hold("insert")
        with pytest.raises(AutoReconnect):
            notes.insert_one({"_id": 1})
        assert notes.count_documents({}) == 0
        (answer,) = rule.deliver_held()
        assert answer["n"] == 1
        assert notes.count_documents({}) == 1


def test_skipped_commands_pass_and_are_counted(standalone: Server, database_name: str) -> None:
    with (
        Proxy(standalone.port) as proxy,
        through(proxy, standalone) as client,
    ):
        notes = client[database_name].notes
        called: list[int] = []
        proxy.cut(skip=2, then=lambda: called.append(len(proxy.passed)))
        notes.insert_one({"_id": 1})
        notes.update_one({"_id": 1}, {"$set": {"seen": True}})
        with pytest.raises(AutoReconnect):
            notes.delete_one({"_id": 1})
        assert called == [2]
        assert proxy.passed == ["insert", "update"]


def test_a_write_concern_error_is_reported_for_a_stored_write(
    replica_set: Server, database_name: str
) -> None:
    with MongoClient[Note](replica_set.uri(appName=database_name)) as client:
        notes = client[database_name].notes
        failure = {"code": 64, "errmsg": "waiting for replication timed out"}
        with (
            FailPoint(
                replica_set, ["insert"], app_name=database_name, write_concern_error=failure
            ) as fail_point,
            pytest.raises(WriteConcernError),
        ):
            notes.insert_one({"_id": 1})
        assert fail_point.hits == 1
        assert notes.count_documents({}) == 1


def test_a_fail_point_that_nothing_met_fails_the_test(standalone: Server) -> None:
    with (
        pytest.raises(AssertionError, match="no command met the fail point"),
        FailPoint(standalone, ["insert"], app_name="nobody", close_connection=True),
    ):
        pass


async def test_a_command_log_hears_an_asynchronous_client(server: Server, database_name: str) -> None:
    log = CommandLog()
    async with AsyncMongoClient[Note](server.uri(), event_listeners=[log]) as client:
        notes = client[database_name].notes
        await notes.insert_many([{"_id": number} for number in range(5)])
        found = await notes.find({}, batch_size=2).to_list()
    assert len(found) == 5
    assert log.names == ["insert", "find", "getMore", "getMore"]
    assert log.round_trips == 2
    assert {one.collection for one in log.sent} == {"notes"}


def test_a_killed_server_comes_back_with_its_data(own_server: Server) -> None:
    with own_server.client() as client:
        client.test.notes.insert_one({"_id": 1})
    own_server.kill9()
    own_server.restart()
    with MongoClient[Note](own_server.uri()) as client:
        assert client.test.notes.count_documents({}) == 1


def test_another_member_takes_over_from_a_killed_primary(failover_set: ReplicaSet) -> None:
    first = failover_set.primary()
    with MongoClient[Note](failover_set.uri(w="majority")) as client:
        client.test.notes.insert_one({"_id": 1})
        first.kill9()
        client.test.notes.insert_one({"_id": 2})
        assert failover_set.primary() is not first
        assert client.test.notes.count_documents({}) == 2
