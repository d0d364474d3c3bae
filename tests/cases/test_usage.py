"""Cases U: what counts as usage, and counts once."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from convostore.schemas import Conversation, Usage
from convostore.schemas.errors import ConflictError, InvalidRecordError
from convostore.store.history import usage_of
from support.faces import Face
from support.journeys import PLAIN, Journey

COUNTERS = ("input_tokens", "output_tokens", "cached_tokens", "requests")
NO_COUNTS: list[Any] = [
    float("nan"),
    float("inf"),
    1.0,
    1.5,
    "20",
    "",
    None,
    True,
    -1,
    2**64,
    -(2**70),
    10**400,
    [1],
    {"$inc": 1},
    b"1",
    Decimal(1),
]


def test_U01_one_answer_counts_once(journey: Journey, face: Face) -> None:
    store, id = journey.store, journey.new()
    usage = {"input_tokens": 4, "output_tokens": 27, "requests": 1}
    call = {"role": "assistant", "content": None, "tool_calls": []}
    for _ in range(3):
        store.append(id, [PLAIN, call], key="response 1", usage=usage)
    face.together(store, [lambda one: one.append(id, [PLAIN, call], key="response 2", usage=usage)] * 5)
    with pytest.raises(ConflictError):
        store.append(id, [PLAIN, call], key="response 1", usage={**usage, "output_tokens": 28})
    store.edit(id, 1, {**call, "content": "edited"})
    assert store.head(id).usage == Usage(input_tokens=8, output_tokens=54, requests=2)
    records = journey.head_document(id)["log"]
    assert [usage_of(record) for record in records if "u" in record] == [usage, usage]


def test_U06_bad_counters_never_block_a_message_nor_touch_a_total(journey: Journey) -> None:
    store, id = journey.store, journey.new(PLAIN)
    store.append(id, PLAIN, usage={"input_tokens": 2**63 - 1})
    expected = 2
    for name in COUNTERS:
        for value in NO_COUNTS if name == "requests" else NO_COUNTS[:2]:
            given = {"requests": 1, name: value}
            with journey.nothing_written(), pytest.raises(InvalidRecordError) as refused:
                store.append(id, PLAIN, usage=given)
            assert refused.value.path == f"usage.{name}"
            if name == "requests":
                done = store.append(id, PLAIN, usage=given, usage_errors="report")
                expected += 1
                assert done.usage_errors and name in done.usage_errors[0]
    for whole in ([1], "x", 5, {"tokens": 1}, {"$inc": {"requests": 1}}, {1: 1}, {"input_tokens.x": 1}):
        with journey.nothing_written(), pytest.raises(InvalidRecordError):
            store.append(id, PLAIN, usage=whole)
        assert store.append(id, PLAIN, usage=whole, usage_errors="report").usage_errors
        expected += 1
    with pytest.raises(InvalidRecordError):
        store.append(id, PLAIN, usage={}, usage_errors="ignore")
    head = store.head(id)
    assert (head.usage, head.message_count) == (Usage(input_tokens=2**63 - 1), expected)


def test_U06_unknown_is_not_zero_and_sums_saturate(journey: Journey) -> None:
    store, id = journey.store, journey.new()
    store.append(id, PLAIN, usage=None)
    store.append(id, PLAIN, usage={})
    for _ in range(4):
        store.append(id, PLAIN, usage={"input_tokens": 2**63 - 1, "requests": 1})
    assert store.head(id).usage == Usage(input_tokens=2**64 - 1, requests=4)
    given = [usage_of(record) for record in journey.head_document(id)["log"] if "u" in record]
    assert given == [{"input_tokens": 2**63 - 1, "requests": 1}] * 4, "unknown usage is in no sum"
    record = store.get(id)
    record.usage.accumulate(Usage(requests=2**64 - 1))
    store.save(record)
    assert store.head(id).usage.requests == 2**64 - 1
    with pytest.raises(ValueError):
        Conversation(user=journey.user, usage={"input_tokens": -1})
