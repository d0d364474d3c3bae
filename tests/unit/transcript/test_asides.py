"""Asides and turn records: cases T63 to T84 of spec/rig.md 10.3."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas.authors import Author
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.transcript import Aside, AsideChange, NewEntry, Transcript, TurnEnd, TurnRecord
from support.transcripts import P, a, conversation, kinds, u

BTW = Author.plugin("btw")


def note(text: str = "x", after: int | None = 0) -> Aside:
    return Aside.note("t", text, author=BTW, after=after)


def unsaved(after: int | None = 0) -> Aside:
    return Aside("draft", BTW, after, None, saved=False)


def test_T063_asides_stand_in_the_order_put() -> None:
    t = conversation(u())
    assert [t.add_aside(note("a")), t.add_aside(note("b"))] == [0, 1]
    assert t.asides() == [(0, note("a")), (1, note("b"))]
    assert kinds(t.unsaved()) == ["aside", "aside"]
    assert [record.by for record in t.unsaved()] == [BTW, BTW]


def test_T064_an_unsaved_aside_is_no_record() -> None:
    t = conversation(u())
    id = t.add_aside(unsaved())
    assert t.aside(id) == unsaved()
    assert t.unsaved() == [] and t.revision() == 1
    assert "asides" not in t.to_json()


def test_T065_saved_replaced_by_unsaved_is_recorded_as_removed() -> None:
    t = conversation(u())
    t.add_aside(note())
    t.take_unsaved()
    assert t.replace_aside(0, unsaved())
    assert [record.change for record in t.unsaved()] == [AsideChange(0, None)]
    assert t.aside(0) == unsaved()


def test_unsaved_replaced_by_saved_is_recorded_as_put() -> None:
    t, folded = conversation(u()), conversation(u())
    t.add_aside(unsaved())
    t.add_aside(note("b"))
    assert t.replace_aside(0, note("a"))
    assert [id for id, _ in t.asides()] == [0, 1]
    for record in t.unsaved():
        folded.apply(record)
    assert folded == t and folded.asides() == t.asides()


def test_unsaved_replaced_by_unsaved_is_no_record() -> None:
    t = conversation(u())
    t.add_aside(unsaved())
    assert t.replace_aside(0, unsaved(after=None))
    assert t.unsaved() == [] and t.aside(0) == unsaved(after=None)


def test_T066_a_replaced_aside_keeps_its_place() -> None:
    t = conversation(u())
    t.add_aside(note("a"))
    t.add_aside(note("b"))
    t.replace_aside(0, note("A"))
    assert [id for id, _ in t.asides()] == [0, 1]
    assert t.aside(0) == note("A")


def test_T067_an_unknown_aside_is_neither_replaced_nor_removed() -> None:
    t = conversation(u())
    assert not t.replace_aside(7, note())
    assert t.remove_aside(7) is None
    assert t.unsaved() == []


def test_a_removed_aside_is_given_back_and_recorded_when_it_was_saved() -> None:
    t = conversation(u())
    t.add_aside(note())
    t.add_aside(unsaved())
    t.take_unsaved()
    assert t.remove_aside(1) == unsaved() and t.unsaved() == []
    assert t.remove_aside(0) == note()
    assert [record.by for record in t.unsaved()] == [BTW]
    assert t.asides() == []


def test_T068_without_after_an_aside_is_drawn_first() -> None:
    assert conversation(u(), a()).aside_position(note(after=None)) == 0


def test_T069_an_aside_is_drawn_behind_its_entry() -> None:
    assert conversation(u(), a()).aside_position(note(after=0)) == 1


def summarised() -> tuple[Transcript, list[Any]]:
    t = conversation(u(), a())
    t.add_aside(note(after=1))
    originals = [ref.entry() for ref in t]
    t.splice(slice(0, 2), [u("summary")], by=P)
    t.take_unsaved()
    return t, originals


def test_T070_behind_the_summary_of_its_entry() -> None:
    t, _ = summarised()
    assert t.aside_position(t.asides()[0][1]) == 1


def test_T071_and_behind_the_entry_again_once_it_is_restored() -> None:
    t, originals = summarised()
    t.restore(slice(None), originals, by=P)
    assert t.aside_position(t.asides()[0][1]) == 2
    assert kinds(t.unsaved()) == ["splice"]


def test_an_aside_after_an_entry_to_come_is_drawn_at_the_end() -> None:
    assert conversation(u(), a()).aside_position(note(after=99)) == 2


def test_T072_unsaved_asides_are_not_compared() -> None:
    t, other = conversation(u()), conversation(u())
    t.add_aside(unsaved())
    assert t == other


def test_T073_saved_ones_are() -> None:
    t, other = conversation(u()), conversation(u())
    t.add_aside(note())
    assert t != other
    other.add_aside(note("y"))
    assert t != other


def test_T074_an_aside_that_says_little_is_short() -> None:
    assert Aside("k", BTW).to_json() == {"kind": "k", "author": {"kind": {"plugin": "btw"}}}


def test_T075_an_unsaved_aside_says_so() -> None:
    assert unsaved().to_json()["saved"] is False
    assert Aside.from_json(unsaved().to_json()) == unsaved()


def test_a_note_is_written_as_rig_writes_it() -> None:
    written = {
        "kind": "note",
        "after": 1,
        "author": {"kind": {"plugin": "btw"}},
        "value": {"title": "t", "text": "x"},
    }
    assert note(after=1).to_json() == written
    assert Aside.from_json(written) == note(after=1)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"kind": "k"},
        {"kind": 1, "author": {}},
        {"kind": "", "author": {}},
        {"kind": "k", "author": {}, "after": -1},
        {"kind": "k", "author": {}, "after": True},
        {"kind": "k", "author": {}, "saved": 0},
        {"kind": "k", "author": {"kind": "ghost"}},
    ],
)
def test_what_is_no_aside_is_refused(value: Any) -> None:
    with pytest.raises(InvalidRecordError):
        Aside.from_json(value)


def test_an_aside_that_JSON_cannot_say_is_refused() -> None:
    t = conversation(u())
    with pytest.raises(InvalidRecordError):
        t.add_aside(Aside("k", BTW, value={1, 2}))
    assert t.asides() == []


def test_the_value_of_an_aside_is_copied() -> None:
    t = conversation(u())
    value = {"list": [1]}
    t.add_aside(Aside("k", BTW, value=value))
    value["list"].append(2)
    t.asides()[0][1].value["list"].append(3)
    assert t.aside(0) == Aside("k", BTW, value={"list": [1]})


def test_T076_a_request_view_has_no_asides() -> None:
    t = conversation(u(), a())
    t.add_aside(note())
    view = t.request_view()
    assert view.asides() == [] and view.messages() == t.messages()
    assert len(t.asides()) == 1


def test_T077_open_turn_puts_a_record_behind_the_last_entry() -> None:
    t = conversation(u())
    assert t.open_turn() == TurnRecord(0, 0)
    ((id, aside),) = t.asides()
    assert (id, aside) == (0, Aside("rig.turn", Author.rig(), 0, {"index": 0, "start": 0}))
    assert [record.by for record in t.unsaved()] == [None]


def test_T078_end_turn_ends_it_in_its_place() -> None:
    t = conversation(u())
    t.open_turn()
    t.push(a())
    assert t.end_turn(TurnEnd.answered(1))
    ((id, aside),) = t.asides()
    assert id == 0 and aside.after == 0
    assert aside.value == {"index": 0, "start": 0, "end": {"how": "answered", "answer": 1}}


def test_T079_an_ended_turn_is_not_ended_again() -> None:
    t = conversation(u())
    t.open_turn()
    t.end_turn(TurnEnd.answered())
    t.take_unsaved()
    assert not t.end_turn(TurnEnd.failed("late"))
    assert t.unsaved() == []


def test_T080_no_turn_no_end() -> None:
    assert not conversation(u()).end_turn(TurnEnd.stopped())


def test_T081_the_next_turn_begins_at_what_was_asked() -> None:
    t = conversation(u())
    t.open_turn()
    t.push(a())
    t.end_turn(TurnEnd.answered(1))
    t.push(u())
    assert t.open_turn() == TurnRecord(1, 2)


def test_T082_turns_are_read_from_both_ends() -> None:
    t = conversation(u())
    for _ in range(3):
        t.open_turn()
    assert [record.index for _, record in reversed(t.turns())] == [2, 1, 0]
    assert [id for id, _ in t.turns()] == [0, 1, 2]


@pytest.mark.parametrize(
    "value",
    [None, 7, {"index": 0}, {"index": "0", "start": 0}, {"index": 0, "start": 0, "end": {"how": "lost"}}],
)
def test_T083_a_foreign_value_is_no_turn(value: Any) -> None:
    t = conversation(u())
    aside = Aside("rig.turn", Author.rig(), value=value)
    t.add_aside(aside)
    assert TurnRecord.of(aside) is None
    assert t.turns() == []
    assert TurnRecord.of(Aside("note", Author.rig(), value={"index": 0, "start": 0})) is None


def test_T084_a_turn_the_user_stopped_has_no_reason() -> None:
    assert TurnEnd.stopped().to_json() == {"how": "stopped"}


def test_newer_stops_are_read_and_written_back() -> None:
    value = {
        "index": 0,
        "start": 0,
        "end": {"how": "stopped", "by": "user", "at": 3, "calls": [0]},
        "later": 1,
    }
    record = TurnRecord.of(Aside("rig.turn", Author.rig(), value=value))
    assert record is not None
    assert record.end is not None and record.end.more == {"by": "user", "at": 3, "calls": [0]}
    assert record.to_json() == {**value}


def test_an_open_turn_before_anything_is_said() -> None:
    t = conversation()
    assert t.open_turn() == TurnRecord(0, 0)
    assert t.asides()[0][1].after is None
    t.push(NewEntry(u()))
    assert t.open_turn() == TurnRecord(1, 0)
