"""LibreChat as it goes out: trees that its own import takes, and the same messages when they come back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from convostore.schemas.entries import Entry
from convostore.schemas.formats.librechat_writer import Tree
from convostore.schemas.formats.linking import ROOT
from convostore.schemas.formats.outgoing import Fork, Losses, Outgoing
from convostore.schemas.json_values import same_json
from support.exporting import ANDA, OPENAI, outgoing, written
from support.importing import detected, only, read, read_value, whole

CALLED = {"id": "k", "name": "add", "args": '{"a":2}', "output": "4", "progress": 1}
FILE = {
    "file_id": "f2",
    "filename": "b.pdf",
    "filepath": "/uploads/b.pdf",
    "type": "application/pdf",
    "bytes": 7,
}
PICTURE = {"file_id": "f1", "filepath": "/images/a.png", "filename": "a.png"}


def said(id: str, parent: str, by_user: bool, second: int, **members: Any) -> dict[str, Any]:
    at = f"2026-01-02T03:04:{second:02}.006Z"
    message = {"messageId": id, "parentMessageId": parent, "isCreatedByUser": by_user, "createdAt": at}
    return {**message, "sender": "User" if by_user else "GPT-4", "error": False, "text": id, **members}


CONVERSATION: dict[str, Any] = {
    "conversationId": "c1",
    "endpoint": "openAI",
    "title": "T",
    "exportAt": "16:33:32 GMT+0200",
    "branches": True,
    "recursive": False,
    "options": {"model": "m"},
    "user": "alice",
    "messages": [
        said("a", ROOT, True, 5, files=[FILE], text="look: <&>"),
        said("b", "a", False, 7, text="", model="m", content=[
            {"type": "think", "think": "hm"},
            {"type": "text", "text": "so"},
            {"type": "tool_call", "tool_call": CALLED},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}},
            {"type": "image_file", "image_file": PICTURE},
            {"type": "agent_update", "agent_update": None},
        ]),
        said("c", "b", True, 8),
    ],
}  # fmt: skip


def leaving(value: Any) -> Outgoing:
    found = only(read_value(value, "librechat", user=None))
    record = found.conversation.model_copy(update={"id": 3, "messages": []})
    entries = [Entry(place, message, made=None) for place, message in enumerate(found.conversation.messages)]
    return Outgoing(record, entries, len(entries), found.source, found.unknown)


def test_what_came_from_librechat_goes_back_as_it_came() -> None:
    notes: list[str] = []
    text = written("librechat", leaving(CONVERSATION), notes)
    assert detected(text) == "librechat"
    assert json.loads(text) == CONVERSATION and notes == []
    again = only(read(text, "librechat", user=None))
    before = only(read_value(CONVERSATION, "librechat", user=None))
    assert same_json(again.conversation.messages, before.conversation.messages)
    assert again.source.id == "c1" and again.conversation.resources == before.conversation.resources


@pytest.mark.parametrize("messages", [ANDA, OPENAI], ids=["anda", "openai"])
def test_other_conversations_are_chains_that_librechat_imports(messages: list[Any]) -> None:
    value = json.loads(written("librechat", outgoing(messages, extra={"title": "T"})))
    # What LibreChat's import looks at: an id, messages, parents before their children.
    assert value["conversationId"] == "17" and value["recursive"] is False
    before = ROOT
    for message in value["messages"]:
        assert message["parentMessageId"] == before
        assert isinstance(message["text"], str) and isinstance(message["isCreatedByUser"], bool)
        before = message["messageId"]
    calls = [part["tool_call"] for message in value["messages"] for part in message.get("content", ())
             if part and part.get("type") == "tool_call"]  # fmt: skip
    assert [call["output"] for call in calls] == (
        ['{"cat":true}', "no zoom"] if messages is ANDA else ["4", ""]
    )
    found = only(read_value(value, "librechat", user=None)).conversation
    assert (found.user, found.extra) == ("alice", {"title": "T"})
    assert [message["role"] for message in found.messages][:2] == ["user", "assistant"]
    if messages is ANDA:
        assert value["options"] == {"promptPrefix": "Be brief."}


def test_results_without_their_call_before_them_are_messages_of_their_own() -> None:
    notes: list[str] = []
    messages = [
        {"role": "tool", "tool_call_id": "x", "content": "lost"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "k", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "user", "content": "wait"},
        {"role": "tool", "tool_call_id": "k", "content": "late"},
    ]  # fmt: skip
    value = json.loads(written("librechat", outgoing(messages), notes))
    assert len(value["messages"]) == 4
    outputs = [part["tool_call"].get("output") for message in value["messages"]
               for part in message.get("content", ())]  # fmt: skip
    assert outputs == ["lost", None, "late"]
    assert set(notes) == {"roles other than user and assistant are replies by a sender of that name"}


@pytest.mark.parametrize("role", [[], {}, ["system"], None, 5])
def test_roles_that_are_no_texts_go_out(role: Any) -> None:
    given = {"role": role, "content": "hi"}
    text = written("librechat", outgoing([given]))
    (message,) = json.loads(text)["messages"]
    assert message["isCreatedByUser"] is False and '"hi"' in text


def test_forks_are_branches_of_the_tree_of_their_conversation() -> None:
    said_there = [{"role": "user", "content": text} for text in "abcd"]
    first = outgoing(said_there)
    second = outgoing(
        [*said_there[:2], {"role": "user", "content": "e"}, {"role": "user", "content": "f"}], id=18
    )
    third = outgoing(
        [*said_there[:2], {"role": "user", "content": "e"}, {"role": "user", "content": "g"}], id=19
    )
    changed = outgoing([{"role": "user", "content": "A"}, {"role": "user", "content": "h"}], id=20)
    given = [replace(one, entries=list(one.entries)) for one in (first, second, third, changed)]
    notes: list[str] = []
    tree = Tree(Losses("librechat", notes.append), {17: [2, 1], 18: [3]})
    text = "".join([
        *tree.begin(given[0]),
        *tree.branch(given[1], Fork(17, 2)),
        *tree.branch(given[3], Fork(17, 1)),
        *tree.branch(given[2], Fork(18, 3)),
        tree.end(),
    ])  # fmt: skip
    found = only(read(text, "librechat", user=None))
    lines = [found.conversation.messages, *(whole(found, branch) for branch in found.branches)]
    texts = {"".join(message["content"][0]["text"] for message in line) for line in lines}
    assert texts == {"abcd", "abef", "abeg", "Ah"}
    assert [message["messageId"] for message in json.loads(text)["messages"]] == [
        "17-0", "17-1", "17-2", "17-3", "18-2", "18-3", "20-0", "20-1", "19-3",
    ]  # fmt: skip
    assert notes == ["a fork whose beginning was changed since begins by itself"]
