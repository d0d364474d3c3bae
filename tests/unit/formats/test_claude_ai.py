"""The export of claude.ai: lists and trees, blocks, attachments with their text, and what is broken in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from convostore.schemas.formats import Imported, Origin, Refused
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

ROOT = "00000000-0000-4000-8000-000000000000"
CALL = {"type": "tool_use", "id": "t1", "name": "web_search", "input": {"q": 1}, "integration_name": None}
RESULT = {
    "type": "tool_result",
    "tool_use_id": "t1",
    "name": "web_search",
    "is_error": False,
    "content": [{"x": 1}],
}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln", "cut_off": False}
ATTACHED = {"file_name": "a.txt", "file_type": "text/plain", "file_size": 3, "extracted_content": "abc"}
ODD = {"type": "voice_note", "title": "v"}


def said(
    uuid: str, sender: str, text: str, at: str, parent: str | None = None, **members: Any
) -> dict[str, Any]:
    blocks = [{"type": "text", "text": text, "citations": []}]
    message = {"uuid": uuid, "sender": sender, "text": text, "content": blocks, "created_at": at}
    return {
        **message,
        "attachments": [],
        "files": [],
        **({"parent_message_uuid": parent} if parent else {}),
        **members,
    }


CONVERSATION: dict[str, Any] = {
    "uuid": "c1",
    "name": "Plans",
    "summary": "",
    "created_at": "2026-01-02T03:04:05.0Z",
    "updated_at": "2026-01-02T05:00:00+01:00",
    "account": {"uuid": "acc-1"},
    "current_leaf_message_uuid": "m3",
    "chat_messages": [
        said("m2", "assistant", "ok", "2026-01-02T03:05:00Z", "m1", content=[THOUGHT, CALL, RESULT, ODD,
             {"type": "text", "text": "ok", "start_timestamp": "2026-01-02T03:05:00Z"}])
        | {"text": "ok\n\nunsupported"},
        said("m1", "human", "hi", "2026-01-02T03:04:06.1234Z", ROOT,
             attachments=[ATTACHED],
             files=[{"file_name": "b.png", "file_uuid": "f-2"}, 7]),
        said("m2b", "assistant", "other", "2026-01-02T03:06:00Z", "m1"),
        None,
        said("m3", "human", "more", "2026-01-02T03:04:07Z", "m2"),
    ],
}  # fmt: skip


def test_tree_gives_the_active_branch_and_the_others() -> None:
    found = only(read_value([CONVERSATION], "claude-ai"))
    record = found.conversation
    assert [message["source"]["uuid"] for message in record.messages] == ["m1", "m2", "m3"]
    assert [message["role"] for message in record.messages] == ["user", "assistant", "user"]
    (branch,) = found.branches
    assert (branch.source.id, branch.origin, len(whole(found, branch))) == ("c1/m2b", Origin("c1", 1), 2)
    assert (record.user, record.extra) == ("alice", {"title": "Plans"})
    assert (record.created_at, record.updated_at) == (1_767_323_045_000, 1_767_326_400_000)
    assert found.unknown["account"] == {"uuid": "acc-1"} and found.unknown["summary"] == ""
    assert found.notes == ("places without a message are left out: 1",)


def test_blocks_become_parts_and_keep_the_rest() -> None:
    asked, answer, _ = only(read_value(CONVERSATION, "claude-ai")).conversation.messages
    assert answer["content"] == [
        {"type": "Reasoning", "text": "hm", "source": {"signature": "c2ln", "cut_off": False}},
        {"type": "ToolCall", "name": "web_search", "args": {"q": 1}, "callId": "t1",
         "source": {"integration_name": None}},
        {"type": "ToolOutput", "name": "web_search", "output": [{"x": 1}], "isError": False, "callId": "t1"},
        ODD,
        {"type": "Text", "text": "ok", "source": {"start_timestamp": "2026-01-02T03:05:00Z"}},
    ]  # fmt: skip
    assert answer["source"]["text"] == "ok\n\nunsupported"
    assert asked["content"][0] == {"type": "Text", "text": "hi"} and "text" not in asked["source"]
    assert asked["timestamp"] == 1_767_323_046_123


def test_attachments_become_resources_with_their_text() -> None:
    found = only(read_value(CONVERSATION, "claude-ai")).conversation
    text, picture = found.resources
    assert (text.name, text.blob, text.size, text.mime_type) == ("a.txt", b"abc", 3, "text/plain")
    assert (picture.name, picture.uri, picture.blob) == ("b.png", "f-2", None)
    _, first, second, odd = found.messages[0]["content"]
    assert (first["fileUri"], second["fileUri"], odd) == (text.uri, "f-2", 7)


def test_without_links_the_list_is_the_conversation() -> None:
    chain = [said(f"m{n}", "human", str(n), "2026-01-02T03:04:05Z") for n in range(20)]
    value = {**CONVERSATION, "chat_messages": chain, "current_leaf_message_uuid": None}
    found = only(read_value(value, "claude-ai"))
    texts = [message["content"][0]["text"] for message in found.conversation.messages]
    assert texts == list(map(str, range(20)))
    assert found.branches == ()


def test_old_messages_without_links_are_a_chain_that_later_ones_branch_from() -> None:
    old = [said(f"m{n}", "human", str(n), f"2026-01-02T03:04:0{n}Z") for n in range(5)]
    edited = said("e", "human", "e", "2026-01-02T03:05:00Z", "m0")
    value = {**CONVERSATION, "chat_messages": [*old, edited], "current_leaf_message_uuid": "gone"}
    found = only(read_value(value, "claude-ai"))
    assert [message["source"]["uuid"] for message in found.conversation.messages] == ["m0", "e"]
    assert [len(one.messages) for one in found.branches] == [4]


def test_null_parent_among_linked_messages_is_a_second_root() -> None:
    items = [
        said("a", "human", "a", "2026-01-02T03:04:05Z", ROOT),
        said("b", "assistant", "b", "2026-01-02T03:04:06Z", "a"),
        {**said("c", "human", "c", "2026-01-02T03:04:07Z"), "parent_message_uuid": None},
    ]
    found = only(read_value({**CONVERSATION, "chat_messages": items}, "claude-ai"))
    assert [message["source"]["uuid"] for message in found.conversation.messages] == ["c"]
    assert [(one.origin.after, len(one.messages)) for one in found.branches] == [(0, 2)]


def test_text_without_blocks_and_empty_blocks_beside_text_are_text() -> None:
    plain = said("a", "human", "plain", "2026-01-02T03:04:05Z")
    del plain["content"]
    blank = said(
        "b", "assistant", "all of it", "2026-01-02T03:04:06Z", content=[{"type": "text", "text": ""}]
    )
    found = only(read_value({**CONVERSATION, "chat_messages": [plain, blank]}, "claude-ai")).conversation
    assert [message["content"] for message in found.messages] == [
        [{"type": "Text", "text": "plain"}],
        [{"type": "Text", "text": "all of it"}],
    ]


def test_message_that_occurs_twice_is_taken_once_and_another_of_its_id_kept() -> None:
    first = said("a", "human", "x", "2026-01-02T03:04:05Z")
    found = only(
        read_value({**CONVERSATION, "chat_messages": [first, first, {**first, "text": "y"}]}, "claude-ai")
    )
    assert len(found.conversation.messages) == 2 and len(found.notes) == 2


def test_account_is_the_user_unless_one_is_given() -> None:
    assert only(read_value([CONVERSATION], "claude-ai", user=None)).conversation.user == "acc-1"
    (nobody,) = read_value([{**CONVERSATION, "account": None}], "claude-ai", user=None)
    assert isinstance(nobody, Refused) and nobody.id == "c1" and "user" in nobody.reason


def test_time_of_a_uuid7_is_used_where_no_other_is_and_said() -> None:
    items = [{**said("0197b2e1-8c00-7000-8000-000000000000", "human", "x", ""), "created_at": None}]
    found = only(read_value({**CONVERSATION, "chat_messages": items}, "claude-ai"))
    assert found.entries is not None and found.entries[0].made == 1_751_052_815_360
    assert any("clock" in note for note in found.notes)


def test_time_without_a_zone_is_not_guessed() -> None:
    items = [said("a", "human", "x", "2026-01-02T03:04:05")]
    found = only(read_value({**CONVERSATION, "chat_messages": items}, "claude-ai"))
    assert found.entries is not None and found.entries[0].made is None
    assert found.conversation.messages[0]["source"]["created_at"] == "2026-01-02T03:04:05"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([CONVERSATION]),
        json.dumps(CONVERSATION) + "\r\n" + json.dumps({**CONVERSATION, "uuid": "c2"}) + "\r\n",
        json.dumps({"conversations": [CONVERSATION]}, indent=2),
        "\ufeff" + json.dumps([CONVERSATION], indent=2),
    ],
)
def test_every_layout_is_known_and_read(text: str) -> None:
    assert detected(text) == "claude-ai"
    assert imported(read(text, "claude-ai"))[0].source.id == "c1"


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed(CONVERSATION))
def test_whatever_a_member_becomes_the_conversation_is_imported_or_named(value: Any) -> None:
    item, untouched = read_value([value, CONVERSATION], "claude-ai")
    assert isinstance(untouched, Imported)
    if isinstance(item, Refused):
        assert "chat_messages" in item.reason
        return
    assert isinstance(item, Imported)
    assert len(all_messages(item)) == sum(one is not None for one in value["chat_messages"])


@pytest.mark.shared
@pytest.mark.parametrize(
    "name", ["redacted-85-conversations", "single-object-2024", "polylogue-schema-synthetic"]
)
def test_sample_holds_what_its_index_says(name: str) -> None:
    data, expected = sample(f"claude-ai/{name}.json")
    assert detected(data) == "claude-ai"
    found = imported(read(data, "claude-ai"))
    assert len(found) == expected["conversations"]
    for item, wanted in zip(found, expected["convs"], strict=True):
        record = item.conversation
        assert (record.extra or {"title": ""})["title"] == wanted["title"]
        assert len(record.messages) == wanted["active"] and item.branches == ()
        parts = kinds(record.messages)
        assert (parts["ToolCall"], parts["ToolOutput"]) == (wanted["calls"], wanted["results"])
        assert sum(isinstance(part, dict) and part.get("type") == "FileData"
                   for message in record.messages for part in message["content"]) == (
            wanted["attachments"] + wanted["files"])  # fmt: skip
        roles = ["human" if message["role"] == "user" else message["role"] for message in record.messages]
        assert {role: roles.count(role) for role in set(roles)} == wanted["roles"]
        made = times([item])
        assert (min(made, default=None), max(made, default=None)) == (wanted["first"], wanted["last"])
        assert record.created_at == wanted["conv_created"]
