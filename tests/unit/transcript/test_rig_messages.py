"""rig's messages as models (spec/rig.md 1, cases T160 to T167)."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from pydantic import ValidationError

from convostore.schemas.authors import Author
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import same_json
from convostore.schemas.rig import (
    AssistantMessage,
    CallId,
    StopError,
    Text,
    ToolCall,
    ToolFunction,
    ToolResult,
    UnknownPart,
    UserMessage,
    parse_arguments,
    read_message,
)


def test_T160_user_text_is_a_content_array_of_one_text_part() -> None:
    written = UserMessage(content=[Text(text="Where is the station?")]).to_json()
    assert same_json(
        written, {"role": "user", "content": [{"type": "text", "text": "Where is the station?"}]}
    )


def test_T161_stop_reasons_are_names_or_tagged_failures() -> None:
    assert AssistantMessage(content=[], stop="tool_use").to_json()["stop"] == "tool_use"
    failed = AssistantMessage(content=[], stop=StopError(error="x"))
    assert failed.to_json()["stop"] == {"error": "x"}
    assert failed.is_failure() and not AssistantMessage(content=[], stop="length").is_failure()


def test_T162_call_ids_are_externally_tagged() -> None:
    assert CallId.of("c7").to_json() == {"provider": {"call_id": "c7"}}
    assert CallId.of("c7", "i1").to_json() == {"provider": {"call_id": "c7", "item_id": "i1"}}
    local = CallId.issued()
    assert list(local.to_json()) == ["local"]
    assert uuid.UUID(local.to_json()["local"]).version == 4
    assert str(CallId.of("c7")) == "c7" and str(local) == local.local


@pytest.mark.parametrize("value", [{"provider": {"call_id": ""}}, {}, {"local": ""}, "c7", {"other": 1}])
def test_T163_an_empty_call_id_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError):
        CallId.model_validate(value)
    with pytest.raises(InvalidRecordError) as refused:
        read_message(
            {"role": "assistant", "content": [{"type": "toolcall", "id": value, "function": {"name": "f"}}]}
        )
    assert refused.value.path.startswith("message.assistant.content[0]")


def test_an_empty_item_id_is_dropped() -> None:
    assert CallId.model_validate({"provider": {"call_id": "c", "item_id": ""}}) == CallId.of("c")


@pytest.mark.parametrize(
    ("given", "arguments", "invalid"),
    [
        ('{"path":"a.rs"}', {"path": "a.rs"}, None),
        (None, {}, None),
        (7, {}, "7"),
        ([1], {}, "[1]"),
        ("plain", {}, '"plain"'),
    ],
)
def test_T164_arguments_are_read_leniently(given: Any, arguments: Any, invalid: Any) -> None:
    function = ToolFunction.model_validate({"name": "read", "arguments": given})
    assert (function.arguments, function.invalid_arguments) == (arguments, invalid)
    assert function.to_json()["arguments"] == arguments


def test_missing_arguments_are_an_empty_object_and_explicit_invalid_ones_win() -> None:
    assert ToolFunction.model_validate({"name": "f"}).to_json() == {"name": "f", "arguments": {}}
    read = ToolFunction.model_validate({"name": "f", "arguments": 7, "invalid_arguments": "seven"})
    assert read.invalid_arguments == "seven"


def test_T165_is_error_false_is_omitted() -> None:
    result = {"type": "toolresult", "call": {"local": "u"}, "name": "read", "content": [], "is_error": False}
    written = ToolResult.model_validate(result).to_json()
    assert "is_error" not in written
    assert ToolResult.model_validate({**result, "is_error": True}).to_json()["is_error"] is True


def test_T166_an_author_without_kind_is_the_user() -> None:
    assert Author.from_json({}) == Author.user()


def test_T167_a_plugin_author_is_an_object() -> None:
    assert Author.plugin("btw").to_json() == {"kind": {"plugin": "btw"}}
    assert Author.from_json({"kind": {"plugin": "btw"}}) == Author.plugin("btw")


_WHOLE = {
    "role": "assistant",
    "content": [
        {"type": "reasoning", "text": "hm", "redacted": True},
        {
            "type": "text",
            "text": "\ud800 lone",
            "native": {"item": {"x": 1}, "fingerprint": "0123456789abcdef"},
        },
        {
            "type": "toolcall",
            "id": {"provider": {"call_id": "c7", "item_id": "i"}},
            "function": {"name": "read", "arguments": {"path": "a"}, "invalid_arguments": "raw"},
            "later": [1.0, None],
        },
        {"type": "image", "data": {"type": "base64", "value": "AA=="}, "media_type": "png", "detail": "low"},
        {"type": "opaque", "item": {"nan": 1e300}, "replay": False},
        {"type": "hologram", "beams": 3},
        "bare",
    ],
    "origin": {"api": "openai.chat", "provider": "openai", "model": "gpt-5"},
    "stop": {"aborted": "user"},
    "more": {"kept": True},
}


def test_everything_rig_writes_comes_back_as_it_was() -> None:
    assert same_json(read_message(_WHOLE).to_json(), _WHOLE)


def test_unknown_parts_are_kept() -> None:
    message = read_message(_WHOLE)
    assert isinstance(message, AssistantMessage)
    assert message.content[5] == UnknownPart.model_validate({"type": "hologram", "beams": 3})
    assert isinstance(message.content[2], ToolCall)


def test_user_parts_come_back_as_they_were() -> None:
    whole = {
        "role": "user",
        "content": [
            {
                "type": "toolresult",
                "call": {"provider": {"call_id": "c7"}},
                "name": "read",
                "content": [{"type": "text", "text": "no"}, {"type": "json", "value": None}],
                "is_error": True,
            },
            {"type": "image", "data": {"type": "raw", "value": [0, 255]}},
            {"type": "video", "data": {"type": "fileId", "value": "f"}, "media_type": "mp4"},
            {"type": "document", "data": {"type": "unknown"}, "additional_params": {"a": 1}},
        ],
    }
    assert same_json(read_message(whole).to_json(), whole)


def test_a_native_item_that_cannot_be_read_is_dropped() -> None:
    read = Text.model_validate({"type": "text", "text": "a", "native": {"item": 1, "fingerprint": "short"}})
    assert read.to_json() == {"type": "text", "text": "a"}


@pytest.mark.parametrize(
    "value",
    [
        None,
        "hi",
        {"role": "tool", "content": []},
        {"role": "user", "content": None},
        {"role": "system", "content": []},
        {"role": "user", "content": [{"type": "text"}]},
        {"role": "user", "content": [{"type": "image", "data": {"type": "raw", "value": [256]}}]},
        {"role": "assistant", "content": [], "stop": {"error": "a", "aborted": "b"}},
        {"role": "assistant", "content": [], "stop": "tired"},
    ],
)
def test_what_is_no_message_of_rig_is_refused(value: Any) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        read_message(value, "messages[3]")
    assert refused.value.path.startswith("messages[3]")


@pytest.mark.parametrize(
    ("text", "arguments", "invalid"),
    [
        ("  ", {}, False),
        ('{"a": 1}', {"a": 1}, False),
        ('{"a": {"b": [1, 2]}, "c": "un', {"a": {"b": [1, 2]}}, True),
        ('{"a": 12', {}, True),
        ('{"a": 1} trailing', {"a": 1}, True),
        ("[1]", {}, True),
        ("nonsense", {}, True),
        ("{", {}, True),
        ('{"a": 1, 7: 2}', {"a": 1}, True),
    ],
)
def test_arguments_cut_off_keep_their_complete_members(text: str, arguments: Any, invalid: bool) -> None:
    assert parse_arguments(text) == (arguments, text if invalid else None)
