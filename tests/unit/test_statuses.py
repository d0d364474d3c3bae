"""Which status may follow which (design 5)."""

from __future__ import annotations

import pytest

from convostore.schemas.conversations import ConversationStatus as Status
from convostore.schemas.errors import StatusError
from convostore.store.statuses import STOPPABLE, sources, sticks

FOLLOWERS = {
    "submitted": "submitted working idle completed cancelled failed",
    "working": "submitted idle completed cancelled failed",
    "idle": "submitted working completed cancelled failed",
    "completed": "submitted working",
    "failed": "submitted working completed",
    "cancelled": "",
}
PAIRS = [(actual, wanted) for actual in Status for wanted in Status]


def may_follow(actual: Status, wanted: Status) -> bool:
    return actual is wanted or wanted.value in FOLLOWERS[actual.value].split()


@pytest.mark.parametrize(("actual", "wanted"), PAIRS)
def test_the_filter_lists_what_a_status_may_follow(actual: Status, wanted: Status) -> None:
    assert (actual.value in sources(wanted)) == may_follow(actual, wanted)


def test_only_a_reopening_leads_from_cancelled_to_submitted() -> None:
    assert "cancelled" in sources(Status.SUBMITTED, reopening=True)
    reopened = [wanted for wanted in Status if "cancelled" in sources(wanted, reopening=True)]
    assert reopened == [Status.SUBMITTED, Status.CANCELLED]


@pytest.mark.parametrize(("actual", "wanted"), PAIRS)
def test_cancelled_sticks_under_what_runs_and_else_only_the_table_counts(
    actual: Status, wanted: Status
) -> None:
    if may_follow(actual, wanted):
        assert sticks(actual, wanted) is False
    elif actual is Status.CANCELLED and wanted in (Status.SUBMITTED, Status.WORKING, Status.IDLE):
        assert sticks(actual, wanted) is True
    else:
        with pytest.raises(StatusError) as refusal:
            sticks(actual, wanted)
        assert (refusal.value.actual, refusal.value.wanted) == (actual.value, wanted.value)


def test_what_runs_can_be_stopped() -> None:
    assert set(STOPPABLE) == {Status.SUBMITTED, Status.WORKING, Status.IDLE}
