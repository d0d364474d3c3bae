"""Messages and parts as Anda reads them since core 0.14.2, and what is kept whole instead."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from convostore.schemas.json_values import same_json
from convostore.schemas.messages import (
    ActionPart,
    AnyPart,
    FileDataPart,
    InlineDataPart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
    parse_message,
    read_part,
)

# The examples of the specification, each with what it reads as.
EXAMPLES: list[tuple[Any, Any]] = [
    ("plain string part", TextPart(text="plain string part")),
    ({"type": "Text", "text": "hello"}, TextPart(text="hello")),
    ({"type": "Reasoning", "text": "compare both options"}, ReasoningPart(text="compare both options")),
    (
        {"type": "FileData", "fileUri": "https://files.example/a.pdf", "mimeType": "application/pdf"},
        FileDataPart(file_uri="https://files.example/a.pdf", mime_type="application/pdf"),
    ),
    (
        {"type": "InlineData", "mimeType": "text/plain", "data": "b64:aGVsbG8="},
        InlineDataPart(mime_type="text/plain", data=b"hello"),
    ),
    (
        {"type": "ToolCall", "name": "lookup", "args": {"q": "bern"}, "callId": "call_1"},
        ToolCallPart(name="lookup", args={"q": "bern"}, call_id="call_1"),
    ),
    (
        {
            "type": "ToolOutput",
            "name": "lookup",
            "output": {"hits": 2},
            "isError": False,
            "callId": "call_1",
            "remoteId": "ryjl3-tyaaa-aaaaa-aaaba-cai",
        },
        ToolOutputPart(
            name="lookup",
            output={"hits": 2},
            is_error=False,
            call_id="call_1",
            remote_id="ryjl3-tyaaa-aaaaa-aaaba-cai",
        ),
    ),
    (
        {
            "type": "Action",
            "name": "pay.approve",
            "payload": {"id": "act_1", "status": "pending"},
            "recipients": ["2vxsx-fae"],
            "signature": "b64:AQID",
        },
        ActionPart(
            name="pay.approve",
            payload={"id": "act_1", "status": "pending"},
            recipients=["2vxsx-fae"],
            signature=b"\x01\x02\x03",
        ),
    ),
    ({"type": "VendorThing", "x": [1, 2]}, AnyPart(value={"type": "VendorThing", "x": [1, 2]})),
]


@pytest.mark.parametrize(("given", "part"), EXAMPLES)
def test_part_is_read_and_written(given: Any, part: Any) -> None:
    assert read_part(given) == part
    written = {"type": "Text", "text": given} if isinstance(given, str) else given
    assert same_json(read_part(given).to_json(), written)


@pytest.mark.parametrize("given", [[1], 7, None, True, {}, {"text": "x"}, {"type": 5}, {"type": ["Text"]}])
def test_what_is_no_known_part_is_kept_whole(given: Any) -> None:
    assert read_part(given) == AnyPart(value=given)
    assert read_part(given).to_json() is given


@pytest.mark.parametrize(
    "given",
    [
        {"type": "Text"},
        {"type": "Text", "text": None},
        {"type": "Text", "text": 5},
        {"type": "text", "text": "x"},
        {"type": "Any", "x": 1},
        {"type": "InlineData", "mimeType": "a/b", "data": "?"},
        {"type": "ToolCall", "name": "f"},
        {"type": "ToolCall", "name": "f", "args": {}, "callId": 7},
        {"type": "ToolOutput", "name": "f", "output": 1, "isError": "no"},
        {"type": "ToolOutput", "name": "f", "output": 1, "remoteId": "alice"},
        {"type": "Action", "name": "f", "payload": 1, "recipients": ["alice"]},
    ],
)
def test_known_type_with_bad_members_is_kept_whole(given: Any) -> None:
    assert read_part(given) == AnyPart(value=given)


def test_null_is_absent_for_optional_members_only() -> None:
    part = read_part({"type": "ToolCall", "name": "f", "args": None, "callId": None})
    assert part == ToolCallPart(name="f", args=None)
    assert part.to_json() == {"type": "ToolCall", "name": "f", "args": None}


def test_members_that_a_part_does_not_have_are_dropped() -> None:
    part = read_part({"type": "ToolCall", "name": "f", "args": 1, "call_id": "snake", "x": 2})
    assert part.to_json() == {"type": "ToolCall", "name": "f", "args": 1}


def test_both_flavours_of_bytes_are_read() -> None:
    bare = read_part({"type": "InlineData", "mimeType": "a/b", "data": "AJ-Slg=="})
    assert bare.to_json() == {"type": "InlineData", "mimeType": "a/b", "data": "b64:AJ-Slg=="}


@pytest.mark.parametrize(
    ("content", "texts"),
    [("x", ["x"]), (None, []), ([], []), (["a", {"type": "Text", "text": "b"}], ["a", "b"])],
)
def test_content_is_read_in_its_forms(content: Any, texts: list[str]) -> None:
    message = parse_message({"role": "user", "content": content})
    assert message is not None
    assert [part.text for part in message.content if isinstance(part, TextPart)] == texts
    assert len(message.content) == len(texts)


def test_absent_content_is_empty() -> None:
    assert parse_message({"role": "user"}) == Message(role="user", content=[])


@pytest.mark.parametrize(
    "given",
    [
        {"content": "x"},
        {"role": None, "content": "x"},
        {"role": 1, "content": "x"},
        {"role": "user", "content": 5},
        {"role": "user", "content": {"type": "Text", "text": "x"}},
        {"role": "user", "content": True},
        {"role": "user", "content": [], "name": 5},
        {"role": "user", "content": [], "timestamp": -1},
        {"role": "user", "content": [], "timestamp": 1.0},
        {"role": "user", "content": [], "timestamp": "2023-11-14T22:13:20Z"},
        {"role": "user", "content": [], "user": "rwlgt-iiaaa-aaaaa-aaaaa-caj"},
        ["user", "x"],
        "x",
        None,
    ],
)
def test_what_is_no_message_reads_as_none(given: Any) -> None:
    assert parse_message(given) is None


def test_legacy_members_are_dropped_and_null_ones_absent() -> None:
    given = {
        "role": "",
        "content": [],
        "name": None,
        "user": None,
        "timestamp": None,
        "thread": "t",
        "tool_call_id": 1,
    }
    message = parse_message(given)
    assert message is not None
    assert message.to_json() == {"role": "", "content": []}


def test_message_is_written_in_order() -> None:
    given = {
        "role": "user",
        "content": ["a", 5],
        "name": "$system",
        "user": "2vxsx-fae",
        "timestamp": 2**64 - 1,
    }
    message = parse_message(given, strict=True)
    assert message is not None
    written = {**given, "content": [{"type": "Text", "text": "a"}, 5]}
    assert same_json(message.to_json(), written)


def test_sender_must_be_a_principal_only_where_anda_reads() -> None:
    given = {"role": "user", "content": [], "user": "alice"}
    assert parse_message(given) == Message(role="user", user="alice")
    assert parse_message(given, strict=True) is None


def test_texts_and_thoughts_are_joined_by_a_blank_line() -> None:
    message = Message(role="assistant", content=["a", ReasoningPart(text="why"), TextPart(text="b")])
    assert (message.text, message.thoughts) == ("a\n\nb", "why")
    assert (Message(role="user").text, Message(role="user").thoughts) == (None, None)


def test_outputs_pair_with_calls_by_id_or_else_by_name() -> None:
    call, bare = ToolCallPart(name="f", args=1, call_id="c"), ToolCallPart(name="f", args=1)
    assert ToolOutputPart(name="g", output=1, call_id="c").answers(call)
    assert not ToolOutputPart(name="f", output=1, call_id="d").answers(call)
    assert not ToolOutputPart(name="f", output=1).answers(call)
    assert not ToolOutputPart(name="f", output=1, call_id="c").answers(bare)
    assert ToolOutputPart(name="f", output=1).answers(bare)
    assert not ToolOutputPart(name="g", output=1).answers(bare)


def test_calls_and_outputs_come_in_order() -> None:
    message = Message(role="x", content=[part for _, part in EXAMPLES])
    assert [call.call_id for call in message.tool_calls] == ["call_1"]
    assert [output.call_id for output in message.tool_outputs] == ["call_1"]


def test_pruning_keeps_what_people_said_and_counts_the_rest() -> None:
    message = Message(role="assistant", content=[part for _, part in EXAMPLES], timestamp=5)
    pruned, dropped = message.pruned()
    assert dropped == 5
    assert [part.to_json().get("type") for part in pruned.content] == [
        "Text",
        "Text",
        "Reasoning",
        "Action",
        "Text",
    ]
    assert pruned.content[-1] == TextPart(text="[5 items (tool calls or files) pruned due to limits]")
    assert pruned.timestamp == 5
    assert len(message.content) == len(EXAMPLES)


def test_pruning_twice_or_nothing_changes_nothing() -> None:
    pruned, _ = Message(role="assistant", content=[ToolCallPart(name="f", args=1)]).pruned()
    assert pruned.text == "[1 items (tool calls or files) pruned due to limits]"
    assert pruned.pruned() == (pruned, 0)
    assert Message(role="user").pruned() == (Message(role="user"), 0)


def test_parts_are_equal_when_their_json_is() -> None:
    assert ToolCallPart(name="f", args=1) != ToolCallPart(name="f", args=1.0)
    assert AnyPart(value=1) != AnyPart(value=True)
    assert TextPart(text="a") != ReasoningPart(text="a")
    assert Message(role="a", content=["x"]) == Message(role="a", content="x")


def test_built_by_hand_a_typing_error_is_refused() -> None:
    with pytest.raises(ValidationError):
        ToolCallPart(name="f", arguments={})  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        Message(role="user", contents="x")  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        Message(role="user", content=5)  # type: ignore[arg-type]


def test_models_dump_as_their_json() -> None:
    message = Message(role="user", content=[part for _, part in EXAMPLES])
    assert message.model_dump()["content"] == message.to_json()["content"]
    assert Message.model_validate_json(message.model_dump_json()) == message


def test_halves_of_surrogate_pairs_are_read() -> None:
    message = parse_message({"role": "user", "content": "a\ud83d"})
    assert message is not None
    assert message.text == "a\ud83d"
