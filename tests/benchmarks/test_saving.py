"""What finding out that one thing changed, and storing it, costs the client (design 10)."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import pytest

from convostore.schemas.conversations import Conversation
from support.measuring import Figure, Figures, interleaved, message
from support.scale import scaled

from .conftest import Bench

pytestmark = pytest.mark.benchmark

COUNT = 1000


def test_save_after_one_change(replica_bench: Bench, figures: Figures) -> None:
    store = replica_bench.store
    numbers = itertools.count(COUNT)

    def label(record: Conversation) -> None:
        record.label = f"label {next(numbers)}"

    def newest(record: Conversation) -> None:
        record.messages[-1] = message(next(numbers), 600)

    def appended(record: Conversation) -> None:
        record.append_messages([message(next(numbers), 600)])

    def oldest(record: Conversation) -> None:
        record.messages[0] = message(next(numbers), 600)

    changes: dict[str, Callable[[Conversation], None]] = {
        "the label": label,
        "one message more": appended,
        "the newest message": newest,
        "the oldest message": oldest,
    }
    messages = [message(number, 600) for number in range(COUNT)]
    records = {name: store.create(Conversation(user="bench", messages=list(messages))) for name in changes}

    def change(_: int) -> None:
        for name, apply in changes.items():
            apply(records[name])

    taken = interleaved(
        {name: lambda _, record=record: store.save(record) for name, record in records.items()},  # type: ignore[misc]
        scaled(200, at_least=4),
        before=change,
        clock=time.process_time,
    )
    for name, record in records.items():
        assert store.get(record.id) == record
        figures.add(
            Figure(
                f"client CPU of save, {name} of {COUNT:,} changed",
                replica_bench.on,
                taken[name].median * 1e3,
                "ms",
                at_most=2.0,
            )
        )
