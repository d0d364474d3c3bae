"""Work done by other processes at once, or by one that is killed when it sends a certain command.

The work is a function of this module, so that the other process finds it by name.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable
from typing import Any
from unittest import mock

from pymongo import MongoClient, monitoring

from convostore.schemas import Conversation
from convostore.store import ConversationStore
from convostore.store.layout import Bounds
from convostore.store.synchronous import _importing
from support.command_log import HOUSEKEEPING

Work = Callable[..., None]
NOW = 1_796_000_000_000
"""The time of imports that must not differ in it."""

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["convostore.store"])


class _Executioner(monitoring.CommandListener):
    """Kills its own process just before the command at ``place`` (from 0) is sent."""

    def __init__(self, place: int) -> None:
        self._left = place

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        if event.command_name not in HOUSEKEEPING:
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)
            self._left -= 1

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        pass

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        pass


def killed_at(
    place: int, work: Work, uri: str, database: str, *arguments: Any, bounds: Bounds | None = None
) -> bool:
    """Do the work in a process that is killed before its command number ``place``, or kills itself.

    False when it lived to the end of its work.
    """
    process = _processes.Process(target=_die, args=(place, work, uri, database, bounds, arguments))
    return _is_killed(process)


def ended_itself(work: Work, uri: str, database: str, *arguments: Any) -> bool:
    """Do the work, which kills its process, in one of its own; False when it lived to the end."""
    return _is_killed(_processes.Process(target=_run, args=(work, uri, database, arguments)))


def _is_killed(process: Any) -> bool:
    process.start()
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL), f"the client ended with {process.exitcode}"
    return bool(process.exitcode)


def in_processes(count: int, work: Work, uri: str, database: str, *arguments: Any) -> None:
    """Do the work in so many processes at once, each with its number as the last argument."""
    processes = [
        _processes.Process(target=_run, args=(work, uri, database, (*arguments, number)))
        for number in range(count)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * count


def grown_by(work: Work, uri: str, database: str, *arguments: Any) -> float:
    """Do the work in another process; by how many megabytes it made that process's memory grow at most."""
    receiver, sender = _processes.Pipe(duplex=False)
    process = _processes.Process(target=_measure, args=(sender, work, uri, database, arguments))
    process.start()
    process.join(120)
    assert process.exitcode == 0, f"it ended with {process.exitcode}"
    grown: float = receiver.recv()
    return grown


def _measure(sender: Any, work: Work, uri: str, database: str, arguments: Any) -> None:
    with MongoClient[dict[str, Any]](uri) as client:
        store = ConversationStore(client[database])
        store.count(user="nobody")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        work(store, *arguments)
        sender.send((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def _die(place: int, work: Work, uri: str, database: str, bounds: Bounds | None, arguments: Any) -> None:
    with MongoClient[dict[str, Any]](uri, event_listeners=[_Executioner(place)]) as client:
        work(ConversationStore(client[database], bounds=bounds, clock=_clock_of(work)), *arguments)


def _run(work: Work, uri: str, database: str, arguments: Any) -> None:
    with MongoClient[dict[str, Any]](uri) as client:
        work(ConversationStore(client[database], clock=_clock_of(work)), *arguments)


def _clock_of(work: Work) -> Callable[[], int] | None:
    return (lambda: NOW) if work is import_runs else None


# The work


def delete(store: ConversationStore, id: int) -> None:
    store.delete(id)


def set_up(store: ConversationStore, number: int) -> None:
    store.setup()
    store.create(Conversation(user=f"user {number}", messages=[{"role": "user", "content": "hi"}]))


def import_runs(store: ConversationStore, path: str, die_after: float | None = None) -> None:
    """Import a file of runs in small batches, which makes many moments to die in; the time stands still."""
    if die_after is not None:
        killer = threading.Timer(die_after, os.kill, (os.getpid(), signal.SIGKILL))
        killer.daemon = True
        killer.start()
    with mock.patch.object(_importing, "_BATCH", 8), open(path, "rb") as file:
        store.import_conversations(file, user="bench", file="runs")


def append_one(store: ConversationStore, id: int, number: int) -> None:
    store.append(id, {"role": "user", "content": str(number)})


def append_under_key(store: ConversationStore, id: int, key: str, number: int) -> None:
    store.append(id, {"role": "user", "content": "hi"}, key=key)


def append_and_die(store: ConversationStore, id: int, messages: list[Any]) -> None:
    """Append one by one, and end without a word."""
    for message in messages:
        store.append(id, message)
    os.kill(os.getpid(), signal.SIGKILL)


def stream(store: ConversationStore, id: int, deltas: int, die_after: int) -> None:
    """Stream an answer of so many letters, storing every tenth state of it, and die in the middle."""
    streamed: int | None = None
    for number in range(1, deltas + 1):
        if number % 10 == 0:
            message = {"role": "assistant", "content": "x" * number}
            if streamed is None:
                streamed = store.append(id, message, unfinished=True).ids[0]
            else:
                store.edit(id, streamed, message)
        if number == die_after:
            os.kill(os.getpid(), signal.SIGKILL)


def take_and_die(store: ConversationStore, id: int, key: str, lease_ms: int) -> None:
    store.take(id, key=key, lease_ms=lease_ms)
    os.kill(os.getpid(), signal.SIGKILL)


def export(store: ConversationStore, user: str) -> None:
    store.export_conversations(lambda piece: None, user=user)
