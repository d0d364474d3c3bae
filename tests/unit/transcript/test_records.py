"""Records, apply, lineage, time: cases T85 to T103 of spec/rig.md 10.4, and the JSON of records."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.schemas.errors import InvalidRecordError, MismatchError
from convostore.schemas.json_values import same_json
from convostore.schemas.transcript import (
    DETACHED,
    EMPTY,
    Aside,
    AsideChange,
    ChangeRecord,
    Halt,
    HaltChange,
    NewEntry,
    PushChange,
    ResetChange,
    SpliceChange,
    Transcript,
    fresh_lineage,
)
from convostore.schemas.transcript.codec import key_from_json, key_to_json, record_from_json, record_to_json
from support.transcripts import P, a, conversation, ids, kinds, u


def edited() -> Transcript:
    t = Transcript()
    t.push(NewEntry(u("a"), Author.agent("1a2b", "call_9").titled("Fix")))
    t.extend([a("b"), u("c")])
    t.add_aside(Aside.note("t", "x", author=P, after=1))
    t.open_turn()
    originals = [ref.entry() for ref in t]
    t.splice(slice(0, 2), [u("summary")], by=P)
    t.halt(Halt.STOPPED)
    t.push(u("d"))
    t.restore(slice(0, 1), originals[:2], by=P)
    t.halt()
    t.remove_aside(0)
    return t


def test_T085_folding_the_records_gives_the_value() -> None:
    t, folded = edited(), Transcript()
    for record in t.unsaved():
        folded.apply(record)
    assert folded == t
    assert (folded.turn_start(), folded.push(u())) == (t.turn_start(), t.push(u()))


def test_records_come_back_from_their_JSON() -> None:
    t, folded = edited(), Transcript()
    for record in t.unsaved():
        written = json.loads(json.dumps(record_to_json(record)))
        assert same_json(record_to_json(record_from_json(written)), written)
        folded.apply(written)
    assert folded == t


def test_T086_a_splice_over_other_entries_is_a_mismatch() -> None:
    t = conversation(u(), a())
    with pytest.raises(MismatchError):
        t.apply(ChangeRecord(SpliceChange(0, 1, (1,), ())))
    assert ids(t) == [0, 1] and t.revision() == 2


def test_T087_apply_makes_no_record() -> None:
    t = conversation(u())
    t.apply(ChangeRecord(PushChange((Entry(1, a()),)), at=5))
    assert ids(t) == [0, 1] and t.unsaved() == [] and t.revision() == 2
    assert t[1].made == 5


@pytest.mark.parametrize(
    "change",
    [
        PushChange((Entry(1, u()),)),
        PushChange((Entry(4, u()), Entry(4, u()))),
        PushChange((Entry(5, u()), Entry(4, u()))),
        SpliceChange(0, 9, (0, 1, 2), ()),
        SpliceChange(2, 1, (), ()),
        SpliceChange(0, 1, (0,), (Entry(1, u()),)),
        SpliceChange(0, 1, (0,), (Entry(7, u()), Entry(7, u()))),
        SpliceChange(0, 1, (0,), (Entry(-1, u()),)),
        AsideChange(0, Aside.note("t", "x", author=P)),
        AsideChange(0, None),
        AsideChange(5, Aside("k", P, saved=False)),
    ],
)
def test_what_does_not_fit_changes_nothing(change: Any) -> None:
    t = conversation(u(), a(), u())
    t.add_aside(Aside("draft", P, saved=False))
    before = t.to_json()
    with pytest.raises(MismatchError):
        t.apply(ChangeRecord(change))
    assert same_json(t.to_json(), before) and t.revision() == 3


def test_T088_revision_counts_records() -> None:
    t = Transcript()
    for _ in range(3):
        t.push(u())
    t.add_aside(Aside("draft", P, saved=False))
    assert t.revision() == 3


def test_T089_a_new_value_begins_from_nothing() -> None:
    assert Transcript().lineage() == EMPTY == 0


def test_T090_a_value_read_from_JSON_is_detached_and_equal() -> None:
    t = edited()
    t.add_aside(Aside("draft", P, saved=False))
    read = Transcript.from_json(json.loads(json.dumps(t.to_json())))
    assert read == t and read.lineage() == DETACHED == 2**64 - 1
    assert read.unsaved() == []
    assert [ref.made for ref in read] == [ref.made for ref in t]
    assert read.push(u()) == t.push(u())


def test_T091_fresh_lineages_differ() -> None:
    drawn = {fresh_lineage(1_790_848_800_000) for _ in range(50)}
    assert len(drawn) > 45
    assert all(0 < lineage < DETACHED for lineage in drawn)


def test_T092_a_new_value_continues_any_empty_log() -> None:
    t = Transcript()
    t.push(u())
    t.push(a())
    assert t.continues(7, 0) and t.continues(9, 0)
    assert not t.continues(7, 1)


def test_T093_a_loaded_value_continues_its_log_where_it_was_read() -> None:
    t = conversation(u(), a(), u(), a(), u())
    t.continue_log(77, 5)
    t.push(a())
    assert t.continues(77, 5)
    assert not t.continues(77, 6) and not t.continues(78, 5)


def test_T094_a_detached_value_continues_nothing() -> None:
    t = Transcript.from_json({})
    assert not t.continues(5, 0) and not t.continues(DETACHED, 0)


def test_T095_dated_edits_have_that_time() -> None:
    t = Transcript()
    t.dated(1000, lambda t: t.push(u()))
    assert (t.unsaved()[0].at, t[0].made) == (1000, 1000)


def test_T096_an_inner_date_applies_while_it_lasts() -> None:
    t = Transcript()
    with t.dated(1000) as same:
        assert same is t
        t.push(u())
        with t.dated(5):
            t.push(u())
        assert t.dated(6, lambda t: t.revision()) == 2
        t.push(u())
    assert [record.at for record in t.unsaved()] == [1000, 5, 1000]


def test_a_date_ends_with_an_error() -> None:
    t = Transcript()
    with pytest.raises(ZeroDivisionError), t.dated(1000):
        raise ZeroDivisionError
    t.push(u())
    assert t.unsaved()[0].at is None


@pytest.mark.parametrize("at", [-1, 1.5, True, "1000"])
def test_what_is_no_time_is_refused(at: Any) -> None:
    with pytest.raises(InvalidRecordError), Transcript().dated(at):
        pass


def test_T097_without_a_date_the_record_has_no_time_and_the_entry_the_clocks() -> None:
    t = Transcript(clock=lambda: 42)
    t.push(u())
    assert t.unsaved()[0].at is None and t[0].made == 42


def test_T098_when_they_were_made_is_not_compared() -> None:
    early, late = count(1), count(10**12)
    assert Transcript([u(), a()], clock=lambda: next(early)) == Transcript(
        [u(), a()], clock=lambda: next(late)
    )


def test_values_that_differ_are_not_equal() -> None:
    t = conversation(u(), a())
    assert t != conversation(u()) and t != conversation(u(), a("b"))
    other = Transcript([u()])
    other.push(NewEntry(a(), P))
    assert t != other
    assert conversation({"role": "user", "content": 1}) != conversation({"role": "user", "content": 1.0})


def test_T099_an_unsaved_record_forbids_rereading() -> None:
    t = conversation(u())
    t.push(a())
    with pytest.raises(MismatchError):
        t.reread(conversation(u("z")))
    with pytest.raises(MismatchError):
        conversation(u()).reread(t)
    assert t.messages() == [u(), a()]


def with_unsaved_aside_3() -> Transcript:
    t = conversation(u())
    for _ in range(4):
        t.add_aside(Aside("draft", P, value="mine", saved=False))
    for id in range(3):
        t.remove_aside(id)
    return t


def test_T100_an_unsaved_aside_whose_id_the_log_has_forbids_it() -> None:
    t, log = with_unsaved_aside_3(), conversation(u("z"))
    for _ in range(4):
        log.add_aside(Aside("note", P))
    log.take_unsaved()
    with pytest.raises(MismatchError):
        t.reread(log)
    assert t.messages() == [u()]


def test_T101_rereading_takes_the_log_and_keeps_unsaved_asides() -> None:
    t, log = with_unsaved_aside_3(), conversation(u("z"), a(), u())
    log.halt(Halt.KEPT)
    log.add_aside(Aside("note", P))
    log.take_unsaved()
    log.continue_log(77, 5)
    t.reread(log)
    assert t == log and t.halted() is Halt.KEPT
    assert (t.lineage(), t.revision()) == (77, 5)
    assert t.aside(3) == Aside("draft", P, value="mine", saved=False)
    assert t.push(u()) == 3
    assert t.add_aside(Aside("note", P)) not in (0, 3)


def test_T102_a_view_has_nothing_unsaved() -> None:
    t = edited()
    view = t.view()
    assert view == t and view.unsaved() == []
    assert (view.lineage(), view.revision()) == (t.lineage(), t.revision())
    view.push(u("preview"))
    assert view != t and len(t.unsaved()) == t.revision()


def test_T103_a_reset_replaces_whatever_came_before() -> None:
    state = edited()
    record = ChangeRecord(ResetChange(state.state()))
    for t in (Transcript(), conversation(u(), a(), u("z"))):
        t.apply(record_from_json(record_to_json(record)))
        assert t == state and t.halted() == state.halted() and ids(t) == ids(state)
        assert [ref.made for ref in t] == [ref.made for ref in state]
        assert t.push(u()) == 6


def test_take_unsaved_empties_the_outbox_only() -> None:
    t = Transcript([u()])
    assert kinds(t.take_unsaved()) == ["push"]
    assert t.unsaved() == [] and t.revision() == 1 and len(t) == 1


def test_cleared_halts_and_removed_asides_have_no_member_and_null_reads_the_same() -> None:
    assert record_to_json(ChangeRecord(HaltChange())) == {"type": "halt"}
    assert record_to_json(ChangeRecord(AsideChange(3))) == {"type": "aside", "id": 3}
    assert record_from_json({"type": "halt", "halt": None}).change == HaltChange()
    assert record_from_json({"type": "aside", "id": 3, "aside": None}).change == AsideChange(3)


def test_keys_have_a_JSON_form() -> None:
    key = conversation(u()).key(0)
    assert key is not None
    assert key_to_json(key) == {"id": 0, "made": 1_790_848_800_000}
    assert key_from_json(key_to_json(key)) == key


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"type": "merge"},
        {"type": "push", "entries": {}},
        {"type": "push", "entries": [{"message": u()}]},
        {"type": "push", "entries": [{"id": 0}]},
        {"type": "push", "entries": [{"id": True, "message": u()}]},
        {"type": "push", "entries": [{"id": 0, "message": u(), "made": -1}]},
        {"type": "push", "entries": [{"id": 0, "message": u(), "author": "me"}]},
        {"type": "splice", "from": 0, "to": 1, "removed": ["0"], "with": []},
        {"type": "splice", "from": -1, "to": 1, "removed": [], "with": []},
        {"type": "halt", "halt": "paused"},
        {"type": "aside", "aside": {}},
        {"type": "reset"},
        {"type": "reset", "state": {"entries": [{"id": 0, "message": 1}, {"id": 0, "message": 1}]}},
        {
            "type": "reset",
            "state": {"asides": [{"id": 0, "aside": {"kind": "k", "author": {}, "saved": False}}]},
        },
        {"at": "now", "type": "halt"},
        {"by": 7, "type": "halt"},
    ],
)
def test_what_is_no_record_is_refused_with_its_path(value: Any) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        record_from_json(value)
    assert refused.value.path.startswith("record")


def test_the_next_ids_are_never_below_what_a_state_holds() -> None:
    t = Transcript.from_json({"entries": [{"id": 8, "message": u()}], "asides": [], "next_entry": 2})
    assert t.push(u()) == 9
