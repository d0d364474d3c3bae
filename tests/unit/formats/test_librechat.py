"""LibreChat's export, flat and nested: one tree, content parts, files, and what is broken in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from convostore.schemas.formats import Imported, Origin, Refused
from convostore.schemas.json_values import same_json
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

ROOT = "00000000-0000-0000-0000-000000000000"


def said(id: str, parent: str | None, by_user: bool, second: int, **members: Any) -> dict[str, Any]:
    at = f"2026-01-02T03:04:{second:02}.006Z"
    message = {"messageId": id, "parentMessageId": parent, "isCreatedByUser": by_user, "createdAt": at}
    return {**message, "sender": "User" if by_user else "GPT-4", "text": id, "error": False, **members}


CALLED = {"id": "k", "name": "add", "args": '{"a": 2}', "output": "4", "progress": 1}
CONTENT = [
    {"type": "think", "think": "hm"},
    {"type": "text", "text": {"value": "so"}},
    {"type": "tool_call", "tool_call": CALLED},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}},
    {"type": "image_file", "image_file": {"file_id": "f1", "filepath": "/images/a.png", "filename": "a.png"}},
    {"type": "agent_update", "agent_update": None},
]  # fmt: skip
FILE = {
    "file_id": "f2",
    "filename": "b.pdf",
    "filepath": "/uploads/b.pdf",
    "type": "application/pdf",
    "bytes": 7,
}
MESSAGES = [
    said("b", "a", False, 7, text="", content=CONTENT, model="m"),
    said("a", ROOT, True, 5, files=[FILE]),
    said("b2", "a", False, 6, text="other"),
    said("c", "b", True, 8),
]
CONVERSATION = {
    "conversationId": "c1",
    "endpoint": "openAI",
    "title": "T",
    "exportAt": "16:33:32 GMT+0200",
    "branches": True,
    "recursive": False,
    "options": {"model": "m"},
    "messages": MESSAGES,
}


def nested(messages: list[dict[str, Any]], parent: str = ROOT) -> list[dict[str, Any]]:
    children = [one for one in messages if one["parentMessageId"] == parent]
    return [{**one, "children": nested(messages, one["messageId"])} for one in children]


def test_newest_branch_is_the_conversation_and_the_others_leave_it() -> None:
    found = only(read_value(CONVERSATION, "librechat"))
    record = found.conversation
    assert [message["source"]["messageId"] for message in record.messages] == ["a", "b", "c"]
    assert [message["role"] for message in record.messages] == ["user", "assistant", "user"]
    (branch,) = found.branches
    assert (branch.source.id, branch.origin, len(whole(found, branch))) == ("c1/b2", Origin("c1", 1), 2)
    assert record.extra == {"title": "T"} and record.created_at == 1_767_323_045_006
    assert found.unknown["exportAt"] == "16:33:32 GMT+0200" and found.unknown["options"] == {"model": "m"}


def test_content_becomes_parts_and_calls_carry_their_results() -> None:
    asked, answer, _ = only(read_value(CONVERSATION, "librechat")).conversation.messages
    assert answer["content"] == [
        {"type": "Reasoning", "text": "hm"},
        {"type": "Text", "text": "so"},
        {"type": "ToolCall", "name": "add", "args": {"a": 2}, "callId": "k", "source": {"progress": 1}},
        {"type": "ToolOutput", "name": "add", "output": "4", "callId": "k"},
        {"type": "InlineData", "mimeType": "image/png", "data": "b64:aGk=", "source": {"detail": "low"}},
        {"type": "FileData", "fileUri": "/images/a.png"},
        {"type": "agent_update", "agent_update": None},
    ]
    assert asked["content"] == [
        {"type": "Text", "text": "a"},
        {"type": "FileData", "fileUri": "/uploads/b.pdf", "mimeType": "application/pdf"},
    ]


def test_annotations_of_a_text_stay_wherever_they_stand() -> None:
    cited, more = [{"type": "file_citation"}], [{"type": "url_citation"}]
    given = [
        {"type": "text", "text": {"value": "so", "annotations": cited}},
        {"type": "text", "text": {"value": "so", "annotations": cited}, "annotations": more},
        {"type": "think", "think": {"value": "hm", "annotations": cited}},
    ]
    talk = {**CONVERSATION, "messages": [{"messageId": "a", "isCreatedByUser": False, "content": given}]}
    assert only(read_value(talk, "librechat")).conversation.messages[0]["content"] == [
        {"type": "Text", "text": "so", "source": {"annotations": cited}},
        given[1],
        {"type": "Reasoning", "text": "hm", "source": {"annotations": cited}},
    ]


def test_files_become_resources() -> None:
    pdf, picture = only(read_value(CONVERSATION, "librechat")).conversation.resources
    assert (pdf.name, pdf.mime_type, pdf.size, pdf.metadata) == ("b.pdf", "application/pdf", 7, FILE)
    assert (picture.name, picture.uri) == ("a.png", "/images/a.png")


@pytest.mark.parametrize("member", ["messages", "messagesTree"])
def test_nested_messages_give_the_same_as_a_flat_list(member: str) -> None:
    value = {name: item for name, item in CONVERSATION.items() if name != "messages"}
    value |= {member: nested(MESSAGES), "recursive": True}
    found, flat = only(read_value(value, "librechat")), only(read_value(CONVERSATION, "librechat"))
    assert same_json(found.conversation.messages, flat.conversation.messages)
    assert [one.origin for one in found.branches] == [one.origin for one in flat.branches]


def test_nesting_says_the_parent_where_the_message_does_not() -> None:
    bare = json.loads(json.dumps(nested(MESSAGES)))
    waiting = list(bare)
    while waiting:
        one = waiting.pop()
        del one["parentMessageId"]
        waiting += one["children"]
    found = only(read_value({**CONVERSATION, "messages": bare}, "librechat"))
    assert len(found.conversation.messages) == 3 and [one.origin.after for one in found.branches] == [1]


def test_export_of_one_branch_is_a_chain_though_its_first_parent_is_null() -> None:
    chain = [said("a", None, True, 5), said("b", "a", False, 5), said("c", "b", True, 5)]
    found = only(read_value({**CONVERSATION, "messages": chain}, "librechat"))
    assert len(found.conversation.messages) == 3 and found.notes == ()


def test_parent_that_was_never_stored_leaves_a_line_that_can_be_reached() -> None:
    messages = [*MESSAGES, said("u2", "tmp_123_", True, 4)]
    found = only(read_value({**CONVERSATION, "messages": messages}, "librechat"))
    assert ("c1/u2", 0) in [(one.source.id, one.origin.after) for one in found.branches]
    assert any("'u2'" in note for note in found.notes)


@pytest.mark.parametrize(
    "text",
    [json.dumps(CONVERSATION, indent=2), json.dumps(CONVERSATION), json.dumps([CONVERSATION, CONVERSATION])],
)
def test_every_layout_is_known_and_read(text: str) -> None:
    assert detected(text) == "librechat"
    assert imported(read(text, "librechat"))[0].source.id == "c1"


def test_object_id_is_the_clock_of_a_message_without_a_time() -> None:
    message = {**said("a", ROOT, True, 5), "createdAt": None, "_id": "65c5f9e00000000000000001"}
    found = only(read_value({**CONVERSATION, "messages": [message]}, "librechat"))
    assert (
        found.entries is not None and found.entries[0].made == 1_707_473_376_000 and "clock" in found.notes[0]
    )


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed(CONVERSATION))
def test_whatever_a_member_becomes_the_conversation_is_imported_or_named(value: Any) -> None:
    item, untouched = read_value([value, CONVERSATION], "librechat")
    assert isinstance(untouched, Imported)
    if isinstance(item, Refused):
        assert "messages" in item.reason
        return
    assert isinstance(item, Imported)
    assert len(all_messages(item)) == sum(one is not None for one in value["messages"])


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed({**CONVERSATION, "messages": nested(MESSAGES)}))
def test_nested_messages_of_any_form_raise_nothing(value: Any) -> None:
    assert len(read_value([value, CONVERSATION], "librechat")) == 2


@pytest.mark.shared
@pytest.mark.parametrize("name", ["tree-recursive-2024-04", "linear-2024-05"])
def test_sample_holds_what_its_index_says(name: str) -> None:
    data, expected = sample(f"librechat/{name}.json")
    assert detected(data) == "librechat"
    found, (wanted,) = only(read(data, "librechat")), expected["convs"]
    messages = all_messages(found)
    assert found.conversation.extra == {"title": wanted["title"]}
    assert len(found.conversation.messages) == wanted["active"] and len(messages) == wanted["total"]
    assert (kinds(messages)["ToolCall"], kinds(messages)["ToolOutput"]) == (
        wanted["calls"],
        wanted["results"],
    )
    roles = [message["role"] for message in messages]
    assert {role: roles.count(role) for role in set(roles)} == wanted["roles"]
    assert (min(times([found])), max(times([found]))) == (wanted["first"], wanted["last"])
