"""Processes that work on one conversation until they are killed, and write down what they were told.

Each kind of work goes on for ever; ``note`` writes a line that survives the death of the process.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from convostore.schemas.errors import ConflictError, NotFoundError, UnavailableError
from convostore.store import ConversationStore
from convostore.store.baselines import baseline
from convostore.store.layout import Bounds
from convostore.store.synchronous import _checking

BOUNDS = Bounds(
    keep=3,
    soft_count=6,
    hard_count=12,
    step=2,
    bulk_count=20,
    merge_width=3,
    segment_count=60,
    log_soft=16,
    log_keep=8,
)

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["convostore.store"])


class Worker:
    """What a process needs for its work on conversation ``id``; its tokens begin with its ``name``."""

    def __init__(self, store: ConversationStore, id: int, name: str, out: int) -> None:
        self.store = store
        self.id = id
        self.dice = random.Random(name)
        self._name = name
        self._out = out
        self._numbers = count(1)

    def message(self) -> dict[str, Any]:
        return {"role": "user", "content": f"{self._name}-{next(self._numbers)}"}

    def note(self, **facts: Any) -> None:
        os.write(self._out, json.dumps(facts).encode() + b"\n")

    def append(self) -> None:
        """Some at a time, now and then more than fit into one command."""
        number = 25 if self.dice.random() < 0.02 else self.dice.randint(1, 3)
        messages = [self.message() for _ in range(number)]
        done = self.store.append(self.id, messages)
        for id, message in zip(done.ids, messages, strict=True):
            self.note(stored=message["content"], id=id)

    def edit(self) -> None:
        head = self.store.head(self.id)
        assert head.last is not None
        newest = head.last.id
        entry = self.dice.randint(0, newest) if self.dice.random() < 0.5 else max(0, newest - 3)
        message = self.message()
        self.store.edit(self.id, entry, message)
        self.note(stored=message["content"], id=entry)

    def save(self) -> None:
        record = self.store.get(self.id)
        start = self.dice.randint(0, len(record.messages))
        placed = [self.message() for _ in range(self.dice.randint(0, 2))]
        record.messages[start : start + self.dice.randint(0, 4)] = placed
        self.store.save(record)
        self._seen(record)
        for message in placed:
            self.note(stored=message["content"])

    def read(self) -> None:
        self._seen(self.store.get(self.id))

    def collect(self) -> None:
        backend = self.store._backend
        assert backend is not None
        _checking.collect(backend, {"_id": self.id})

    def _seen(self, record: Any) -> None:
        noted = baseline(record)
        ids = [entry["id"] for entry in noted.entries]
        texts = [message["content"] for message in record.messages]
        self.note(version=noted.version, lines=list(zip(ids, texts, strict=True)))


def start(work: Callable[[Worker], None], uri: str, database: str, id: int, out: Path) -> BaseProcess:
    """A process that does the work again and again; ``out`` is its own file, by whose name it goes."""
    process = _processes.Process(
        target=_go_on, args=(work.__name__, uri, database, id, str(out)), daemon=True
    )
    process.start()
    return process


def notes(folder: Path) -> Iterator[dict[str, Any]]:
    """Everything that was noted; the last line of a killed process may be half a line."""
    for file in folder.iterdir():
        for line in file.read_bytes().split(b"\n")[:-1]:
            yield json.loads(line)


def _go_on(work: str, uri: str, database: str, id: int, out: str) -> None:
    file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with MongoClient[dict[str, Any]](uri) as client:
        worker = Worker(ConversationStore(client[database], bounds=BOUNDS), id, Path(out).name, file)
        worker.note(began=work)
        while True:
            # Another writer was faster, or took the entry away: that is no failure.
            with suppress(ConflictError, NotFoundError, UnavailableError):
                getattr(worker, work)()
