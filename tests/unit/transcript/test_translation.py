"""Messages said in another dialect, and rig's messages read as a dialect."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas import pairing
from convostore.schemas.dialects import dialect_of, message_of, view
from convostore.schemas.entries import Entry
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.translation import said_to_model, translated
from support.transcripts import a, call, res, system, u

TEXT = {"type": "Text", "text": "hi"}
ANDA: list[Any] = [
    {"role": "system", "content": [TEXT]},
    {"role": "user", "content": [TEXT]},
    {
        "role": "assistant",
        "content": [TEXT, {"type": "ToolCall", "name": "f", "args": {"a": 1}, "callId": "x"}],
    },
    {"role": "tool", "content": [{"type": "ToolOutput", "name": "f", "output": "1", "callId": "x"}]},
]
OPENAI: list[Any] = [
    {"role": "system", "content": "hi"},
    {"role": "user", "content": "hi"},
    {
        "role": "assistant",
        "content": "hi",
        "tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
    },
    {"role": "tool", "tool_call_id": "x", "content": "1"},
]
FUNCTION = {"name": "f", "arguments": {"a": 1}}
RESULT = {
    "type": "toolresult",
    "call": {"provider": {"call_id": "x"}},
    "name": "f",
    "content": [{"type": "text", "text": "1"}],
}
RIG: list[Any] = [
    {"role": "system", "content": "hi"},
    u(),
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "hi"},
            {"type": "toolcall", "id": {"provider": {"call_id": "x"}}, "function": FUNCTION},
        ],
    },
    {"role": "user", "content": [RESULT]},
]


def test_the_same_conversation_in_three_dialects() -> None:
    assert translated(ANDA, "rig") == RIG
    assert translated(ANDA, "openai") == OPENAI
    assert translated([Entry(n, message, dialect="rig") for n, message in enumerate(RIG)], "anda") == ANDA
    assert translated([Entry(n, message, dialect="rig") for n, message in enumerate(RIG)], "openai") == OPENAI


def test_what_is_in_the_dialect_is_the_same_object() -> None:
    assert all(said is given for said, given in zip(translated(OPENAI, "openai"), OPENAI, strict=True))


def test_results_and_text_of_one_message_are_several_of_openai() -> None:
    said = translated([res("x", "y", text="and?")], "openai")
    assert [message["role"] for message in said] == ["tool", "tool", "user"]
    assert said[2] == {"role": "user", "content": "and?"}


def test_images_go_along() -> None:
    inline = {"type": "InlineData", "mimeType": "image/png", "data": "b64:-_8="}
    link = {"type": "FileData", "fileUri": "https://f.example/a.png", "mimeType": "image/png"}
    message = {"role": "user", "content": [inline, link]}
    (rig,) = translated([message], "rig")
    assert rig["content"][0] == {
        "type": "image",
        "data": {"type": "base64", "value": "+/8="},
        "media_type": "png",
    }
    assert rig["content"][1]["data"] == {"type": "url", "value": "https://f.example/a.png"}
    assert translated([rig], "anda") == [message]
    (openai,) = translated([message], "openai")
    assert openai["content"][0]["image_url"]["url"] == "data:image/png;base64,+/8="


def test_what_rig_has_no_part_for_is_opaque_in_a_reply() -> None:
    thing = {"type": "VendorThing", "x": 1}
    (said,) = translated([{"role": "assistant", "content": [thing]}], "rig")
    assert said["content"] == [{"type": "opaque", "item": thing, "replay": False}]
    assert translated([said], "anda") == [{"role": "assistant", "content": [thing]}]


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(InvalidRecordError):
        translated(ANDA, "klingon")


@pytest.mark.parametrize("dialect", ["anda", "rig", "openai", None])
@pytest.mark.parametrize("messages", [ANDA, OPENAI, RIG])
def test_a_model_is_told_pairs_in_any_dialect(messages: list[Any], dialect: str | None) -> None:
    for cut in range(len(messages) + 1):
        shown = said_to_model(messages[:cut], dialect)
        assert pairing.faults(shown) == []
        assert len(pairing.matches(shown)) == (1 if cut > 2 else 0)
        assert dialect is None or translated(shown, dialect) == shown


@pytest.mark.parametrize("message", [call("x"), res("x"), a(stop={"error": "x"}), a(origin={"api": "a"})])
def test_rigs_messages_are_told_by_their_parts_and_outcome(message: Any) -> None:
    assert dialect_of(message) == "rig"


@pytest.mark.parametrize("message", [u(), system(), {"role": "user", "content": []}])
def test_what_many_dialects_say_alike_is_not_told_to_be_rigs(message: Any) -> None:
    assert dialect_of(message) != "rig"


def test_rigs_messages_are_read_through_the_table() -> None:
    read = view(call("x"))
    assert [(found.id, found.name, found.arguments) for found in read.calls] == [("x", "read", {})]
    assert [found.call_id for found in view(res("x", text="t")).results] == ["x"]
    assert view(res("x", text="t")).texts == ("t",)
    message = message_of(res("x"))
    assert message is not None and message.tool_outputs[0].call_id == "x"
