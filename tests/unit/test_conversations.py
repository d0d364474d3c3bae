"""The conversation as a model: members, what it refuses, derived values, copies, equality, views."""

from __future__ import annotations

import copy
import json
import pickle
import time
from typing import Any

import pytest
from pydantic import ValidationError

from convostore.schemas.conversations import (
    Conversation,
    ConversationDelta,
    ConversationState,
    ConversationStatus,
    baseline_of,
    period_of,
    set_baseline,
)
from convostore.schemas.errors import InvalidRecordError, SchemaVersionError
from convostore.schemas.json_values import same_json
from convostore.schemas.messages import Message, TextPart
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage

MEMBERS = [
    "_id",
    "user",
    "thread",
    "messages",
    "resources",
    "artifacts",
    "status",
    "failed_reason",
    "usage",
    "steering_messages",
    "follow_up_messages",
    "child",
    "ancestors",
    "label",
    "extra",
    "period",
    "created_at",
    "updated_at",
]
NOW = 1_700_000_000_000


def conversation(**members: Any) -> Conversation:
    return Conversation(**({"user": "alice"} | members))


def test_members_are_those_of_the_record_in_its_order() -> None:
    made = conversation(id=7)
    assert list(made.model_dump()) == list(made.members()) == MEMBERS
    assert list(Conversation.model_json_schema()["properties"]) == MEMBERS


def test_defaults_are_those_of_anda_in_memory() -> None:
    made = conversation()
    assert (made.id, made.messages, made.resources, made.artifacts) == (0, [], [], [])
    assert (made.status, made.usage) == (ConversationStatus.SUBMITTED, Usage())
    assert (made.period, made.created_at, made.updated_at) == (0, 0, 0)
    unset = (
        "thread",
        "failed_reason",
        "steering_messages",
        "follow_up_messages",
        "child",
        "ancestors",
        "label",
        "extra",
    )
    assert [getattr(made, name) for name in unset] == [None] * 8


def test_id_is_given_under_either_name_but_not_both() -> None:
    assert conversation(id=7).id == conversation(**{"_id": 7}).id == 7
    with pytest.raises(ValidationError):
        conversation(**{"id": 7, "_id": 7})


