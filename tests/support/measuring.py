"""Timing calls against each other in one run, and the table of what came out. Asserts nothing."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

# fmt: off
WORDS = (
    "flight", "passenger", "reservation", "baggage", "cabin", "economy", "refund", "policy",
    "certificate", "airport", "insurance", "travel", "confirm", "cancel", "change", "payment",
    "schedule", "departure", "arrival", "connection", "customer", "account", "please", "thank",
    "agent", "update", "status", "booking", "business", "upgrade", "delay", "compensation",
    "request", "details", "user", "number", "date", "class", "seat",
)
# fmt: on


def message(number: int, size: int) -> dict[str, str]:
    """A chat message of about ``size`` bytes of JSON, whose words follow from ``number``."""
    dice = random.Random(number)
    words, length = [str(number)], 40 + len(str(number))
    while length < size:
        words.append(dice.choice(WORDS))
        length += len(words[-1]) + 1
    return {"role": "user" if number % 2 == 0 else "assistant", "content": " ".join(words)[: size - 40]}


@dataclass(frozen=True, slots=True)
class Timing:
    """How long the calls of one kind took, in seconds, in the order they were made."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.seconds)

    def percentile(self, percent: int) -> float:
        return statistics.quantiles(self.seconds, n=100)[percent - 1]


def interleaved(
    calls: Mapping[str, Callable[[int], object]],
    rounds: int,
    *,
    in_a_row: int = 1,
    before: Callable[[int], object] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Each call ``rounds`` times, given the number of the round, in another random order every time.

    What disturbs the machine so disturbs all alike. Calls of one kind come ``in_a_row`` at a time: a program
    that does little else finds its own code, and the server's, in the processor's caches. A tenth of the
    rounds, and at least three, go before as warm-up. ``before`` prepares a round, untimed; round numbers of
    the warm-up go on into the measured ones.
    """
    dice = random.Random(rounds)
    warm_up = max(3, rounds // 10)
    taken: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls.items())
    for first in range(0, warm_up + rounds, in_a_row):
        numbers = range(first, min(first + in_a_row, warm_up + rounds))
        if before is not None:
            for number in numbers:
                before(number)
        dice.shuffle(order)
        for name, call in order:
            for number in numbers:
                start = clock()
                call(number)
                taken[name].append(clock() - start)
    return {name: Timing(tuple(seconds[warm_up:])) for name, seconds in taken.items()}


def per_second(call: Callable[[int, int], object], *, threads: int, each: int) -> float:
    """How many calls a second that many threads make together; a call is given its thread and its number."""
    ready = threading.Barrier(threads + 1)
    failed: list[BaseException] = []

    def work(thread: int) -> None:
        ready.wait()
        try:
            for number in range(each):
                call(thread, number)
        except BaseException as error:
            failed.append(error)
            raise

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    ready.wait()
    start = time.perf_counter()
    for worker in workers:
        worker.join()
    if failed:
        raise failed[0]
    return threads * each / (time.perf_counter() - start)


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number, with the budget it is held against when there is one."""

    what: str
    on: str
    value: float
    unit: str = "x"
    at_most: float | None = None
    at_least: float | None = None
    detail: str = ""

    @property
    def budget(self) -> str:
        if self.at_most is not None:
            return f"<= {self.at_most:.3g} {self.unit}"
        return "" if self.at_least is None else f">= {self.at_least:.3g} {self.unit}"

    @property
    def verdict(self) -> str:
        if self.at_most is None and self.at_least is None:
            return ""
        high = self.at_most is not None and self.value > self.at_most
        low = self.at_least is not None and self.value < self.at_least
        return "missed" if high or low else "met"


@dataclass(slots=True)
class Figures:
    """The figures of one run, in the order they were taken, and tables of their own."""

    figures: list[Figure] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)

    def add(self, figure: Figure) -> None:
        """Take a figure into the table, and show it at once under ``-s``."""
        self.figures.append(figure)
        print(f"\n{figure.what} ({figure.on}): {figure.value:.2f} {figure.unit} {figure.detail}", end="")

    def add_table(self, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Take a table of its own."""
        self.tables.append("\n".join([title, *aligned([head, *rows])]))

    def text(self) -> str:
        """All of it, ready to print."""
        head = ("what", "on", "measured", "budget", "", "detail")
        rows = [
            (one.what, one.on, f"{one.value:.2f} {one.unit}", one.budget, one.verdict, one.detail)
            for one in self.figures
        ]
        return "\n\n".join([*self.tables, "\n".join(aligned([head, *rows]))])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines whose columns stand below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
