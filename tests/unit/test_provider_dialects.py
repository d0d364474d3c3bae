"""The dialects of Anthropic and of OpenAI's Responses: told by shape, read, paired, counted in samples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from convostore.schemas.dialects import Call, Result, dialect_of, message_of, view
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
from convostore.schemas.pairing import for_model, pending_calls, validate
from convostore.schemas.pairing.repairs import faults
from convostore.schemas.translation import translated
from support.shared import shared

CALL = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 2}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
ANSWER = {"type": "tool_result", "tool_use_id": "t1", "content": "4", "is_error": False}
REPLY = {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "well"}, CALL]}
ITEM_CALL = {"type": "function_call", "call_id": "k1", "name": "add", "arguments": '{"a": 2}'}
ITEM_ANSWER = {"type": "function_call_output", "call_id": "k1", "output": "4"}
ITEM_TEXT = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "four"}]}


@pytest.mark.parametrize(
    ("message", "dialect"),
    [
        (REPLY, "anthropic"),
        ({"role": "user", "content": [ANSWER]}, "anthropic"),
        (
            {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "x"}}]},
            "anthropic",
        ),
        ({"role": "user", "content": [{"type": "thinking", "thinking": "a"}], "tool_calls": []}, "openai"),
        ({"role": "tool", "content": [ANSWER]}, None),
        ({"role": "user", "content": [{"type": "vendor"}]}, None),
        ({"role": "user", "content": [{"type": "image", "source": "x"}]}, None),
        (ITEM_CALL, "openai-responses"),
        (ITEM_ANSWER, "openai-responses"),
        (ITEM_TEXT, "openai-responses"),
        ({"type": "reasoning", "summary": []}, "openai-responses"),
        ({"type": "web_search_call", "id": "w", "status": "completed"}, "openai-responses"),
        ({"role": "user", "content": [{"type": "input_text", "text": "a"}]}, "openai-responses"),
        ({"type": "vendor", "call_id": "k"}, None),
        ({"type": "message", "content": []}, None),
    ],
)
def test_dialect_is_told_by_shape(message: Any, dialect: str | None) -> None:
    assert dialect_of(message) == dialect


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": "hello"},
    ],
)
def test_plain_text_counts_as_openai_as_before(message: Any) -> None:
    assert dialect_of(message) == "openai"


def test_view_reads_blocks() -> None:
    seen = view(REPLY)
    assert (seen.role, seen.texts, seen.calls) == ("assistant", ("well",), (Call("t1", "add", {"a": 2}, 2),))
    assert view({"role": "user", "content": [ANSWER]}).results == (Result("t1", None, "4", False),)
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    both = view({"role": "assistant", "content": [search, found]})
    assert both.calls == (Call("s", "web_search", {"q": 1}, 0),)
    assert both.results == (Result("s", None, [], None),)


def test_view_reads_items() -> None:
    assert view(ITEM_CALL).calls == (Call("k1", "add", {"a": 2}, 0),)
    assert view(ITEM_CALL).role == "assistant"
    assert view(ITEM_ANSWER).results == (Result("k1", None, "4"),)
    assert view(ITEM_ANSWER).role == "tool"
    assert view(ITEM_TEXT).texts == ("four",)
    assert view({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}).texts == ()
    search = view({"type": "web_search_call", "id": "w", "action": {"query": "x"}})
    assert search.calls == (Call("w", "web_search", {"query": "x"}, 0),)


def test_blocks_become_parts_and_what_has_none_stays() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    linked = {"type": "document", "source": {"type": "url", "url": "https://x/y.pdf"}}
    secret = {"type": "redacted_thinking", "data": "abc"}
    odd = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "?"}}
    content = [THOUGHT, CALL, ANSWER, picture, linked, secret, odd]
    assert message_of({"role": "user", "content": content}) == Message(
        role="user",
        content=[
            ReasoningPart(text="hm"),
            ToolCallPart(name="add", args={"a": 2}, call_id="t1"),
            ToolOutputPart(name="", output="4", call_id="t1", is_error=False),
            InlineDataPart(mime_type="image/png", data=b"hi"),
            FileDataPart(file_uri="https://x/y.pdf"),
            AnyPart(value=secret),
            AnyPart(value=odd),
        ],
    )


def test_items_become_messages_and_what_is_encrypted_stays() -> None:
    sealed = {"type": "reasoning", "summary": [{"text": "hm"}], "encrypted_content": "x"}
    assert message_of(sealed) == Message(
        role="assistant", content=[ReasoningPart(text="hm"), AnyPart(value=sealed)]
    )
    assert message_of(ITEM_CALL) == Message(
        role="assistant", content=[ToolCallPart(name="add", args={"a": 2}, call_id="k1")]
    )
    assert message_of(ITEM_TEXT) == Message(role="assistant", content=[TextPart(text="four")])


def test_blocks_pair_and_a_missing_result_is_made_up_before_the_text() -> None:
    user = {"role": "user", "content": "2+2?"}
    validate([user, REPLY, {"role": "user", "content": [ANSWER]}])
    assert [call.id for call in pending_calls([user, REPLY])] == ["t1"]

    shown = for_model([user, REPLY, {"role": "user", "content": "never mind"}]).messages

    assert shown[:2] == [user, REPLY]
    made, text = shown[2]["content"]
    assert (made["type"], made["tool_use_id"], made["is_error"]) == ("tool_result", "t1", True)
    assert text == {"type": "text", "text": "never mind"}
    assert for_model(shown).messages == shown


def test_signature_of_thinking_survives_the_model_view() -> None:
    shown = for_model([{"role": "user", "content": "2+2?"}, REPLY, {"role": "user", "content": [ANSWER]}])
    assert shown.messages[1] is REPLY and not shown.faults


def test_calls_of_one_turn_that_repeat_an_id_get_their_own() -> None:
    twice = {"role": "assistant", "content": [dict(CALL), dict(CALL)]}
    results = {"role": "user", "content": [dict(ANSWER), dict(ANSWER)]}

    reply, answer = for_model([twice, results]).messages

    ids = [block["id"] for block in reply["content"]]
    assert len(set(ids)) == 2
    assert [block["tool_use_id"] for block in answer["content"]] == ids


def test_items_pair_and_a_missing_result_is_made_up() -> None:
    user = {"type": "message", "role": "user", "content": "2+2?"}
    assert faults([user, ITEM_CALL, ITEM_ANSWER, ITEM_TEXT]) == []

    shown = for_model([user, ITEM_CALL, ITEM_TEXT]).messages

    made = {"type": "function_call_output", "call_id": "k1", "output": "No result provided"}
    assert shown == [user, ITEM_CALL, made, ITEM_TEXT]


def test_calls_in_a_row_each_keep_their_result() -> None:
    second, answer = {**ITEM_CALL, "call_id": "k2"}, {**ITEM_ANSWER, "call_id": "k2"}

    shown = for_model([ITEM_CALL, second, ITEM_ANSWER, answer]).messages

    assert shown == [ITEM_CALL, ITEM_ANSWER, second, answer]


def test_both_can_be_said_in_another_dialect() -> None:
    assert translated([ITEM_CALL, {"role": "user", "content": [ANSWER]}], "openai") == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "k1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "4"},
    ]


def _messages(value: Any) -> Iterator[Any]:
    """Every message and item in a sample, wherever it lies."""
    if isinstance(value, list):
        for item in value:
            yield from _messages(item)
    elif isinstance(value, dict):
        if dialect_of(value) in ("anthropic", "openai-responses"):
            yield value
            return
        for item in value.values():
            yield from _messages(item)


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    [
        "anthropic/compaction.json",
        "anthropic/response-thinking-tool.json",
        "openai-responses/agents-runstate-1.13-program.json",
        "openai-responses/agents-runstate-1.5-toolsearch.json",
        "openai-responses/conversation-items-list.json",
        "openai-responses/response-reasoning.json",
    ],
)
def test_samples_have_the_calls_and_results_expected(name: str) -> None:
    expected = json.loads(shared("data/exports/expected.json").read_text("utf-8"))[name]["expected"]
    value = json.loads(shared(f"data/exports/{name}").read_text("utf-8"))
    # A saved run has its items twice: as the model gave them, and as the run took them.
    seen = [view(message) for message in _messages(value.get("generated_items", value))]

    assert seen
    assert sum(len(one.calls) for one in seen) == expected["calls"]
    assert sum(len(one.results) for one in seen) == expected["results"]
