"""Importing and exporting beside plain ``insert_many``, and the memory they take (design 10)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

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
    for format in ("convostore", "openai"):
        pieces: list[bytes] = []
        start = time.perf_counter()
        report = store.export_conversations(pieces.append, user="bench", format=format)
        seconds = time.perf_counter() - start
        assert report.conversations == count
        figures.add(
            Figure(
                f"export of {count:,} conversations as {format}",
                replica_bench.on,
                count / seconds,
                "a second",
                detail=f"{sum(map(len, pieces)) / seconds / 2**20:.1f} MiB/s",
            )
        )


@pytest.mark.parametrize("shape", ["many", "one long"])
def test_memory(replica_set: Server, database_name: str, shape: str, figures: Figures) -> None:
    """Resident memory at its highest, in a process that only imports, and in one that only exports."""
    count = scaled(40_000, at_least=400)
    conversations, messages = (count, MESSAGES) if shape == "many" else (1, count * MESSAGES)
    for step in ("import", "export"):
        program = Path(__file__).with_name("exchange_in_a_process.py")
        command = [sys.executable, str(program), replica_set.uri(database_name), step]
        done = subprocess.run(
            [*command, str(conversations), str(messages)], capture_output=True, text=True, check=True
        )
        said: dict[str, Any] = json.loads(done.stdout)
        assert said["messages"] == count * MESSAGES
        figures.add(
            Figure(
                f"memory of the {step} of {count * MESSAGES:,} messages, {shape}",
                "replica set",
                said["peak"] / 2**20,
                "MiB",
                at_most=200,
                detail=f"{said['bytes'] / 2**20:.0f} MiB of data, {said['before'] / 2**20:.0f} MiB before",
            )
        )
