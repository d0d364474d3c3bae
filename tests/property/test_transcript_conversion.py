"""Records to transcripts and back, and transcripts to records and back, for whatever they hold."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convostore.schemas.authors import Author
from convostore.schemas.conversations import Conversation
from convostore.schemas.conversion import RECORD, TRANSCRIPT, to_conversation, to_transcript
from convostore.schemas.errors import ConvostoreError
from convostore.schemas.json_values import same_json
from convostore.schemas.transcript import Aside, Halt, NewEntry, Transcript, TurnEnd
from support.shared import shared
from support.transcripts import a, call, res, system, u

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(["", "a", "\ud800", "b:c", "$system"]),
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
NAMES = st.sampled_from(["f", "", "g"])
IDS = st.sampled_from([None, "c1", "", "c2"])
PARTS = st.one_of(
    st.sampled_from(
        ["bare", {"type": "Text", "text": "hi"}, {"type": "Text"}, {"type": "Reasoning", "text": "hm"}]
    ),
    st.builds(lambda n, v, id: _part("ToolCall", id, name=n, args=v), NAMES, JSON, IDS),
    st.builds(lambda n, v, id: _part("ToolOutput", id, name=n, output=v), NAMES, JSON, IDS),
    st.builds(lambda n, v, id: _part("ToolOutput", id, name=n, output=v, isError=True), NAMES, JSON, IDS),
    st.sampled_from(
        [
            {"type": "InlineData", "mimeType": "image/png", "data": "b64:-_8="},
            {"type": "InlineData", "mimeType": "image/x", "data": "AA=="},
            {"type": "FileData", "fileUri": "https://f.example/a.pdf", "mimeType": "application/pdf"},
            {"type": "FileData", "fileUri": "x"},
            {"type": "Action", "name": "pay", "payload": {"id": 1}},
            {"type": "VendorThing", "x": [1, 2]},
            {"type": "text", "text": "lower"},
        ]
    ),
    JSON,
)


def _part(kind: str, id: str | None, **members: Any) -> dict[str, Any]:
    return {"type": kind, **members, **({} if id is None else {"callId": id})}


ANDA = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", "developer", "critic"])},
    optional={
        "content": st.one_of(st.lists(PARTS, max_size=3), st.sampled_from(["hi", "", None, 7])),
        "name": st.sampled_from(["$system", "bob", 7]),
        "user": st.just("2vxsx-fae"),
        "timestamp": st.one_of(st.integers(0, 2**64), st.just(-1), st.just(1.0)),
        "more": JSON,
    },
)
OPENAI = st.sampled_from(
    [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": "{"}}],
        },
        {"role": "tool", "tool_call_id": "x", "content": "1"},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}, "content": None},
    ]
)
RIG = st.sampled_from(
    [
        u(),
        a(),
        a(stop={"error": "x"}),
        call("x"),
        res("x"),
        res("x", text="t"),
        system(),
        {"role": "user", "content": []},
    ]
)
MESSAGES = st.one_of(ANDA, OPENAI, RIG, JSON)
STATUSES = st.sampled_from(["submitted", "working", "idle", "completed", "cancelled", "failed"])
U64 = st.integers(0, 2**64 - 1)
RECORDS = st.builds(
    lambda members, messages: Conversation.checked({"user": "alice", **members, "messages": messages}),
    st.fixed_dictionaries(
        {},
        optional={
            "_id": U64,
            "thread": st.just("t"),
            "status": STATUSES,
            "failed_reason": st.sampled_from(["", "why"]),
            "usage": st.builds(lambda n, m: {"input_tokens": n, "output_tokens": m, "requests": 1}, U64, U64),
            "steering_messages": st.lists(st.sampled_from(["s", ""]), max_size=2),
            "follow_up_messages": st.lists(st.just("f"), max_size=2),
            "child": U64,
            "ancestors": st.lists(U64, max_size=2),
            "label": st.just("l"),
            "extra": st.one_of(JSON, st.builds(lambda v: {TRANSCRIPT: v}, JSON)),
            "created_at": U64,
            "updated_at": U64,
            "resources": st.just([{"name": "a.png", "blob": "b64:AAE=", "hash": "b64:" + "A" * 43 + "="}]),
        },
    ),
    st.lists(MESSAGES, max_size=4),
)


@settings(max_examples=300, deadline=None)
@given(RECORDS)
def test_a_record_comes_back_equal(record: Conversation) -> None:
    before = record.model_copy(deep=True)
    t = to_transcript(record)
    assert to_conversation(t) == record == before
    again = Transcript.from_json(json.loads(json.dumps(t.to_json())))
    assert to_conversation(again) == record


EDITS = st.lists(
    st.one_of(
        st.tuples(
            st.just("push"),
            RIG,
            st.sampled_from([None, Author.plugin("p"), Author.plugin("$x"), Author.rig()]),
        ),
        st.tuples(st.just("push"), MESSAGES.filter(lambda m: isinstance(m, dict)), st.none()),
        st.tuples(st.just("halt"), st.sampled_from(Halt)),
        st.tuples(st.just("resume")),
        st.tuples(st.just("splice"), st.integers(0, 3), st.integers(0, 3), RIG),
        st.tuples(st.just("aside"), JSON, st.sampled_from([None, 0, 5]), st.booleans()),
        st.tuples(
            st.just("turn"), st.sampled_from([TurnEnd.answered(), TurnEnd.failed("x"), TurnEnd.stopped()])
        ),
        st.tuples(st.just("remove"), st.integers(0, 3)),
    ),
    max_size=8,
)


def edited(t: Transcript, edits: list[Any]) -> Transcript:
    for what, *with_ in edits:
        if what == "push":
            t.push(NewEntry(with_[0], with_[1]))
        elif what == "halt":
            t.halt(with_[0])
        elif what == "resume":
            t.resume()
        elif what == "splice":
            t.splice(slice(with_[0], with_[1]), [with_[2]])
        elif what == "aside":
            t.add_aside(Aside("k", Author.rig(), with_[1], with_[0], with_[2]))
        elif what == "remove":
            t.remove_aside(with_[0])
        elif not t.end_turn(with_[0]):
            t.open_turn()
    return t


@settings(max_examples=300, deadline=None)
@given(EDITS)
def test_a_transcript_comes_back_equal(edits: list[Any]) -> None:
    t = edited(Transcript(clock=lambda: 1_790_848_800_000), edits)
    back = to_transcript(to_conversation(t, user="alice"))
    assert back == t
    assert [ref.key for ref in back] == [ref.key for ref in t]
    assert back.halted() == t.halted() and back.turns() == t.turns()
    assert back.push(u()) == t.push(u())


@settings(max_examples=200, deadline=None)
@given(RECORDS, EDITS)
def test_an_edited_transcript_of_a_record_comes_back_equal(record: Conversation, edits: list[Any]) -> None:
    t = edited(to_transcript(record, clock=lambda: 1_790_848_800_000), edits)
    made = to_conversation(t, user="alice")
    back = to_transcript(made)
    assert back == t and [ref.key for ref in back] == [ref.key for ref in t]
    assert to_conversation(back) == made


@pytest.mark.shared
def test_the_200_runs_come_back_equal_with_every_call_and_result() -> None:
    calls = results = 0
    for line in shared("data/airline_agent_runs.openai.jsonl").read_text().splitlines():
        messages = json.loads(line)["messages"]
        t = to_transcript(Conversation(user="alice", messages=messages, status="completed"))
        t.validate()
        parts = [
            part for message in t.messages() if message["role"] != "system" for part in message["content"]
        ]
        calls += sum(part["type"] == "toolcall" for part in parts)
        results += sum(part["type"] == "toolresult" for part in parts)
        assert same_json(to_conversation(t).messages, messages)
    assert (calls, results) == (1164, 1164)


LARGE = ("batch_150k", "batch_8x9MB", "session_120MB")
"""Many times what others hold once; seconds each."""


@pytest.mark.shared
def test_every_hard_input_comes_back_equal() -> None:
    sys.path.insert(0, str(shared("cases")))
    try:
        from load_hard_inputs import load  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    tried = 0
    for row, value in load(shared("cases/hard_inputs.jsonl")):
        if "op" in row or "import" in row or "raw_bson_hex" in row or row["kind"] in LARGE:
            continue
        try:
            record = Conversation.checked({"user": "alice"})
            record.append_messages([value])
        except ConvostoreError:
            continue
        assert same_json(to_conversation(to_transcript(record)).messages, record.messages), row["id"]
        tried += 1
    assert tried >= 50


def test_what_a_record_says_shows_in_its_transcript() -> None:
    record = Conversation(
        user="alice",
        status="failed",
        failed_reason="quota",
        usage={"input_tokens": 7, "output_tokens": 1, "requests": 1},
        messages=[
            {"role": "user", "name": "$system", "content": [{"type": "Text", "text": "ctx"}], "timestamp": 5},
            {"role": "user", "content": [{"type": "Text", "text": "hi"}], "timestamp": 6},
            {
                "role": "assistant",
                "content": [{"type": "ToolCall", "name": "f", "args": {"a": 1}, "callId": "c"}],
            },
            {"role": "tool", "content": [{"type": "ToolOutput", "name": "f", "output": "1", "callId": "c"}]},
        ],
    )
    t = to_transcript(record)
    assert [(ref.made, ref.author) for ref in t][:2] == [(5, Author.plugin("$system")), (6, None)]
    assert [ref.is_users_own() for ref in t] == [False, True, False, False]
    assert t.messages()[1] == u("hi")
    function = {"name": "f", "arguments": {"a": 1}}
    wanted = {"type": "toolcall", "id": {"provider": {"call_id": "c"}}, "function": function}
    assert t.messages()[2] == {"role": "assistant", "content": [wanted]}
    assert t.messages()[3]["role"] == "user" and t.halted() is Halt.KEPT
    ((_, turn),) = t.turns()
    assert turn.end == TurnEnd.failed("quota") and turn.more["usage"]["input_tokens"] == 7
    assert t.asides()[0][1].kind == RECORD


def test_the_record_follows_an_edited_transcript() -> None:
    record = Conversation(
        user="alice",
        status="completed",
        messages=[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "a"}],
    )
    t = to_transcript(record, clock=lambda: 9)
    t.push(u("and?"))
    made = to_conversation(t)
    assert made.status == "submitted" and made.messages[:2] == record.messages
    assert made.messages[2] == {"role": "user", "content": [{"type": "Text", "text": "and?"}], "timestamp": 9}
    t.halt(Halt.STOPPED)
    assert to_conversation(t).status == "cancelled"
    t.edit_each(lambda ref: u("edited") if ref.index == 0 else None)
    assert to_conversation(t).messages[0] == {"role": "user", "content": [{"type": "Text", "text": "edited"}]}


def test_a_record_that_grew_keeps_the_ids_it_had() -> None:
    t = Transcript([u("a"), u("b")], clock=lambda: 9)
    t.splice(0, [u("summary")])
    record = to_conversation(t, user="alice")
    record.append_messages([{"role": "assistant", "content": "c"}])
    record.label = "kept"
    assert [ref.id for ref in to_transcript(record)] == [2, 1, 3]


def test_a_transcript_of_nobody_needs_a_user() -> None:
    with pytest.raises(ConvostoreError):
        to_conversation(Transcript([u()]))