@pytest.mark.parametrize(
    "members",
    [
        {"user": None},
        {"user": ""},
        {"user": b"alice"},
        {"user": "rwlgt-iiaaa-aaaaa-aaaaa-caj"},
        {"user": "x" * 257},
        {"thread": ""},
        {"thread": "a\nb"},
        {"id": -1},
        {"id": 2**64},
        {"id": True},
        {"id": 1.0},
        {"id": "7"},
        {"messages": ()},
        {"messages": {}},
        {"messages": None},
        {"status": "done"},
        {"status": "Completed"},
        {"failed_reason": 5},
        {"failed_reason": "\udc80"},
        {"usage": {"input_tokens": -1}},
        {"usage": None},
        {"resources": [{"tags": []}]},
        {"steering_messages": "stop"},
        {"follow_up_messages": [5]},
        {"child": -1},
        {"ancestors": [1, True]},
        {"label": "x\ud83d"},
        {"created_at": 1.5},
        {"updated_at": "2023-11-14T22:13:20Z"},
        {"title": "unknown"},
    ],
)
def test_model_refuses(members: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        conversation(**members)


def test_user_is_required() -> None:
    with pytest.raises(ValidationError):
        Conversation()  # type: ignore[call-arg]


def test_whole_range_of_u64_is_held() -> None:
    most = 2**64 - 1
    made = conversation(id=most, child=most, ancestors=[most], created_at=most, updated_at=most)
    assert (made.id, made.child, made.ancestors, made.updated_at) == (most, most, [most], most)
    assert made.period == most // 3_600_000


@pytest.mark.parametrize(
    ("created_at", "period"),
    [(0, 0), (3_599_999, 0), (3_600_000, 1), (NOW, 472222), (2**64 - 1, 5124095576030)],
)
def test_period_is_the_hour_of_creation(created_at: int, period: int) -> None:
    assert period_of(created_at) == conversation(created_at=created_at).period == period
    assert period == created_at // 3600 // 1000


def test_period_follows_creation_whatever_is_given() -> None:
    made = conversation(created_at=NOW, period=17)
    assert made.period == 472222
    made.period = 5
    assert made.period == 472222
    made.created_at = 3_600_000
    assert made.period == 1
    assert made.model_copy(update={"created_at": NOW}).period == 472222


def test_assigned_status_becomes_the_enum() -> None:
    made = conversation()
    made.status = "completed"  # type: ignore[assignment]
    assert made.status is ConversationStatus.COMPLETED
    assert f"{made.status}" == str(made.status) == made.status == "completed"
    with pytest.raises(ValidationError):
        made.status = "done"  # type: ignore[assignment]
    assert made.status is ConversationStatus.COMPLETED
    with pytest.raises(ValidationError):
        made.title = "x"  # type: ignore[attr-defined]


def test_messages_stay_the_same_objects() -> None:
    given: list[Any] = [{"role": "user"}, object()]
    made = conversation(messages=given)
    made.status = ConversationStatus.WORKING
    made.created_at = NOW
    assert made.messages is given
    replaced: list[Any] = [1]
    made.messages = replaced
    assert made.messages is replaced


def test_cost_of_building_and_assigning_does_not_grow_with_the_history() -> None:
    class Watched(list[Any]):
        def __iter__(self) -> Any:
            raise AssertionError("the history was walked")

        def __getitem__(self, place: Any) -> Any:
            raise AssertionError("the history was walked")

    made = conversation(messages=Watched([{}] * 3000), id=7, created_at=NOW)
    made.status = ConversationStatus.WORKING
    made.updated_at = NOW
    assert len(made.messages) == 3000


def test_what_the_store_knows_is_no_part_of_the_record() -> None:
    made, plain = conversation(messages=[1]), conversation(messages=[1])
    assert baseline_of(made) is None
    set_baseline(made, {"version": 3})
    assert made == plain
    assert repr(made) == repr(plain)
    assert made.model_dump() == plain.model_dump()
    assert "baseline" not in json.dumps(Conversation.model_json_schema())
    with pytest.raises(ValidationError):
        conversation(_baseline=1)


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, Conversation.model_copy, lambda made: pickle.loads(pickle.dumps(made))],
)
def test_copies_carry_what_the_store_knows(copied: Any) -> None:
    made = conversation(messages=[{"a": 1}], created_at=NOW)
    set_baseline(made, {"version": 3})
    assert copied(made) == made
    assert baseline_of(copied(made)) == {"version": 3}


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("messages", ([1], [1.0])),
        ("messages", ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}])),
        ("messages", ([True], [1])),
        ("extra", (0.0, -0.0)),
        ("extra", ({"a": None}, {})),
        ("steering_messages", ([], None)),
        ("resources", ([Resource(name="a", metadata={"n": 1})], [Resource(name="a", metadata={"n": True})])),
        ("status", ("working", "idle")),
    ],
)
def test_conversations_differ_when_their_json_does(name: str, pair: tuple[Any, Any]) -> None:
    first, second = (conversation(**{name: value}) for value in pair)
    assert first != second
    assert first == conversation(**{name: pair[0]})


def test_nan_equals_nan() -> None:
    assert conversation(messages=[float("nan")]) == conversation(messages=[float("nan")])
    assert conversation() != "alice"


def test_messages_are_appended_as_json() -> None:
    given = [{"role": "user", "content": "a"}]
    made = conversation(messages=given)
    made.append_messages(
        [{"role": "x", "content": 1}, Message(role="assistant", content=[TextPart(text="b")])]
    )
    made.append_messages({"role": "user"})
    assert made.messages is given
    assert made.messages[1:] == [
        {"role": "x", "content": 1},
        {"role": "assistant", "content": [{"type": "Text", "text": "b"}]},
        {"role": "user"},
    ]
    assert made.updated_at == 0


def test_append_of_what_is_no_json_appends_nothing() -> None:
    made = conversation()
    with pytest.raises(InvalidRecordError) as refused:
        made.append_messages([{"role": "user"}, {"role": "user", "at": [time.localtime]}])
    assert (refused.value.path, refused.value.index) == ("messages[1].at[0]", 1)
    assert made.messages == []


