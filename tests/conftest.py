"""The servers of the test session, a fresh database for each test, and the rules that hold for all tests."""

from __future__ import annotations

import itertools
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.servers import ReplicaSet, Server

SHARED = Path(os.environ.get("CONVOSTORE_SHARED", Path(__file__).parents[2] / "shared"))
REQUIRE_SHARED = os.environ.get("CONVOSTORE_REQUIRE_SHARED") == "1"
BARE_NAMES = frozenset({"schemas", "store", "cli"})

_started: dict[str, Server] = {}
_numbers = itertools.count(1)


def _session_server(name: str, server: Server) -> Iterator[Server]:
    _started[name] = server.start()
    yield server
    del _started[name]
    server.remove()


@pytest.fixture(scope="session")
def replica_set(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The session's replica set of one member, with a login, as the embedded engine runs it."""
    folder = tmp_path_factory.mktemp("replica-set")
    yield from _session_server("rs", Server(folder, replica_set="tests", password=secrets.token_hex(8)))


@pytest.fixture(scope="session")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The session's server without a replica set and without a login."""
    yield from _session_server("standalone", Server(tmp_path_factory.mktemp("standalone")))


@pytest.fixture(params=["replica_set", "standalone"])
def server(request: pytest.FixtureRequest) -> Server:
    """Either of the session's servers: the test runs once on each."""
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def replica_set_uri(replica_set: Server) -> str:
    """The URI of ``replica_set``, without a database."""
    return replica_set.uri()


@pytest.fixture(scope="session")
def standalone_uri(standalone: Server) -> str:
    """The URI of ``standalone``, without a database."""
    return standalone.uri()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A replica set of one member of the test's own, to be killed and started again at will."""
    server = Server(tmp_path / "own-server", replica_set="own").start()
    yield server
    server.remove()


@pytest.fixture
def failover_set(tmp_path: Path) -> Iterator[ReplicaSet]:
    """Three members of the test's own, for failover."""
    members = ReplicaSet(tmp_path / "failover")
    try:
        yield members.start()
    finally:
        members.remove()


@pytest.fixture
def database_name() -> Iterator[str]:
    """A name that no other test uses; the databases of that name are dropped afterwards."""
    name = f"t{next(_numbers)}_{secrets.token_hex(4)}"
    yield name
    for server in _started.values():
        with server.client() as client:
            client.drop_database(name)


def pytest_configure() -> None:
    # A shell that runs the tests in the background has them, and what they start, ignore Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("shared") is not None and not SHARED.is_dir():
        reason = f"needs the shared material, and {SHARED} is no folder (CONVOSTORE_SHARED)"
        if REQUIRE_SHARED:
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.stats.get("skipped", [])
    for need in ("the shared material", "the extra langgraph"):
        count = sum(f"needs {need}" in str(report.longrepr) for report in reports)
        if count:
            terminalreporter.write_line(f"{count} tests were skipped: they need {need}")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """All tests run in several processes, one more than there are cores; what is chosen runs in one."""
    chosen = config.args != config.getini("testpaths") or config.option.markexpr or config.option.keyword
    return 0 if chosen else 1 + (os.cpu_count() or 1)


_imported_bare: set[str] = set()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _imported_bare.update(getattr(node, "workeroutput", {}).get("imported bare", ()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    _imported_bare.update(BARE_NAMES & sys.modules.keys())
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["imported bare"] = sorted(_imported_bare)
    elif _imported_bare:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        reporter.write_line(
            f"imported under a bare name instead of convostore.*: {', '.join(sorted(_imported_bare))}",
            red=True,
        )
