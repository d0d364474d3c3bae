"""What reading costs beside one document per message (design 10): the last page, and a whole conversation."""

from __future__ import annotations

import pytest

from convostore.schemas.conversations import Conversation
from support.measuring import Figure, Figures, interleaved, message
from support.scale import scaled

from .conftest import Bench

pytestmark = pytest.mark.benchmark


def filled(bench: Bench, count: int) -> int:
    """The id of a conversation of so many messages, which lie in the bare collection as well."""
    messages = [message(number, 500) for number in range(count)]
    id = bench.store.create(Conversation(user="bench", messages=messages)).id
    for start in range(0, count, 10_000):
        part = messages[start : start + 10_000]
        bench.bare.insert_many({"c": id, "n": number, **one} for number, one in enumerate(part, start))
    return id


def test_last_page_of_a_long_conversation(replica_bench: Bench, figures: Figures) -> None:
    count, rounds = scaled(100_000, at_least=1000), scaled(1000, at_least=20)
    store, bare = replica_bench.store, replica_bench.bare
    id = filled(replica_bench, count)
    short = filled(replica_bench, 100)
    page = store.messages(id, limit=50)
    assert [entry.message for entry in page.items] == [
        message(number, 500) for number in range(count - 50, count)
    ]
    taken = interleaved(
        {
            "page": lambda _: store.messages(id, limit=50),
            "page of the short one": lambda _: store.messages(short, limit=50),
            "bare": lambda _: list(bare.find({"c": id}).sort("n", -1).limit(50)),
        },
        rounds,
    )
    ours, brief, theirs = taken["page"], taken["page of the short one"], taken["bare"]
    figures.add(
        Figure(
            f"last 50 of {count:,} messages / find().limit(50)",
            replica_bench.on,
            ours.median / theirs.median,
            at_most=1.0,
            detail=f"{ours.median * 1e3:.2f} ms to {theirs.median * 1e3:.2f} ms",
        )
    )
    figures.add(
        Figure(
            f"last 50 of {count:,} messages / of 100",
            replica_bench.on,
            ours.median / brief.median,
            detail=f"{ours.median * 1e3:.2f} ms to {brief.median * 1e3:.2f} ms",
        )
    )


@pytest.mark.parametrize(("full", "least", "budget"), [(3000, 60, 0.7), (100_000, 1000, None)])
def test_whole_conversation(
    replica_bench: Bench, full: int, least: int, budget: float | None, figures: Figures
) -> None:
    count = full if budget is not None else scaled(full, at_least=least)
    rounds = 3 + scaled(max(20, 600_000 // full), at_least=0)
    store, bare = replica_bench.store, replica_bench.bare
    id = filled(replica_bench, count)
    assert len(store.get(id).messages) == count
    taken = interleaved(
        {
            "get": lambda _: store.get(id),
            "entries": lambda _: list(store.entries(id)),
            "bare": lambda _: list(bare.find({"c": id}).sort("n", 1)),
        },
        rounds,
    )
    for call in ("get", "entries"):
        ours, theirs = taken[call], taken["bare"]
        figures.add(
            Figure(
                f"{call} of all {count:,} messages / find()",
                replica_bench.on,
                ours.median / theirs.median,
                at_most=budget if call == "get" else None,
                detail=f"{ours.median * 1e3:.1f} ms to {theirs.median * 1e3:.1f} ms",
            )
        )
