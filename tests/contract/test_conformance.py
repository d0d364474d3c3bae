"""Every contract on every engine and face, and the suite itself."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import mongomock
import pytest
from pymongo import MongoClient

from convostore.store import CAPABILITIES, ConversationStore
from convostore.store.conformance import CONTRACTS, Contract, Report, __main__, run_contracts
from convostore.store.conformance.asynchronous import suite as asynchronous_suite
from support.broken_stores import BROKEN, ForgetsLabels
from support.conformance_runs import COMMAND, ConformanceRun
from support.servers import Server

PLACES: dict[str, tuple[str, str, Any]] = {
    "replica-set-sync": ("replica_set_uri", "sync", "mongodb"),
    "replica-set-async": ("replica_set_uri", "async", "mongodb"),
    "replica-set-motor": ("replica_set_uri", "motor", "motor"),
    "standalone-sync": ("standalone_uri", "sync", "mongodb"),
    "mongomock-sync": ("mongomock:", "sync", "mongomock"),
    "mongomock-async": ("mongomock:", "async", "mongomock"),
}
OFFERED = [
    pytest.param(
        place,
        contract,
        id=f"{place}-{contract.id}-{contract.name.replace(' ', '-')}",
        marks=pytest.mark.xdist_group(place),
    )
    for place, (_, _, engine) in PLACES.items()
    for contract in CONTRACTS
    if contract.is_offered_by(engine)
]


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> Iterator[Callable[[str], ConformanceRun]]:
    """The run at each place that a test asks for, started at the first one that does."""
    under_way: dict[str, ConformanceRun] = {}

    def run(place: str) -> ConformanceRun:
        if place not in under_way:
            source, face, _ = PLACES[place]
            uri = source if source.endswith(":") else request.getfixturevalue(source)
            under_way[place] = ConformanceRun(face, uri)
        return under_way[place]

    yield run
    for started in under_way.values():
        started.end()


@pytest.mark.parametrize(("place", "contract"), OFFERED)
def test_contract(runs: Callable[[str], ConformanceRun], place: str, contract: Contract) -> None:
    outcome = runs(place).outcomes[contract.id]
    assert outcome["verdict"] == "passed", f"{contract.promise}\n{outcome['detail']}"


@pytest.mark.parametrize(
    "place", [pytest.param(place, marks=pytest.mark.xdist_group(place)) for place in PLACES]
)
def test_a_run_without_a_failure_ends_with_0(runs: Callable[[str], ConformanceRun], place: str) -> None:
    assert (runs(place).exit_code, runs(place).errors) == (0, "")


@pytest.mark.parametrize(
    "place",
    [pytest.param(place, marks=pytest.mark.xdist_group(place)) for place in PLACES if "mock" in place],
)
def test_what_mongomock_cannot_do_is_listed_by_name(
    runs: Callable[[str], ConformanceRun], place: str
) -> None:
    outcomes = runs(place).outcomes.values()
    missing = {one["name"]: one["detail"] for one in outcomes if one["verdict"] == "not offered"}
    groups = {one["group"] for one in outcomes if one["verdict"] == "not offered"}
    assert groups == {"u64", "watch", "concurrency", "resources"}
    assert missing["counters saturate"] == "mongomock has no u64"
    assert missing["large bytes come back"] == "mongomock has no gridfs"
    assert missing["no steering is lost beside appends and saves"] == "mongomock has no concurrency"
    assert len(missing) < len(CONTRACTS) / 4


def test_contracts_are_numbered_once_and_say_what_they_promise() -> None:
    ids = [contract.id for contract in CONTRACTS]
    assert len(ids) >= 60
    assert len(set(ids)) == len(ids)
    assert len({contract.name for contract in CONTRACTS}) == len(ids)
    assert [contract.id for contract in CONTRACTS if not contract.promise.endswith(".")] == []


def test_both_sides_have_the_same_contracts() -> None:
    assert [one.id for one in asynchronous_suite.CONTRACTS] == [one.id for one in CONTRACTS]
    assert list(asynchronous_suite.CONTRACTS) == list(CONTRACTS)


def test_every_capability_that_a_call_can_lack_has_contracts() -> None:
    needed = set().union(*(contract.needs for contract in CONTRACTS))
    # Validators and indexes are promises about the database; exchange and migrations have their own tests.
    assert CAPABILITIES["mongodb"] - needed <= {"validators", "indexes", "exchange", "migrations"}
    assert needed <= CAPABILITIES["mongodb"]


def test_every_group_has_its_broken_store() -> None:
    assert set(BROKEN) == {contract.group for contract in CONTRACTS}


@pytest.mark.parametrize("group", BROKEN)
def test_a_broken_store_fails_its_group(
    group: str, database_name: str, request: pytest.FixtureRequest
) -> None:
    store, contract = BROKEN[group]
    if any(one.is_offered_by("mongomock") for one in CONTRACTS if one.group == group):
        report = run_contracts(mongomock.MongoClient()[database_name], opener=store, only=[group])
    else:
        with MongoClient[dict[str, Any]](request.getfixturevalue("replica_set_uri")) as client:
            report = run_contracts(client[database_name], opener=store, only=[group])
    assert not report
    assert contract in [outcome.contract.id for outcome in report.failed]


def failed_report() -> Report:
    return run_contracts(mongomock.MongoClient().tried, opener=ForgetsLabels, only=["C001", "C002"])


def test_a_failure_says_what_and_where_and_the_others_go_on() -> None:
    report = failed_report()
    assert [outcome.verdict for outcome in report] == ["passed", "failed"]
    (failure,) = report.failed
    assert "label" in failure.detail
    assert "convostore.store.conformance.synchronous.records" in failure.detail
    assert failure.error is not None
    assert report.summary() == "mongomock, synchronous: 2 contracts: 1 passed, 1 failed, 0 not offered"


def test_a_failure_ends_the_command_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(__main__, "run_contracts", lambda *_, **__: failed_report())
    assert __main__.main(["mongomock:"]) == 1
    assert "1 failed" in capsys.readouterr().out


def test_a_run_removes_its_collections_and_touches_no_others(replica_set: Server, database_name: str) -> None:
    with MongoClient[dict[str, Any]](replica_set.uri()) as client:
        database = client[database_name]
        store = ConversationStore(database)
        store.setup()
        before = sorted(database.list_collection_names())
        assert run_contracts(database, only=["C021", "C241", "C269"])
        assert sorted(database.list_collection_names()) == before
        assert database.conversations.count_documents({}) == 0


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="C999"):
        run_contracts(mongomock.MongoClient().tried, only=["C021", "C999"])


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120)


def test_the_command_tells_each_contract_and_the_counts() -> None:
    ran = command("mongomock:", "--only", "C021", "--only", "u64")
    lines = ran.stdout.splitlines()
    assert ran.returncode == 0, ran.stderr
    assert lines[0].startswith("ok          C021  append")
    assert all("mongomock has no u64" in line for line in lines[1:-1])
    assert lines[-1].startswith("mongomock, synchronous: ")


def test_the_command_lists_contracts_without_a_database() -> None:
    ran = command("--list")
    assert ran.returncode == 0
    assert len(ran.stdout.splitlines()) == len(CONTRACTS)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["mongomock:", "--only", "C999"], 2, "C999"),
        (["sqlite:x"], 1, "mongodb://"),
        (["mongodb://127.0.0.1:1/", "--timeout", "0.2"], 1, "did not answer"),
    ],
)
def test_wrong_use_and_no_server_are_one_line(arguments: list[str], code: int, told: str) -> None:
    ran = command(*arguments)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert told in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
