"""Dialects: told apart by shape, read through one table, and the real runs counted through it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from convostore.schemas.dialects import DIALECTS, Call, Result, dialect_named, dialect_of, message_of, view
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.messages import (
    AnyPart,
    FileDataPart,
    InlineDataPart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
)
from support.shared import shared

CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": [1.0]}'}}


@pytest.mark.parametrize(
    ("message", "dialect"),
    [
        ({"role": "user", "content": [{"type": "Text", "text": "hi"}]}, "anda"),
        ({"role": "user", "content": ["hi"]}, "anda"),
        ({"role": "user", "content": []}, "anda"),
        ({"role": "tool", "content": [{"type": "VendorThing"}]}, "anda"),
        ({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "Text", "text": "b"}]}, "anda"),
        ({"role": "user", "content": "hi"}, "openai"),
        ({"role": "developer", "content": ""}, "openai"),
        ({"role": "assistant", "content": None}, "openai"),
        ({"role": "assistant", "content": [], "tool_calls": [CALL]}, "openai"),
        ({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}, "openai"),
        ({"role": "tool", "tool_call_id": "c1", "content": "4"}, "openai"),
        (
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}],
            },
            "openai",
        ),
        ({"role": "user", "content": 5}, None),
        ({"role": "user"}, None),
        ({"role": None, "content": "x"}, None),
        ({}, None),
        ("hi", None),
        (None, None),
    ],
)
def test_dialect_is_told_by_shape(message: Any, dialect: str | None) -> None:
    assert dialect_of(message) == dialect
    assert view(message).dialect == dialect


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
        {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {}}]},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}], "stop": "stop"},
        {"role": "user", "content": [{"type": "toolresult", "call": {}, "name": "f", "content": []}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    ],
)
def test_message_of_other_programs_is_neither(message: Any) -> None:
    assert dialect_of(message) not in ("anda", "openai")


def test_anda_message_is_viewed() -> None:
    message = {
        "role": "assistant",
        "content": [
            "a",
            {"type": "Reasoning", "text": "hidden"},
            {"type": "ToolCall", "name": "f", "args": {"q": 1}, "callId": "c1"},
            {"type": "ToolCall", "name": "f"},
            {"type": "ToolCall", "name": "g", "args": None, "call_id": "snake"},
            {"type": "ToolOutput", "name": "f", "output": [1], "isError": True, "callId": "c1"},
            {"type": "ToolOutput", "name": "g", "output": None},
            {"type": "Text", "text": "b"},
            5,
        ],
    }
    seen = view(message)
    assert (seen.role, seen.texts) == ("assistant", ("a", "b"))
    assert seen.calls == (Call("c1", "f", {"q": 1}, 2), Call("snake", "g", None, 4))
    assert seen.results == (Result("c1", "f", [1], True), Result(None, "g", None, None))


def test_openai_message_is_viewed() -> None:
    calls = [
        CALL,
        {"id": "c2", "type": "custom", "custom": {"name": "sh", "input": "ls"}},
        {"id": "", "name": "h", "arguments": "{cut"},
        5,
        {"function": {"name": 7}},
    ]
    seen = view({"role": "assistant", "content": "Hm.", "refusal": "No.", "tool_calls": calls})
    assert (seen.role, seen.texts, seen.results) == ("assistant", ("Hm.", "No."), ())
    assert seen.calls == (
        Call("c1", "add", {"a": 2, "b": [1.0]}, 0),
        Call("c2", "sh", "ls", 1),
        Call("", "h", "{cut", 2),
        Call(None, "", None, 4),
    )


@pytest.mark.parametrize("arguments", ["", "5", "[1]", "null", " text", "{", {"a": 1}, None])
def test_arguments_that_are_no_object_in_text_stay(arguments: Any) -> None:
    message = {
        "role": "assistant",
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": arguments}}],
    }
    assert view(message).calls[0].arguments == arguments


def test_openai_results_and_older_calls_are_viewed() -> None:
    tool = view(
        {"role": "tool", "tool_call_id": "c1", "name": "add", "content": [{"type": "text", "text": "4"}]}
    )
    assert tool.results == (Result("c1", "add", [{"type": "text", "text": "4"}], None),)
    assert tool.texts == ()
    older = view(
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"x": 1}'}}
    )
    assert older.calls == (Call(None, "f", {"x": 1}, 0),)
    assert view({"role": "function", "name": "f", "content": "4"}).results == (Result(None, "f", "4"),)


def test_parts_with_a_value_of_training_data_are_read_when_the_dialect_is_given() -> None:
    call = {"type": "tool_call", "value": '{"name": "add", "arguments": {"a": 2}}'}
    odd = {"type": "tool_call", "value": "add 2"}
    content = [{"type": "reasoning", "value": "hm"}, {"type": "text", "value": "wait"}, call, odd]
    message = {"role": "assistant", "content": content}
    assert dialect_of(message) is None
    seen = view(message, "openai")
    assert (seen.texts, seen.calls) == (("wait",), (Call(None, "add", {"a": 2}, 0),))
    assert message_of(message, "openai") == Message(
        role="assistant",
        content=[
            ReasoningPart(text="hm"),
            TextPart(text="wait"),
            AnyPart(value=odd),
            ToolCallPart(name="add", args={"a": 2}),
        ],
    )


def test_given_dialect_counts_more_than_the_shape() -> None:
    message = {"role": "user", "content": "hi"}
    assert view(message, "anda").dialect == "anda"
    assert view(message, "anda").texts == ("hi",)
    assert view("hi", "anda").texts == ()


@pytest.mark.parametrize("name", ["", "OpenAI", "nobody", 5, None, ["anda"]])
def test_unknown_dialect_is_refused(name: Any) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        dialect_named(name)
    assert refused.value.path == "dialect"
    if name is not None:
        for read in (view, message_of):
            with pytest.raises(InvalidRecordError):
                read({"role": "user", "content": "x"}, name)  # type: ignore[operator]


def test_openai_message_becomes_a_model() -> None:
    content = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "image_url", "image_url": {"url": "https://files.example/a.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}},
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,aGk=", "filename": "a.pdf"}},
        {"type": "file", "file": {"file_id": "f1"}},
        {"type": "refusal", "refusal": "No."},
        {"type": "image_url", "image_url": 5},
    ]
    assert message_of({"role": "user", "content": content, "name": "bob", "user": 5}, "openai") == Message(
        role="user",
        name="bob",
        content=[
            TextPart(text="look"),
            InlineDataPart(mime_type="image/png", data=b"hi"),
            FileDataPart(file_uri="https://files.example/a.png"),
            FileDataPart(file_uri="data:image/png;base64,?"),
            InlineDataPart(mime_type="audio/wav", data=b"hi"),
            InlineDataPart(mime_type="application/pdf", data=b"hi"),
            AnyPart(value=content[6]),
            TextPart(text="No."),
            AnyPart(value=content[8]),
        ],
    )


def test_openai_turns_become_models() -> None:
    turn = {
        "role": "assistant",
        "content": "",
        "reasoning_content": "Hm.",
        "refusal": None,
        "tool_calls": [CALL],
    }
    assert message_of(turn) == Message(
        role="assistant",
        content=[
            ReasoningPart(text="Hm."),
            ToolCallPart(name="add", args={"a": 2, "b": [1.0]}, call_id="c1"),
        ],
    )
    result = {"role": "tool", "tool_call_id": "c1", "content": "4"}
    assert message_of(result) == Message(
        role="tool", content=[ToolOutputPart(name="", output="4", call_id="c1")]
    )
    assert message_of({"role": "user", "content": {"odd": 1}}, "openai") == Message(
        role="user", content=[AnyPart(value={"odd": 1})]
    )
    assert message_of({"content": "x"}, "openai") is None


def test_message_of_no_known_dialect_is_read_as_andas() -> None:
    block = {"type": "of nobody", "x": {}}
    assert message_of({"role": "assistant", "content": [block]}) == Message(
        role="assistant", content=[AnyPart(value=block)]
    )
    assert message_of("hi") is None


def test_table_names_its_dialects() -> None:
    assert {name: dialect.name for name, dialect in DIALECTS.items()} == {name: name for name in DIALECTS}


@pytest.mark.shared
def test_real_runs_have_all_their_calls_and_results() -> None:
    calls: list[str | None] = []
    results: list[str | None] = []
    messages = 0
    with shared("data/airline_agent_runs.openai.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            for message in json.loads(line)["messages"]:
                messages += 1
                seen = view(message)
                assert (seen.dialect, seen.role) == ("openai", message["role"])
                calls += [call.id for call in seen.calls]
                results += [result.call_id for result in seen.results]
                assert all(isinstance(call.arguments, dict) for call in seen.calls)
    assert (messages, len(calls), len(results)) == (5308, 1164, 1164)
    assert sorted(map(str, calls)) == sorted(map(str, results))
