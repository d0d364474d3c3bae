"""All hard messages together, by every call; and that no row of the hard inputs is left out."""

from __future__ import annotations

import pytest

from support.hard_inputs import every_message
from support.journeys import Journey

pytestmark = pytest.mark.shared


def test_all_messages_of_the_rows_come_back_by_every_call(journey: Journey) -> None:
    messages = every_message(at_most=100_000)
    assert len(messages) > 60
    journey.keeps_every_way(*messages)
