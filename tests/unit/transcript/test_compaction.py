"""Compaction: cases T155 to T159 of spec/rig.md 10.6, and undoing it."""

from __future__ import annotations

import pytest

from convostore.schemas.compaction import (
    SUMMARY_AUTHOR,
    apply_summary,
    is_summary,
    prepare_compaction,
    summary_state,
    tokens_of,
    undo_summary,
)
from convostore.schemas.errors import MismatchError
from convostore.schemas.transcript import SpliceChange, Transcript
from support.transcripts import a, call, conversation, ids, kinds, res, u


def of_five() -> Transcript:
    return conversation(u("a"), a("b"), u("c"), a("d"), u("e"))


def test_T155_a_summary_replaces_what_was_read_and_what_came_since_stays() -> None:
    t = of_five()
    replaces = t.messages()[:4]
    t.push(a("f"))
    t.take_unsaved()
    assert apply_summary(t, replaces, "s") == 6
    assert t.messages() == [u("s"), u("e"), a("f")] and ids(t) == [6, 4, 5]
    assert t.author(0) == SUMMARY_AUTHOR and is_summary(t[0])
    (record,) = t.unsaved()
    assert isinstance(record.change, SpliceChange) and record.by == SUMMARY_AUTHOR


def test_T156_an_edit_of_what_was_read_makes_it_void() -> None:
    t = of_five()
    replaces = t.messages()[:4]
    t.edit_each(lambda ref: u("C") if ref.index == 2 else None)
    t.take_unsaved()
    assert apply_summary(t, replaces, "s") is None
    assert len(t) == 5 and t.unsaved() == []


def test_T157_a_cut_between_a_call_and_its_result_is_refused() -> None:
    t = conversation(u(), call("x"), res("x"), a())
    assert apply_summary(t, t.messages()[:2], "s") is None
    assert len(t) == 4 and t.unsaved() == []
    assert apply_summary(t, t.messages()[:3], "s") == 4


def test_nothing_to_replace_is_refused() -> None:
    t = of_five()
    assert apply_summary(t, [], "s") is None
    assert apply_summary(t, [*t.messages(), u()], "s") is None


def test_T158_an_empty_conversation_is_not_compacted() -> None:
    assert prepare_compaction(conversation(), 0) is None
    assert prepare_compaction(conversation(), 0, overflowed=True) is None


def test_T159_nothing_added_since_nothing_to_do() -> None:
    t = of_five()
    assert apply_summary(t, t.messages()[:3], "s") is not None
    assert prepare_compaction(t, 0) is None
    over = prepare_compaction(t, 0, overflowed=True)
    assert over is not None and over.state == "s"
    t.push(u("new"))
    assert prepare_compaction(t, 0) is not None


def test_the_newest_messages_within_the_budget_stay() -> None:
    t = of_five()
    keep = tokens_of(t.messages()[3]) + tokens_of(t.messages()[4])
    prepared = prepare_compaction(t, keep)
    assert prepared is not None
    assert prepared.replaces == t.messages()[:3] and prepared.state is None
    assert prepare_compaction(t, 10_000) is None


def test_a_summary_updates_the_one_before() -> None:
    t = of_five()
    apply_summary(t, t.messages()[:3], "first")
    t.extend([u("x"), a("y")])
    prepared = prepare_compaction(t, 0)
    assert prepared is not None and prepared.state == "first" == summary_state(t)
    assert prepared.replaces == t.messages() and prepared.messages == t.messages()[1:]
    apply_summary(t, prepared.replaces, "second")
    assert len(t) == 1 and summary_state(t) == "second"


def test_pairs_and_waiting_calls_are_never_cut() -> None:
    t = conversation(u(), call("x"), res("x"), call("y"))
    prepared = prepare_compaction(t, tokens_of(t.messages()[3]) + tokens_of(t.messages()[2]))
    assert prepared is not None and len(prepared.replaces) == 1
    everything = prepare_compaction(t, 0)
    assert everything is not None and len(everything.replaces) == 3


def test_an_overflow_keeps_the_last_message_at_least() -> None:
    t = of_five()
    prepared = prepare_compaction(t, 10_000, overflowed=True)
    assert prepared is not None and 0 < len(prepared.replaces) < 5


def test_undo_puts_the_messages_back_with_their_ids() -> None:
    t = Transcript([u("a")])
    t.extend([a("b"), u("c")])
    before = t.to_json()["entries"]
    apply_summary(t, t.messages()[:2], "s")
    done = undo_summary(t, t.unsaved())
    assert done is not None and done.restored == [0, 1]
    assert t.to_json()["entries"] == before
    assert kinds(t.unsaved()) == ["push", "push", "splice", "splice"]


def test_undo_takes_the_newest_summary_back_to_the_one_before() -> None:
    t = Transcript([u("a"), a("b"), u("c"), a("d")])
    apply_summary(t, t.messages()[:2], "first")
    apply_summary(t, t.messages()[:2], "second")
    undo_summary(t, t.unsaved())
    assert summary_state(t) == "first" and len(t) == 3
    undo_summary(t, t.unsaved())
    assert summary_state(t) is None and ids(t) == [0, 1, 2, 3]
    assert undo_summary(t, t.unsaved()) is None


def test_undo_with_another_history_is_refused() -> None:
    t = of_five()
    apply_summary(t, t.messages()[:2], "s")
    with pytest.raises(MismatchError):
        undo_summary(t, [])
    assert len(t) == 4
