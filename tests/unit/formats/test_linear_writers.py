"""ShareGPT, Anthropic and OpenAI chat as they go out: what comes back, what is lost and said to be."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from convostore.schemas.dialects import DIALECTS, view
from convostore.schemas.entries import Entry
from convostore.schemas.errors import SchemaVersionError
from convostore.schemas.formats import Imported
from convostore.schemas.formats.outgoing import Outgoing
from convostore.schemas.formats.writers import WRITERS
from convostore.schemas.json_values import MAX_DEPTH, check_json, same_json
from support.exporting import ANDA, ANTHROPIC, OPENAI, STANDARD, outgoing, written
from support.importing import detected, only, read, read_value
from support.json_strategies import deep
from support.scale import SCALE
from support.shared import shared

TALK: dict[str, Any] = {
    "id": "x1",
    "title": "T",
    "system": "be brief",
    "score": None,
    "conversations": [
        {"from": "system", "value": "always"},
        {"from": "human", "value": "<image>and <image> ?", "weight": 0},
        {"from": "function_call", "value": '{"name":"add","arguments":{"a":2}}'},
        {"from": "observation", "value": "4"},
        {"from": "tool", "value": {"four": 4}},
        {"from": "function_call",
         "value": '[{"name":"f","arguments":{"b":1},"n":1},{"name":"g","arguments":0}]'},
        {"from": "function_call", "value": "call add"},
        {"from": "user", "value": ""},
        {"from": "bard", "value": None},
        {"from": "critic", "value": [{"type": "text", "text": "no"}, {"type": "hologram"}]},
    ],
    "images": ["a.png", "https://e.com/b.png"],
}  # fmt: skip


def leaving(found: Imported) -> Outgoing:
    """The imported conversation, as a store gives it out again."""
    record = found.conversation.model_copy(update={"id": 3, "messages": []})
    facts = found.entries
    assert facts is not None
    entries = [
        Entry(place, message, fact.made, fact.author, fact.dialect)
        for place, (message, fact) in enumerate(zip(found.conversation.messages, facts, strict=True))
    ]
    return Outgoing(record, iter(entries), len(entries), found.source, found.unknown)


def test_sharegpt_gives_back_what_came_from_sharegpt() -> None:
    found = only(read_value([TALK], "sharegpt"))
    notes: list[str] = []
    text = written("sharegpt", leaving(found), notes)
    assert same_json(json.loads(text), TALK) and notes == []
    again = only(read(f"[\n{text}\n]\n", "sharegpt"))
    assert same_json(again.conversation.messages, found.conversation.messages)
    assert (again.source.id, again.conversation.extra, again.unknown) == ("x1", {"title": "T"}, found.unknown)


def test_sharegpt_of_other_conversations_says_what_it_loses() -> None:
    notes: list[str] = []
    value = json.loads(written("sharegpt", outgoing(ANDA, extra={"title": "T", "n": 1}), notes))
    assert list(value) == ["id", "title", "conversations", "images"]
    assert [turn["from"] for turn in value["conversations"]] == [
        "system", "human", "gpt", "function_call", "observation", "observation", "gpt", "human",
    ]  # fmt: skip
    assert value["conversations"][2]["value"] == "<think>\nA cat? Let me *look*.\n</think>\n\nLet me see:"
    assert value["images"] == ["urn:photo", "https://example.com/b.png"]
    assert value["conversations"][1]["value"].count("<image>") == 2
    assert set(notes) == {
        "extra is left out but for its title",
        "names of speakers are left out",
        "bytes in messages are left out",
        "thoughts are written into the text, as <think>",
        "ids of calls and results are left out",
        "results that are no text are written as their JSON",
        "whether a result is an error is left out",
        "parts that ShareGPT has not stay as they are",
    }
    with pytest.raises(SchemaVersionError, match="conversation 17: in the format sharegpt"):
        written("sharegpt", outgoing(ANDA), strict=True)


def test_anthropic_messages_go_out_as_they_are() -> None:
    notes: list[str] = []
    given = outgoing(ANTHROPIC)
    given = replace(given, entries=[replace(entry, dialect="anthropic") for entry in given.entries])
    value = json.loads(written("anthropic", given, notes))
    assert same_json(value, {"id": "17", "messages": ANTHROPIC}) and notes == []


def test_anthropic_gives_back_what_came_from_anthropic() -> None:
    request = {
        "id": "r1", "model": "claude-x", "max_tokens": None,
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [{"name": "look", "input_schema": {}}],
        "messages": [*ANTHROPIC, {"role": "user", "content": [{"type": "hologram", "n": None}]}],
    }  # fmt: skip
    found = only(read_value(request, "anthropic"))
    notes: list[str] = []
    text = written("anthropic", leaving(found), notes)
    assert detected(text) == "anthropic" and notes == []
    assert same_json(_sorted(json.loads(text)), _sorted(request))
    assert same_json(only(read(text, "anthropic")).conversation.messages, request["messages"])


def _sorted(value: dict[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in sorted(value)}


@pytest.mark.parametrize("messages", [ANDA, OPENAI], ids=["anda", "openai"])
def test_other_conversations_come_back_from_anthropic_without_names_and_times(messages: list[Any]) -> None:
    text = written("anthropic", outgoing(messages))
    assert detected(text) == "anthropic"
    found = only(read(text, "anthropic"))
    assert found.unknown == ({"system": "Be brief."} if messages is ANDA else {})
    assert same_json(found.conversation.messages, json.loads(text)["messages"])
    before = [view(message) for message in messages]
    after = [view(message, "anthropic") for message in found.conversation.messages]
    for part in ("calls", "results"):
        ids = [[one.id if part == "calls" else one.call_id for each in views for one in getattr(each, part)]
               for views in (before, after)]  # fmt: skip
        assert ids[0] == ids[1] and len(ids[0]) == 2


@pytest.mark.parametrize("messages", [ANDA[:-2], OPENAI[:-1]], ids=["anda", "openai"])
def test_other_messages_become_ones_that_the_api_takes(messages: list[Any]) -> None:
    given = [*messages, {"role": "critic", "content": "no"}]
    value = json.loads(written("anthropic", outgoing(given, extra={"user_id": "u"})))
    assert value["metadata"] == {"user_id": "u"}
    assert value.get("system") == ("Be brief." if messages[0] is ANDA[0] else None)
    said = value["messages"]
    assert {message["role"] for message in said} == {"user", "assistant"}
    calls = [call.id for message in said for call in view(message, "anthropic").calls]
    results = [result.call_id for message in said for result in view(message, "anthropic").results]
    assert calls == results and len(calls) == 2
    # All results of one message's calls are in the message behind it.
    place = next(place for place, message in enumerate(said) if view(message, "anthropic").calls)
    assert [block["type"] for block in said[place + 1]["content"]] == ["tool_result", "tool_result"]
    known = [block for message in said for block in message["content"] if block != {"type": "FileData",
             "fileUri": "urn:photo", "mimeType": "image/png"}]  # fmt: skip
    assert DIALECTS["anthropic"].fits({"role": "user", "content": known})
    picture = {"type": "base64", "media_type": "image/png", "data": STANDARD}
    assert next(block["source"] for block in known if block["type"] == "image") == picture


def test_anthropic_says_what_it_loses() -> None:
    notes: list[str] = []
    written("anthropic", outgoing([*ANDA, {"role": "system", "content": "Later."}, None]), notes)
    assert set(notes) == {
        "names of speakers are left out",
        "thoughts have no signature, without which the API does not take them back",
        "results that are no text are written as their JSON",
        "parts that Anthropic has no block for stay as they are",
        "system messages between others are messages of the user",
        "what is no message is left as it is",
    }
    thought = {"type": "Reasoning", "text": "hm", "source": {"signature": "c2ln"}}
    kept: list[str] = []
    value = json.loads(written("anthropic", outgoing([{"role": "assistant", "content": [thought]}]), kept))
    assert value["messages"][0]["content"] == [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]
    assert kept == []


def test_openai_chat_has_no_parts_of_others() -> None:
    notes: list[str] = []
    value = json.loads(written("openai", outgoing(ANDA), notes))
    assert set(notes) == {
        "names of speakers are left out",
        "thoughts are left out",
        "results that are no text are written as their JSON",
        "whether a result is an error is left out",
        "parts that chat has not stay as they are",
    }
    assert [message["role"] for message in value["messages"]] == [
        "system", "user", "assistant", "tool", "tool", "assistant", "user",
    ]  # fmt: skip
    assert value["messages"][1]["content"][1]["image_url"]["url"] == f"data:image/png;base64,{STANDARD}"
    assert same_json(json.loads(written("openai", outgoing(OPENAI)))["messages"], OPENAI)


@pytest.mark.shared
def test_the_runs_keep_every_call_and_result() -> None:
    counts = {name: [0, 0, 0] for name in ("openai", "anthropic", "markdown")}
    lines = shared("data/airline_agent_runs.openai.jsonl").read_text("utf-8").splitlines()
    # A fifth of them, or at the size of the sentence all.
    for line in lines[:: 5 if SCALE < 1 else 1]:
        messages = json.loads(line)["messages"]
        values = {name: written(name, outgoing(messages)) for name in counts}
        assert same_json(json.loads(values["openai"])["messages"], messages)
        assert detected(values["anthropic"]) == "anthropic"
        anthropic = only(read(values["anthropic"], "anthropic")).conversation.messages
        back = only(read(values["markdown"], "markdown", user=None)).conversation.messages
        assert same_json(back, messages)
        for name, said in (("openai", messages), ("markdown", back),
                           ("anthropic", anthropic)):  # fmt: skip
            views = [view(message, "anthropic" if name == "anthropic" else None) for message in said]
            counts[name][0] += 1
            counts[name][1] += sum(len(one.calls) for one in views)
            counts[name][2] += sum(len(one.results) for one in views)
    assert counts["openai"] == counts["anthropic"] == counts["markdown"]
    if SCALE >= 1:
        assert counts["openai"] == [200, 1164, 1164]
    assert counts["openai"][0] >= 40 and counts["openai"][1] > 100


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_nested_as_deeply_as_can_be_goes_out(name: str) -> None:
    inner = deep("bottom", MAX_DEPTH - 8)
    messages = [
        {"role": "assistant", "content": [
            {"type": "ToolCall", "name": "f", "args": {"a": inner}, "callId": "k"}]},
        {"role": "tool", "content": [{"type": "ToolOutput", "name": "f", "output": inner, "callId": "k"}]},
        {"role": "user", "content": [{"odd": inner}]},
        inner,
    ]  # fmt: skip
    check_json(messages, "messages")
    text = written(name, outgoing(messages, extra={"title": "T", "n": inner}))
    assert text.count("bottom") >= 3
    if name == "markdown":
        assert same_json(only(read(text, "markdown", user=None)).conversation.messages, messages)
