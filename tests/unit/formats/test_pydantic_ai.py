"""pydantic-ai's message lists: every generation, parts, files, retries, and what is broken in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

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

ID = "0197b2e1-8c00-7000-8000-000000000000"
AT = "2026-01-02T03:04:05.006Z"


def part(kind: str, **members: Any) -> dict[str, Any]:
    return {"part_kind": kind, "id": None, **members}


def request(*parts: Any, **members: Any) -> dict[str, Any]:
    return {"kind": "request", "parts": list(parts), **members}


def response(*parts: Any, **members: Any) -> dict[str, Any]:
    return {"kind": "response", "parts": list(parts), "model_name": "m", "timestamp": AT, **members}


TALK = [
    request(
        part("system-prompt", content="be brief", timestamp=AT),
        part("user-prompt", timestamp="2026-01-02T03:04:04Z", content=[
            "look", {"kind": "image-url", "url": "https://e.com/a.png", "media_type": None},
            {"kind": "binary", "data": "-_8=", "media_type": "image/png"},
            {"kind": "cache-point", "ttl": "5m"},
            {"kind": "text-content", "content": "and say", "metadata": {"n": 1}},
        ]),
        conversation_id=ID,
    ),
    response(
        part("thinking", content="hm", signature="g"),
        part("text", content="wait"),
        part("tool-call", tool_name="look", args='{"at": 1}', tool_call_id="k1"),
        part("builtin-tool-call", tool_name="web", args={"q": "x"}, tool_call_id="k2", provider_name="p"),
        part("builtin-tool-return", tool_name="web", content=["y"], tool_call_id="k2", outcome="success"),
        part("hologram", beam=[None]),
        part("file", content={"kind": "binary", "data": "aGk=", "media_type": "text/plain"}),
        usage={"input_tokens": 9, "cache_read_tokens": 2, "output_tokens": 4}, conversation_id=ID,
    ),
    request(
        part("tool-return", tool_name="look", content={"seen": 2}, tool_call_id="k1", outcome="retried",
             timestamp="2026-01-02T03:04:06Z"),
        part("retry-prompt", tool_name="look", content="again", tool_call_id="k1"),
        instructions="now", conversation_id=ID,
    ),
    response(part("text", content=""), usage={}, conversation_id=ID),
    request(part("system-prompt", content="stop"), conversation_id=ID),
]  # fmt: skip

CONTENTS: list[Any] = [
    [
        {"part_kind": "system-prompt", "id": None, "content": "be brief", "timestamp": AT},
        {"type": "Text", "text": "look", "source": {"timestamp": "2026-01-02T03:04:04Z"}},
        {"type": "FileData", "fileUri": "https://e.com/a.png", "source": {"kind": "image-url"}},
        {"type": "InlineData", "mimeType": "image/png", "data": "b64:-_8=", "source": {"kind": "binary"}},
        {"kind": "cache-point", "ttl": "5m"},
        {"type": "Text", "text": "and say", "source": {"kind": "text-content", "metadata": {"n": 1}}},
    ],
    [
        {"type": "Reasoning", "text": "hm", "source": {"signature": "g"}},
        {"type": "Text", "text": "wait"},
        {"type": "ToolCall", "name": "look", "args": {"at": 1}, "callId": "k1"},
        {"type": "ToolCall", "name": "web", "args": {"q": "x"}, "callId": "k2",
         "source": {"part_kind": "builtin-tool-call", "provider_name": "p"}},
        {"type": "ToolOutput", "name": "web", "output": ["y"], "isError": False, "callId": "k2",
         "source": {"part_kind": "builtin-tool-return", "outcome": "success"}},
        {"part_kind": "hologram", "id": None, "beam": [None]},
        {"type": "InlineData", "mimeType": "text/plain", "data": "b64:aGk=", "source": {"kind": "binary"}},
    ],
    [
        {"type": "ToolOutput", "name": "look", "output": {"seen": 2}, "isError": True, "callId": "k1",
         "source": {"timestamp": "2026-01-02T03:04:06Z", "outcome": "retried"}},
        {"type": "ToolOutput", "name": "look", "output": "again", "isError": True, "callId": "k1",
         "source": {"part_kind": "retry-prompt"}},
    ],
    [{"type": "Text", "text": ""}],
    [{"type": "Text", "text": "stop"}],
]  # fmt: skip

OLD = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "2+2?", "timestamp": "2024-11-01T00:00:00Z"},
    {"role": "model-structured-response", "timestamp": "2024-11-01T00:00:01Z", "calls": [
        {"tool_name": "add", "args": {"args_object": {"a": 2}}, "tool_id": "k"},
        {"tool_name": "add", "args": {"args_json": '{"a": 3}'}, "tool_id": None}]},
    {"role": "tool-return", "tool_name": "add", "content": 4, "tool_id": "k",
     "timestamp": "2024-11-01T00:00:02Z"},
    {"role": "retry-prompt", "tool_name": "add", "content": [{"loc": ["a"]}], "tool_id": None,
     "timestamp": "2024-11-01T00:00:03Z"},
    {"role": "model-text-response", "content": "4", "timestamp": "2024-11-01T00:00:04Z"},
]  # fmt: skip


def test_entries_become_messages_of_parts() -> None:
    found = only(read_value(TALK, "pydantic-ai"))
    messages = found.conversation.messages
    assert [message["content"] for message in messages] == CONTENTS
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant", "system"]
    assert [message["source"]["kind"] for message in messages] == [entry["kind"] for entry in TALK]
    assert messages[2]["source"]["instructions"] == "now"
    assert [message.get("timestamp") for message in messages] == [
        1_767_323_045_006, 1_767_323_045_006, 1_767_323_046_000, 1_767_323_045_006, None,
    ]  # fmt: skip
    assert found.conversation.usage == Usage(input_tokens=9, output_tokens=4, cached_tokens=2, requests=1)
    assert found.source.id == ID and found.conversation.extra is None
    assert [one.uri for one in found.conversation.resources] == ["https://e.com/a.png"]
    assert found.conversation.created_at == 1_767_323_045_006


def test_form_until_2024_12_has_a_part_an_entry() -> None:
    assert detected(json.dumps(OLD)) == "pydantic-ai"
    messages = only(read_value(OLD, "pydantic-ai")).conversation.messages
    assert [message["role"] for message in messages] == [
        "system", "user", "assistant", "tool", "tool", "assistant",
    ]  # fmt: skip
    assert messages[2]["content"] == [
        {"type": "ToolCall", "name": "add", "args": {"a": 2}, "callId": "k",
         "source": {"timestamp": "2024-11-01T00:00:01Z"}},
        {"type": "ToolCall", "name": "add", "args": {"a": 3}},
    ]  # fmt: skip
    assert [message["content"][0]["output"] for message in messages[3:5]] == [4, [{"loc": ["a"]}]]
    assert messages[4]["content"][0]["isError"] is True
    assert messages[2]["source"] == {"role": "model-structured-response"}
    assert messages[5]["timestamp"] == 1_730_419_204_000 and "timestamp" not in messages[0]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(TALK),
        "\ufeff" + json.dumps(TALK, indent=2).replace("\n", "\r\n"),
        "".join(json.dumps(entry) + "\r\n" for entry in TALK),
        json.dumps({"messages": TALK}),
        json.dumps({"message_history": TALK, "agent": "a"}, indent=1),
        json.dumps([TALK]),
    ],
)
def test_every_layout_gives_the_conversation(text: str) -> None:
    assert detected(text) == "pydantic-ai"
    found = only(read(text, "pydantic-ai"))
    assert [message["content"] for message in found.conversation.messages] == CONTENTS
    assert found.unknown == ({"agent": "a"} if "agent" in text else {})


def test_lists_a_line_are_conversations_known_by_content() -> None:
    text = "".join(
        json.dumps([entry]) + "\n" for entry in (TALK[3] | {"conversation_id": None}, *OLD[:2] * 2)
    )
    assert detected(text) == "pydantic-ai"
    found = imported(read(text, "pydantic-ai"))
    assert len(found) == 5 and len({item.source.id for item in found}) == 5
    assert found[3].source.id == found[1].source.id + "#2"


def test_broken_entries_are_named_and_the_rest_is_read() -> None:
    items = read(json.dumps(TALK[0]) + '\n{"broken\n5\n' + json.dumps(TALK[1]) + "\n", "pydantic-ai")
    assert [item.position for item in refused(items)] == [2, 3]
    (found,) = imported(items)
    assert len(found.conversation.messages) == 2 and "2 values were refused" in found.notes[0]
    odd = only(read_value({"messages": [5, {"kind": "request", "parts": None}, TALK[1]]}, "pydantic-ai"))
    assert [message["content"] for message in odd.conversation.messages[:2]] == [
        [5], [{"kind": "request", "parts": None}],
    ]  # fmt: skip
    assert len(odd.notes) == 2
    empty, other = read('{"messages": []}\n7\n', "pydantic-ai")
    assert isinstance(empty, Refused) and empty.skipped
    assert isinstance(other, Refused) and not other.skipped


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed(TALK + OLD))
def test_whatever_a_member_becomes_every_entry_is_a_message(value: Any) -> None:
    items = read(json.dumps(value) + "\n", "pydantic-ai")
    assert all(isinstance(item, (Imported, Refused)) for item in items)
    kept = sum(len(item.conversation.messages) for item in imported(items))
    assert kept + len(refused(items)) >= sum(not isinstance(entry, list) for entry in value)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["messages-0.0.20", "messages-2.68.0"])
def test_sample_holds_what_its_index_says(name: str) -> None:
    data, expected = sample(f"pydantic-ai/{name}.json")
    assert detected(data) == "pydantic-ai"
    found, (wanted,) = only(read(data, "pydantic-ai")), expected["convs"]
    messages = found.conversation.messages
    roles = [message["source"]["kind"] for message in messages]
    assert {role: roles.count(role) for role in set(roles)} == wanted["roles"]
    retries = sum(
        part.get("source", {}).get("part_kind") == "retry-prompt"
        for message in messages
        for part in message["content"]
    )
    assert retries == wanted["parts"].get("retry-prompt", 0)
    parts = kinds(messages)
    assert (parts["ToolCall"], parts["ToolOutput"] - retries) == (wanted["calls"], wanted["results"])
    assert parts["Reasoning"] == wanted["parts"].get("thinking", 0)
    assert (min(times([found])), max(times([found]))) == (wanted["first"], wanted["last"])
