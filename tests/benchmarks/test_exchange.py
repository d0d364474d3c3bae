"""Importing and exporting beside plain ``insert_many``, and the memory they take (design 10)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from convostore.schemas.conversations import Conversation
from convostore.schemas.formats.writers import EXPORTED
from convostore.store import ConversationStore
from support.measuring import Figure, Figures, interleaved, message
from support.scale import scaled
from support.servers import Server

from .conftest import Bench

pytestmark = pytest.mark.benchmark

MESSAGES = 10
"""Messages of 500 bytes in each conversation."""


def lines(count: int) -> bytes:
    """So many conversations as OpenAI chat JSON Lines."""
    messages = [message(number, 500) for number in range(MESSAGES)]
    written = [json.dumps({"id": f"run-{number}", "messages": messages}) for number in range(count)]
    return "\n".join(written).encode()


def test_import(replica_bench: Bench, figures: Figures) -> None:
    count = scaled(10_000, at_least=100)
    source, database = lines(count), replica_bench.database
    stores = {number: ConversationStore(database, prefix=f"p{number}_") for number in range(6)}
    for store in stores.values():
        store.setup()
    # The very documents an import makes, as a program would hold them that inserts them itself.
    stores[0].import_conversations(source, user="bench")
    documents = list(database["p0_conversations"].find())
    assert len(documents) == count

    def imported(number: int) -> None:
        assert stores[number + 1].import_conversations(source, user="bench").imported == count

    def inserted(number: int) -> None:
        result = database[f"bare{number}"].insert_many(documents)
        assert len(result.inserted_ids) == count

    taken = interleaved({"import": imported, "bare": inserted}, 2)
    ours, theirs = taken["import"].median, taken["bare"].median
    figures.add(
        Figure(
            f"import of {count:,} conversations: speed / insert_many of the same documents",
            replica_bench.on,
            theirs / ours,
            at_least=0.5,
            detail=f"{count / ours:,.0f}/s to {count / theirs:,.0f}/s",
        )
    )


def test_export(replica_bench: Bench, figures: Figures) -> None:
    count = scaled(10_000, at_least=100)
    store = replica_bench.store
    store.import_conversations(lines(count), user="bench")
    written: dict[str, int] = {}

    def exporting(format: str) -> Callable[[int], None]:
        def export(number: int) -> None:
            pieces: list[bytes] = []
            report = store.export_conversations(pieces.append, user="bench", format=format)
            assert report.conversations == count
            written[format] = sum(map(len, pieces))

        return export

    def found(number: int) -> None:
        # As a program would that reads them all: each document decoded, and dropped.
        read = sum(1 for _ in replica_bench.database["conversations"].find({"user": "bench"}))
        assert read == count

    formats = ("convostore", "openai", "anda")
    taken = interleaved({"find": found, **{format: exporting(format) for format in formats}}, 2)
    bare = taken["find"].median
    for format in formats:
        seconds = taken[format].median
        figures.add(
            Figure(
                f"export of {count:,} conversations as {format}: speed / find of the same documents",
                replica_bench.on,
                bare / seconds,
                detail=f"{count / seconds:,.0f}/s to {count / bare:,.0f}/s, "
                f"{written[format] / seconds / 2**20:.1f} MiB/s",
            )
        )


@pytest.mark.parametrize("shape", ["many conversations", "one conversation"])
def test_memory_of_every_format(
    replica_bench: Bench,
    replica_set: Server,
    database_name: str,
    tmp_path: Path,
    shape: str,
    figures: Figures,
) -> None:
    """Resident memory of an export at its highest, each format in a process of its own."""
    count = scaled(400_000, at_least=4000)
    if shape == "one conversation":
        append_all(replica_bench.store, count)
    else:
        replica_bench.store.import_conversations(lines(count // MESSAGES), user="bench")
    program = Path(__file__).with_name("exchange_in_a_process.py")
    for format in EXPORTED[1:]:
        file = tmp_path / format
        command = [sys.executable, str(program), replica_set.uri(database_name), "export", str(file), format]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert said["messages"] == count
        figures.add(
            Figure(
                f"memory: export as {format}, {shape}, {count:,} messages",
                replica_bench.on,
                said["peak"] / 2**20,
                "MiB",
                at_most=200,
                detail=f"{file.stat().st_size / 2**20:.0f} MiB file, {said['before'] / 2**20:.0f} MiB before",
            )
        )
        file.unlink()


def write_lines(file: Path, count: int) -> None:
    """So many different conversations, a line each."""
    with file.open("w") as target:
        for number in range(count):
            messages = [message(number * MESSAGES + place, 500) for place in range(MESSAGES)]
            target.write(json.dumps({"id": f"run-{number}", "messages": messages}) + "\n")


def append_all(store: ConversationStore, count: int) -> None:
    """One conversation of so many messages."""
    id = store.create(Conversation(user="bench")).id
    for first in range(0, count, 1000):
        store.append(id, [message(number, 500) for number in range(first, min(first + 1000, count))])


@pytest.mark.parametrize("shape", ["many conversations", "one conversation"])
def test_memory(
    replica_bench: Bench,
    replica_set: Server,
    database_name: str,
    tmp_path: Path,
    shape: str,
    figures: Figures,
) -> None:
    """Resident memory at its highest, each step in a process of its own.

    One long conversation is read from Convostore's own format, line by line. Of other formats a conversation
    is held whole.
    """
    count = scaled(400_000, at_least=4000)
    file, again = tmp_path / "in.jsonl", f"{database_name}_again"
    uri = replica_set.uri(database_name)
    steps = [("import of OpenAI chat", uri), ("export", uri), ("import of that", replica_set.uri(again))]
    if shape == "one conversation":
        append_all(replica_bench.store, count)
        del steps[0]
    else:
        write_lines(file, count // MESSAGES)
    program = Path(__file__).with_name("exchange_in_a_process.py")
    try:
        for name, target in steps:
            command = [sys.executable, str(program), target, name.split()[0], str(file)]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            said = json.loads(done.stdout)
            assert said["messages"] == count
            figures.add(
                Figure(
                    f"memory: {name}, {shape}, {count:,} messages",
                    replica_bench.on,
                    said["peak"] / 2**20,
                    "MiB",
                    at_most=200,
                    detail=f"{file.stat().st_size / 2**20:.0f} MiB file, "
                    f"{said['before'] / 2**20:.0f} MiB before",
                )
            )
    finally:
        replica_bench.database.client.drop_database(again)
