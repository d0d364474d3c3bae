"""Halts, who owes what, STOPPED, spans: cases T31 to T62 of spec/rig.md 10.2."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from convostore.schemas.authors import Author
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.transcript import EntryRef, Halt, NewEntry, Transcript
from support.transcripts import P, a, call, conversation, ids, kinds, res, system, u


def test_T031_a_request_awaits_the_model() -> None:
    assert conversation(u()).awaits_model()


def test_T032_an_answered_one_does_not() -> None:
    assert not conversation(u(), a()).awaits_model()


def test_T033_a_failed_reply_is_never_read() -> None:
    assert conversation(u(), a(stop={"error": "x"})).awaits_model()


def test_T034_all_failed_replies_at_the_end_are_skipped() -> None:
    assert conversation(u(), a(stop={"aborted": "x"}), a(stop={"error": "x"})).awaits_model()


def test_T035_a_reply_cut_by_length_is_no_failure() -> None:
    assert not conversation(u(), a(stop="length")).awaits_model()


def test_nobody_owes_an_empty_conversation_or_an_instruction_an_answer() -> None:
    assert not conversation().awaits_model()
    assert not conversation(u(), system()).awaits_model()


def test_an_unfinished_reply_is_not_read_either() -> None:
    t = conversation(u())
    t.push(NewEntry(a("hel"), unfinished=True))
    assert t.awaits_model()


def test_T036_halt_is_recorded_once_the_model_owes() -> None:
    t = conversation(u())
    assert t.halt(Halt.KEPT)
    assert t.halted() is Halt.KEPT and not t.awaits_model()
    assert kinds(t.unsaved()) == ["halt"] and t.unsaved()[0].by is None


def test_T037_nothing_owed_no_halt() -> None:
    t = conversation(u(), a())
    assert not t.halt(Halt.STOPPED)
    assert t.unsaved() == [] and t.halted() is None


def test_T038_a_second_halt_is_none() -> None:
    t = conversation(u())
    t.halt("kept")
    assert not t.halt("stopped")
    assert t.halted() == "kept"


def test_a_halt_of_no_kind_is_refused() -> None:
    with pytest.raises(InvalidRecordError):
        conversation(u()).halt("paused")


def test_T039_a_push_clears_a_kept_halt() -> None:
    t = conversation(u())
    t.halt(Halt.KEPT)
    t.push(u())
    assert t.halted() is None and ids(t) == [0, 1]


def stopped() -> Transcript:
    t = conversation(u())
    t.halt(Halt.STOPPED)
    t.take_unsaved()
    return t


def test_T040_a_push_after_a_stop_goes_behind_STOPPED() -> None:
    t = stopped()
    assert t.push(u("other")) == 2
    assert ids(t) == [0, 1, 2]
    assert t.author(1) == Author.rig() and t.author(2) is None
    (record,) = t.unsaved()
    assert kinds([record]) == ["push"] and record.by is None


def test_T041_the_STOPPED_entry_is_no_request() -> None:
    t = stopped()
    t.push(u("other"))
    marker = t[1]
    assert marker.is_stop_marker() and not marker.is_request() and not marker.is_users_own()


def test_T042_then_the_model_owes_again() -> None:
    t = stopped()
    t.push(u("other"))
    assert t.awaits_model() and t.halted() is None


def test_T043_extend_puts_STOPPED_once() -> None:
    t = stopped()
    assert t.extend([u("a"), u("b")]) == [2, 3]
    assert [ref.is_stop_marker() for ref in t] == [False, True, False, False]
    assert kinds(t.unsaved()) == ["push"]


def test_the_STOPPED_entry_speaks_the_dialect_of_the_push() -> None:
    t = Transcript([{"role": "user", "content": "hi"}])
    t.halt(Halt.STOPPED)
    t.push({"role": "user", "content": [{"type": "Text", "text": "other"}]})
    assert t[1].is_stop_marker()
    assert t[1].message["content"][0]["type"] == "Text"


def kept() -> Transcript:
    t = conversation(u(), a(), u())
    t.halt(Halt.KEPT)
    return t


def test_T044_a_splice_before_the_end_keeps_the_halt() -> None:
    t = kept()
    t.splice(slice(0, 1), [u("summary")], by=P)
    assert t.halted() is Halt.KEPT


def test_T045_a_splice_to_the_end_clears_it() -> None:
    t = kept()
    t.splice(slice(2, 3), [u("changed")], by=P)
    assert t.halted() is None


def test_T046_a_splice_of_all_clears_it() -> None:
    t = kept()
    t.splice(slice(None), [u("summary")], by=P)
    assert t.halted() is None


def test_an_insertion_at_the_end_clears_it() -> None:
    t = kept()
    t.splice(slice(3, 3), [u("more")], by=P)
    assert t.halted() is None


def test_T047_resume_clears_a_halt() -> None:
    t = stopped()
    assert t.resume()
    assert t.halted() is None and t.awaits_model()
    assert kinds(t.unsaved()) == ["halt"]


def test_T048_resume_says_whether_the_user_is_last() -> None:
    t = conversation(u(), a())
    assert not t.resume()
    assert t.unsaved() == []


EDITS: dict[str, Callable[[Transcript], object]] = {
    "T36": lambda t: t.halt(Halt.KEPT),
    "T39": lambda t: (t.halt(Halt.KEPT), t.push(u())),
    "T40": lambda t: (t.halt(Halt.STOPPED), t.push(u())),
    "T43": lambda t: (t.halt(Halt.STOPPED), t.extend([u(), u()])),
    "T44": lambda t: (t.extend([a(), u()]), t.halt(), t.splice(slice(0, 1), [u("s")], by=P)),
    "T45": lambda t: (t.extend([a(), u()]), t.halt(), t.splice(slice(2, 3), [u("s")], by=P)),
    "T46": lambda t: (t.extend([a(), u()]), t.halt(), t.splice(slice(None), [u("s")], by=P)),
    "T47": lambda t: (t.halt(Halt.STOPPED), t.resume()),
}


@pytest.mark.parametrize("case", EDITS)
def test_T049_folding_the_outbox_gives_the_halt_too(case: str) -> None:
    t, folded = conversation(u()), conversation(u())
    EDITS[case](t)
    for record in t.take_unsaved():
        folded.apply(record)
    assert folded == t and folded.halted() == t.halted()


def entry(author: Author | None, message: dict[str, object]) -> EntryRef:
    t = Transcript()
    t.push(NewEntry(message, author))
    return t[0]


def test_T050_text_typed_by_the_user_is_the_users_own() -> None:
    assert entry(Author.user(), u()).is_users_own()
    assert entry(None, u()).is_users_own()


def test_T051_a_titled_one_is_a_request_only() -> None:
    ref = entry(Author.user().titled("Fix it"), u())
    assert (ref.is_users_own(), ref.is_request()) == (False, True)


def test_T052_an_agents_is_a_request_only() -> None:
    ref = entry(Author.agent("a1"), u())
    assert (ref.is_users_own(), ref.is_request()) == (False, True)


def test_T053_results_alone_are_neither() -> None:
    ref = entry(None, res("x"))
    assert (ref.is_users_own(), ref.is_request()) == (False, False)


def test_an_empty_user_message_and_a_reply_are_neither() -> None:
    for message in ({"role": "user", "content": []}, a()):
        ref = entry(None, message)
        assert (ref.is_users_own(), ref.is_request(), ref.is_stop_marker()) == (False, False, False)


def test_T054_results_with_a_text_are_a_request() -> None:
    assert entry(None, res("x", text="and now?")).is_request()


def test_T055_turn_start_is_the_first_of_the_users_last_messages() -> None:
    assert conversation(u(), a(), u(), u()).turn_start() == 2


def test_T056_without_any_it_is_the_next_id() -> None:
    assert conversation(u(), a()).turn_start() == 2


def test_turn_start_does_not_look_through_a_failed_reply() -> None:
    assert conversation(u(), a(stop={"error": "x"})).turn_start() == 2


def test_T057_asked_is_the_users_messages_from_there() -> None:
    assert [ref.id for ref in conversation(u(), a(), u(), u()).asked(2)] == [2, 3]


def test_T058_the_start_of_what_was_summarised_is_0() -> None:
    t = conversation(u(), a())
    t.splice(slice(None), [u("summary")], by=P)
    t.push(a())
    assert t.start_of(0) == 0


def test_T059_the_start_of_what_is_not_made_yet_is_the_end() -> None:
    assert conversation(u()).start_of(7) == 1


def stopped_turn() -> Transcript:
    t = conversation(u(), call("x"), res("x"))
    t.halt(Halt.STOPPED)
    t.push(u("other"))
    return t


def test_T060_after_a_stopped_turn_asked_holds_results_STOPPED_and_what_came() -> None:
    t = stopped_turn()
    assert [ref.id for ref in t.asked(t.turn_start())] == [2, 3, 4]


def test_T061_the_request_is_what_came() -> None:
    t = stopped_turn()
    request = t.request(t.turn_start())
    assert request is not None and request.id == 4


def test_T062_results_request_nothing() -> None:
    t = conversation(call("x"), res("x"))
    assert t.request(1) is None
