"""Pairing and folding whatever there is: every list is repaired, every record fits or is refused whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from convostore.schemas import pairing
from convostore.schemas.entries import Entry
from convostore.schemas.errors import InvalidRecordError, MismatchError, SessionFormatError
from convostore.schemas.json_values import same_json
from convostore.schemas.session_logs import log_end, read_log
from convostore.schemas.transcript.codec import record_from_json
from convostore.schemas.translation import said_to_model, translated
from support.transcripts import a, call, conversation, res, system, u

IDS = st.lists(st.sampled_from("xyz"), min_size=1, max_size=3)
RIG = st.one_of(
    st.sampled_from(
        [u("a"), u("b"), a("c"), a("d", stop={"error": "e"}), system(), {"role": "user", "content": []}]
    ),
    IDS.map(lambda ids: call(*ids)),
    IDS.map(lambda ids: call(*ids, stop={"aborted": "user"})),
    IDS.map(lambda ids: res(*ids)),
    IDS.map(lambda ids: res(*ids, text="t")),
)


def openai_calls(ids: list[str]) -> Any:
    listed = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": listed}


OPENAI = st.one_of(
    st.sampled_from(
        [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "system", "content": "c"},
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "1"},
        ]
    ),
    st.lists(st.sampled_from(["x", "y", ""]), min_size=1, max_size=3).map(openai_calls),
    st.sampled_from(["x", "y", ""]).map(lambda id: {"role": "tool", "tool_call_id": id, "content": "1"}),
)


def anda_part(kind: str, id: str | None) -> Any:
    members = {"name": "f", "args": {}} if kind == "ToolCall" else {"name": "f", "output": 1}
    return {"type": kind, **members, **({} if id is None else {"callId": id})}


ANDA_IDS = st.lists(st.sampled_from(["x", "y", "", None]), min_size=1, max_size=3)
ANDA = st.one_of(
    st.sampled_from(
        [
            {"role": "user", "content": [{"type": "Text", "text": "a"}]},
            {"role": "assistant", "content": [{"type": "Text", "text": "b"}]},
            {"role": "system", "content": "c"},
            {"role": "assistant", "content": [anda_part("ToolCall", "x"), anda_part("ToolOutput", "x")]},
        ]
    ),
    ANDA_IDS.map(lambda ids: {"role": "assistant", "content": [anda_part("ToolCall", id) for id in ids]}),
    ANDA_IDS.map(lambda ids: {"role": "tool", "content": [anda_part("ToolOutput", id) for id in ids]}),
    ANDA_IDS.map(
        lambda ids: {"role": "user", "content": [anda_part("ToolOutput", id) for id in ids] + ["t"]}
    ),
)
FOREIGN = st.sampled_from([None, "hi", 7, {}, {"role": "critic"}])
LISTS = st.one_of(
    *(st.lists(kind, max_size=8) for kind in (RIG, OPENAI, ANDA, st.one_of(RIG, OPENAI, ANDA, FOREIGN)))
)


@settings(max_examples=400, deadline=None)
@given(LISTS)
@example([call("x"), {"role": "tool", "tool_call_id": "y", "content": "1"}, u("a")])
def test_every_list_is_repaired_once_and_for_all(messages: list[Any]) -> None:
    before = json.dumps(messages)
    repaired = pairing.repair(messages).messages
    pairing.validate(repaired)
    assert same_json(pairing.repair(repaired).messages, repaired)
    assert json.dumps(messages) == before


@settings(max_examples=400, deadline=None)
@given(LISTS, st.sets(st.integers(0, 7)))
def test_every_model_view_is_right_and_stays_as_it_is(messages: list[Any], unfinished: set[int]) -> None:
    entries = [Entry(n, message, unfinished=n in unfinished) for n, message in enumerate(messages)]
    view = pairing.for_model(entries).messages
    pairing.validate(view)
    assert same_json(pairing.for_model(view).messages, view)
    assert all(pairing.may_cut(view)[place] for place, message in enumerate(view) if has_calls(message))


def has_calls(message: Any) -> bool:
    return isinstance(message, dict) and bool(message.get("tool_calls"))


@settings(max_examples=200, deadline=None)
@given(LISTS, st.sampled_from(["anda", "rig", "openai"]))
def test_a_model_is_told_pairs_in_the_dialect_asked_for(messages: list[Any], dialect: str) -> None:
    shown = said_to_model(messages, dialect)
    pairing.validate(shown)
    assert same_json(translated(shown, dialect), shown)


@settings(max_examples=200, deadline=None)
@given(LISTS)
def test_a_window_never_splits_a_pair(messages: list[Any]) -> None:
    free = pairing.may_cut(messages)
    crossing = pairing.matches(messages)
    for place, cut in enumerate(free):
        assert cut == (not any(call < place <= result for call, result in crossing))
    assert all(free[pairing.window_start(messages, last)] for last in range(len(messages) + 2))


SCRAPS = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-2, 6), st.sampled_from(["push", "splice", "kept", "k", "rig"])
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "entries",
                    "from",
                    "to",
                    "removed",
                    "with",
                    "id",
                    "message",
                    "made",
                    "author",
                    "kind",
                    "aside",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
ENTRIES = st.lists(st.builds(lambda id: {"id": id, "message": u()}, st.integers(-1, 6)), max_size=2)
CHANGES = st.one_of(
    SCRAPS,
    st.builds(lambda entries: {"type": "push", "entries": entries}, ENTRIES),
    st.builds(
        lambda start, stop, removed, entries: {
            "type": "splice", "from": start, "to": stop, "removed": removed, "with": entries,
        },
        st.integers(-1, 4), st.integers(-1, 4), st.lists(st.integers(0, 4), max_size=3), ENTRIES,
    ),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(CHANGES)
def test_a_record_is_applied_or_refused_whole(value: Any) -> None:
    t = conversation(u("a"), a("b"), u("c"))
    before = t.to_json()
    try:
        t.apply(record_from_json(value))
    except (InvalidRecordError, MismatchError):
        assert same_json(t.to_json(), before) and t.revision() == 3
    else:
        assert t.revision() == 4 and len({ref.id for ref in t}) == len(t)
        assert t.push(u()) > max([2, *(ref.id for ref in t[:-1])])


@settings(max_examples=200, deadline=None)
@given(st.lists(CHANGES, max_size=3), st.binary(max_size=6))
def test_a_log_is_read_or_refused_with_its_line(changes: list[Any], tail: bytes) -> None:
    lines = [
        {"seq": 0, "n": 0, "t": 5, "type": "header", "format": "rig-session/4", "log": "a1", "lineage": 7}
    ]
    lines += [
        {"seq": n, "n": n, "t": 5, **change}
        for n, change in enumerate(changes, 1)
        if isinstance(change, dict)
    ]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines) + tail
    for read in (read_log, log_end):
        try:
            read(data, "a1")
        except SessionFormatError as refused:
            assert refused.file == "a1" and isinstance(refused.position, int) and refused.position >= 1


@pytest.mark.parametrize("dialect", ["anda", "rig", "openai"])
def test_the_views_of_nothing_are_nothing(dialect: str) -> None:
    assert said_to_model([], dialect) == [] and pairing.may_cut([]) == [True]
