"""How the size of the embedded run shows in an append and in the last page: why ``Bounds`` are so."""

from __future__ import annotations

import pytest

from convostore.schemas.conversations import Conversation
from convostore.store import ConversationStore
from convostore.store.layout import KIB, Bounds
from support.measuring import Figures, Timing, interleaved, message
from support.scale import scaled

from .conftest import Bench

pytestmark = pytest.mark.benchmark

SIZE = 500
SIZES = (4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB)
SEALED = 200
"""Messages that lie in a segment in front of the embedded run."""


def test_append_and_page_over_embedded_sizes(bench: Bench, figures: Figures) -> None:
    database = bench.database
    batches, each = scaled(60, at_least=1), 8
    runs: dict[int, tuple[ConversationStore, int, int]] = {}
    for size in SIZES:
        # A seal would leave ``kept`` messages; none comes, because the run is put back after a few appends.
        kept = size // (SIZE + 40)
        bounds = Bounds(
            keep=kept,
            soft_count=SEALED,
            soft_bytes=2 * size,
            hard_count=4096,
            hard_bytes=16 * KIB * KIB,
            log_soft=4096,
        )
        making = ConversationStore(database, bounds=bounds)
        messages = [message(number, SIZE) for number in range(SEALED + kept)]
        id = making.create(Conversation(user="bench", messages=messages)).id
        unsealing = Bounds(soft_count=10**6, soft_bytes=10**9, hard_count=10**6, hard_bytes=10**9)
        runs[size] = (ConversationStore(database, bounds=unsealing), id, kept)
    heads = {size: database["conversations"].find_one({"_id": id}) for size, (_, id, _) in runs.items()}
    for size, (_, _, kept) in runs.items():
        head = heads[size]
        assert head is not None
        assert head["embedded_count"] == kept

    def put_back(number: int) -> None:
        if number % each == 0:
            for head in heads.values():
                assert head is not None
                database["conversations"].replace_one({"_id": head["_id"]}, head)

    calls = {
        f"append {size}": lambda n, run=run: run[0].append(run[1], message(n, SIZE))  # type: ignore[misc]
        for size, run in runs.items()
    }
    calls |= {
        f"page {size}": lambda _, run=run: run[0].messages(run[1], limit=50)  # type: ignore[misc]
        for size, run in runs.items()
    }
    calls["insert"] = lambda n: bench.durable.insert_one({"c": 0, "n": n, **message(n, SIZE)})
    taken = interleaved(calls, batches * each, before=put_back)
    figures.add_table(
        f"append and last page by embedded size, {bench.on}, messages of {SIZE} B",
        ("embedded", "messages", "append", "/ insert_one", "last 50"),
        [
            (
                f"{size // KIB} KiB",
                str(kept),
                _ms(taken[f"append {size}"]),
                f"{taken[f'append {size}'].median / taken['insert'].median:.2f} x",
                _ms(taken[f"page {size}"]) + ("" if kept >= 50 else " (two trips)"),
            )
            for size, (_, _, kept) in runs.items()
        ],
    )


def _ms(timing: Timing) -> str:
    return f"{timing.median * 1e3:.2f} ms"
