"""What a provider call may be given, in three dialects: cases H01 to H12 of the failure collection."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas import pairing
from convostore.schemas.entries import Entry
from convostore.schemas.json_values import same_json
from support.transcripts import call, res

Json = dict[str, Any]


def ask(text: str = "go") -> Json:
    return {"role": "user", "content": text}


def say(text: str = "done") -> Json:
    return {"role": "assistant", "content": text}


def calls(*ids: str) -> Json:
    listed = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": listed}


def tool(id: str, content: str = "1") -> Json:
    return {"role": "tool", "tool_call_id": id, "content": content}


def model(messages: list[Any]) -> list[Any]:
    """The model's view, checked: strictly paired, and the same when it is taken again."""
    view = pairing.for_model(messages).messages
    strict_pairs(view)
    assert same_json(pairing.for_model(view).messages, view)
    return view


def strict_pairs(messages: list[Any]) -> None:
    """The rule a provider enforces: the results of a turn follow it at once, one a call."""
    for place, message in enumerate(messages):
        asked = [call["id"] for call in message.get("tool_calls") or ()]
        answered = []
        for later in messages[place + 1 :]:
            if later["role"] != "tool":
                break
            answered.append(later["tool_call_id"])
        if message["role"] == "assistant":
            assert answered == asked
        elif message["role"] != "tool":
            assert answered == []


def test_H01_a_dangling_call_gets_a_made_up_result_and_the_log_stays() -> None:
    log = [ask(), calls("a", "b"), tool("a"), ask("go on")]
    assert model(log) == [ask(), calls("a", "b"), tool("a"), tool("b", "No result provided"), ask("go on")]
    assert len(log) == 4
    assert [(f.kind, f.index, f.call) for f in pairing.faults(log)] == [("unanswered_call", 1, "b")]


def test_H01_also_when_the_call_is_last() -> None:
    assert model([ask(), calls("a")]) == [ask(), calls("a"), tool("a", "No result provided")]


def test_H02_an_orphan_result_is_left_out_and_reported() -> None:
    log = [ask("x"), tool("ghost"), ask("y")]
    assert model(log) == [ask("x"), ask("y")]
    assert [(f.kind, f.call) for f in pairing.faults(log)] == [("orphan_result", "ghost")]


def test_H05_ids_that_repeat_or_are_empty_pair_by_occurrence() -> None:
    reply = calls("dup", "dup", "")
    right = [ask(), reply, tool("dup", "1"), tool("dup", "2"), tool("", "3")]
    assert pairing.faults(right) == []
    assert [f.call for f in pairing.faults(right[:3])] == ["dup", ""]
    nameless = {"role": "assistant", "tool_calls": [{"name": "no_id"}]}
    assert [f.call for f in pairing.faults([ask(), nameless])] == ["no_id"]


def test_H05_the_model_view_gives_such_calls_ids_of_their_own() -> None:
    view = model(
        [
            ask(),
            calls("dup", "x", "dup", ""),
            tool("dup", "1"),
            tool("", "4"),
            tool("dup", "3"),
            tool("x", "2"),
        ]
    )
    assert [call["id"] for call in view[1]["tool_calls"]] == ["dup", "x", "dup_3", "call_4"]
    assert view[2:] == [tool("dup", "1"), tool("x", "2"), tool("dup_3", "3"), tool("call_4", "4")]
    nameless = {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}
    view = model([ask(), nameless])
    assert view[1]["tool_calls"][0]["id"] == view[2]["tool_call_id"] == "call_1"


def test_H05_in_anda_and_rig_too() -> None:
    view = pairing.for_model(
        [
            anda("assistant", anda_call("d"), anda_call("d"), anda_call(None)),
            anda("tool", anda_output("d"), anda_output("d"), anda_output(None)),
        ]
    ).messages
    assert [[part.get("callId") for part in message["content"]] for message in view] == [
        ["d", "d_2", None]
    ] * 2
    view = pairing.for_model([call("d", "d"), res("d", "d")]).messages
    assert [part["id"]["provider"]["call_id"] for part in view[0]["content"]] == ["d", "d_2"]
    assert [part["call"]["provider"]["call_id"] for part in view[1]["content"]] == ["d", "d_2"]


def test_H06_results_come_in_the_order_of_their_calls() -> None:
    log = [ask(), calls("a", "b", "c"), tool("c"), tool("a"), tool("b")]
    assert model(log) == [ask(), calls("a", "b", "c"), tool("a"), tool("b"), tool("c")]


def test_H06_a_result_before_its_call_is_used_before_one_is_made_up() -> None:
    view = model([ask(), tool("a", "real"), calls("a"), say()])
    assert view == [
        ask(),
        calls("a"),
        tool("a", "real"),
        say(),
    ]


def test_a_result_after_the_next_reply_is_used_before_one_is_made_up() -> None:
    log = [ask(), calls("a"), ask("note"), say(), tool("a", "real")]
    assert model(log) == [ask(), calls("a"), tool("a", "real"), ask("note"), say()]


def test_H08_only_the_missing_result_is_made_up() -> None:
    assert model([ask(), calls("a", "b"), tool("a", "fast")])[2:] == [
        tool("a", "fast"),
        tool("b", "No result provided"),
    ]


