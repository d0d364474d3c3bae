"""OpenAI's Responses: items, Response objects, pages, run states, and what is broken in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from convostore.schemas.dialects import view
from convostore.schemas.formats import Imported, Refused
from convostore.schemas.usage import Usage
from support.importing import changed, detected, imported, only, read, read_value, refused, sample, times

NAME = "openai-responses"
ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "look"},
    {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "at this"}, {"type": "input_image", "image_url": "https://e.com/a.png"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "g"},
    {"type": "function_call", "call_id": "k", "name": "add", "arguments": '{"a": 2}', "id": None},
    {"type": "function_call_output", "call_id": "k", "output": "4"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}},
    {"type": "hologram", "beam": [None]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "four"}]},
]  # fmt: skip


def response(id: str, output: list[Any], before: str | None = None, **members: Any) -> dict[str, Any]:
    usage = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 2}, "output_tokens": 4}
    return {"id": id, "object": "response", "created_at": 1767323045, "output": output, "usage": usage,
            "previous_response_id": before, "model": "m", "instructions": None, **members}  # fmt: skip


def ided(place: int) -> dict[str, Any]:
    id = f"msg_04cbf45151194822006{0x8FB9760 + place:07x}9fc481959fecc62ac9644e8d"
    content = [{"type": "input_text", "text": str(place)}]
    return {"id": id, "type": "message", "role": "user", "content": content}


def page(items: list[Any], *, more: bool = False, **members: Any) -> dict[str, Any]:
    return {"object": "list", "data": items, "first_id": items[0]["id"], "last_id": items[-1]["id"],
            "has_more": more, **members}  # fmt: skip


def run(**members: Any) -> dict[str, Any]:
    made = [{"type": "tool_call_item", "agent": {"name": "a"}, "raw_item": item} for item in ITEMS[2:5]]
    wait = {"type": "tool_approval_item", "agent": {"name": "a"}, "raw_item": ITEMS[3]}
    output = {"output": ITEMS[2:4], "response_id": "resp_1"}
    usage = {
        "requests": 2,
        "input_tokens": 7,
        "input_tokens_details": [{"cached_tokens": 1}],
        "output_tokens": 3,
    }
    return {"$schemaVersion": "1.5", "original_input": "hi", "generated_items": [*made, wait],
            "model_responses": [output, {"output": [{"type": "odd"}]}], "trace": {"id": "trace_1"},
            "context": {"usage": usage}, "max_turns": 10, "current_step": None, **members}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ITEMS),
        "\ufeff" + json.dumps(ITEMS, indent=1).replace("\n", "\r\n"),
        "".join(json.dumps(item) + "\r\n" for item in ITEMS),
        json.dumps({"items": ITEMS}),
        json.dumps({"model": "m", "input": ITEMS}, indent=1),
        json.dumps([ITEMS]),
    ],
)
def test_items_are_messages_as_they_came_in_every_layout(text: str) -> None:
    assert detected(text) == NAME
    found = only(read(text, NAME))
    assert found.conversation.messages == ITEMS
    assert found.entries is not None and {fact.dialect for fact in found.entries} == {NAME}
    assert found.unknown == ({"model": "m"} if "model" in text else {})
    assert found.source.id.startswith("sha256:") and not times([found])


def test_lists_a_line_and_objects_with_an_id_are_conversations() -> None:
    text = json.dumps(ITEMS) + "\n" + json.dumps(ITEMS[:3]) + "\n" + json.dumps(ITEMS) + "\n"
    first, second, third = imported(read(text, NAME))
    assert third.source.id == first.source.id + "#2" and len(second.conversation.messages) == 3
    session = only(read_value({"session_id": "s1", "id": 5, "items": ITEMS}, NAME))
    assert (session.source.id, session.unknown) == ("s1", {"id": 5})


@pytest.mark.parametrize("name", ["anthropic", "langchain", "openai-responses", "pydantic-ai", "sharegpt"])
def test_title_and_times_beside_the_messages_are_the_conversations(name: str) -> None:
    said: dict[str, Any] = {
        "anthropic": {"role": "user", "content": [{"type": "thinking", "thinking": "x"}]},
        "langchain": {"type": "human", "data": {"content": "x"}},
        "openai-responses": ITEMS[3],
        "pydantic-ai": {"kind": "request", "parts": []},
        "sharegpt": {"from": "human", "value": "x"},
    }[name]
    about = {"title": "T", "created_at": 1767323045, "updatedAt": "2026-01-02T03:04:06Z"}
    value = {**about, "messages": [said], "note": None}
    assert detected(json.dumps(value)) == name
    found = only(read_value(value, name))
    assert found.conversation.extra == {"title": "T"}
    assert found.unknown == {"note": None, **{one: about[one] for one in ("created_at", "updatedAt")}}
    times_of = found.conversation.created_at, found.conversation.updated_at
    assert times_of == (1_767_323_045_000, 1_767_323_046_000) and not times([found])


def test_a_response_gives_its_time_to_its_items() -> None:
    found = only(read_value(response("resp_a", ITEMS[2:4]), NAME))
    assert found.conversation.messages == ITEMS[2:4] and times([found]) == [1_767_323_045_000] * 2
    assert (found.source.id, found.unknown["model"]) == ("resp_a", "m")
    assert found.conversation.usage == Usage(input_tokens=9, output_tokens=4, cached_tokens=2, requests=1)
    assert "output" not in found.unknown and found.unknown["instructions"] is None


def test_responses_that_follow_one_another_are_one_conversation() -> None:
    values = [
        response("resp_a", ITEMS[2:4]),
        response("resp_b", ITEMS[4:6], "resp_a", created_at=1767323050),
        response("resp_c", ITEMS[6:], "resp_x"),
    ]
    text = "".join(json.dumps(value) + "\n" for value in values)
    assert detected(text) == NAME
    first, other = imported(read(text, NAME))
    assert first.conversation.messages == ITEMS[2:6] and first.conversation.usage.requests == 2
    assert (first.conversation.created_at, first.conversation.updated_at) == (
        1_767_323_045_000,
        1_767_323_050_000,
    )
    assert [one["id"] for one in first.unknown["responses"]] == ["resp_a", "resp_b"]
    assert other.source.id == "resp_c" and len(other.conversation.messages) == 2


def test_a_response_in_the_results_of_a_batch_is_found() -> None:
    value = {"custom_id": "c1", "id": "batch_req_1", "error": None,
             "response": {"status_code": 200, "body": response("resp_a", ITEMS[2:4])}}  # fmt: skip
    assert detected(json.dumps(value)) == NAME
    found = only(read_value(value, NAME))
    assert (found.source.id, len(found.conversation.messages)) == ("resp_a", 2)
    assert found.unknown["around"] == {**value, "response": {"status_code": 200}}


def events(whole: dict[str, Any]) -> list[dict[str, Any]]:
    begun = {**whole, "output": [], "usage": None}
    return [
        {"type": "response.created", "response": begun},
        *({"type": "response.output_item.added", "item": {"id": n}} for n, _ in enumerate(whole["output"])),
        *({"type": "response.output_item.done", "item": item} for item in whole["output"]),
        {"type": "response.completed", "response": whole},
    ]


def test_streams_of_events_are_the_responses_they_end_with() -> None:
    first, second = response("resp_a", ITEMS[2:4]), response("resp_b", ITEMS[4:6], "resp_a")
    text = "".join(json.dumps(event) + "\n" for event in [*events(first), *events(second)])
    assert detected(text) == NAME
    found = only(read(text, NAME))
    assert found.conversation.messages == ITEMS[2:6] and found.source.id == "resp_a"
    assert found.conversation.usage.requests == 2 and found.notes == ()
    cut = only(read("".join(json.dumps(event) + "\n" for event in events(first)[:-2]), NAME))
    assert cut.conversation.messages == ITEMS[2:3] and "cut off" in cut.notes[0]


def told(place: int, kind: str, **members: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "output_index": place, "item_id": f"i{place}", **members}


def test_items_that_a_stream_never_ended_are_as_far_as_it_came() -> None:
    said = {"type": "message", "id": "i0", "role": "assistant", "content": [], "status": "in_progress"}
    call = {"type": "function_call", "id": "i2", "call_id": "k", "name": "add", "arguments": ""}
    stream = [
        {"type": "response.created", "response": response("resp_a", [])},
        told(0, "output_item.added", item=said),
        told(0, "output_text.delta", content_index=0, delta="Hel"),
        told(0, "output_text.delta", content_index=0, delta="lo"),
        told(0, "output_text.delta", content_index=1, delta="more"),
        told(1, "output_item.added", item={"type": "reasoning", "id": "i1", "summary": []}),
        told(1, "reasoning_summary_text.delta", summary_index=0, delta="hm"),
        told(1, "reasoning_summary_text.done", summary_index=0, text="hmm"),
        told(2, "output_item.added", item=call),
        told(2, "function_call_arguments.delta", delta='{"a":'),
        told(3, "output_item.added", item={**said, "id": "i3"}),
    ]
    texts = [{"type": "output_text", "text": text} for text in ("Hello", "more")]
    for ending in ([], [{"type": "response.failed", "response": response("resp_a", [])}]):
        found = only(read("".join(json.dumps(event) + "\n" for event in [*stream, *ending]), NAME))
        assert found.conversation.messages == [
            {**said, "content": texts},
            {"type": "reasoning", "id": "i1", "summary": [{"type": "summary_text", "text": "hmm"}]},
            {**call, "arguments": '{"a":'},
        ]


def exchange(given: Any, whole: dict[str, Any], **members: Any) -> dict[str, Any]:
    request = {"url": "https://e.com", "headers": {"authorization": "secret"},
               "body": {"model": "m", "input": given, **members}}  # fmt: skip
    return {"request": request, "response": {"headers": {"set-cookie": "secret"}, "body": whole}}


def test_recorded_exchanges_go_on_by_id_or_by_saying_everything_again() -> None:
    hi = [{"role": "user", "content": "hi"}]
    first, second = response("resp_a", ITEMS[2:4]), response("resp_b", ITEMS[5:6], created_at=1767323050)
    by_id = [exchange("hi", first), exchange(ITEMS[4:5], second, previous_response_id="resp_a")]
    again = [exchange("hi", first), exchange([*hi, *ITEMS[3:5]], second)]
    for pairs, beside in ((by_id, None), (again, ITEMS[2:3])):
        assert detected(json.dumps(pairs)) == NAME
        found = only(read_value(pairs, NAME))
        items = [message.get("type", "message") for message in found.conversation.messages]
        assert [kind for kind in items if kind != "reasoning"] == [
            "message", "function_call", "function_call_output", "web_search_call",
        ]  # fmt: skip
        assert found.unknown.get("outputs") == beside and found.source.id == "resp_a"
        assert found.conversation.usage.requests == 2 and found.conversation.updated_at == 1_767_323_050_000
        assert "secret" not in json.dumps(found.unknown) and "headers" in found.notes[0]
    streamed = "".join(f"data: {json.dumps(event)}\n\n" for event in events(first))
    (other,) = imported(read_value([exchange("hi", streamed)], NAME))  # type: ignore[arg-type]
    assert other.conversation.messages[1:] == ITEMS[2:4]
    assert len(imported(read_value([by_id[0], exchange("ho", second)], NAME))) == 2


def test_pages_go_on_while_there_are_more() -> None:
    values = [page([ided(0), ided(1)], more=True), page([ided(2)]), page([ided(9)], note="n")]
    first, other = imported(read_value(values, NAME))
    assert first.conversation.messages == [ided(0), ided(1), ided(2)] and first.unknown == {}
    assert first.source.id == ided(0)["id"] and other.unknown == {"note": "n"}


def test_pages_from_the_newest_are_turned_round() -> None:
    values = [page([ided(5), ided(4)], more=True), page([ided(4), ided(1)])]
    found = only(read_value(values, NAME))
    assert [item["content"][0]["text"] for item in found.conversation.messages] == ["1", "4", "4", "5"]
    assert found.source.id == ided(1)["id"] and "turned round" in found.notes[0]


def test_run_state_is_its_input_and_what_it_made() -> None:
    found = only(read_value(run(), NAME))
    assert found.conversation.messages == [
        {"type": "message", "role": "user", "content": "hi"}, *ITEMS[2:5],
    ]  # fmt: skip
    assert found.source.id == "trace_1"
    assert found.conversation.usage == Usage(input_tokens=7, output_tokens=3, cached_tokens=1, requests=2)
    made = {"type": "tool_call_item", "agent": {"name": "a"}}
    assert found.unknown["generated_items"] == [made] * 3 + [
        {"type": "tool_approval_item", "agent": {"name": "a"}},
    ]  # fmt: skip
    assert found.unknown["model_responses"] == [{"response_id": "resp_1"}, {"output": [{"type": "odd"}]}]
    assert "original_input" not in found.unknown and found.unknown["current_step"] is None


def test_run_state_of_the_program_in_javascript_is_read() -> None:
    call = {"type": "function_call", "callId": "k", "name": "add", "arguments": "{}"}
    result = {"type": "function_call_result", "callId": "k", "output": {"type": "text", "text": "4"}}
    wrapped = [
        {"type": "tool_call_item", "rawItem": call},
        {"type": "tool_call_output_item", "rawItem": result},
    ]
    state = {"$schemaVersion": "1.0", "originalInput": ITEMS[:1], "generatedItems": wrapped}
    assert detected(json.dumps(state)) == NAME
    seen = [view(message, NAME) for message in only(read_value(state, NAME)).conversation.messages]
    assert [one.id for message in seen for one in message.calls] == ["k"]
    assert [one.call_id for message in seen for one in message.results] == ["k"]


def test_what_chat_and_responses_have_in_common_is_chat_until_an_item_says_otherwise() -> None:
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}] * 5
    for layout in (json.dumps, lambda value: "".join(json.dumps(one) + "\n" for one in value)):
        assert detected(layout(chat)) == "openai"
        assert detected(layout([*chat, ITEMS[3]])) == NAME
    assert detected(json.dumps({"messages": chat})) == "openai"
    assert detected(json.dumps({"messages": [*chat, ITEMS[3]]})) == NAME


def test_broken_items_are_named_or_kept() -> None:
    items = read(json.dumps(ITEMS[1]) + '\n{"broken\n5\n' + json.dumps(ITEMS[3]) + "\n", NAME)
    assert [item.position for item in refused(items)] == [2, 3]
    assert imported(items)[0].conversation.messages == [ITEMS[1], ITEMS[3]]
    odd = only(read_value({"items": [5, ITEMS[3]]}, NAME))
    assert odd.conversation.messages == [5, ITEMS[3]] and "no objects" in odd.notes[0]
    empty, other = read(json.dumps(response("resp_a", [])) + '\n{"x": 1}\n', NAME)
    assert isinstance(empty, Refused) and empty.skipped and empty.id == "resp_a"
    assert isinstance(other, Refused) and not other.skipped


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed(run()))
def test_whatever_a_member_of_a_run_becomes_it_is_imported_or_named(value: Any) -> None:
    (item,) = read(json.dumps(value) + "\n", NAME)
    assert isinstance(item, (Imported, Refused))


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    [
        "agents-runstate-1.13-program",
        "agents-runstate-1.5-toolsearch",
        "conversation-items-list",
        "response-reasoning",
    ],
)
def test_sample_holds_what_its_index_says(name: str) -> None:
    data, expected = sample(f"openai-responses/{name}.json")
    assert detected(data) == NAME
    found, (wanted,) = only(read(data, NAME)), expected["convs"]
    messages = found.conversation.messages
    kinds = [message["type"] for message in messages]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == wanted["item_types"]
    seen = [view(message, NAME) for message in messages]
    assert sum(len(one.calls) for one in seen) == wanted["calls"]
    assert sum(len(one.results) for one in seen) == wanted["results"]
    roles = [message["role"] for message in messages if "role" in message]
    assert {role: roles.count(role) for role in set(roles)} == wanted["roles"]
    made = times([found])
    assert (min(made, default=None), max(made, default=None)) == (wanted["first"], wanted["last"])
