"""How long to wait before a try is repeated; pure but for the dice, used by both faces."""

from __future__ import annotations

from tenacity import RetryCallState, Retrying
from tenacity.wait import wait_random_exponential

__all__ = ["LONGEST_PAUSE", "pause_before_next"]

SHORTEST_CEILING = 0.002
LONGEST_PAUSE = 0.25

# Full jitter: writers that collided once are spread over the whole span, not moved on together.
_WAIT = wait_random_exponential(multiplier=SHORTEST_CEILING, max=LONGEST_PAUSE)


def pause_before_next(attempt: int) -> float:
    """Seconds to wait after try number ``attempt`` (from 1) came too late.

    Random between 0 and a ceiling that doubles from 2 ms and never passes ``LONGEST_PAUSE``.
    """
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = attempt
    return float(_WAIT(state))
