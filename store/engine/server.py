"""The mongod of an embedded engine as a process: started, found broken, waited for, shut down."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from convostore.schemas.errors import EngineNotFoundError, UnavailableError
from convostore.store.engine import keeper
from convostore.store.engine.finder import Mongod, find_mongod
from convostore.store.engine.folder import EngineFolder, Settings
from convostore.store.engine.members import REPLICA_SET

__all__ = ["CACHE_GIGABYTES", "OPLOG_MEGABYTES", "START_SECONDS", "is_up", "launch", "listens"]

CACHE_GIGABYTES = 0.25
"""WiredTiger's cache, the smallest that mongod accepts; mongod itself takes about 100 MB more."""

OPLOG_MEGABYTES = 128
"""The log of changes that ``watch`` follows; when it is full, its oldest part goes."""

START_SECONDS = 600
"""How long a start may take: it takes about a second, but longer when a journal is replayed after a crash."""

_PORT_TRIES = 5
_LEAST_BYTES = 1 << 20


def launch(folder: EngineFolder) -> Settings:
    """Start mongod on the folder and wait until it listens; the settings it runs under, which are kept.

    The caller holds the gate and a user's lock, and nobody serves the folder.

    Raises:
        EngineNotFoundError: no mongod that runs, or the data is of a newer one.
        UnavailableError: mongod ended; the text says why and what to do.
    """
    mongod = find_mongod()
    kept = folder.read_settings()
    settings = kept or Settings(port=_free_port())
    if settings.server[:2] > mongod.version[:2]:
        raise _of_another_release(folder, mongod, settings.server)
    for _ in range(_PORT_TRIES):
        port = settings.port if _is_free(settings.port) else _free_port()
        settings = replace(settings, port=port)
        folder.begin_log()
        folder.write_settings(settings)
        if not _run_keeper(folder, settings, mongod):
            # A process killed since had launched one after the caller looked: its server is joined.
            settings = kept or settings
            folder.write_settings(settings)
        if is_up(folder, settings):
            settings = replace(settings, server=mongod.version)
            folder.write_settings(settings)
            return settings
        said = _last_words(folder)
        if "Address already in use" not in said:
            raise _explained(folder, said, mongod)
    raise UnavailableError(f"{_PORT_TRIES} ports were taken just before the server started; try again")


def is_up(folder: EngineFolder, settings: Settings) -> bool:
    """Wait until the server that a keeper runs listens, or has ended; whether it listens.

    Raises:
        UnavailableError: neither within ``START_SECONDS``.
    """
    deadline = time.monotonic() + START_SECONDS
    while not listens(settings.port):
        if not folder.is_kept():
            return False
        if time.monotonic() > deadline:
            raise UnavailableError(f"no database server within {START_SECONDS} s; see {folder.log}")
        time.sleep(0.01)
    return True


def listens(port: int) -> bool:
    """Whether somebody listens on that port of the loopback interface."""
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _command(folder: EngineFolder, settings: Settings, mongod: Mongod) -> list[str]:
    options = {
        "dbpath": folder.data,
        "port": settings.port,
        "bind_ip": "127.0.0.1",
        "replSet": REPLICA_SET,
        "keyFile": folder.secret,
        "wiredTigerCacheSizeGB": CACHE_GIGABYTES,
        "oplogSize": OPLOG_MEGABYTES,
        "logpath": folder.log,
        # A slow operation is logged with its whole command, message texts included.
        "slowms": 2**31 - 1,
    }
    command = [str(mongod.path), "--quiet"]
    if sys.platform != "win32":
        command.append("--nounixsocket")
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    # Without the second, SIGTERM makes a primary wait 15 s for somebody to take over.
    for parameter in ("diagnosticDataCollectionEnabled=false", "shutdownTimeoutMillisForSignaledShutdown=0"):
        command += ["--setParameter", parameter]
    return command


def _run_keeper(folder: EngineFolder, settings: Settings, mongod: Mongod) -> bool:
    """Launch a keeper; whether it looks after the folder, which another one may do."""
    arguments = [sys.executable, str(Path(keeper.__file__)), str(folder.users)]
    arguments += [str(folder.life), *_command(folder, settings, mongod)]
    with folder.output.open("wb") as printed:
        if sys.platform == "win32":
            flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
            process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, creationflags=flags
            )
            while process.poll() is None and not folder.is_kept():
                time.sleep(0.01)
            code = process.poll()
        else:
            code = subprocess.run(
                arguments, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed
            ).returncode
    return code != keeper.ANOTHER_IS_THERE


def _is_free(port: int) -> bool:
    with closing(socket.socket()) as probe:
        if os.name == "posix":
            # As mongod does, or a port is not free for a minute after its connections closed.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _free_port() -> int:
    """A free port below those that systems lend to outgoing connections: free the next time, most likely."""
    while not _is_free(port := random.randrange(20_000, 32_768)):
        pass
    return port


def _explained(folder: EngineFolder, said: str, mongod: Mongod) -> UnavailableError:
    """The error for a mongod that ended by itself, from its last words."""
    if "No space left on device" in said or shutil.disk_usage(folder.root).free < _LEAST_BYTES:
        return UnavailableError(f"the disk of {folder.root} is full: free some space and try again")
    if "Wrong mongod version" in said and (wrote := re.search(r"version: \W*(\d+(?:\.\d+)+)", said)):
        return _of_another_release(folder, mongod, tuple(map(int, wrote[1].split("."))))
    if not said:
        return UnavailableError(f"the database server on {folder.root} was killed as it started; try again")
    return UnavailableError(f"the database server on {folder.root} ended: {said}; see {folder.log}")


def _of_another_release(folder: EngineFolder, mongod: Mongod, wrote: tuple[int, ...]) -> UnavailableError:
    there, here = (".".join(map(str, version)) for version in (wrote, mongod.version))
    fact = f"{folder.root} was written by MongoDB {there} and {mongod.path} is {here}"
    if wrote > mongod.version:
        advice = "set CONVOSTORE_MONGOD to a mongod of that release"
        return EngineNotFoundError(f"{fact}: {advice}", cause="newer", detail=there)
    advice = (
        "open it with each release between them, setting featureCompatibilityVersion, or with an older mongod"
    )
    return UnavailableError(f"{fact}: {advice}")


def _last_words(folder: EngineFolder) -> str:
    """The last error that mongod logged or printed; when it said none, the last line printed."""
    lines = []
    for path in (folder.output, folder.log):
        lines += path.read_text("utf-8", "replace").splitlines() if path.exists() else []
    plain, errors = [""], []
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            plain.append(line.strip())
            continue
        if entry.get("s") in ("E", "F"):
            errors.append(f"{entry.get('msg')} {json.dumps(entry.get('attr', {}))}")
    return (errors or plain)[-1][:500]
