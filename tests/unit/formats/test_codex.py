"""Codex's rollouts: items as messages, both forms, counts of tokens, and what is broken in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from convostore.schemas.formats import Imported, Refused
from convostore.schemas.usage import Usage
from support.importing import changed, detected, imported, only, read, refused, sample

ID = "0197b2e1-8c00-7000-8000-000000000000"
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,aGk="}
ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}, PICTURE]},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "g"},
    {"type": "function_call", "name": "shell", "call_id": "k", "arguments": '{"cmd": 1}'},
    {"type": "function_call_output", "call_id": "k", "output": "ok"},
    {"type": "hologram", "beam": [None]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
]  # fmt: skip


def event(kind: str, **members: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-02T03:05:00Z", "type": "event_msg", "payload": {"type": kind, **members}}


def count(total: int) -> dict[str, Any]:
    usage = {"input_tokens": total, "cached_input_tokens": 3, "output_tokens": 5}
    return event("token_count", info={"total_token_usage": usage, "last_token_usage": {"input_tokens": 1}})


META = {"timestamp": "2026-01-02T03:04:00Z", "type": "session_meta",
        "payload": {"id": ID, "timestamp": "2026-01-02T03:03:59.5Z", "git": {"branch": "b"}}}  # fmt: skip
ROLLOUT: list[dict[str, Any]] = [
    META,
    *(
        {"timestamp": f"2026-01-02T03:04:{n:02}.5Z", "type": "response_item", "payload": item}
        for n, item in enumerate(ITEMS)
    ),
    event("agent_message", message="done"),
    count(10), count(10), count(25),
    {"timestamp": "2026-01-02T03:06:00Z", "type": "compacted", "payload": {"message": "short"}},
    event("turn_aborted", reason="interrupted"),
]  # fmt: skip


def lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def test_items_are_messages_as_they_came() -> None:
    found = only(read(lines(*ROLLOUT), "codex"))
    assert found.conversation.messages == ITEMS
    assert found.entries is not None and {fact.dialect for fact in found.entries} == {"openai-responses"}
    assert [fact.made for fact in found.entries] == [1_767_323_040_500 + n * 1000 for n in range(6)]
    assert (found.source.id, found.conversation.extra) == (ID, None)
    assert found.conversation.created_at == 1_767_323_039_500
    assert found.conversation.updated_at == 1_767_323_160_000


def test_last_total_is_the_usage_and_each_change_of_it_a_request() -> None:
    found = only(read(lines(*ROLLOUT), "codex"))
    assert found.conversation.usage == Usage(input_tokens=25, output_tokens=5, cached_tokens=3, requests=2)


def test_other_lines_are_kept_beside_and_repeating_events_named() -> None:
    found = only(read(lines(*ROLLOUT), "codex"))
    assert [line["type"] for line in found.unknown["lines"]] == ["compacted", "event_msg"]
    assert found.unknown["session_meta"] == META["payload"]
    assert [note.rpartition(" ")[0].rpartition(" ")[2] for note in found.notes] == [
        "agent_message:",
        "token_count:",
    ]


def test_older_form_has_items_as_lines() -> None:
    head = {"id": ID, "timestamp": "2025-05-07T17:24:21.597Z", "instructions": None}
    text = lines(head, *ITEMS, {"record_type": "state"})
    assert detected(text) == "codex"
    found = only(read(text, "codex"))
    assert found.conversation.messages == ITEMS and found.source.id == ID
    assert found.conversation.created_at == 1_746_638_661_597
    assert found.unknown == {"session_meta": head, "lines": [{"record_type": "state"}]}


def test_id_is_the_clock_of_a_session_without_any_time() -> None:
    meta = {"type": "session_meta", "payload": {"id": ID}}
    found = only(read(lines(meta, {"type": "response_item", "payload": ITEMS[0]}), "codex"))
    assert found.conversation.created_at == 1_751_052_815_360 and "clock" in found.notes[0]
    assert found.entries is not None and found.entries[0].made is None


def test_array_of_the_lines_gives_the_same() -> None:
    text = json.dumps(ROLLOUT, indent=1)
    assert detected(text) == "codex"
    assert only(read(text, "codex")).source == only(read(lines(*ROLLOUT), "codex")).source


def test_broken_lines_are_named_and_the_rest_is_read() -> None:
    items = read(lines(META, 5) + '{"broken\n' + lines(ROLLOUT[1]) + '{"type": "resp', "codex")
    assert [item.position for item in refused(items)] == [2, 3, 5] and len(imported(items)) == 1


def test_rollout_without_items_is_skipped_by_name() -> None:
    (skipped,) = read(lines(META, ROLLOUT[-1]), "codex")
    assert isinstance(skipped, Refused) and skipped.skipped and skipped.id == ID


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=changed(ROLLOUT))
def test_whatever_a_member_becomes_every_item_is_a_message(value: Any) -> None:
    # A first line that is a list would make all of it an array.
    items = read(lines(META, *value), "codex")
    assert all(isinstance(item, (Imported, Refused)) for item in items)
    spoken = [
        one for one in value
        if isinstance(one, dict) and one.get("type") == "response_item" and one.get("payload") is not None
    ]  # fmt: skip
    found = imported(items)
    assert len(found) == 1 and len(found[0].conversation.messages) >= len(spoken)
    assert len(refused(items)) == sum(not isinstance(one, (dict, list)) for one in value) + sum(
        not isinstance(item, dict) for one in value if isinstance(one, list) for item in one)  # fmt: skip


@pytest.mark.shared
def test_sample_holds_what_its_index_says() -> None:
    data, expected = sample("openai-responses/codex-interleaved.jsonl")
    assert detected(data) == "codex"
    found, (wanted,) = only(read(data, "codex")), expected["convs"]
    messages = found.conversation.messages
    assert len(messages) == wanted["active"] and found.branches == ()
    kinds = [message["type"] for message in messages]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == wanted["item_types"]
    assert (kinds.count("function_call"), kinds.count("function_call_output")) == (
        wanted["calls"],
        wanted["results"],
    )
    roles = [message["role"] for message in messages if "role" in message]
    assert {role: roles.count(role) for role in set(roles)} == wanted["roles"]
    assert (found.conversation.created_at, found.conversation.updated_at) == (wanted["first"], wanted["last"])
