"""The difference of two states: what it says, what it refuses, and that it is cheap values only."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from convostore.schemas.conversations import Conversation
from convostore.schemas.diff import Changes, Snapshot, Splice, diff
from convostore.schemas.errors import InvalidRecordError


def conversation(**members: Any) -> Conversation:
    given: dict[str, Any] = {
        "id": 7,
        "user": "alice",
        "messages": [{"role": "user", "content": text} for text in "abc"],
        "created_at": 1_700_000_000_000,
        "updated_at": 1_700_000_000_000,
    }
    return Conversation(**(given | members))


def test_equal_states_have_no_changes() -> None:
    assert not diff(conversation(), conversation())
    assert diff(conversation(), conversation()) == Changes()


def test_append_is_one_splice_at_the_end() -> None:
    before, after = conversation(), conversation()
    after.messages.append({"role": "assistant", "content": "d"})
    changes = diff(before, after)
    assert changes == Changes(splices={"messages": Splice(3, 3, ({"role": "assistant", "content": "d"},))})


def test_repeated_message_appended_is_still_a_splice_at_the_end() -> None:
    before = conversation(messages=[{"role": "user", "content": "same"}] * 3)
    after = conversation(messages=[{"role": "user", "content": "same"}] * 4)
    assert diff(before, after).splices["messages"] == Splice(3, 3, ({"role": "user", "content": "same"},))


def test_change_in_the_middle_names_only_what_differs() -> None:
    before = conversation(messages=[0, 1, 2, 3, 4])
    after = conversation(messages=[0, 1, "two", 4])
    assert diff(before, after).splices == {"messages": Splice(2, 4, ("two",))}


@pytest.mark.parametrize("pair", [(1, 1.0), (1, True), (0.0, -0.0), ({"a": 1, "b": 2}, {"b": 2, "a": 1})])
def test_values_that_python_calls_equal_are_a_change(pair: tuple[Any, Any]) -> None:
    before, after = conversation(messages=[{"v": pair[0]}]), conversation(messages=[{"v": pair[1]}])
    assert diff(before, after).fields() == {"messages"}
    assert diff(conversation(extra=pair[0]), conversation(extra=pair[1])).fields() == {"extra"}


def test_two_nans_of_different_bits_are_no_change() -> None:
    other = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_0001))[0]
    before, after = conversation(messages=[[float("nan")]]), conversation(messages=[[other]])
    assert not diff(before, after)


def test_scalars_are_set_and_unset() -> None:
    before = conversation(label="old", extra={"a": 1}, failed_reason="why", status="failed")
    after = conversation(label="", extra={"a": 2}, status="completed", child=9, updated_at=1_700_000_000_001)
    changes = diff(before, after)
    assert changes.set == {
        "status": "completed",
        "child": 9,
        "label": "",
        "extra": {"a": 2},
        "updated_at": 1_700_000_000_001,
    }
    assert changes.unset == ("failed_reason",)
    assert changes.fields() == {"status", "child", "label", "extra", "updated_at", "failed_reason"}
    assert not diff(after, changes.apply(before))


def test_usage_is_told_per_counter() -> None:
    before = conversation(usage={"input_tokens": 5, "output_tokens": 1, "requests": 1})
    after = conversation(usage={"input_tokens": 9, "output_tokens": 1, "requests": 2})
    changes = diff(before, after)
    assert changes.usage == {"input_tokens": 9, "requests": 2}
    assert changes.apply(before).usage == after.usage


def test_queues_are_never_part_of_a_difference() -> None:
    before = conversation(steering_messages=["stop"])
    after = conversation(follow_up_messages=["and then"])
    changes = diff(before, after)
    assert not changes
    assert changes.apply(before).steering_messages == ["stop"]


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("_id", {"id": 8}),
        ("user", {"user": "bob"}),
        ("ancestors", {"ancestors": [1]}),
        ("created_at", {"created_at": 1_700_000_000_001}),
    ],
)
def test_member_fixed_at_creation_is_refused_by_name(name: str, members: dict[str, Any]) -> None:
    with pytest.raises(InvalidRecordError, match="fixed at creation") as refused:
        diff(conversation(), conversation(**members))
    assert refused.value.path == name


@pytest.mark.parametrize("value", [b"bytes", (1, 2), {1}, object(), {1: "number as key"}])
def test_what_json_cannot_say_is_refused_with_its_path(value: Any) -> None:
    before, after = conversation(), conversation()
    after.messages.append({"role": "user", "content": {"deep": value}})
    with pytest.raises(InvalidRecordError) as refused:
        diff(before, after)
    assert refused.value.path.startswith("messages[3].content.deep")
    assert refused.value.index == 3


def test_snapshot_does_not_follow_later_changes() -> None:
    record = conversation(extra={"a": [1]}, resources=[{"_id": 1, "tags": ["text"], "name": "one"}])
    taken = Snapshot.of(record)
    record.messages[0]["content"] = "changed in place"
    record.extra["a"].append(2)
    record.resources[0].name = "two"
    changes = diff(taken, record)
    assert changes.splices["messages"] == Splice(0, 1, ({"role": "user", "content": "changed in place"},))
    assert changes.set == {"extra": {"a": [1, 2]}}
    assert changes.splices["resources"].items[0]["name"] == "two"
    assert taken.items("messages")[0] == {"role": "user", "content": "a"}
    assert taken.value("extra") == {"a": [1]}


def test_changes_share_nothing_with_the_states_compared() -> None:
    before, after = conversation(), conversation()
    after.messages.append({"role": "user", "content": "d"})
    changes = diff(before, after)
    after.messages[3]["content"] = "later"
    assert changes.splices["messages"].items == ({"role": "user", "content": "d"},)


def test_apply_leaves_the_earlier_state_alone_and_keeps_resources() -> None:
    before = conversation(artifacts=[{"_id": 1, "tags": [], "name": "kept", "blob": b"\x00\x01"}])
    after = conversation(artifacts=[{"_id": 1, "tags": [], "name": "kept", "blob": b"\x00\x01"}], messages=[])
    result = diff(before, after).apply(before)
    assert result.messages == [] and len(before.messages) == 3
    assert result.artifacts == after.artifacts
    assert result == after


def test_apply_to_a_record_that_is_too_short_is_refused() -> None:
    changes = diff(conversation(), conversation(messages=[]))
    with pytest.raises(InvalidRecordError) as refused:
        changes.apply(conversation(messages=[1]))
    assert refused.value.path == "messages"
