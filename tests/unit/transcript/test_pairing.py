"""Pairing calls with results: cases T104 to T125 of spec/rig.md 10.5."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas import pairing
from convostore.schemas.authors import Author
from convostore.schemas.errors import PairingError
from convostore.schemas.json_values import same_json
from convostore.schemas.transcript import Aside
from support.transcripts import (
    P,
    a,
    call,
    call_part,
    conversation,
    ids,
    kinds,
    made_up,
    res,
    result_part,
    system,
    u,
)

SAME = {"api": "a", "provider": "p", "model": "m"}


def fault(messages: list[Any]) -> tuple[str, int | None, tuple[str, ...]]:
    with pytest.raises(PairingError) as refused:
        pairing.validate(messages)
    return refused.value.kind, refused.value.index, refused.value.calls


def test_T104_a_question_and_an_answer_are_right() -> None:
    pairing.validate([u(), a()])
    pairing.validate([])


def test_T105_two_replies_in_a_row_are_a_fault() -> None:
    assert fault([u(), a(), a()]) == ("consecutive_assistant", 2, ())
    assert fault([u(), a(origin=SAME), a(origin=SAME)]) == ("consecutive_assistant", 2, ())


def test_replies_that_cannot_be_merged_may_stand_side_by_side() -> None:
    pairing.validate([u(), a(origin=SAME), a(origin={**SAME, "model": "other"})])
    pairing.validate([u(), a(stop={"error": "x"}), a(stop="stop")])


def test_T106_a_call_without_result_is_a_fault() -> None:
    assert fault([u(), call("x")]) == ("unanswered_call", 1, ("x",))


def test_T107_a_result_without_call_is_a_fault() -> None:
    assert fault([u(), res("x")]) == ("orphan_result", 1, ("x",))


def test_T108_each_occurrence_of_an_id_needs_a_result() -> None:
    assert fault([u(), call("x", "x"), res("x")]) == ("unanswered_call", 1, ("x",))
    pairing.validate([u(), call("x", "x"), res("x"), res("x")])


def test_T109_results_may_be_split_and_in_any_order() -> None:
    pairing.validate([u(), call("x", "y"), res("y"), res("x")])


def test_T110_a_system_message_leaves_calls_waiting() -> None:
    pairing.validate([u(), call("x"), system(), res("x")])


def test_T111_a_failed_turn_owes_nothing() -> None:
    pairing.validate([u(), call("x", stop={"aborted": "user"}), u()])


def test_T112_a_system_message_lets_a_second_reply_follow() -> None:
    pairing.validate([u(), a(), system(), a()])


def test_T113_a_made_up_result_comes_first_in_the_next_user_message() -> None:
    repaired = pairing.repair([u(), call("x"), u("next")])
    merged = {"role": "user", "content": [made_up("x"), {"type": "text", "text": "next"}]}
    assert repaired.messages == [u(), call("x"), merged]
    assert [fault.kind for fault in repaired.faults] == ["unanswered_call"]


def test_T114_a_made_up_result_is_appended() -> None:
    repaired = pairing.repair([u(), call("x")])
    assert repaired.messages == [u(), call("x"), {"role": "user", "content": [made_up("x")]}]


def test_T115_an_orphan_result_is_dropped_and_named() -> None:
    repaired = pairing.repair([u(), res("z"), a()])
    assert repaired.messages == [u(), a()]
    assert [(f.kind, f.index, f.call) for f in repaired.faults] == [("orphan_result", 1, "z")]


def test_T116_two_replies_become_one_with_the_later_stop() -> None:
    repaired = pairing.repair([u(), a("a"), a("b", stop="length")])
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert repaired.messages == [u(), {"role": "assistant", "content": parts, "stop": "length"}]


def test_T117_what_is_no_result_goes_behind_the_held_instruction() -> None:
    repaired = pairing.repair([u(), call("x"), system(), res("x", text="and?")])
    assert repaired.messages == [u(), call("x"), res("x"), system(), u("and?")]


BROKEN: list[list[Any]] = [
    [u(), call("x", "y"), u("next"), a(), a("b"), res("q"), system(), call("z")],
    [res("x"), a(), call("x"), call("y"), res("y", text="t"), u(), u()],
    [call("x"), system(), system(), u("t"), res("x"), a(stop={"error": "e"}), a(), a("c", stop="stop")],
    [u(), call("x", stop={"error": "e"}), res("x"), call("x"), res("x", "x")],
    [{"role": "user", "content": []}, call("x"), {"role": "user", "content": []}, res("x")],
    [system(), a(origin=SAME), a(origin={**SAME, "model": "other"}), a()],
]


@pytest.mark.parametrize("messages", BROKEN)
def test_T118_a_repaired_list_is_right_and_stays_as_it_is(messages: list[Any]) -> None:
    repaired = pairing.repair(messages).messages
    pairing.validate(repaired)
    again = pairing.repair(repaired)
    assert same_json(again.messages, repaired) and again.faults == []


def test_T119_user_entries_stay_apart() -> None:
    t = conversation(u("a"), u("b"))
    assert not t.normalize(by=P)
    assert ids(t) == [0, 1] and t.unsaved() == []


def test_T120_a_merged_reply_keeps_the_first_identity_and_its_aside_follows() -> None:
    t = conversation(u(), a("a"), a("b", stop="length"))
    t.add_aside(Aside("note", Author.plugin("btw"), after=2))
    made, _ = t[1].made, t.take_unsaved()
    report = t.normalize(by=P)
    assert ids(t) == [0, 1] and t[1].made == made
    assert t[1].message["stop"] == "length" and len(t[1].message["content"]) == 2
    assert t.asides()[0][1].after == 1
    assert kinds(t.unsaved()) == ["splice", "aside"]
    assert [record.by for record in t.unsaved()] == [P, P]
    assert report.moved == {2: 1}


def test_T121_a_dropped_entry_leaves_its_asides_to_the_one_before() -> None:
    t = conversation(u(), res("z"), a())
    t.add_aside(Aside("note", P, after=1))
    t.normalize(by=P)
    assert ids(t) == [0, 2]
    assert t.asides()[0][1].after == 0


def test_asides_of_a_dropped_first_entry_come_first() -> None:
    t = conversation(res("z"), a())
    t.add_aside(Aside("note", P, after=0))
    t.normalize(by=P)
    assert ids(t) == [1] and t.asides()[0][1].after is None


def test_T122_a_call_at_the_end_gets_an_entry_by_rig() -> None:
    t = conversation(u(), call("x"))
    t.normalize(by=P)
    assert ids(t) == [0, 1, 2]
    assert t.author(2) == Author.rig()
    assert t[2].message == {"role": "user", "content": [made_up("x")]}
    assert not t[2].is_stop_marker()


def test_T123_a_made_up_result_goes_into_the_next_user_entry() -> None:
    t = conversation(u(), call("x"), u("next"))
    t.normalize(by=P)
    assert ids(t) == [0, 1, 2]
    assert t[2].message == {"role": "user", "content": [made_up("x"), {"type": "text", "text": "next"}]}


def test_an_instruction_between_calls_and_results_is_placed_behind_them() -> None:
    t = conversation(u(), call("x", "y"), res("x"), system(), res("y", text="and?"))
    t.normalize(by=P)
    assert ids(t) == [0, 1, 2, 4, 3]
    t.validate()
    assert not t.normalize(by=P)


@pytest.mark.parametrize("messages", BROKEN)
def test_a_normalized_conversation_is_right_and_stays_as_it_is(messages: list[Any]) -> None:
    t, before = conversation(*messages), conversation(*messages)
    t.normalize(by=P)
    t.validate()
    for record in t.take_unsaved():
        before.apply(record)
    assert before == t
    assert not t.normalize(by=P) and t.unsaved() == []


def test_T124_the_calls_without_result_are_pending() -> None:
    t = conversation(u(), call("x", "y"), res("x"))
    assert [call.id for call in t.pending_calls()] == ["y"]
    assert conversation(u(), call("x"), a()).pending_calls() == []


def test_T125_results_answer_the_pending_calls_exactly() -> None:
    pending = pairing.pending_calls([u(), call("x", "y")])
    pairing.answers(pending, [res("y"), res("x")])
    pairing.answers(pending, [res("y", "x")])
    for results, kind, calls in [
        ([res("x")], "unanswered_call", ("y",)),
        ([], "unanswered_call", ("x", "y")),
        ([res("z")], "unknown_call", ("z",)),
        ([res("x", "x")], "unknown_call", ("x",)),
        ([res("x", "y", text="t")], "not_a_result", ()),
        ([u()], "not_a_result", ()),
    ]:
        with pytest.raises(PairingError) as refused:
            pairing.answers(pending, results)
        assert (refused.value.kind, refused.value.calls) == (kind, calls)


def test_closing_the_pending_calls_makes_a_list_that_is_right() -> None:
    messages = [u(), call("x", "y")]
    closing = pairing.close_pending(pairing.pending_calls(messages))
    assert closing == [{"role": "user", "content": [made_up("x"), made_up("y")]}]
    pairing.validate([*messages, *closing])
    (told,) = pairing.close_pending(pairing.pending_calls(messages), text="stopped")
    assert told["content"][0]["content"] == [{"type": "text", "text": "stopped"}]


def test_stored_results_before_the_first_reply_are_kept_once() -> None:
    messages = [res("x", "x"), a(), res("y")]
    kept = pairing.pair_messages(messages, stored=True)
    assert kept.messages == [res("x"), a()]
    assert pairing.pair_messages(messages).messages == [a()]


def test_without_answers_nothing_is_made_up() -> None:
    assert pairing.pair_messages([u(), call("x")], answers=False).messages == [u(), call("x")]


def test_ids_are_equal_only_when_the_whole_value_is() -> None:
    local = {**call_part("x"), "id": {"local": "x"}}
    assert fault([u(), {"role": "assistant", "content": [local]}, res("x")])[0] == "orphan_result"
    two = {**call_part("x"), "id": {"provider": {"call_id": "x", "item_id": "i"}}}
    assert fault([u(), {"role": "assistant", "content": [two]}, res("x")])[0] == "orphan_result"
    answer = {**result_part("x"), "call": two["id"]}
    pairing.validate([u(), {"role": "assistant", "content": [two]}, {"role": "user", "content": [answer]}])
