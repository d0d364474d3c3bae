"""ChatGPT's conversations.json: the tree as branches, every kind of content, and what is broken in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.formats import FORMATS, ByteInput, Imported, Origin, ReadOptions, Refused
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

POINTER = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-9", "width": 8}

SPOKEN = {"content_type": "audio_transcription", "text": "hm", "direction": "in"}
ATTACHED = {"id": "file-9", "name": "a.png", "mime_type": "image/png", "size": 9}
BROWSER = {"role": "tool", "name": "browser.search", "metadata": {}}
QUOTE = {"content_type": "tether_quote", "url": "https://e.org", "text": "found"}


def node(
    id: str,
    parent: str | None,
    role: str = "user",
    content: Any = "x",
    at: float | None = None,
    **members: Any,
) -> dict[str, Any]:
    body = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    message = {"id": id, "author": {"role": role}, "create_time": at, "content": body, "recipient": "all"}
    return {"id": id, "parent": parent, "children": [], "message": {**message, **members}}


CONVERSATION: dict[str, Any] = {
    "title": "Trip",
    "create_time": 1704629915.5,
    "update_time": 1704629999,
    "conversation_id": "c1",
    "current_node": "n6",
    "gizmo_id": None,
    "mapping": {
        "n0": {"id": "n0", "message": None, "parent": None, "children": ["n1"]},
        # Before its parent, and older.
        "n3": node("n3", "n2", "assistant", "first answer", 1704629900.25),
        "n2": node("n2", "n1", at=1704629916.776371, content={"content_type": "multimodal_text",
                   "parts": ["look", POINTER, SPOKEN, {"odd": 1}]}, metadata={"attachments": [ATTACHED]}),
        "n1": node("n1", "n0", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        "n4": node("n4", "n2", "assistant", '{"q": "hotel"}', 1704629920, recipient="browser.search"),
        "n5": node("n5", "n4", "tool", QUOTE, author=BROWSER),
        "n5b": node("n5b", "n4", "tool", {"content_type": "execution_output", "text": "42"},
                    author={"role": "tool", "name": "python"}),
        "n6a": node("n6a", "n5", "assistant", {"content_type": "thoughts", "source_analysis_msg_id": "z",
                    "thoughts": [{"summary": "s", "content": "deep"}]}),
        "n6": node("n6", "n6a", "assistant", "done", 1704629930),
    },
}  # fmt: skip


def test_active_branch_is_the_conversation_and_the_others_leave_where_they_left() -> None:
    found = only(read_value([CONVERSATION], "chatgpt"))
    record = found.conversation
    assert [message["role"] for message in record.messages] == [
        "system", "user", "assistant", "tool", "assistant", "assistant",
    ]  # fmt: skip
    assert (found.source.format, found.source.id, found.source.file) == ("chatgpt", "c1", "f.json")
    assert [(one.source.id, one.origin) for one in found.branches] == [
        ("c1/n3", Origin("c1", 2)),
        ("c1/n5b", Origin("c1", 3)),
    ]
    assert [message["source"]["id"] for message in whole(found, found.branches[1])] == [
        "n1",
        "n2",
        "n4",
        "n5b",
    ]
    assert (record.user, record.status.value, record.extra) == ("alice", "completed", {"title": "Trip"})
    assert (record.created_at, record.updated_at) == (1_704_629_900_250, 1_704_629_999_000)
    assert found.entries is not None
    assert [fact.made for fact in found.entries] == [
        None, 1_704_629_916_776, 1_704_629_920_000, None, None, 1_704_629_930_000,
    ]  # fmt: skip
    assert {fact.dialect for fact in found.entries} == {"anda"}
    assert found.unknown["current_node"] == "n6" and "mapping" not in found.unknown


def test_contents_become_parts_and_keep_what_parts_cannot_say() -> None:
    found = only(read_value(CONVERSATION, "chatgpt"))
    hidden, asked, call, result, thought, answer = found.conversation.messages
    assert hidden["content"] == [] and hidden["source"]["metadata"] == {
        "is_visually_hidden_from_conversation": True
    }
    assert asked["content"] == [
        {"type": "Text", "text": "look"},
        {"type": "FileData", "fileUri": "file-service://file-9",
         "source": {"content_type": "image_asset_pointer", "width": 8}},
        {"type": "Text", "text": "hm", "source": {"content_type": "audio_transcription", "direction": "in"}},
        {"odd": 1},
    ]  # fmt: skip
    assert asked["timestamp"] == 1_704_629_916_776 and asked["source"]["create_time"] == 1704629916.776371
    assert call["content"] == [{"type": "ToolCall", "name": "browser.search", "args": {"q": "hotel"}}]
    assert result["content"] == [{"type": "ToolOutput", "name": "browser.search", "output": QUOTE}]
    assert result["name"] == "browser.search"
    assert thought["content"] == [{"type": "Reasoning", "text": "deep", "source": {"summary": "s"}}]
    assert thought["source"]["content"] == {"content_type": "thoughts", "source_analysis_msg_id": "z"}
    assert answer["content"] == [{"type": "Text", "text": "done"}] and "content" not in answer["source"]
    assert found.branches[1].messages[0]["content"] == [
        {"type": "ToolOutput", "name": "python", "output": "42"}
    ]


def test_pointer_and_attachment_of_the_same_file_are_one_resource() -> None:
    (resource,) = only(read_value(CONVERSATION, "chatgpt")).conversation.resources
    assert (resource.name, resource.mime_type, resource.size) == ("a.png", "image/png", 9)
    assert resource.uri == "file-service://file-9" and resource.metadata is not None
    assert resource.metadata["id"] == "file-9"


def test_files_that_are_pointed_to_from_deep_within_are_resources() -> None:
    heard = {"content_type": "real_time_user_audio_video_asset_pointer",
             "frames_asset_pointers": ["sediment://file_1", "sediment://file_2"],
             "video_container_asset_pointer": None,
             "audio_asset_pointer": {"asset_pointer": "sediment://file_3", "size_bytes": 7}}  # fmt: skip
    drawn = {"aggregate_result": {"messages": [{"image_url": "file-service://file-4"}]}}
    screen = {"content_type": "computer_output", "screenshot": {"asset_pointer": "sediment://file_5"}}
    mapping = {
        "a": node(
            "a", None, content={"content_type": "multimodal_text", "parts": ["of sediment://x", heard]}
        ),
        "b": node("b", "a", "tool", "<image>", metadata=drawn),
        "c": node("c", "b", "assistant", screen),
    }
    found = only(read_value({**CONVERSATION, "mapping": mapping, "current_node": "c"}, "chatgpt"))
    assert [(one.uri, one.size) for one in found.conversation.resources] == [
        ("sediment://file_1", None), ("sediment://file_2", None), ("sediment://file_3", 7),
        ("file-service://file-4", None), ("sediment://file_5", None),
    ]  # fmt: skip
    assert found.conversation.messages[0]["content"][1] == heard


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([CONVERSATION]),
        json.dumps([CONVERSATION], indent=1),
        json.dumps(CONVERSATION, indent=1),
        json.dumps(CONVERSATION) + "\r\n",
        "\ufeff" + json.dumps({"conversations": [CONVERSATION]}),
    ],
)
def test_every_layout_gives_the_same(text: str) -> None:
    assert detected(text) == "chatgpt"
    assert only(read(text, "chatgpt")).source == only(read_value([CONVERSATION], "chatgpt")).source


@pytest.mark.parametrize("current", [None, 5, "gone", "n0"])
def test_without_a_usable_current_node_the_newest_leaf_is_active(current: Any) -> None:
    found = only(read_value({**CONVERSATION, "current_node": current}, "chatgpt"))
    assert found.conversation.messages[-1]["source"]["id"] == "n6"


def test_current_node_within_a_line_ends_the_conversation_there() -> None:
    found = only(read_value({**CONVERSATION, "current_node": "n4"}, "chatgpt"))
    assert len(found.conversation.messages) == 3
    assert sorted(one.origin.after for one in found.branches) == [2, 3, 3]


def test_links_are_derived_from_children_only_where_no_node_names_its_parent() -> None:
    nodes = {id: {**one, "children": []} for id, one in CONVERSATION["mapping"].items()}
    for id, one in nodes.items():
        if one["parent"] is not None:
            nodes[one["parent"]]["children"].append(id)
    for one in nodes.values():
        del one["parent"]
    found = only(read_value({**CONVERSATION, "mapping": nodes}, "chatgpt"))
    assert same_json(
        found.conversation.messages, only(read_value(CONVERSATION, "chatgpt")).conversation.messages
    )


def test_nodes_in_a_list_are_read_as_well() -> None:
    found = only(read_value({**CONVERSATION, "mapping": list(CONVERSATION["mapping"].values())}, "chatgpt"))
    assert same_json(
        found.conversation.messages, only(read_value(CONVERSATION, "chatgpt")).conversation.messages
    )


def test_nodes_of_one_id_in_a_list_are_all_kept() -> None:
    nodes = [node("a", None, content="one"), node("a", None, content="two"), node("b", "a")]
    found = only(read_value({"id": "c", "mapping": nodes}, "chatgpt"))
    assert [message["content"][0]["text"] for message in found.conversation.messages] == ["one", "x"]
    assert [one.messages[0]["content"][0]["text"] for one in found.branches] == ["two"]


def test_broken_trees_lose_no_message_and_say_what_they_were() -> None:
    nodes = {
        "a": node("a", "b"), "b": node("b", "a"), "c": node("c", "b"), "lost": node("lost", "nowhere"),
        "odd": 5, "none": None, "text": {"id": "text", "parent": "c", "message": "hm"},
        "root": node("root", None),
    }  # fmt: skip
    found = only(read_value({"id": 7, "current_node": "c", "mapping": nodes, "title": ""}, "chatgpt"))
    assert found.source.id == "7" and found.conversation.extra is None and found.unknown["title"] == ""
    assert [message["source"]["id"] for message in found.conversation.messages] == ["a", "b", "c"]
    others = [(one.source.id, one.messages[0]["content"], one.origin.after) for one in found.branches]
    said = [{"type": "Text", "text": "x"}]
    assert others == [("7/lost", said, 0), ("7/odd", [5], 0), ("7/text", ["hm"], 3), ("7/root", said, 0)]
    assert any("circles" in note for note in found.notes) and any("'lost'" in note for note in found.notes)


def test_entry_without_a_mapping_is_skipped_and_does_not_stop_the_rest() -> None:
    entries = [
        CONVERSATION,
        {"id": "empty", "title": "t", "current_node": None},
        {**CONVERSATION, "id": "d"},
        5,
    ]
    first, skipped, _, failed = read_value(entries, "chatgpt")
    assert isinstance(skipped, Refused) and skipped.skipped and skipped.id == "empty"
    assert skipped.position == "[1]" and "no mapping" in skipped.reason
    assert isinstance(failed, Refused) and not failed.skipped and failed.position == "[3]"
    assert first.position == "[0]"


def test_conversation_without_messages_is_kept() -> None:
    found = only(read_value([{"id": "e", "title": "Empty", "mapping": {}, "create_time": 5}], "chatgpt"))
    assert found.conversation.messages == [] and found.branches == ()
    assert (found.conversation.extra, found.conversation.created_at) == ({"title": "Empty"}, 5000)


@pytest.mark.parametrize("made", ["soon", True, float("nan"), -1, 10**15, [], "2024-01-01T00:00:00"])
def test_time_that_cannot_be_read_stays_missing_and_is_said(made: Any) -> None:
    found = only(
        read_value({"id": "c", "current_node": "a", "mapping": {"a": node("a", None, at=made)}}, "chatgpt")
    )
    assert found.entries is not None and found.entries[0].made is None
    assert "timestamp" not in found.conversation.messages[0] and "times that cannot be read" in found.notes[0]


def test_truncated_array_gives_what_was_whole_and_names_the_rest() -> None:
    text = json.dumps([CONVERSATION, CONVERSATION])
    whole_one, cut = read(text[:-30], "chatgpt")
    assert isinstance(cut, Refused) and cut.position == "[1]" and whole_one.position == "[0]"


def test_invalid_utf8_is_named() -> None:
    data = json.dumps([CONVERSATION, CONVERSATION]).encode().replace(b'"gizmo_id"', b'"gizmo\xff\xfe"', 1)
    bad, good = read(data, "chatgpt")
    assert isinstance(bad, Refused) and "UTF-8" in bad.reason and "0xff" in bad.reason
    assert isinstance(good, Imported)


def test_conversations_come_while_the_input_is_still_read() -> None:
    text = json.dumps(CONVERSATION).encode()
    taken = []

    def chunks() -> Iterator[bytes]:
        yield b"["
        for number in range(400):
            taken.append(number)
            yield (b"," if number else b"") + text
        yield b"]"

    reader = FORMATS["chatgpt"].read
    assert reader is not None
    for number, item in enumerate(reader(ByteInput(chunks()), ReadOptions(user="alice"))):
        assert isinstance(item, Imported)
        # No more is held than the look at the beginning, 64 KiB, and what one value needs.
        assert len(taken) <= number + 3 + (64 << 10) // len(text)
    assert len(taken) == 400


def test_user_is_needed() -> None:
    with pytest.raises(InvalidRecordError, match="no user"):
        read_value([CONVERSATION], "chatgpt", user=None)


def test_id_that_no_index_holds_is_replaced_by_its_hash() -> None:
    long = only(read_value({**CONVERSATION, "conversation_id": "x" * 300}, "chatgpt"))
    assert long.source.id.startswith("sha256:") and long.unknown["conversation_id"] == "x" * 300


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed(CONVERSATION))
def test_whatever_a_member_becomes_the_conversation_is_imported_or_named(value: Any) -> None:
    item, untouched = read_value([value, CONVERSATION], "chatgpt")
    assert isinstance(untouched, Imported)
    if isinstance(item, Refused):
        assert "mapping" in item.reason
        return
    assert isinstance(item, Imported)
    nodes = value["mapping"]
    nodes = list(nodes.values()) if isinstance(nodes, dict) else nodes
    spoken = [one for one in nodes if (one.get("message") if isinstance(one, dict) else one) is not None]
    assert len(all_messages(item)) == len(spoken)


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    ["librechat-2024-browser-tool", "librechat-citations-orphan", "polylogue-native-2026",
     "mitkury-branch-no-root", "spec-thoughts-recap"],
)  # fmt: skip
def test_sample_holds_what_its_index_says(name: str) -> None:
    data, expected = sample(f"chatgpt/{name}.json")
    assert detected(data) == "chatgpt"
    found = imported(read(data, "chatgpt"))
    assert len(found) == expected["conversations"]
    for item, wanted in zip(found, expected["convs"], strict=True):
        messages = all_messages(item)
        assert item.conversation.extra == {"title": wanted["title"]}
        assert len(item.conversation.messages) == wanted["active"] and len(messages) == wanted["total"]
        assert len(item.branches) == wanted["leaves"] - 1
        parts = kinds(messages)
        assert (parts["ToolCall"], parts["ToolOutput"]) == (wanted["calls"], wanted["results"])
        assert {role: [one["role"] for one in messages].count(role) for role in wanted["roles"]} == wanted[
            "roles"
        ]
        made = times([item])
        assert (min(made), max(made)) == (wanted["first"], wanted["last"])
        assert len(messages) - len(made) == wanted["null_time"]
        assert item.conversation.created_at == min(wanted["conv_created"], wanted["first"])
        assert item.conversation.updated_at == max(wanted["conv_updated"], wanted["last"])
