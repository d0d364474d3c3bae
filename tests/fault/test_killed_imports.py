"""An import of the 200 runs, killed at random moments and started again, gives what a clean one does."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.store import ALL_USERS, ConversationStore
from support.branched_exports import contents
from support.command_line import Command
from support.command_log import CommandLog
from support.killed_clients import NOW, ended_itself, import_runs, killed_at
from support.scale import SCALE
from support.servers import Server
from support.shared import shared

pytestmark = [pytest.mark.fault, pytest.mark.shared, pytest.mark.soak]

RUNS = "data/airline_agent_runs.openai.jsonl"
KILLS = max(4, round(20 * SCALE))
DAYS = 86_400_000


@contextmanager
def opened(server: Server, database: str, *listeners: Any) -> Iterator[ConversationStore]:
    """A store whose clock stands still on a database of its own."""
    with MongoClient[dict[str, Any]](server.uri(), event_listeners=listeners) as client:
        store = ConversationStore(client[database], clock=lambda: NOW)
        store.setup()
        yield store
        client.drop_database(database)


def everything(store: ConversationStore) -> dict[str, list[Any]]:
    """The lines of the canonical export by the source of their conversation, without what is drawn.

    That are the lineage and the keys of changes; and the id, since numbers drawn by an import that was killed
    are not used again.
    """
    written: list[bytes] = []
    store.export_conversations(written.append, user=ALL_USERS)
    found: dict[str, list[Any]] = {}
    for line in b"".join(written).splitlines()[1:-1]:
        value = json.loads(line)
        if value["kind"] == "conversation":
            held = found.setdefault(value["source"]["id"], [])
            del value["record"]["_id"], value["lineage"]
        value.pop("id", None)
        for change in value["changes"] if value["kind"] == "changes" else ():
            del change["k"]
        held.append(value)
    return found


def differing(found: dict[str, list[Any]], expected: dict[str, list[Any]]) -> list[str]:
    return [name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)]


def test_import_killed_at_any_moment_and_started_again_is_one_clean_import(
    replica_set: Server, database_name: str
) -> None:
    path, uri, log = str(shared(RUNS).resolve()), replica_set.uri(), CommandLog()
    with opened(replica_set, database_name, log) as store:
        log.clear()
        begun = time.monotonic()
        import_runs(store, path)
        took, commands = time.monotonic() - begun, len(log.sent)
        clean = everything(store)
    assert len(clean) == 200
    dice, killed, partly = random.Random(4), 0, 0
    for number in range(KILLS):
        name = f"{database_name}_{number}"
        with opened(replica_set, name) as store:
            # Every other time it is a command that the process does not live to send.
            for _ in range(dice.randrange(1, 4)):
                if number % 2:
                    killed += killed_at(dice.randrange(commands), import_runs, uri, name, path)
                else:
                    killed += ended_itself(import_runs, uri, name, path, dice.uniform(0, took))
                partly += 0 < store.count(user=ALL_USERS) < 200
                assert not store.check().broken
            assert not ended_itself(import_runs, uri, name, path)
            assert differing(everything(store), clean) == []
            collect_what_is_left(replica_set, name)
            assert differing(everything(store), clean) == []
    print(f"{KILLS} imports of {commands} commands: killed {killed} times, {partly} times with a part stored")
    assert killed >= KILLS // 2 and partly, "hardly any was killed in the middle"


def collect_what_is_left(server: Server, database: str) -> None:
    """What the dead left behind is found and removed days later; nothing is broken."""
    with server.client() as client:
        store = ConversationStore(client[database], clock=lambda: NOW + 3 * DAYS)
        assert not store.check().broken
        store.check(repair=True)
        assert not store.check().findings


def test_command_killed_at_any_moment_and_started_again_is_one_clean_import(
    replica_set: Server, database_name: str, tmp_path: Path
) -> None:
    path = shared(RUNS).resolve()
    with opened(replica_set, f"{database_name}_clean") as store:
        store.import_conversations(path.read_bytes(), user="bench")
        clean = contents(store)
    dice = random.Random(7)
    for number in range(max(1, KILLS // 5)):
        name = f"{database_name}_{number}"
        with opened(replica_set, name) as store:
            command = Command(replica_set.uri(name), tmp_path)
            for _ in range(2):
                running = command.start("import", path, "--user", "bench")
                time.sleep(dice.uniform(0.4, 1.5))
                running.kill()
                running.communicate()
                assert running.returncode in (0, -signal.SIGKILL)
            done = command.fine("import", path, "--user", "bench", "--json").json
            assert (done["read"], done["imported"] + done["unchanged"]) == (200, 200)
            assert contents(store) == clean
            command.fine("doctor")
