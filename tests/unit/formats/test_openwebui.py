"""Open WebUI's export: trees by id, output items, usage, files, and what is broken in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from convostore.schemas.formats import Imported, Origin, Refused
from convostore.schemas.usage import Usage
from support.importing import (
    all_messages,
    changed,
    detected,
    imported,
    kinds,
    only,
    read,
    read_value,
    sample,
    times,
    whole,
)

OUTPUT = [
    {"type": "reasoning", "id": "r", "summary": [{"text": "short"}], "content": [{"text": "hm"}]},
    {"type": "function_call", "call_id": "k", "name": "add", "arguments": '{"a": 2}', "status": "completed"},
    {"type": "function_call_output", "call_id": "k", "output": [{"type": "input_text", "text": "4"}]},
    {"type": "message", "content": [{"type": "output_text", "text": "four", "annotations": []}]},
    {"type": "code_interpreter", "code": "1"},
]  # fmt: skip
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}, "x": 1.5}
FILES = [
    {"type": "image", "url": "data:image/png;base64,aGk="},
    {
        "type": "file",
        "id": "f1",
        "name": "b.pdf",
        "file": {"meta": {"content_type": "application/pdf", "size": 9}},
    },
]
TREE: dict[str, Any] = {
    "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "<details>hm</details>four",
          "model": "m", "timestamp": 1767323046, "done": True, "output": OUTPUT, "usage": USAGE},
    "a": {"id": "a", "parentId": None, "childrenIds": ["gone"], "role": "user", "content": "2+2?",
          "timestamp": 1767323045, "files": FILES},
    "b2": {"id": "b2", "parentId": "a", "role": "assistant", "content": "five", "timestamp": 1767323050,
           "usage": {"input_tokens": 7, "output_tokens": -1}},
}  # fmt: skip
CHAT = {
    "title": "T",
    "models": ["m"],
    "history": {"currentId": "b", "messages": TREE},
    "messages": [TREE["a"]],
}
ROW: dict[str, Any] = {
    "id": "c1", "user_id": "u1", "title": "T", "chat": CHAT, "created_at": 1767323040,
    "updated_at": 1767323060, "share_id": None, "archived": False, "meta": {"tags": ["t"]},
}  # fmt: skip


def test_branch_of_the_current_message_is_the_conversation() -> None:
    found = only(read_value([ROW], "openwebui"))
    record = found.conversation
    assert [message["source"]["id"] for message in record.messages] == ["a", "b"]
    (branch,) = found.branches
    assert (branch.source.id, branch.origin, len(whole(found, branch))) == ("c1/b2", Origin("c1", 1), 2)
    assert (record.created_at, record.updated_at) == (1_767_323_040_000, 1_767_323_060_000)
    assert record.extra == {"title": "T"} and found.unknown["meta"] == {"tags": ["t"]}
    assert found.unknown["chat"] == {"models": ["m"], "history": {"currentId": "b"}}


def test_output_items_become_parts_and_the_text_beside_is_kept() -> None:
    _, answer = only(read_value(ROW, "openwebui")).conversation.messages
    assert answer["content"] == [
        {"type": "Reasoning", "text": "short", "source": {"id": "r"}},
        {"type": "Reasoning", "text": "hm"},
        {
            "type": "ToolCall",
            "name": "add",
            "args": {"a": 2},
            "callId": "k",
            "source": {"status": "completed"},
        },
        {"type": "ToolOutput", "name": "add", "output": [{"type": "input_text", "text": "4"}], "callId": "k"},
        {"type": "Text", "text": "four"},
        {"type": "code_interpreter", "code": "1"},
    ]
    assert answer["source"]["content"] == "<details>hm</details>four"


def test_usage_is_that_of_the_branch_and_bad_counters_are_named() -> None:
    found = only(read_value(ROW, "openwebui"))
    assert found.conversation.usage == Usage(input_tokens=10, output_tokens=5, cached_tokens=4, requests=1)
    assert found.branches[0].usage == Usage(input_tokens=7, requests=1)
    assert any("counters" in note for note in found.notes)


def test_files_become_resources_with_the_bytes_that_are_inside() -> None:
    picture, pdf = only(read_value(ROW, "openwebui")).conversation.resources
    assert (picture.blob, picture.mime_type) == (b"hi", "image/png")
    assert (pdf.name, pdf.uri, pdf.mime_type, pdf.size) == ("b.pdf", "f1", "application/pdf", 9)


def test_chat_by_itself_and_a_list_of_messages_are_read() -> None:
    assert len(only(read_value(CHAT, "openwebui")).branches) == 1
    old = {"id": "c", "chat": {"title": "T", "messages": [TREE["a"], {**TREE["b"], "parentId": None}]}}
    found = only(read_value(old, "openwebui"))
    assert len(found.conversation.messages) == 2 and found.branches == ()


def test_messages_beside_the_tree_that_it_does_not_hold_are_kept() -> None:
    chat = {**CHAT, "messages": [{"id": "z", "role": "user", "content": "lost"}]}
    found = only(read_value({**ROW, "chat": chat}, "openwebui"))
    assert found.unknown["chat"]["messages"] == chat["messages"] and any(
        "beside" in note for note in found.notes
    )


def test_user_of_the_row_is_the_owner_unless_one_is_given() -> None:
    assert only(read_value(ROW, "openwebui", user=None)).conversation.user == "u1"
    assert only(read_value(ROW, "openwebui")).conversation.user == "alice"


def test_milliseconds_where_seconds_were_expected_are_taken_and_said() -> None:
    tree = {"a": {**TREE["a"], "timestamp": 1767323045000}}
    found = only(read_value({**ROW, "chat": {"history": {"currentId": "a", "messages": tree}}}, "openwebui"))
    assert found.entries is not None and found.entries[0].made == 1_767_323_045_000
    assert "milliseconds" in found.notes[0]


@pytest.mark.parametrize("text", [json.dumps([ROW], indent=1), json.dumps(ROW), json.dumps(CHAT)])
def test_every_layout_is_known(text: str) -> None:
    assert detected(text) == "openwebui"
    assert len(imported(read(text, "openwebui"))) == 1


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed(ROW))
def test_whatever_a_member_becomes_the_conversation_is_imported_or_named(value: Any) -> None:
    item, untouched = read_value([value, ROW], "openwebui")
    assert isinstance(untouched, Imported)
    if isinstance(item, Refused):
        assert "messages" in item.reason
        return
    assert isinstance(item, Imported)
    chat = value["chat"]
    tree = chat["history"].get("messages") if isinstance(chat.get("history"), dict) else None
    if isinstance(tree, dict) and (tree or not chat.get("messages")):
        assert len(all_messages(item)) == sum(one is not None for one in tree.values())


@pytest.mark.shared
@pytest.mark.parametrize(
    "name", ["librechat-output-items", "expected-claude-output", "daphnee-deletion-tree"]
)
def test_sample_holds_what_its_index_says(name: str) -> None:
    data, expected = sample(f"openwebui/{name}.json")
    assert detected(data) == "openwebui"
    found = imported(read(data, "openwebui"))
    assert len(found) == expected["conversations"]
    for item, wanted in zip(found, expected["convs"], strict=True):
        messages = all_messages(item)
        assert item.conversation.extra == {"title": wanted["title"]}
        assert len(item.conversation.messages) == wanted["active"] and len(messages) == wanted["total"]
        assert len(item.branches) == wanted["leaves"] - 1
        assert (kinds(messages)["ToolCall"], kinds(messages)["ToolOutput"]) == (
            wanted["calls"],
            wanted["results"],
        )
        roles = [message["role"] for message in messages]
        assert {role: roles.count(role) for role in set(roles)} == wanted["roles"]
        assert (min(times([item])), max(times([item]))) == (wanted["first"], wanted["last"])
