"""Calls of the store in processes that are killed just before one of their commands.

Run as a program it reads one JSON line a case, ``{"uri", "database", "id", "call", "cut"}``, runs the call in
a child that kills itself before command number ``cut`` (from 1), and answers ``killed`` or ``done``. The
program imports everything once, and each child is a fork of it: a case costs no start of Python.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from pymongo import MongoClient

from convostore.schemas.authors import Author
from convostore.schemas.transcript import Aside, Transcript
from convostore.store.layout import Bounds
from convostore.store.synchronous.store import ConversationStore
from support.command_log import CommandLog

BOUNDS = Bounds(
    keep=3, soft_count=6, hard_count=10, step=1, bulk_count=8, merge_width=2, log_soft=6, log_keep=3
)
SECRET = "hunter2-the-secret"
COMPACT = Author.plugin("compact")
_PATIENCE = 60


def edited(value: Transcript) -> None:
    """Every kind of change, with what lies apart: a blob, removed entries in bodies, asides in bodies."""
    value.push({"role": "user", "content": "new " + "n" * 100_000})
    value.splice(slice(1, 4), [{"role": "user", "content": "summary"}], by=COMPACT)
    value.add_aside(Aside("note", COMPACT, None, "y" * 30_000))
    value.halt("stopped")


def without_secret(value: Any) -> Any:
    return json.loads(json.dumps(value).replace(SECRET, "***"))


def _save_transcript(store: ConversationStore, id: int) -> Callable[[], object]:
    value = store.transcript(id)
    edited(value)
    return lambda: store.save_transcript(value)


CALLS: dict[str, Callable[[ConversationStore, int], Callable[[], object]]] = {
    "save_transcript": _save_transcript,
    "undo": lambda store, id: lambda: store.undo(id),
    "fork": lambda store, id: lambda: store.fork(id),
    "rewrite": lambda store, id: lambda: store.rewrite(id, without_secret),
    "roll up": lambda store, id: store.analytics.advance,
    "rebuild": lambda store, id: store.analytics.rebuild,
    "delete": lambda store, id: lambda: store.delete(id),
    "delete and drop": lambda store, id: lambda: store.delete(id, figures="drop"),
    "migrate": lambda store, id: lambda: store.migrations.run(phase="post"),
}


class _Killer(CommandLog):
    def __init__(self, cut: int) -> None:
        super().__init__()
        self.cut = cut
        self.armed = False

    def started(self, event: Any) -> None:
        super().started(event)
        if self.armed and len(self.sent) == self.cut:
            os.kill(os.getpid(), signal.SIGKILL)


def _die_in_call(case: dict[str, Any]) -> None:
    killer = _Killer(case["cut"])
    with MongoClient[dict[str, Any]](case["uri"], event_listeners=[killer]) as client:
        store = ConversationStore(client[case["database"]], bounds=BOUNDS)
        call = CALLS[case["call"]](store, case["id"])
        killer.clear()
        killer.armed = True
        call()


def _serve() -> None:
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                _die_in_call(json.loads(line))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        ended = "killed" if os.WIFSIGNALED(status) else "done" if status == 0 else "failed"
        print(ended, flush=True)


class Mortuary:
    """The program's other side."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def call(self, **case: Any) -> str:
        """Run one case; ``killed`` or ``done``."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        with _within(_PATIENCE):
            return self._process.stdout.readline().strip()


@contextmanager
def _within(seconds: int) -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def mortuary() -> Iterator[Mortuary]:
    """The program, running."""
    tests = Path(__file__).parents[1]
    command = [sys.executable, "-m", "support.dying"]
    with subprocess.Popen(
        command, cwd=tests, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Mortuary(process)
        assert process.stdin is not None
        process.stdin.close()


if __name__ == "__main__":
    _serve()
