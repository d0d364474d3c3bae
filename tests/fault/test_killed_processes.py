"""Nine processes work on one conversation while one after the other is killed at random."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.store import ConversationStore
from support.folding import going_back
from support.scale import SCALE
from support.servers import Server, wait_until
from support.workers import BOUNDS, Worker, notes, start

pytestmark = [pytest.mark.fault, pytest.mark.soak]

SECONDS = max(5.0, 30 * SCALE)
BETWEEN_KILLS = 0.35
WORKS = [Worker.append] * 3 + [Worker.edit] * 2 + [Worker.save, Worker.read, Worker.read, Worker.collect]


def test_processes_that_are_killed_lose_and_double_nothing(
    replica_set: Server, database_name: str, tmp_path: Path
) -> None:
    with MongoClient[dict[str, Any]](replica_set.uri()) as client:
        store = ConversationStore(client[database_name], bounds=BOUNDS)
        store.setup()
        id = store.create(Conversation(user="alice", messages=[{"role": "user", "content": "first"}])).id
        kills = work_and_die(replica_set.uri(), database_name, id, tmp_path)
        assert not store.check().broken
        noted = list(notes(tmp_path))
        seen = [(note["version"], note["lines"]) for note in noted if "version" in note]
        stored = {note["stored"] for note in noted if "stored" in note}
        wanted = {version for version, _ in seen}
        states: dict[int, list[list[Any]]] = {}
        for past in going_back(client[database_name], id):
            # Each change here leaves one record: revisions are versions.
            states.setdefault(0, [list(line) for line in past.lines])
            if past.revision in wanted:
                states[past.revision] = [list(line) for line in past.lines]
        newest = store.get(id)
    versions, brought = max(wanted), past.brought
    print(f"{SECONDS} s, {kills} kills: {versions} versions, {len(seen)} reads checked, {len(stored)} stored")
    assert [message["content"] for message in newest.messages] == [text for _, text in states.pop(0)]
    wrong = [version for version, lines in seen if lines != states[version]]
    assert not wrong, f"of {len(seen)} reads those of versions {wrong} are not the fold of the records"
    assert not stored - brought.keys(), "acknowledged and lost"
    assert max(brought.values()) == 1, [text for text, times in brought.items() if times > 1]
    assert kills >= SECONDS and len(seen) >= 4 * SECONDS and len(stored) >= 10 * SECONDS, "hardly any work"


def work_and_die(uri: str, database: str, id: int, folder: Path) -> int:
    """Keep the processes at work and kill a random one every moment; how many died so."""
    dice, kills = random.Random(5), 0
    workers = [
        start(work, uri, database, id, folder / f"{work.__name__}-{place}")
        for place, work in enumerate(WORKS)
    ]
    wait_until(lambda: sum("began" in note for note in notes(folder)) == len(WORKS), "all are at work")
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        place = dice.randrange(len(WORKS))
        workers[place].join(BETWEEN_KILLS)
        assert workers[place].is_alive(), f"{WORKS[place].__name__} ended by itself"
        workers[place].kill()
        workers[place].join()
        kills += 1
        out = folder / f"{WORKS[place].__name__}-{place}-{kills}"
        workers[place] = start(WORKS[place], uri, database, id, out)
    for worker in workers:
        worker.kill()
        worker.join()
    return kills
