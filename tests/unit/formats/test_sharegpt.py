"""ShareGPT: both styles of keys, calls, files, layouts, and what is broken in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from convostore.schemas.formats import Imported, Refused
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

TALK: dict[str, Any] = {
    "id": "x1",
    "title": "T",
    "system": "be brief",
    "tools": '[{"name": "add"}]',
    "images": ["a.png", "https://e.com/b.png"],
    "score": None,
    "conversations": [
        {"from": "system", "value": "always"},
        {"from": "human", "value": "<image>and <image> ?", "weight": 0},
        {"from": "function_call", "value": '{"name": "add", "arguments": {"a": 2}}'},
        {"from": "observation", "value": "4"},
        {"from": "function_call", "value": '[{"name": "f", "arguments": "{\\"b\\": 1}"}, {"name": "g"}]'},
        {"from": "function_call", "value": "call add"},
        {"from": "gpt", "value": ""},
        {"from": "bard", "value": None},
        {"from": "critic", "value": ["no", {"type": "hologram"}]},
    ],
}  # fmt: skip

MESSAGES: list[Any] = [
    {"role": "system", "content": [{"type": "Text", "text": "always"}]},
    {"role": "user", "source": {"from": "human", "weight": 0}, "content": [
        {"type": "Text", "text": "<image>and <image> ?"},
        {"type": "FileData", "fileUri": "a.png"},
        {"type": "FileData", "fileUri": "https://e.com/b.png"},
    ]},
    {"role": "assistant", "source": {"from": "function_call"},
     "content": [{"type": "ToolCall", "name": "add", "args": {"a": 2}}]},
    {"role": "tool", "source": {"from": "observation"},
     "content": [{"type": "ToolOutput", "name": "", "output": "4"}]},
    {"role": "assistant", "source": {"from": "function_call"}, "content": [
        {"type": "ToolCall", "name": "f", "args": {"b": 1}},
        {"type": "ToolCall", "name": "g", "args": None}]},
    {"role": "assistant", "source": {"from": "function_call"},
     "content": [{"type": "ToolCall", "name": "", "args": "call add"}]},
    {"role": "assistant", "source": {"from": "gpt"}, "content": [{"type": "Text", "text": ""}]},
    {"role": "assistant", "source": {"from": "bard", "value": None}, "content": []},
    {"role": "critic", "content": [{"type": "Text", "text": "no"}, {"type": "hologram"}]},
]  # fmt: skip


def plain(messages: list[Any]) -> list[Any]:
    return [dict(sorted(message.items())) for message in messages]


def test_turns_become_messages_of_parts() -> None:
    found = only(read_value([TALK], "sharegpt"))
    assert plain(found.conversation.messages) == plain(MESSAGES)
    assert (found.source.id, found.conversation.extra) == ("x1", {"title": "T"})
    assert found.unknown == {"system": "be brief", "tools": '[{"name": "add"}]', "score": None}
    assert [one.uri for one in found.conversation.resources] == ["a.png", "https://e.com/b.png"]
    assert found.entries is not None and all(fact.made is None for fact in found.entries)
    assert found.conversation.created_at == 0


def test_the_other_keys_say_the_same() -> None:
    turns = [{"role": turn["from"], "content": turn["value"]} for turn in TALK["conversations"]]
    other = {**TALK, "conversations": turns}
    assert detected(json.dumps(other)) == "sharegpt"
    found = only(read_value(other, "sharegpt")).conversation.messages
    assert [(one["role"], one["content"]) for one in found] == [
        (one["role"], one["content"]) for one in MESSAGES
    ]
    assert found[1]["source"] == {"role": "human"}


def test_files_that_the_texts_do_not_name_all_of_stay_beside() -> None:
    found = only(read_value({**TALK, "images": ["a.png"], "videos": [{"path": "v"}]}, "sharegpt"))
    assert (found.unknown["images"], found.unknown["videos"]) == (["a.png"], [{"path": "v"}])
    assert found.conversation.resources == []


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(TALK),
        json.dumps([TALK]),
        json.dumps(TALK) + "\r\n" + json.dumps({"id": 2, "items": TALK["conversations"][:1]}) + "\r\n",
        "\ufeff" + json.dumps([TALK], indent=2).replace("\n", "\r\n"),
        json.dumps({"conversation": TALK["conversations"]}, indent=1),
        json.dumps({"messages": TALK["conversations"]}),
        json.dumps(TALK["conversations"]),
        json.dumps(TALK["conversations"], indent=1),
        "".join(json.dumps(turn) + "\n" for turn in TALK["conversations"]),
    ],
)
def test_every_layout_is_read(text: str) -> None:
    assert detected(text) == "sharegpt"
    found, *others = read(text, "sharegpt")
    assert isinstance(found, Imported)
    assert [one["role"] for one in found.conversation.messages] == [one["role"] for one in MESSAGES]
    assert [item.source.id for item in imported(others)] == (["2"] if others else [])


def test_list_of_conversations_may_have_an_object_around_it() -> None:
    value = {"version": 1, "data": [TALK, {**TALK, "id": "x2"}]}
    assert detected(json.dumps(value)) == "sharegpt"
    first, second = imported(read_value(value, "sharegpt"))
    assert (first.source.id, second.source.id) == ("x1", "x2")
    assert first.position == "1.data[0]" and "'version'" in first.notes[0] and not second.notes


def test_export_that_begins_with_a_conversation_without_messages_is_known() -> None:
    rows = [{"id": "x0", "title": "empty", "conversations": []}, TALK]
    assert detected(json.dumps(rows)) == "sharegpt"
    first, second = imported(read_value(rows, "sharegpt"))
    assert (first.source.id, second.source.id) == ("x0", "x1")
    assert not first.conversation.messages and second.conversation.messages


def test_same_content_twice_is_two_conversations() -> None:
    turns = {"conversations": TALK["conversations"]}
    first, second = imported(read_value([turns, turns], "sharegpt"))
    assert second.source.id == first.source.id + "#2"


def test_broken_ones_are_named_and_the_rest_is_read() -> None:
    text = json.dumps(TALK) + '\n{"broken\n5\n{"id": 9}\n{"conversations": [5]}\n[]\n'
    items = read(text, "sharegpt")
    assert [item.position for item in refused(items)] == [2, 3, 4]
    assert [len(item.conversation.messages) for item in imported(items)] == [9, 1, 0]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed([TALK, {**TALK, "id": 2}]))
def test_whatever_a_member_becomes_every_one_is_imported_or_named(value: Any) -> None:
    items = read(json.dumps(value), "sharegpt")
    assert all(isinstance(item, (Imported, Refused)) for item in items)
    assert len(items) == len(value) or any(isinstance(one, list) for one in value) or not value
    for item in imported(items):
        assert len(item.entries or ()) == len(item.conversation.messages)


@pytest.mark.shared
@pytest.mark.parametrize(
    "name", ["axolotl-missing-turns.json", "fastchat-dummy.json", "swift-user-assistant.jsonl"]
)
def test_sample_holds_what_its_index_says(name: str) -> None:
    data, expected = sample(f"sharegpt/{name}")
    assert detected(data) == "sharegpt"
    found = imported(read(data, "sharegpt"))
    assert len(found) == expected["conversations"] == len({item.source.id for item in found})
    for item, wanted in zip(found, expected["convs"], strict=True):
        messages = item.conversation.messages
        roles = [one.get("source", {}).get("from", one["role"]) for one in messages]
        assert {role: roles.count(role) for role in set(roles)} == wanted["roles"]
        assert len(messages) == wanted["total"] and not times([item])
        assert (kinds(messages)["ToolCall"], kinds(messages)["ToolOutput"]) == (0, 0)
