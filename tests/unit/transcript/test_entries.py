"""Identity, push, splice, restore: cases T1 to T30 of spec/rig.md 10.1."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.schemas.errors import InvalidRecordError, QueryError
from convostore.schemas.messages import Message
from convostore.schemas.rig import Text, UserMessage
from convostore.schemas.transcript import (
    MessageKey,
    NewEntry,
    PushChange,
    SpliceChange,
    Transcript,
    message_id_text,
    parse_message_id,
)
from support.transcripts import P, a, conversation, ids, kinds, u


def test_T001_the_first_push_gets_id_0_and_one_record() -> None:
    t = Transcript()
    assert t.push(u()) == 0
    assert t.index_of(0) == 0
    (record,) = t.unsaved()
    assert isinstance(record.change, PushChange)
    assert [entry.id for entry in record.change.entries] == [0]


def test_T002_an_id_taken_out_is_never_given_again() -> None:
    t = conversation(u(), a())
    t.splice(slice(1, 2), [], by=P)
    assert t.push(u()) == 2


def test_T003_the_id_of_a_pushed_entry_is_ignored() -> None:
    t = conversation(u())
    entry = t.entry(0)
    assert entry is not None
    assert t.push(entry) == 1


def test_T004_nothing_merges() -> None:
    t = conversation(u("a"))
    t.push(u("b"))
    assert t.messages() == [u("a"), u("b")]


def test_T005_extend_is_one_change_without_authors() -> None:
    t = Transcript()
    assert t.extend([u(), a(), u()]) == [0, 1, 2]
    assert [ref.author for ref in t] == [None] * 3
    assert kinds(t.unsaved()) == ["push"]
    t.extend([])
    assert len(t.unsaved()) == 1


def test_T006_a_changed_entry_spliced_back_keeps_its_id() -> None:
    t = conversation(u(), a())
    entry = t.entry(0)
    assert entry is not None
    entry.message["content"][0]["text"] = "changed"
    t.splice(slice(0, 1), [entry], by=P)
    assert (t.id(0), t.index_of(0), len(t)) == (0, 0, 2)
    assert t.messages()[0] == u("changed")


def test_T007_a_fresh_entry_takes_the_place_of_two() -> None:
    t = conversation(u(), a(), u())
    t.splice(slice(0, 2), [u("summary")], by=P)
    assert ids(t) == [3, 2]
    assert t.index_of(2) == 1
    assert t.index_of(0) is None


def test_T008_an_id_is_kept_once() -> None:
    t = conversation(u(), a())
    entry = t.entry(0)
    assert entry is not None
    t.splice(slice(0, 1), [entry, entry], by=P)
    assert ids(t) == [0, 2, 1]


def test_T009_an_id_outside_the_range_is_not_kept() -> None:
    t = conversation(u(), a(), u("c"))
    entry = t.entry(2)
    assert entry is not None
    t.splice(slice(0, 1), [entry], by=P)
    assert ids(t) == [3, 1, 2]
    assert t.messages()[2] == u("c")


def test_T010_nothing_for_nothing_beyond_the_end() -> None:
    t = conversation(u(), a())
    t.splice(slice(5, 9), [], by=P)
    assert ids(t) == [0, 1]
    assert t.unsaved() == []


def test_T011_the_range_is_clamped() -> None:
    t = conversation(u(), a())
    t.splice(slice(1, 99), [u()], by=P)
    assert ids(t) == [0, 2]


def test_T012_an_empty_splice_is_no_record() -> None:
    t = conversation(u(), a())
    t.splice(slice(2, 2), [], by=P)
    assert t.unsaved() == []
    assert t.revision() == 2


def test_T013_an_empty_range_inserts() -> None:
    t = conversation(u(), a())
    t.splice(slice(1, 1), [u()], by=P)
    assert ids(t) == [0, 2, 1]


def summarised() -> tuple[Transcript, list[Entry]]:
    t = conversation(u("a"), a("b"))
    originals = [ref.entry() for ref in t]
    t.splice(slice(None), [u("summary")], by=P)
    return t, originals


def test_T014_restore_brings_ids_back() -> None:
    t, originals = summarised()
    done = t.restore(slice(None), originals, by=P)
    assert ids(t) == [0, 1]
    assert (done.restored, done.removed, done.added) == ([0, 1], [2], [])


def test_T015_restore_does_not_turn_the_counter_back() -> None:
    t, originals = summarised()
    t.restore(slice(None), originals, by=P)
    assert t.push(u()) == 3


def test_T016_restore_brings_times_back() -> None:
    t, originals = summarised()
    t.restore(slice(None), originals, by=P)
    assert [ref.made for ref in t] == [1_790_848_800_000, 1_790_848_801_000]


def test_T017_only_entries_put_back_carry_made_in_records() -> None:
    t, originals = summarised()
    t.restore(slice(None), originals, by=P)
    summary, back = (record.change for record in t.unsaved())
    assert isinstance(summary, SpliceChange) and isinstance(back, SpliceChange)
    assert [entry.made for entry in summary.entries] == [None]
    assert [entry.made for entry in back.entries] == [1_790_848_800_000, 1_790_848_801_000]


def test_T018_restore_gives_an_id_in_use_elsewhere_anew() -> None:
    t = conversation(u(), a(), u())
    entry = t.entry(2)
    assert entry is not None
    t.restore(slice(0, 1), [entry], by=P)
    assert ids(t) == [3, 1, 2]


def test_T019_restore_gives_an_id_never_made_here_anew() -> None:
    t = conversation(u(), a())
    done = t.restore(slice(0, 1), [Entry(99, u())], by=P)
    assert ids(t) == [2, 1]
    assert (done.restored, done.added, done.removed) == ([], [2], [0])


def test_T020_splice_does_not_bring_an_id_back() -> None:
    t = conversation(u(), a())
    entry = t.entry(1)
    assert entry is not None
    t.splice(slice(1, 2), [], by=P)
    t.splice(slice(1, 1), [entry], by=P)
    assert ids(t) == [0, 2]


def test_T021_an_entry_keeps_its_author_the_record_names_the_editor() -> None:
    t = Transcript()
    t.push(NewEntry(u(), Author.plugin("btw")))
    entry = t.entry(0)
    assert entry is not None
    entry.message["content"] = []
    t.splice(0, [entry], by=P)
    assert t.author(0) == Author.plugin("btw")
    assert [record.by for record in t.unsaved()] == [Author.plugin("btw"), P]


def test_T022_set_entries_records_the_one_that_differs() -> None:
    t = conversation(u(), a(), u())
    wanted = [ref.entry() for ref in t]
    wanted[1].message["content"] = []
    t.set_entries(wanted, by=P)
    (record,) = t.unsaved()
    assert isinstance(record.change, SpliceChange)
    assert (record.change.start, record.change.stop, record.by) == (1, 2, P)
    assert ids(t) == [0, 1, 2]


def test_T023_set_entries_with_the_same_records_nothing() -> None:
    t = conversation(u(), a())
    t.set_entries(t.entries(), by=P)
    assert t.unsaved() == []


def test_T024_set_entries_takes_the_middle_out_in_one_splice() -> None:
    t = conversation(u(), a(), u(), a())
    t.set_entries([t[0], t[3]], by=P)
    (record,) = t.unsaved()
    assert isinstance(record.change, SpliceChange)
    assert record.change.removed == (1, 2)
    assert ids(t) == [0, 3]


def test_T025_edit_each_rewrites_one() -> None:
    t = conversation(u("a"), u("b"))
    assert t.edit_each(lambda ref: u("B") if ref.index == 1 else None, by=P) == [1]
    (record,) = t.unsaved()
    assert isinstance(record.change, SpliceChange)
    assert (record.change.start, record.change.stop) == (1, 2)
    assert t.messages() == [u("a"), u("B")] and ids(t) == [0, 1]


def test_T026_edit_each_is_one_splice_from_first_to_last() -> None:
    t = conversation(u(), a("b"), u(), a())
    assert t.edit_each(lambda ref: u("new") if ref.index in (0, 2) else None, by=P) == [0, 2]
    (record,) = t.unsaved()
    assert isinstance(record.change, SpliceChange)
    assert (record.change.start, record.change.stop) == (0, 3)
    assert ids(t) == [0, 1, 2, 3]
    assert t.messages()[1] == a("b")


def test_T027_edit_each_of_nothing_records_nothing() -> None:
    t = conversation(u(), a())
    assert t.edit_each(lambda ref: None, by=P) == []
    assert t.unsaved() == []


def test_T028_a_key_finds_its_entry() -> None:
    t = conversation(u())
    key = t.key(0)
    assert key is not None
    assert t.index_of_key(key) == 0


def test_T029_a_key_of_another_time_finds_nothing() -> None:
    t = conversation(u())
    assert t.index_of(0) == 0
    assert t.index_of_key(MessageKey(0, 5)) is None


def test_T030_out_of_range_is_none() -> None:
    t = conversation(u())
    assert (t.entry(1), t.id(1), t.author(1), t.key(1)) == (None, None, None, None)


def test_it_is_iterable_has_a_length_and_takes_slices() -> None:
    t = conversation(u("a"), a("b"), u("c"))
    assert len(t) == 3
    assert [ref.message for ref in t] == t.messages()
    assert [ref.id for ref in reversed(t.entries())] == [2, 1, 0]
    assert t[-1].id == 2 and [ref.id for ref in t[1:]] == [1, 2]
    with pytest.raises(IndexError):
        t[3]


def test_an_int_position_is_the_entry_there() -> None:
    t = conversation(u("a"), a("b"), u("c"))
    t.splice(-1, [u("C")], by=P)
    t.splice(0, [], by=P)
    assert t.messages() == [a("b"), u("C")]


@pytest.mark.parametrize("at", ["0", 1.5, True, slice(0, 2, 2), slice("a", None)])
def test_what_is_no_position_is_refused(at: Any) -> None:
    t = conversation(u(), a())
    with pytest.raises(QueryError):
        t.splice(at, [])
    assert ids(t) == [0, 1]


def test_a_message_may_be_a_model_or_json_of_any_dialect() -> None:
    t = Transcript()
    t.push(UserMessage(content=[Text(text="hi")]))
    t.push({"role": "assistant", "content": "plain"})
    t.push(Message(role="user", content="anda"))
    assert t.messages() == [
        u("hi"),
        {"role": "assistant", "content": "plain"},
        {"role": "user", "content": [{"type": "Text", "text": "anda"}]},
    ]


@pytest.mark.parametrize("value", ["hi", None, 7, {"role": {1, 2}}, {1: "x"}, Entry(0, b"x")])
def test_what_is_no_message_is_refused_and_nothing_changes(value: Any) -> None:
    t = conversation(u())
    with pytest.raises(InvalidRecordError):
        t.push(value)
    with pytest.raises(InvalidRecordError):
        t.splice(slice(None), [u(), value])
    assert t.messages() == [u()] and t.unsaved() == []


def test_nobody_holds_a_piece_of_a_transcript() -> None:
    given = u("a")
    t = conversation(given)
    given["content"].clear()
    t.messages()[0]["content"].clear()
    t[0].message["content"].clear()
    assert t.messages() == [u("a")]


def test_message_ids_are_written_m4() -> None:
    assert message_id_text(4) == "m4" and parse_message_id("m4") == 4
    for wrong in ("4", "m", "m04", "m-1", "m4 ", "m٤"):
        with pytest.raises(InvalidRecordError):
            parse_message_id(wrong)
