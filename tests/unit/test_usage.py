"""Usage: counters over the whole range, saturation, and callers' counters refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.usage import COUNTERS, Usage

MOST = 2**64 - 1


def test_counters_hold_the_whole_range() -> None:
    usage = Usage(input_tokens=MOST, output_tokens=0)
    assert usage.to_json() == {"input_tokens": MOST, "output_tokens": 0, "cached_tokens": 0, "requests": 0}
    assert list(usage.to_json()) == list(COUNTERS)


@pytest.mark.parametrize("count", [-1, MOST + 1, 1.0, float("nan"), True, "20", None])
def test_model_refuses_what_is_no_counter(count: Any) -> None:
    with pytest.raises(ValidationError):
        Usage(input_tokens=count)
    usage = Usage()
    with pytest.raises(ValidationError):
        usage.requests = count
    assert usage == Usage()


def test_unknown_counter_is_refused() -> None:
    with pytest.raises(ValidationError):
        Usage(tokens=1)  # type: ignore[call-arg]


def test_sums_stop_at_the_largest_number() -> None:
    usage = Usage(input_tokens=MOST - 1, requests=1)
    assert usage.accumulate(Usage(input_tokens=10, output_tokens=5, requests=2)) is usage
    assert usage == Usage(input_tokens=MOST, output_tokens=5, requests=3)


@pytest.mark.parametrize("name", COUNTERS)
@pytest.mark.parametrize(
    "count", [float("nan"), float("inf"), "20", None, -5, MOST + 1, 1.5, 1.0, True, {"$inc": 1}, [1]]
)
def test_callers_counter_is_refused_by_name(name: str, count: Any) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        Usage.checked({name: count})
    assert refused.value.path == f"usage.{name}"


def test_callers_counters_are_taken() -> None:
    assert Usage.checked({}) == Usage()
    assert Usage.checked({"requests": 2**63, "input_tokens": 1}) == Usage(requests=2**63, input_tokens=1)
    given = Usage(requests=3)
    assert Usage.checked(given) == given
    assert Usage.checked(given) is not given


@pytest.mark.parametrize("value", [None, 7, [], "usage"])
def test_callers_usage_must_be_an_object(value: Any) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        Usage.checked(value, "usage[3]")
    assert refused.value.path == "usage[3]"


def test_callers_unknown_counter_is_refused_by_name() -> None:
    with pytest.raises(InvalidRecordError, match=r"usage: 'in' is no counter.*input_tokens"):
        Usage.checked({"in": 4})


def test_model_that_was_built_without_checks_is_checked() -> None:
    with pytest.raises(InvalidRecordError, match="requests"):
        Usage.checked(Usage.model_construct(requests=-1))
