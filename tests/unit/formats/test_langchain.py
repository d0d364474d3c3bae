"""LangChain's histories: the three forms of a message, the collection of messages, and what is broken."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.formats import Imported, Refused
from convostore.schemas.usage import Usage
from support.importing import (
    changed,
    detected,
    imported,
    kinds,
    only,
    read,
    read_value,
    refused,
    sample,
    times,
)

OID = "68362bb0000000000000000{}"
CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "system": "SystemMessage", "tool": "ToolMessage",
           "function": "FunctionMessage", "chat": "ChatMessage"}  # fmt: skip

DATA: list[dict[str, Any]] = [
    {"type": "system", "content": "be brief"},
    {"type": "human", "name": "mira", "id": "h1", "content": [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "image", "source_type": "url", "url": "https://e.com/a.png", "mime_type": "image/png"},
        {"type": "file", "base64": "aGk=", "mime_type": "text/plain", "filename": "f"},
    ]},
    {"type": "ai", "id": "run-1", "content": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "id": "rs"},
        {"type": "thinking", "thinking": "ha", "signature": "g"},
        {"type": "text", "text": "wait"},
        {"type": "tool_use", "id": "k1", "name": "look", "input": {}},
        {"type": "hologram", "beam": [None]},
     ],
     "tool_calls": [{"name": "look", "args": {"at": 1}, "id": "k1", "type": "tool_call"},
                    {"name": "web", "args": {}, "id": None, "type": "tool_call"}],
     "invalid_tool_calls": [{"name": "x", "args": "{bad", "id": "k3", "error": "no JSON"}],
     "additional_kwargs": {"reasoning_content": "deep", "tool_calls": [
         {"id": "k1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}},
         {"id": "k3", "type": "function", "function": {"name": "x", "arguments": "{bad"}}]},
     "response_metadata": {"model_name": "m", "logprobs": None},
     "usage_metadata": {"input_tokens": 9, "output_tokens": 4, "input_token_details": {"cache_read": 2}}},
    {"type": "tool", "name": "look", "tool_call_id": "k1", "content": ["seen"], "status": "error",
     "artifact": {"raw": 1}},
    {"type": "function", "name": "old", "content": "{}"},
    {"type": "ai", "content": "",
     "additional_kwargs": {"function_call": {"name": "f", "arguments": '{"a": 1}'}},
     "response_metadata": {"token_usage": {"prompt_tokens": 1, "completion_tokens": 2}}},
    {"type": "chat", "role": "critic", "content": "short"},
]  # fmt: skip
NOTHINGS = {"name": None, "id": None, "additional_kwargs": {}, "response_metadata": {}, "example": False}

MESSAGES: list[Any] = [
    {"role": "system", "source": {"type": "system"}, "content": [{"type": "Text", "text": "be brief"}]},
    {"role": "user", "name": "mira", "source": {"type": "human", "id": "h1"}, "content": [
        {"type": "Text", "text": "look"},
        {"type": "InlineData", "mimeType": "image/png", "data": "b64:aGk="},
        {"type": "FileData", "fileUri": "https://e.com/a.png", "mimeType": "image/png"},
        {"type": "InlineData", "mimeType": "text/plain", "data": "b64:aGk=", "source": {"filename": "f"}},
    ]},
    {"role": "assistant",
     "source": {"type": "ai", "id": "run-1", "invalid_tool_calls": DATA[2]["invalid_tool_calls"],
                "response_metadata": {"model_name": "m", "logprobs": None},
                "usage_metadata": DATA[2]["usage_metadata"]},
     "content": [
        {"type": "Reasoning", "text": "deep"},
        {"type": "Reasoning", "text": "hm", "source": {"id": "rs"}},
        {"type": "Reasoning", "text": "ha", "source": {"signature": "g"}},
        {"type": "Text", "text": "wait"},
        {"type": "ToolCall", "name": "look", "args": {"at": 1}, "callId": "k1"},
        {"type": "hologram", "beam": [None]},
        {"type": "ToolCall", "name": "web", "args": {}},
     ]},
    {"role": "tool", "source": {"type": "tool"}, "content": [
        {"type": "ToolOutput", "name": "look", "output": ["seen"], "isError": True, "callId": "k1",
         "source": {"artifact": {"raw": 1}}}]},
    {"role": "tool", "source": {"type": "function"},
     "content": [{"type": "ToolOutput", "name": "old", "output": "{}"}]},
    {"role": "assistant",
     "source": {"type": "ai", "response_metadata": DATA[5]["response_metadata"]},
     "content": [{"type": "ToolCall", "name": "f", "args": {"a": 1}}]},
    {"role": "critic", "source": {"type": "chat"}, "content": [{"type": "Text", "text": "short"}]},
]  # fmt: skip


def to_dict(data: dict[str, Any]) -> dict[str, Any]:
    return {"type": data["type"], "data": {**NOTHINGS, **data}}


def constructor(data: dict[str, Any]) -> dict[str, Any]:
    name = ["langchain", "schema", "messages", CLASSES[data["type"]]]
    return {"lc": 1, "type": "constructor", "id": name, "kwargs": data}


def chunk(data: dict[str, Any]) -> dict[str, Any]:
    return {**NOTHINGS, **data, "type": CLASSES[data["type"]] + "Chunk"}


def documents(by: str = "s1", **names: str) -> list[dict[str, Any]]:
    return [
        {"_id": {"$oid": OID.format(place)}, names.get("session", "SessionId"): by,
         names.get("history", "History"): json.dumps(to_dict(data))}
        for place, data in enumerate(DATA)
    ]  # fmt: skip


def lines(*values: Any, end: str = "\n") -> str:
    return "".join(json.dumps(value) + end for value in values)


@pytest.mark.parametrize("form", [to_dict, constructor, dict, chunk])
def test_every_form_gives_the_same_messages(form: Any) -> None:
    found = only(read_value(list(map(form, DATA)), "langchain"))
    assert found.conversation.messages == MESSAGES
    assert found.conversation.usage == Usage(input_tokens=10, output_tokens=6, cached_tokens=2, requests=2)
    assert [one.uri for one in found.conversation.resources] == ["https://e.com/a.png"]
    assert found.source.id.startswith("sha256:") and not times([found]) and found.notes == ()


@pytest.mark.parametrize(
    "text",
    [
        lines(list(map(to_dict, DATA))),
        "\ufeff" + json.dumps(list(map(to_dict, DATA)), indent=1).replace("\n", "\r\n"),
        lines(*map(to_dict, DATA), end="\r\n"),
        lines(*map(constructor, DATA)),
        lines({"messages": DATA}),
        json.dumps([list(map(constructor, DATA))]),
        lines({"_id": {"$oid": OID.format(0)}, "sessionId": "s1", "messages": list(map(to_dict, DATA))}),
        lines({"SessionId": "s1", "History": list(map(to_dict, DATA))}),
    ],
)
def test_every_layout_is_read(text: str) -> None:
    assert detected(text) == "langchain"
    found = only(read(text, "langchain"))
    assert found.conversation.messages == MESSAGES
    assert (found.source.id == "s1") == ("s1" in text)


@pytest.mark.parametrize("names", [{}, {"session": "chat", "history": "said"}, {"session": "session_id"}])
def test_documents_of_a_session_are_a_conversation_by_their_ids(names: dict[str, str]) -> None:
    given = [*documents("s2", **names)[:2], *reversed(documents("s1", **names))]
    text = lines(*given)
    assert detected(text) == "langchain"
    other, found = imported(read(text, "langchain"))
    assert (other.source.id, found.source.id) == ("s2", "s1")
    assert [message["content"] for message in found.conversation.messages] == [
        message["content"] for message in MESSAGES
    ]
    assert [message["source"]["document"] for message in found.conversation.messages] == [
        {"_id": {"$oid": OID.format(place)}} for place in range(7)
    ]
    assert set(times([found])) == {1_748_380_592_000} and "clock" in found.notes[0]
    assert found.conversation.created_at == found.conversation.updated_at == 1_748_380_592_000


def test_canonical_extended_json_and_arrays_say_the_same() -> None:
    dated = [{**one, "createdAt": {"$date": "2026-01-02T03:04:05.006Z"}, "n": 5} for one in documents()]
    canonical = [
        {**one, "createdAt": {"$date": {"$numberLong": "1767323045006"}}, "n": {"$numberInt": "5"}}
        for one in dated
    ]
    one, other = only(read(lines(*dated), "langchain")), only(read(json.dumps(canonical), "langchain"))
    assert one.conversation == other.conversation and one.source == other.source
    assert set(times([one])) == {1_767_323_045_006}
    assert one.conversation.messages[0]["source"]["document"]["n"] == 5


def test_document_whose_history_is_broken_is_kept_and_said() -> None:
    broken = {"_id": {"$oid": OID.format(9)}, "SessionId": "s1", "History": '{"type": "human'}
    found = only(read(lines(*documents(), broken), "langchain"))
    assert found.conversation.messages[-1] == {"role": "unknown", "content": [broken]}
    assert any("no JSON" in note for note in found.notes)
    items = read(lines(*documents()) + '5\n{"cut', "langchain")
    assert [one.position for one in refused(items)] == [8, 9] and len(imported(items)) == 1


def test_calls_of_the_generation_before_tool_calls_are_calls() -> None:
    older = {
        "content": "",
        "additional_kwargs": {
            "tool_calls": [
                {"id": "k", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
                5,
            ]
        },
    }
    (message,) = only(read_value([{"type": "ai", "data": older}], "langchain")).conversation.messages
    assert message["content"] == [
        {"type": "ToolCall", "name": "f", "args": {"a": 1}, "callId": "k"}, 5,
    ]  # fmt: skip


def test_a_user_must_be_given() -> None:
    for text in (lines(*documents()), lines([to_dict(DATA[0])])):
        with pytest.raises(InvalidRecordError, match="names no user"):
            read(text, "langchain", user=None)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed([to_dict(DATA[2]), constructor(DATA[1]), *DATA[3:]]))
def test_whatever_a_member_becomes_every_message_is_kept(value: Any) -> None:
    (found,) = read(json.dumps({"messages": value}) + "\n", "langchain")
    if isinstance(found, Imported):
        assert len(found.conversation.messages) == len(value)
    else:
        assert isinstance(found, Refused)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed(documents()))
def test_whatever_a_member_of_a_document_becomes_it_is_kept_or_named(value: Any) -> None:
    items = read(lines(documents()[0], *value), "langchain")
    kept = sum(len(item.conversation.messages) for item in imported(items))
    assert kept + len(refused(items)) == len(value) + 1


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    [
        "langchain-messages/dumpd-constructor-1.8.3.json",
        "langchain-messages/langfuse-agent-messages.json",
        "langchain-messages/to-dict-1.8.3.json",
        "langchain-mongo/piotr-single-doc.json",
    ],
)
def test_sample_holds_what_its_index_says(name: str) -> None:
    data, expected = sample(name)
    assert detected(data) == "langchain"
    found, (wanted,) = only(read(data, "langchain")), expected["convs"]
    messages = found.conversation.messages
    roles = [message["source"]["type"] for message in messages]
    assert {role: roles.count(role) for role in set(roles)} == wanted["roles"]
    parts = kinds(messages)
    assert (parts["ToolCall"], parts["ToolOutput"]) == (wanted["calls"], wanted["results"])
    made = times([found])
    assert (min(made, default=None), max(made, default=None)) == (wanted["first"], wanted["last"])
    if wanted["title"]:
        assert found.source.id == wanted["title"]


@pytest.mark.shared
def test_both_generations_of_a_sample_give_the_same_messages() -> None:
    one, other = (
        only(read(sample(f"langchain-messages/{name}.json")[0], "langchain")).conversation.messages
        for name in ("to-dict-1.8.3", "dumpd-constructor-1.8.3")
    )
    assert one == other
