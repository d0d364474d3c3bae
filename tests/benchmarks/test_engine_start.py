"""How long the embedded engine takes to start on a folder that has data, and to join a server that runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pymongo import MongoClient

from convostore.store.engine import EmbeddedEngine
from support.measuring import Figure, Figures, interleaved

pytestmark = pytest.mark.benchmark


def test_start_and_join(tmp_path: Path, figures: Figures) -> None:
    folder = tmp_path / "engine"
    with EmbeddedEngine(folder) as engine, MongoClient[dict[str, int]](engine.start()) as client:
        client.test.notes.insert_many([{"_id": number} for number in range(1000)])

    def start_and_stop(_: int) -> None:
        with EmbeddedEngine(folder):
            pass

    alone = interleaved({"start and stop": start_and_stop}, 3)["start and stop"]
    with EmbeddedEngine(folder):
        joined = interleaved({"join": start_and_stop}, 5)["join"]
    figures.add(Figure("embedded: start and stop, with data", "embedded", alone.median, "s", at_most=3))
    figures.add(Figure("embedded: join and leave a running server", "embedded", joined.median, "s"))
