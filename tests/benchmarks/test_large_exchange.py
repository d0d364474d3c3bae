"""The memory of the installed command with the largest files that it is meant for: in, and all out again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.command_line import Command
from support.large_exports import chatgpt_conversation, write_chat_lines, write_chatgpt
from support.measuring import Figure, Figures
from support.scale import scaled
from support.servers import Server

from .exchange_in_a_process import peak

pytestmark = pytest.mark.benchmark

MIB = 2**20
BUDGET = 200
"""MiB of resident memory (issue 4)."""


class Ran(NamedTuple):
    """What a command reported, the most memory that it had, and how long it took."""

    report: dict[str, Any]
    peak: int
    seconds: float


@pytest.fixture
def convostore(replica_set: Server, database_name: str, tmp_path: Path) -> Command:
    """The installed command on a replica set of one member, in a database of its own."""
    return Command(replica_set.uri(database_name), tmp_path)


def measured(convostore: Command, *arguments: object) -> Ran:
    """Run the command to its end, looking at its memory all the while."""
    begun, highest = time.perf_counter(), 0
    with convostore.start(*arguments, "--json") as process:
        while process.poll() is None:
            highest = max(highest, peak(process.pid))
            time.sleep(0.05)
        seconds = time.perf_counter() - begun
        assert process.stdout is not None and process.stderr is not None
        out, err = process.stdout.read(), process.stderr.read()
    assert process.returncode == 0, (out, err)
    return Ran(json.loads(out), highest, seconds)


def in_and_out(convostore: Command, file: Path, what: str, figures: Figures) -> None:
    """Import the file, export everything again, and tell the memory and the speed of both."""
    out = file.with_name("out.jsonl")
    imported = measured(convostore, "import", file, "--user", "bench")
    exported = measured(convostore, "export", "--out", out)
    assert imported.report["failed"] == 0
    assert exported.report["conversations"] == imported.report["imported"]
    for step, done, count, size in (
        ("import", imported, imported.report["imported"], file.stat().st_size),
        ("export", exported, exported.report["conversations"], out.stat().st_size),
    ):
        speed = f"{count / done.seconds:,.1f}/s, {size / MIB / done.seconds:.1f} MiB/s"
        figures.add(
            Figure(
                f"memory: {step} of {what}",
                "replica set",
                done.peak / MIB,
                "MiB",
                at_most=BUDGET,
                detail=f"{size / MIB:,.0f} MiB, {count:,} conversations in {done.seconds:,.0f} s: {speed}",
            )
        )
    out.unlink()


def test_a_chatgpt_archive(convostore: Command, tmp_path: Path, figures: Figures) -> None:
    file = tmp_path / "conversations.json"
    size = scaled(2 << 30, at_least=8 << 20)
    write_chatgpt(file, size)
    in_and_out(convostore, file, f"{size / MIB:,.0f} MiB of ChatGPT", figures)


def test_chat_lines(convostore: Command, tmp_path: Path, figures: Figures) -> None:
    file = tmp_path / "chats.jsonl"
    count = scaled(500_000, at_least=5000)
    write_chat_lines(file, count)
    in_and_out(convostore, file, f"{count:,} conversations as OpenAI chat", figures)


# One conversation of many MiB


def tree(size: int) -> Any:
    """A ChatGPT conversation of about that size, with a few branches."""
    turns = size // 3900
    return [chatgpt_conversation(0, turns, regenerated=3 / turns)]


def record(size: int) -> Any:
    """An OpenAI chat of messages of 1 KiB."""
    messages = [{"role": "user", "content": f"{number} " + "word " * 200} for number in range(size // 1050)]
    return {"id": "long", "messages": messages}


def message(size: int) -> Any:
    """An OpenAI chat of a single message."""
    return {"id": "one", "messages": [{"role": "user", "content": "word " * (size // 5)}]}


@pytest.mark.parametrize(
    ("what", "make"),
    [("ChatGPT tree", tree), ("record of chat", record), ("message", message)],
)
def test_a_large_conversation(
    convostore: Command, tmp_path: Path, what: str, make: Callable[[int], Any], figures: Figures
) -> None:
    file = tmp_path / "large.json"
    size = scaled(80 << 20, at_least=1 << 20)
    file.write_text(json.dumps(make(size)))
    in_and_out(convostore, file, f"one {what} of {size / MIB:,.0f} MiB", figures)
