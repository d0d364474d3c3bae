"""Hard inputs: tool calls and results that do not pair. The log stays, what a model gets is mended."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas.json_values import JSON, same_json
from convostore.schemas.pairing import faults, pending_calls, validate
from support.hard_inputs import Row
from support.journeys import Journey

pytestmark = pytest.mark.shared


def stored(journey: Journey, messages: list[JSON]) -> int:
    """A conversation with these messages, appended one by one."""
    id = journey.new()
    for message in messages:
        journey.store.append(id, message)
    assert same_json(journey.store.get(id).messages, messages)
    return id


def model_view(journey: Journey, id: int, **options: Any) -> list[JSON]:
    """What a provider call may be given; asking twice gives the same, and the log stays as it is."""
    before = journey.stored()
    view = [entry.message for entry in journey.store.messages(id, for_model=True, **options)]
    again = [entry.message for entry in journey.store.messages(id, for_model=True, **options)]
    assert same_json(view, again)
    assert journey.stored() == before
    return view


def results(messages: list[JSON]) -> list[str]:
    return [message["tool_call_id"] for message in messages if message["role"] == "tool"]


def kinds(messages: list[JSON]) -> list[str]:
    return sorted(fault.kind for fault in faults(messages))


def test_HI_107_dangling_calls(row: Row, journey: Journey) -> None:
    messages = row.value[0]["messages"]
    id = stored(journey, messages)
    assert [call.id for call in pending_calls(messages)] == ["b"]
    journey.store.append(id, row.value[2]["message"])
    assert journey.store.head(id).message_count == 4
    view = model_view(journey, id)
    assert results(view) == ["a", "b"]
    assert view[-1] == row.value[2]["message"]
    validate(view)
    assert same_json(journey.store.get(id).messages, [*messages, row.value[2]["message"]])


def test_HI_108_dangling_last(row: Row, journey: Journey) -> None:
    messages = row.value[0]["messages"]
    id = stored(journey, messages)
    assert [call.id for call in pending_calls(messages)] == ["a"]
    view = model_view(journey, id)
    assert results(view) == ["a"]
    validate(view)


def test_HI_109_orphan_result(row: Row, journey: Journey) -> None:
    messages = row.value[0]["messages"]
    id = stored(journey, messages)
    assert kinds(messages) == ["orphan_result"]
    view = model_view(journey, id)
    assert results(view) == []
    assert [message["content"] for message in view] == ["x", "y"]


def test_HI_111_duplicate_and_empty_ids(row: Row, journey: Journey) -> None:
    messages = row.value[0]["messages"]
    id = stored(journey, messages)
    assert faults(messages), "the problems are reported"
    view = model_view(journey, id)
    validate(view)


def test_HI_112_results_out_of_order(row: Row, journey: Journey) -> None:
    messages = row.value[0]["messages"]
    id = stored(journey, messages)
    assert results(journey.store.get(id).messages) == ["c", "a", "b"]
    view = model_view(journey, id)
    assert [(message["tool_call_id"], message["content"]) for message in view[2:]] == [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
    ]


def test_HI_114_note_between(row: Row, journey: Journey) -> None:
    messages = row.value[0]["messages"]
    id = stored(journey, messages)
    view = model_view(journey, id)
    assert [message["role"] for message in view] == ["user", "assistant", "tool", "user"]
    assert view[-1]["content"] == "note"


def test_HI_115_windows(row: Row, journey: Journey) -> None:
    messages = row.value[0]["messages"]
    id = stored(journey, messages)
    for last in row.value[1]["last"]:
        plain = [entry.message for entry in journey.store.messages(id, limit=last)]
        assert same_json(plain, messages[-last:]), "a plain page is exact"
        view = model_view(journey, id, limit=last)
        validate(view)
        assert same_json(view, messages[len(messages) - len(view) :]) and len(view) >= last


def test_HI_117_mixed_pairing(row: Row, journey: Journey) -> None:
    messages = row.value[0]["messages"]
    id = stored(journey, messages)
    assert kinds(journey.store.get(id).messages) == ["orphan_result", "unanswered_call"]
    view = model_view(journey, id)
    assert results(view) == ["toolu_A"]
