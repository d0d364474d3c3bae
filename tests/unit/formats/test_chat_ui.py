"""Documents of chat-ui: ancestors and old lists, extended JSON, tools, files, and what is broken in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from convostore.schemas.formats import Imported, Origin, Refused
from support.importing import all_messages, changed, detected, imported, only, read, read_value, sample, whole

UPDATES = [
    {"type": "status", "status": "started"},
    {"type": "tool", "subtype": "call", "uuid": "k", "call": {"name": "calc", "parameters": {"a": 2}}},
    {
        "type": "tool",
        "subtype": "result",
        "uuid": "k",
        "result": {"status": "success", "outputs": [{"x": 4}]},
    },
]
FILES = [
    {"type": "base64", "name": "a.txt", "value": "aGk=", "mime": "text/plain"},
    {"type": "hash", "name": "b.png", "value": "ab12", "mime": "image/png"},
    "cd34",
]
MESSAGES = [
    {"id": "r", "from": "system", "content": "", "ancestors": [], "children": ["u"]},
    {"id": "u", "from": "user", "content": "2+2?", "ancestors": ["r"], "children": [], "files": FILES,
     "createdAt": {"$date": "2026-01-02T03:04:05Z"}},
    {"id": "a2", "from": "assistant", "content": "five", "ancestors": ["r", "u"], "score": -1,
     "createdAt": {"$date": {"$numberLong": "1767323099000"}}},
    {"id": "a1", "from": "assistant", "content": "four", "ancestors": ["r", "u"], "reasoning": "hm",
     "updates": UPDATES, "createdAt": {"$date": {"$numberLong": "1767323046000"}}},
]  # fmt: skip
DOCUMENT: dict[str, Any] = {
    "_id": {"$oid": "65c5f9e00000000000000001"},
    "userId": {"$oid": "65c5f9e00000000000000009"}, "title": "T",
    "model": "m", "preprompt": "be brief", "rootMessageId": "r",
    "messages": MESSAGES,
    "meta": {"fromShareId": "s"},
}  # fmt: skip


def test_last_child_at_every_step_is_the_conversation() -> None:
    found = only(read_value(DOCUMENT, "chat-ui"))
    assert [message["source"]["id"] for message in found.conversation.messages] == ["r", "u", "a1"]
    assert [message["role"] for message in found.conversation.messages] == ["system", "user", "assistant"]
    (branch,) = found.branches
    id = "65c5f9e00000000000000001"
    assert (branch.source.id, branch.origin, len(whole(found, branch))) == (f"{id}/a2", Origin(id, 2), 3)
    assert found.entries is not None
    assert [fact.made for fact in found.entries] == [None, 1_767_323_045_000, 1_767_323_046_000]
    assert found.unknown["preprompt"] == "be brief" and found.unknown["meta"] == {"fromShareId": "s"}


def test_id_of_the_document_is_its_time_where_it_says_no_other() -> None:
    found = only(read_value(DOCUMENT, "chat-ui"))
    assert found.conversation.created_at == 1_707_473_376_000 and "clock" in found.notes[0]


def test_tools_and_reasoning_become_parts_and_other_updates_are_kept() -> None:
    answer = only(read_value(DOCUMENT, "chat-ui")).conversation.messages[2]
    assert answer["content"] == [
        {"type": "Reasoning", "text": "hm"},
        {"type": "ToolCall", "name": "calc", "args": {"a": 2}, "callId": "k"},
        {"type": "ToolOutput", "name": "calc", "output": {"status": "success", "outputs": [{"x": 4}]},
         "isError": False, "callId": "k"},
        {"type": "Text", "text": "four"},
    ]  # fmt: skip
    assert answer["source"]["updates"] == UPDATES[:1]


def test_files_become_resources_with_bytes_or_their_name_in_gridfs() -> None:
    text, picture, old = only(read_value(DOCUMENT, "chat-ui")).conversation.resources
    assert (text.name, text.blob, text.mime_type) == ("a.txt", b"hi", "text/plain")
    assert (picture.name, picture.uri) == ("b.png", "65c5f9e00000000000000001-ab12")
    assert old.uri == "65c5f9e00000000000000001-cd34"


def test_list_from_before_the_trees_is_a_chain() -> None:
    old = [{"id": str(n), "from": "user", "content": str(n)} for n in range(5)]
    found = only(read_value({**DOCUMENT, "messages": old, "rootMessageId": None}, "chat-ui"))
    assert [message["source"]["id"] for message in found.conversation.messages] == list("01234")


def test_regenerated_first_message_is_a_second_root() -> None:
    other = {"id": "r2", "from": "system", "content": "x", "ancestors": [], "children": []}
    found = only(read_value({**DOCUMENT, "messages": [*MESSAGES, other]}, "chat-ui"))
    assert [(one.origin.after, len(one.messages)) for one in found.branches] == [(2, 1), (0, 1)]


def test_user_of_the_document_is_the_owner_unless_one_is_given() -> None:
    assert only(read_value(DOCUMENT, "chat-ui", user=None)).conversation.user == "65c5f9e00000000000000009"
    visitor = {**DOCUMENT, "sessionId": "visitor-7"}
    del visitor["userId"]
    assert only(read_value(visitor, "chat-ui", user=None)).conversation.user == "visitor-7"


@pytest.mark.parametrize(
    "text", [json.dumps([DOCUMENT], indent=1), json.dumps(DOCUMENT) + "\n" + json.dumps(DOCUMENT)]
)
def test_every_layout_is_known(text: str) -> None:
    assert detected(text) == "chat-ui"
    assert imported(read(text, "chat-ui"))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed(DOCUMENT))
def test_whatever_a_member_becomes_the_conversation_is_imported_or_named(value: Any) -> None:
    item, untouched = read_value([value, DOCUMENT], "chat-ui")
    assert isinstance(untouched, Imported)
    if isinstance(item, Refused):
        assert "messages" in item.reason
        return
    assert isinstance(item, Imported)
    assert len(all_messages(item)) == sum(one is not None for one in value["messages"])


@pytest.mark.shared
def test_sample_holds_what_its_index_says() -> None:
    data, expected = sample("chat-ui/legacy-flat.json")
    assert detected(data) == "chat-ui"
    found, (wanted,) = only(read(data, "chat-ui")), expected["convs"]
    assert found.conversation.extra == {"title": wanted["title"]}
    assert len(found.conversation.messages) == wanted["active"] and found.branches == ()
    assert found.conversation.created_at == wanted["conv_created"]
    assert found.entries is not None and {fact.made for fact in found.entries} == {None}
    roles = [message["role"] for message in found.conversation.messages]
    assert {role: roles.count(role) for role in set(roles)} == wanted["roles"]
