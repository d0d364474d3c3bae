"""Real mongod processes for tests, alone or as replica sets, on loopback only and killed at exit."""

from __future__ import annotations

import atexit
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from convostore.store.engine.finder import find_mongod

T = TypeVar("T")

USER = "tester"
PATIENCE_SECONDS = 60.0


def free_port() -> int:
    """A TCP port of the loopback interface that nobody listens on now."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(ask: Callable[[], T], what: str, seconds: float = PATIENCE_SECONDS) -> T:
    """The first answer of ``ask`` that is true; fails with ``what`` when none is within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s: {what}")
        time.sleep(0.01)
    return answer


class Server:
    """One mongod of its own folder: started, killed and started again on the same port and data.

    With ``replica_set`` it is a member of that set; with ``password`` clients have to log in as ``USER``.
    ``configureFailPoint`` is allowed. ``uri()`` is what a test connects to, ``client()`` an administrator.
    """

    def __init__(
        self,
        folder: Path,
        *,
        replica_set: str | None = None,
        password: str | None = None,
        key: str | None = None,
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.replica_set = replica_set
        self.password = password
        self.key = key or (secrets.token_hex(32) if password is not None else None)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server was not started"
        return self._process.pid

    def uri(
        self, database: str = "", *, port: int | None = None, direct: bool = False, **options: str
    ) -> str:
        """The URI of this server, or of a proxy on ``port``; ``direct`` leaves the rest of the set alone."""
        if self.password is not None:
            options.setdefault("authSource", "admin")
        if direct or self.replica_set is None or port is not None:
            options["directConnection"] = "true"
        else:
            options["replicaSet"] = self.replica_set
        login = "" if self.password is None else f"{USER}:{self.password}@"
        return f"mongodb://{login}127.0.0.1:{port or self.port}/{database}?{urlencode(options)}"

    def client(self, **options: Any) -> MongoClient[dict[str, Any]]:
        """A client with all rights that talks to this member alone; the caller closes it."""
        return MongoClient(self.uri(direct=True), serverSelectionTimeoutMS=10_000, **options)

    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Server:
        """Start mongod and wait until it answers; a set of one member is set up and elected, too."""
        self._spawn()
        if self.password is not None or self.replica_set is not None:
            self._set_up()
        return self

    def kill9(self) -> None:
        """End mongod as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End mongod cleanly."""
        self._end(signal.SIGTERM)

    def restart(self) -> Server:
        """Start again on the same port and data, after ``kill9`` or ``stop``, and wait for a primary."""
        self._spawn()
        with self.client() as client:
            if self.replica_set is not None:
                wait_until(lambda: _is_primary(client), "a primary after the restart")
        return self

    def remove(self) -> None:
        """Kill mongod, if it runs, and delete its folder."""
        if self.is_running():
            self.kill9()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _spawn(self) -> None:
        data = self.folder / "data"
        data.mkdir(parents=True, exist_ok=True)
        command = [str(find_mongod().path), "--dbpath", str(data), "--port", str(self.port)]
        command += ["--bind_ip", "127.0.0.1", "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25", "--quiet"]
        command += ["--logpath", str(self.folder / "mongod.log"), "--logappend", "--slowms", "100000"]
        parameters = ["enableTestCommands=1", "diagnosticDataCollectionEnabled=false"]
        parameters += ["shutdownTimeoutMillisForSignaledShutdown=0"]
        for parameter in parameters:
            command += ["--setParameter", parameter]
        if self.replica_set is not None:
            command += ["--replSet", self.replica_set, "--oplogSize", "64"]
        if self.key is not None:
            key_file = self.folder / "key"
            key_file.write_text(self.key)
            key_file.chmod(0o600)
            command += ["--keyFile", str(key_file)]
        if guard := shutil.which("setpriv"):
            # A test run that is itself killed takes its servers with it.
            command = [guard, "--pdeathsig", "KILL", *command]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        atexit.register(self._kill_left_over, self._process)
        wait_until(self._listens, f"mongod on {self.address} listens")

    def _listens(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            log = (self.folder / "mongod.log").read_text("utf-8", "replace")
            raise RuntimeError(f"mongod ended with {self._process.returncode}: {log[-2000:]}")
        with closing(socket.socket()) as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _set_up(self) -> None:
        with MongoClient[dict[str, Any]](self.address, directConnection=True) as client:
            if self.replica_set is not None:
                initiate(client, self.replica_set, [self.address])
            if self.password is not None:
                client.admin.command("createUser", USER, pwd=self.password, roles=["root"])

    def _end(self, sign: signal.Signals) -> None:
        assert self._process is not None, "the server was not started"
        self._process.send_signal(sign)
        self._process.wait(PATIENCE_SECONDS)

    @staticmethod
    def _kill_left_over(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()


class ReplicaSet:
    """Three members without a login, for tests of failover; a member may be killed and started again."""

    def __init__(self, folder: Path, *, members: int = 3, name: str = "failover") -> None:
        self.name = name
        self.members = [Server(folder / f"member-{number}", replica_set=name) for number in range(members)]

    def uri(self, database: str = "", **options: str) -> str:
        hosts = ",".join(member.address for member in self.members)
        return f"mongodb://{hosts}/{database}?{urlencode({'replicaSet': self.name, **options})}"

    def start(self) -> ReplicaSet:
        for member in self.members:
            member._spawn()
        with self.members[0].client() as client:
            initiate(client, self.name, [member.address for member in self.members])
        return self

    def primary(self) -> Server:
        """The member that is primary now; waits for an election that is under way."""
        found = wait_until(self._primary, "a primary is elected")
        assert found is not None
        return found

    def step_down(self, seconds: int = 10) -> None:
        """Make the primary give up its office to another member."""
        with self.primary().client() as client:
            client.admin.command("replSetStepDown", seconds, secondaryCatchUpPeriodSecs=seconds // 2)

    def remove(self) -> None:
        for member in self.members:
            member.remove()

    def _primary(self) -> Server | None:
        for member in filter(Server.is_running, self.members):
            with member.client() as client:
                if _is_primary(client):
                    return member
        return None


def initiate(client: MongoClient[dict[str, Any]], name: str, addresses: list[str]) -> None:
    """Make a replica set of the members at ``addresses`` and wait until the one asked is primary."""
    members = [{"_id": at, "host": address} for at, address in enumerate(addresses)]
    # Only the member that is asked may win the first election, at once.
    for member in members[1:]:
        member["priority"] = 0.5
    settings = {"electionTimeoutMillis": 2_000, "heartbeatIntervalMillis": 500}
    client.admin.command("replSetInitiate", {"_id": name, "members": members, "settings": settings})
    wait_until(lambda: _is_primary(client), f"{addresses[0]} is primary")


def _is_primary(client: MongoClient[dict[str, Any]]) -> bool:
    try:
        return bool(client.admin.command("hello").get("isWritablePrimary"))
    except OperationFailure:
        raise
    except PyMongoError:
        return False