def test_parsed_reads_each_message_in_its_dialect() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    made = conversation(
        messages=[
            {"role": "user", "content": [{"type": "Text", "text": "a"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "done"},
            {"no": "role"},
        ]
    )
    first, second, third, fourth = made.parsed
    assert first is not None and first.text == "a"
    assert second is not None and second.tool_calls[0].args == {"a": 1}
    assert third is not None and third.tool_outputs[0].answers(second.tool_calls[0])
    assert fourth is None
    assert "tool_calls" in made.messages[1]


def test_state_is_id_and_status() -> None:
    state = conversation(id=7, status="idle").state()
    assert state == ConversationState(id=7, status=ConversationStatus.IDLE)
    assert state.to_json() == state.model_dump(mode="json") == {"_id": 7, "status": "idle"}


def test_delta_has_what_came_after_the_offsets() -> None:
    made = conversation(
        id=41,
        messages=["a", "b", "c"],
        artifacts=[Resource(name="x"), Resource(name="y")],
        status="working",
        usage=Usage(input_tokens=10, output_tokens=20, cached_tokens=3, requests=2),
        updated_at=1_700_000_102_250,
    )
    delta = made.to_delta(2, 1)
    assert (delta.messages, [item.name for item in delta.artifacts]) == (["c"], ["y"])
    assert made.to_delta().messages == ["a", "b", "c"]
    # The example of the specification, 7.3.
    beyond = made.to_delta(2**64 - 1, 99)
    text = (
        '{"_id":41,"messages":[],"artifacts":[],"status":"working","usage":{"input_tokens":10,"output_tokens":20,'
        '"cached_tokens":3,"requests":2},"failed_reason":null,"updated_at":1700000102250,"child":null}'
    )
    assert same_json(beyond.to_json(), json.loads(text))
    assert ConversationDelta.model_validate(json.loads(text)) == beyond
    made.usage.requests = 9
    assert delta.usage.requests == 2


@pytest.mark.parametrize("offset", [-1, True, 1.0, "0", None, 2**64])
def test_delta_refuses_what_is_no_offset(offset: Any) -> None:
    with pytest.raises(InvalidRecordError, match="messages_offset"):
        conversation().to_delta(offset, 0)
    with pytest.raises(InvalidRecordError, match="artifacts_offset"):
        conversation().to_delta(0, offset)


ALWAYS = {"messages", "artifacts", "status", "usage", "updated_at", "steering_messages", "follow_up_messages"}


@pytest.mark.parametrize(
    ("version", "more"),
    [
        (1, {"failed_reason"}),
        (2, {"failed_reason", "label"}),
        (3, {"failed_reason", "label", "extra"}),
        (4, {"failed_reason", "label", "extra", "child", "resources"}),
    ],
)
def test_changes_are_the_members_of_that_versions_update(version: int, more: set[str]) -> None:
    assert conversation().to_changes(version).keys() == ALWAYS | more


def test_changes_hold_the_present_values_and_null_clears() -> None:
    made = conversation(messages=["\ud83d"], status="failed", artifacts=[Resource(name="a", blob=b"x")])
    changes = made.to_changes()
    assert changes["messages"] == ["\ud83d"]
    assert (changes["status"], type(changes["status"])) == ("failed", str)
    assert changes["artifacts"] == [{"_id": 0, "tags": [], "name": "a", "blob": b"x"}]
    cleared = ("failed_reason", "child", "label", "extra", "steering_messages", "follow_up_messages")
    assert [changes[name] for name in cleared] == [None] * 6
    assert conversation(failed_reason="x", child=3).to_changes()["child"] == 3


def test_unknown_version_is_refused() -> None:
    for version in (0, 5, "4", True, None):
        with pytest.raises(SchemaVersionError):
            conversation().to_changes(version)  # type: ignore[arg-type]


def test_checked_members_raise_the_error_of_the_project() -> None:
    with pytest.raises(InvalidRecordError) as refused:
        Conversation.checked({"user": "alice", "resources": [{"name": "a", "size": -1}]}, "result[2]")
    assert refused.value.path == "result[2].resources[0].size"
    with pytest.raises(InvalidRecordError, match="user: is missing"):
        Conversation.checked({})