def test_H09_a_note_between_goes_behind_the_result() -> None:
    assert model([ask(), calls("a"), ask("note"), tool("a")]) == [ask(), calls("a"), tool("a"), ask("note")]


@pytest.mark.parametrize("last", range(1, 7))
def test_H10_a_window_never_begins_with_a_result(last: int) -> None:
    log = [ask("x"), calls("p", "q"), tool("p"), tool("q"), say("y"), ask("z")]
    window = log[pairing.window_start(log, last) :]
    assert len(window) >= last and window[0]["role"] != "tool"
    assert pairing.faults(window) == [] and model(window) == window


def test_every_position_between_a_call_and_its_result_is_no_cut() -> None:
    log = [ask("x"), calls("p", "q"), tool("p"), tool("q"), say("y"), ask("z")]
    assert pairing.may_cut(log) == [True, True, False, False, True, True, True]


def test_H12_a_full_turn_has_three_calls_and_three_results() -> None:
    log = [ask(), calls("a", "b"), tool("a"), tool("b"), calls("c"), tool("c"), say(), ask()]
    assert pairing.matches(log) == [(1, 2), (1, 3), (4, 5)]
    assert pairing.faults(log) == [] and model(log) == log


def test_H12_ids_that_have_nothing_in_common_are_two_faults() -> None:
    found = pairing.faults([ask(), calls("toolu_A"), tool("toolu_B"), say()])
    assert {(f.kind, f.call) for f in found} == {("orphan_result", "toolu_B"), ("unanswered_call", "toolu_A")}


def test_an_unfinished_reply_is_left_out_and_ends_what_waits() -> None:
    entries = [
        Entry(0, ask()),
        Entry(1, calls("a")),
        Entry(2, calls("b"), unfinished=True),
        Entry(3, tool("b")),
    ]
    assert model(entries) == [ask(), calls("a"), tool("a", "No result provided")]


def test_replies_side_by_side_become_one() -> None:
    assert model([ask(), say("a"), say("b")]) == [ask(), say("a\n\nb")]
    joined = {"role": "assistant", "content": "a", "tool_calls": calls("x")["tool_calls"]}
    assert model([ask(), say("a"), calls("x"), tool("x")]) == [ask(), joined, tool("x")]


def test_messages_that_nothing_happened_to_are_the_same_objects() -> None:
    log = [ask(), calls("a"), tool("a"), say()]
    assert all(given is shown for given, shown in zip(log, pairing.for_model(log).messages, strict=True))


def test_the_former_function_call_pairs_by_name() -> None:
    reply = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    result = {"role": "function", "name": "f", "content": "1"}
    assert pairing.faults([ask(), reply, result]) == []
    made = pairing.for_model([ask(), reply]).messages[2]
    assert made == {"role": "function", "name": "f", "content": "No result provided"}


def anda(role: str, *parts: Json, **members: Any) -> Json:
    return {"role": role, "content": list(parts), **members}


def anda_call(id: str | None, name: str = "f") -> Json:
    part = {"type": "ToolCall", "name": name, "args": {}}
    return part if id is None else {**part, "callId": id}


def anda_output(id: str | None, name: str = "f") -> Json:
    part = {"type": "ToolOutput", "name": name, "output": 1}
    return part if id is None else {**part, "callId": id}


TEXT = {"type": "Text", "text": "go"}


def test_anda_pairs_by_id_and_by_name_where_there_is_none() -> None:
    right = [
        anda("user", TEXT),
        anda("assistant", anda_call("a"), anda_call(None)),
        anda("tool", anda_output(None), anda_output("a")),
    ]
    assert pairing.faults(right) == []
    mixed = [anda("user", TEXT), anda("assistant", anda_call("a")), anda("tool", anda_output(None))]
    assert {f.kind for f in pairing.faults(mixed)} == {"orphan_result", "unanswered_call"}


def test_anda_gets_a_made_up_output_of_its_own_kind() -> None:
    view = pairing.for_model(
        [anda("user", TEXT), anda("assistant", anda_call("a")), anda("user", TEXT, name="bob")]
    )
    made = {
        "type": "ToolOutput",
        "name": "f",
        "output": {"error": "No result provided"},
        "isError": True,
        "callId": "a",
    }
    assert view.messages[2:] == [anda("tool", made), anda("user", TEXT, name="bob")]


def test_anda_outputs_beside_their_calls_are_answers() -> None:
    assert pairing.faults([anda("user", TEXT), anda("assistant", anda_call("a"), anda_output("a"))]) == []


def test_a_failed_turn_of_rig_is_left_out_and_the_questions_around_it_are_one() -> None:
    text = {"type": "text", "text": "a"}
    log = [
        {"role": "user", "content": [text]},
        {"role": "assistant", "content": [], "stop": {"error": "x"}},
        {"role": "user", "content": [text]},
    ]
    assert pairing.for_model(log).messages == [{"role": "user", "content": [text, text]}]


@pytest.mark.parametrize("foreign", [None, "hi", 7, [], {}, {"role": 7}, {"role": "critic", "content": "hm"}])
def test_what_is_no_message_takes_no_part(foreign: Any) -> None:
    log = [ask(), calls("a"), foreign, tool("a")]
    assert pairing.faults(log) == []
    assert foreign in pairing.repair(log).messages
