"""Numbers as people read them: counts, durations, money, each short enough for an axis. Pure."""

from __future__ import annotations

import math

from convostore.cli.charts.shapes import Unit

__all__ = ["short", "step_between"]

_COUNTS = ((10**18, "E"), (10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))
_TIMES = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))
# Steps between the marks of an axis that a clock's reader expects, in ms.
_CLOCK_STEPS = (1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000)
_LONG_STEPS = (1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000)


def short(value: float, unit: Unit) -> str:
    """The number in about three digits.

    >>> [short(value, Unit.COUNT) for value in (0, 950, 12_500, 1_000_000)]
    ['0', '950', '12.5k', '1M']
    >>> [short(value, Unit.DURATION) for value in (0, 340, 1500, 90_000, 7_200_000)]
    ['0', '340ms', '1.5s', '1.5min', '2h']
    """
    if value == 0:
        return "0"
    if unit is Unit.DURATION:
        return _scaled(value, _TIMES)
    if unit is Unit.MONEY and abs(value) < 1:
        return f"{value:.2g}"
    return _scaled(value, _COUNTS)


def _scaled(value: float, scale: tuple[tuple[int, str], ...]) -> str:
    for place, (size, name) in enumerate(scale):
        # What rounds up to the next size is written in it: 1M, not 1000k.
        if round(abs(value) / size, 3) >= 1:
            number = value / size
            digits = max(0, 2 - int(math.log10(abs(number)))) if number else 0
            shown = f"{number:.{digits}f}"
            if place and float(shown) >= scale[place - 1][0] / size:
                return f"1{scale[place - 1][1]}"
            return f"{shown.rstrip('0').rstrip('.') if '.' in shown else shown}{name}"
    return f"{value:.3g}"


def step_between(highest: float, unit: Unit, most: int) -> float:
    """How far apart the marks of an axis from 0 to ``highest`` are, so that at most ``most`` are above 0.

    A count has no marks between whole numbers.
    """
    least = highest / most
    if unit is Unit.DURATION and least > 500:
        for rounded in (*_CLOCK_STEPS, *_LONG_STEPS):
            if rounded >= least:
                return rounded
        return 86_400_000 * math.ceil(least / 86_400_000)
    if least <= 0:
        return 1
    size: float = 10 ** math.floor(math.log10(least))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= least * (1 - 1e-9))
    return step if unit is Unit.MONEY else max(1, step)
