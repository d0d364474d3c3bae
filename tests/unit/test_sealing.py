"""Before which time sealed change records were made: what lets a first try of a call be known as new."""

from __future__ import annotations

import pytest

from convostore.store.sealing import records_before

NOW = 1_790_848_800_000
DAY = 86_400_000


@pytest.mark.parametrize(
    ("times", "before"),
    [
        ([], 0),
        ([NOW - 5], NOW - 4),
        ([NOW - 5, NOW - 9, NOW - 7], NOW - 4),
        # A writer whose clock is ahead counts, a time from the future that a source gave does not.
        ([NOW - 5, NOW + DAY - 1], NOW + DAY),
        ([NOW - 5, NOW + DAY], NOW - 4),
        ([2**63 - 2], 0),
    ],
)
def test_time_before_which_all_records_were_made(times: list[int], before: int) -> None:
    assert records_before([{"at": at} for at in times], NOW) == before
