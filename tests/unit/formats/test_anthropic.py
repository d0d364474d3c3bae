"""Anthropic's messages: lists, requests, answers, batches, recorded exchanges, and what is broken in them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from convostore.schemas.dialects import view
from convostore.schemas.formats import Imported, Refused
from convostore.schemas.usage import Usage
from support.importing import changed, detected, imported, only, read, read_value, refused, sample, times

NAME = "anthropic"
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln+/=="}
CALL = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 2}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "look"},
    {"role": "assistant", "content": [
        THOUGHT, {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "well"}, CALL]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "4", "is_error": False},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "hologram", "beam": [None]},
    ]},
    {"role": "assistant", "content": "four"},
]  # fmt: skip
REQUEST = {"model": "claude-x", "max_tokens": 9, "system": "be brief", "tools": [{"name": "add",
           "input_schema": {}}], "messages": MESSAGES}  # fmt: skip


def answer(id: str, content: list[Any], tokens: int = 4) -> dict[str, Any]:
    usage = {"input_tokens": 9, "cache_read_input_tokens": 2, "output_tokens": tokens}
    return {"id": id, "type": "message", "role": "assistant", "model": "claude-x", "content": content,
            "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}  # fmt: skip


FIRST = answer("msg_1", [*MESSAGES[1]["content"][:2], {**MESSAGES[1]["content"][2], "citations": None}, CALL])
LAST = answer("msg_2", [{"type": "text", "text": "four"}], 7)


def pair(messages: list[Any], response: Any, **members: Any) -> dict[str, Any]:
    request = {"method": "POST", "url": "https://e.com/v1/messages", "headers": {"x-api-key": "secret"}}
    body = {"model": "claude-x", "max_tokens": 9, "messages": messages, **members}
    return {
        "request": {**request, "body": body},
        "response": {"status_code": 200, "headers": {"set-cookie": "secret"}, "body": response},
    }


PAIRS = [pair(MESSAGES[:1], FIRST), pair(MESSAGES[:3], LAST, system="be brief")]


def stream(message: dict[str, Any]) -> str:
    blocks = message["content"]
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "content": []}}]
    for index, block in enumerate(blocks):
        begun = {name: "" if isinstance(held, str) and name not in ("type", "id", "name", "data") else held
                 for name, held in block.items()}  # fmt: skip
        events.append({"type": "content_block_start", "index": index,
                       "content_block": {**begun, "input": {}} if "input" in block else begun})  # fmt: skip
        for kind, name in (("text", "text"), ("thinking", "thinking"), ("signature", "signature")):
            for letter in block.get(name, "") or "":
                delta = {"type": f"{kind}_delta", name: letter}
                events.append({"type": "content_block_delta", "index": index, "delta": delta})
        for letter in json.dumps(block["input"]) if "input" in block else "":
            delta = {"type": "input_json_delta", "partial_json": letter}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 99}}
    events += [end, {"type": "message_stop"}]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(MESSAGES),
        "\ufeff" + json.dumps(MESSAGES, indent=1).replace("\n", "\r\n"),
        "".join(json.dumps(message) + "\r\n" for message in MESSAGES),
        json.dumps({"messages": MESSAGES}),
        json.dumps([MESSAGES]),
    ],
)
def test_messages_stay_as_they_came_in_every_layout(text: str) -> None:
    assert detected(text) == NAME
    found = only(read(text, NAME))
    assert found.conversation.messages == MESSAGES
    assert found.entries is not None and {fact.dialect for fact in found.entries} == {NAME}
    assert found.source.id.startswith("sha256:") and not times([found])


@pytest.mark.parametrize("without", [(), ("system",), ("tools", "system"), ("model", "system")])
def test_request_body_is_told_from_one_to_another_api(without: tuple[str, ...]) -> None:
    plain = {**REQUEST, "messages": MESSAGES[:1]}
    body = {name: item for name, item in plain.items() if name not in without}
    assert detected(json.dumps(body)) == NAME
    found = only(read_value(body, NAME))
    assert found.conversation.messages == MESSAGES[:1]
    assert found.unknown == {name: item for name, item in body.items() if name != "messages"}
    other = {"model": "gpt", "max_tokens": 9, "messages": MESSAGES[:1]}
    assert detected(json.dumps(other)) == "openai"


def test_answers_are_conversations_of_one_message() -> None:
    text = json.dumps(FIRST) + "\n" + json.dumps(LAST) + "\n"
    assert detected(text) == NAME
    first, last = imported(read(text, NAME))
    assert (first.source.id, last.source.id) == ("msg_1", "msg_2")
    assert first.conversation.messages == [FIRST]
    assert last.conversation.usage == Usage(input_tokens=9, output_tokens=7, cached_tokens=2, requests=1)
    in_a_list = only(read_value([MESSAGES[0], FIRST, *MESSAGES[2:]], NAME))
    assert in_a_list.conversation.messages[1] == FIRST and in_a_list.conversation.usage.requests == 1


def test_lines_of_batches_hold_requests_and_results() -> None:
    asked = {"custom_id": "c1", "params": REQUEST}
    told = {"custom_id": "c1", "result": {"type": "succeeded", "message": LAST}}
    failed = {"custom_id": "c2", "result": {"type": "errored", "error": {}}}
    for value, count in ((asked, 4), (told, 1)):
        assert detected(json.dumps(value)) == NAME
        found = only(read_value(value, NAME))
        assert len(found.conversation.messages) == count and found.unknown["custom_id"] == "c1"
    assert [type(item) for item in read(json.dumps(told) + "\n" + json.dumps(failed), NAME)] == [
        Imported, Refused,
    ]  # fmt: skip


def test_recorded_exchanges_are_the_last_request_and_its_answer() -> None:
    found = only(read_value(PAIRS, NAME))
    assert found.conversation.messages == [*MESSAGES[:3], LAST]
    assert found.source.id == "msg_1"
    assert found.conversation.usage == Usage(input_tokens=18, output_tokens=11, cached_tokens=4, requests=2)
    base = {"model": "claude-x", "max_tokens": 9}
    assert found.unknown["requests"] == [base, {**base, "system": "be brief"}]
    # What the first was answered lacks a member in the second request, so it is kept whole.
    assert found.unknown["responses"] == [FIRST]
    assert "secret" not in json.dumps(found.unknown) and "headers" in found.notes[0]


@pytest.mark.parametrize("form", ["pairs", "vcr", "har", "texts", "streams", "lines"])
def test_every_form_of_a_recording_gives_the_same(form: str) -> None:
    value: Any = PAIRS
    if form in ("vcr", "har", "texts", "streams"):
        halves = [(json.dumps(one["request"]["body"]), json.dumps(one["response"]["body"])) for one in PAIRS]
    if form == "vcr":
        value = {"version": 1, "interactions": [
            {"request": {"uri": "u", "body": asked}, "response": {"body": {"string": told}}}
            for asked, told in halves]}  # fmt: skip
    elif form == "har":
        value = {"log": {"version": "1.2", "entries": [
            {"startedDateTime": "2026",
             "request": {"postData": {"mimeType": "application/json", "text": asked}},
             "response": {"content": {"size": 1, "encoding": "base64",
                                      "text": base64.b64encode(told.encode()).decode()}}}
            for asked, told in halves]}}  # fmt: skip
    elif form == "texts":
        value = [{"request": {"body": asked}, "response": {"body": told}} for asked, told in halves]
    elif form == "streams":
        value = [{"request": {"body": asked}, "response": {"body": stream(one["response"]["body"])}}
                 for (asked, _), one in zip(halves, PAIRS, strict=True)]  # fmt: skip
    text = "".join(json.dumps(one) + "\n" for one in PAIRS) if form == "lines" else json.dumps(value)
    assert detected(text) == NAME
    found = only(read(text, NAME))
    told = LAST if form != "streams" else {**LAST, "usage": {**LAST["usage"], "output_tokens": 99}}
    assert found.conversation.messages == [*MESSAGES[:3], told]
    assert found.source.id == "msg_1"


def test_marks_of_the_cache_do_not_part_exchanges() -> None:
    marked = [{"role": "user", "content": [{"type": "text", "text": "look", "cache_control": {"type": "x"}}]}]
    found = only(read_value([pair(marked, FIRST), PAIRS[1]], NAME))
    assert found.conversation.messages == [*MESSAGES[:3], LAST]


def test_exchanges_that_do_not_go_on_from_one_another_are_conversations() -> None:
    other = [{"role": "user", "content": "another"}]
    failed = {"type": "error", "error": {"message": "overloaded"}}
    values = [
        pair(MESSAGES[:1], failed),
        PAIRS[0],
        pair(MESSAGES[:1], LAST),
        pair(other, FIRST),
        pair(other, failed),
    ]
    first, second, third, fourth = imported(read_value(values, NAME))
    assert first.conversation.messages == [MESSAGES[0], FIRST] and first.unknown["responses"] == [failed]
    assert second.conversation.messages == [MESSAGES[0], LAST]
    assert third.conversation.messages == [*other, FIRST]
    assert fourth.conversation.messages == other and fourth.unknown["responses"] == [failed]


def test_broken_ones_are_named_or_kept() -> None:
    items = read(json.dumps(MESSAGES[1]) + '\n{"broken\n5\n' + json.dumps(MESSAGES[2]) + "\n", NAME)
    assert [item.position for item in refused(items)] == [2, 3]
    assert imported(items)[0].conversation.messages == MESSAGES[1:3]
    odd = only(read_value({"messages": [5, MESSAGES[1]]}, NAME))
    assert odd.conversation.messages == [5, MESSAGES[1]] and "no objects" in odd.notes[0]
    cut = pair(MESSAGES[:1], stream(FIRST)[:-60])
    found = only(read_value([cut], NAME))
    assert found.conversation.messages == MESSAGES[:1] and found.unknown["responses"][0].startswith("event")


def lines_of(text: str) -> str:
    """The events of a stream, one a line."""
    return "".join(line[6:] + "\n" for line in text.splitlines() if line.startswith("data: "))


def test_events_of_streams_are_the_messages_they_told() -> None:
    text = lines_of(stream(FIRST)) + lines_of(stream(LAST))
    assert detected(text) == NAME
    first, last = imported(read(text, NAME))
    (message,) = first.conversation.messages
    assert message["content"] == FIRST["content"] and message["usage"]["output_tokens"] == 99
    assert (first.source.id, last.source.id, first.notes) == ("msg_1", "msg_2", ())


def test_stream_that_was_cut_off_is_as_far_as_it_came() -> None:
    events = [json.loads(line) for line in lines_of(stream(FIRST)).splitlines()]
    events.insert(4, {"type": "content_block_delta", "index": 0, "delta": {"type": "beam", "n": 1}})
    found = only(read("".join(json.dumps(event) + "\n" for event in events[:-6]), NAME))
    (message,) = found.conversation.messages
    assert message["content"][0]["deltas"] == [{"type": "beam", "n": 1}]
    assert isinstance(message["content"][-1]["input"], str) and "cut off" in found.notes[0]


def test_stream_may_begin_twice_and_with_what_is_there_already() -> None:
    start = {"type": "message_start", "message": {**LAST, "content": [CALL]}}
    text = "".join(json.dumps(event) + "\n" for event in (
        {"type": "message_start", "message": {**LAST, "content": []}}, start, {"type": "ping"},
        {"type": "message_stop"}))  # fmt: skip
    assert only(read(text, NAME)).conversation.messages == [{**LAST, "content": [CALL]}]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed(PAIRS))
def test_whatever_a_member_becomes_every_exchange_is_imported_or_named(value: Any) -> None:
    items = read("".join(json.dumps(one) + "\n" for one in value), NAME)
    assert all(isinstance(item, (Imported, Refused)) for item in items) and (items or not value)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["compaction", "response-thinking-tool", "sdk-tool-runner-cassette"])
def test_sample_holds_what_its_index_says(name: str) -> None:
    data, expected = sample(f"anthropic/{name}.json")
    assert detected(data) == NAME
    found, (wanted,) = only(read(data, NAME)), expected["convs"]
    messages = found.conversation.messages
    seen = [view(message, NAME) for message in messages]
    assert sum(len(one.calls) for one in seen) == wanted["calls"]
    assert sum(len(one.results) for one in seen) == wanted["results"]
    roles = [message["role"] for message in messages]
    assert {role: roles.count(role) for role in set(roles)} == wanted["roles"]
    assert len(messages) == wanted["total"] and not times([found])
