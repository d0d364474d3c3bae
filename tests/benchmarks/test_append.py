"""What an append costs beside a bare ``insert_one`` of the same message (design 10)."""

from __future__ import annotations

import itertools

import pytest

from convostore.schemas.conversations import Conversation
from convostore.store import ConversationStore
from support.measuring import Figure, Figures, interleaved, message, per_second
from support.scale import scaled

from .conftest import Bench

pytestmark = pytest.mark.benchmark

USAGE = {"input_tokens": 1200, "output_tokens": 80, "requests": 1}
STEADY = 120
"""Messages a conversation has when it is measured: it was sealed before and will be again."""


def grown(store: ConversationStore, count: int, size: int) -> int:
    """The id of a conversation of so many messages."""
    messages = [message(number, size) for number in range(count)]
    return store.create(Conversation(user="bench", messages=messages)).id


@pytest.mark.parametrize("size", [500, 2048, 8192])
def test_append_of_one_message(bench: Bench, size: int, figures: Figures) -> None:
    rounds = scaled(2000, at_least=20)
    id = grown(bench.store, STEADY, size)
    messages = [message(number, size) for number in range(rounds * 2)]
    taken = interleaved(
        {
            "append": lambda n: bench.store.append(id, messages[n], usage=USAGE),
            "bare": lambda n: bench.bare.insert_one({"c": id, "n": n, **messages[n]}),
            "durable": lambda n: bench.durable.insert_one({"c": id, "n": -1 - n, **messages[n]}),
        },
        rounds,
        in_a_row=10,
    )
    assert bench.store.head(id).message_count == STEADY + bench.bare.count_documents({"n": {"$gte": 0}})
    append, bare, durable = taken["append"], taken["bare"], taken["durable"]
    replicated = bench.on == "replica set"
    budget = (1.5 if size > 2048 else 1.25) if replicated else 1.8
    against_default = append.median / bare.median
    against_durable = append.median / durable.median
    figures.add(
        Figure(
            f"append of {size} B / insert_one, w: majority, j: true",
            bench.on,
            against_durable,
            at_most=budget,
            detail=f"{append.median * 1e3:.2f} ms to {durable.median * 1e3:.2f} ms, "
            f"means {append.mean / durable.mean:.2f} x, p95 {append.percentile(95) * 1e3:.2f} ms",
        )
    )
    figures.add(
        Figure(
            f"append of {size} B / insert_one, the driver's default",
            bench.on,
            against_default,
            at_most=budget if replicated else None,
            detail=f"{append.median * 1e3:.2f} ms to {bare.median * 1e3:.2f} ms"
            + ("" if replicated else ", which the journal does not hold yet"),
        )
    )


def test_append_costs_the_same_at_any_length(bench: Bench, figures: Figures) -> None:
    rounds, long = scaled(1500, at_least=20), scaled(100_000, at_least=1000)
    ids = {"short": grown(bench.store, 100, 500), "long": grown(bench.store, long, 500)}
    taken = interleaved(
        {
            name: lambda n, id=id: bench.store.append(id, message(n, 500), usage=USAGE)  # type: ignore[misc]
            for name, id in ids.items()
        },
        rounds,
        in_a_row=10,
    )
    short, longer = taken["short"], taken["long"]
    assert bench.store.head(ids["long"]).message_count > long + rounds
    figures.add(
        Figure(
            f"append at {long:,} messages / at 100",
            bench.on,
            longer.median / short.median,
            at_most=1.1,
            detail=f"{longer.median * 1e3:.2f} ms to {short.median * 1e3:.2f} ms",
        )
    )


def test_append_by_sixteen_threads(replica_bench: Bench, figures: Figures) -> None:
    each = scaled(500, at_least=8)
    store = replica_bench.store
    alone, shared = grown(store, STEADY, 500), grown(store, STEADY, 500)
    places = itertools.count()

    def append_to(id: int) -> None:
        store.append(id, message(next(places), 500), usage=USAGE)

    per_second(lambda _, __: append_to(alone), threads=1, each=each)
    one = per_second(lambda _, __: append_to(alone), threads=1, each=4 * each)
    many = per_second(lambda _, __: append_to(shared), threads=16, each=each)
    assert store.head(shared).message_count == STEADY + 16 * each
    figures.add(
        Figure(
            "appends a second, 16 threads on one conversation / 1 thread",
            replica_bench.on,
            many / one,
            at_least=1200 / 700,
            detail=f"{many:.0f}/s to {one:.0f}/s",
        )
    )
