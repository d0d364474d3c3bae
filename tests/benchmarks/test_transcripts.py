"""What the transcript costs (issue 3): converting the 200 runs, loading one beside its record, history."""

from __future__ import annotations

import json
import time
from typing import Any

import bson
import pytest

from convostore.schemas.conversations import Conversation
from convostore.schemas.conversion import to_conversation, to_transcript
from convostore.schemas.transcript import Transcript
from support.measuring import Figure, Figures, interleaved, message
from support.scale import scaled
from support.shared import shared

from .conftest import Bench

pytestmark = pytest.mark.benchmark


@pytest.mark.shared
def test_conversion_of_the_real_runs(figures: Figures) -> None:
    lines = shared("data/airline_agent_runs.openai.jsonl").read_text().splitlines()
    records = [Conversation(user="bench", messages=json.loads(line)["messages"]) for line in lines]
    assert sum(len(record.messages) for record in records) == 5308
    made: list[Transcript] = []
    best = {"to transcripts": float("inf"), "and back": float("inf")}
    for _ in range(3):
        start = time.process_time()
        made = [to_transcript(record) for record in records]
        best["to transcripts"] = min(best["to transcripts"], time.process_time() - start)
        start = time.process_time()
        back = [to_conversation(one) for one in made]
        best["and back"] = min(best["and back"], time.process_time() - start)
        assert all(one.messages == record.messages for one, record in zip(back, records, strict=True))
    for what, seconds in best.items():
        figures.add(Figure(f"conversion of 5,308 messages {what}, CPU", "-", seconds, "s", at_most=0.5))


def test_loading_a_transcript_beside_its_record(replica_bench: Bench, figures: Figures) -> None:
    count, rounds = scaled(3000, at_least=60), scaled(500, at_least=10)
    store = replica_bench.store
    messages = [message(number, 500) for number in range(count)]
    id = store.create(Conversation(user="bench", messages=messages)).id
    assert len(store.transcript(id)) == count
    taken = interleaved(
        {"transcript": lambda _: store.transcript(id), "record": lambda _: store.get(id)}, rounds
    )
    ours, theirs = taken["transcript"], taken["record"]
    figures.add(
        Figure(
            f"transcript of {count:,} entries / its record",
            replica_bench.on,
            ours.median / theirs.median,
            at_most=2.0,
            detail=f"{ours.median * 1e3:.2f} ms to {theirs.median * 1e3:.2f} ms",
        )
    )


def test_a_past_revision_and_an_undo_of_a_long_conversation(replica_bench: Bench, figures: Figures) -> None:
    changes, rounds = scaled(10_000, at_least=150), scaled(250, at_least=5)
    store = replica_bench.store
    id = store.create(Conversation(user="bench")).id
    value = store.transcript(id)
    while value.revision() < changes:
        for _ in range(min(200, changes - value.revision())):
            value.push(message(value.revision(), 500))
        store.save_transcript(value)
    head: Any = replica_bench.database["conversations"].find_one({"_id": id}, {"log": 1, "_id": 0})
    sealed = replica_bench.database["changes"].find({"c": id})
    size = len(bson.encode(head)) + sum(len(bson.encode(one)) for one in sealed)
    figures.add(Figure("history stored for each change", "-", size / changes, "B", at_most=120))
    taken = interleaved(
        {
            "first": lambda _: store.as_of(id, 1),
            "middle": lambda _: store.as_of(id, changes // 2),
            "undo": lambda number: store.undo(id) if number % 2 == 0 else store.redo(id),
        },
        rounds,
    )
    for name, timing in taken.items():
        figures.add(Figure(f"{name} of {changes:,} changes", replica_bench.on, timing.median * 1e3, "ms"))
