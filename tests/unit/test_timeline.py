"""Going back record by record, what undo and redo find, and forks cut from a log (no server)."""

from __future__ import annotations

from typing import Any

import pytest
from bson.objectid import ObjectId

from convostore.schemas.entries import Entry
from convostore.schemas.errors import MismatchError, NotFoundError
from convostore.schemas.transcript import Aside, ChangeRecord, Halt, HaltChange, PushChange, Transcript
from convostore.store import forking, history, timeline, transcribing
from convostore.store.forking import Prefix
from convostore.store.timeline import Moment, find_redo, find_undo, go_back
from support.transcripts import P, a, call, res, u


def folded(value: Transcript, moment: Moment | None = None) -> transcribing.Folded:
    """What the store makes of a transcript's unsaved changes."""
    changes = value.unsaved()
    return transcribing.fold(moment or Moment([]), changes, 1000, [ObjectId() for _ in changes])


def numbered(*records: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    return list(enumerate(records, 1))


PUSH: dict[str, Any] = {"at": 1, "k": ObjectId()}


def test_every_step_back_is_the_state_before_that_change() -> None:
    value = Transcript(clock=lambda: 5)
    steps = [
        lambda: value.push(u("a")),
        lambda: value.halt("stopped"),
        lambda: value.push(u("b")),
        lambda: value.add_aside(Aside.note("t", "x", author=P, after=0)),
        lambda: value.splice(slice(0, 2), [u("s")], by=P),
        lambda: value.remove_aside(0),
        lambda: value.extend([a("c"), u("d")]),
    ]
    states = [value.to_json()]
    for step in steps:
        step()
        states.append(value.to_json())
    result = folded(value)
    moment = result.moment
    for place in range(len(steps) - 1, -1, -1):
        go_back(moment, result.records[place], result.removed.get(place, []))
        said = Transcript.of_state(timeline.state_of(moment, {})).to_json()
        assert {**said, "next_aside": 0} == {**states[place], "next_aside": 0}, place


def test_a_record_that_does_not_fit_the_moment_is_refused() -> None:
    moment = folded(Transcript([u("a")])).moment
    for record in ({**PUSH, "n": 2}, {**PUSH, "from": 0, "to": 0, "with": [9]}):
        with pytest.raises(MismatchError):
            go_back(moment.copy(), record, [])
    splice = Transcript([u("a"), u("b")])
    splice.take_unsaved()
    splice.splice(slice(0, 2), [])
    with pytest.raises(MismatchError):
        folded(splice, moment)


def test_a_push_below_the_counter_leaves_it_where_it_is() -> None:
    moment = Moment([], next_entry=10)
    change = ChangeRecord(PushChange((Entry(3, u("x")),)))
    result = transcribing.fold(moment, [change], 1, [ObjectId()])
    assert result.moment.next_entry == 10 and history.drawn(result.records[0]) == 0
    go_back(result.moment, result.records[0], [])
    assert (result.moment.next_entry, result.moment.entries) == (10, [])


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([PUSH], 0),
        ([PUSH, {**PUSH, "n": 0}], 0),
        ([PUSH, {**PUSH, "undo": 1}], -1),
        ([PUSH, PUSH, {**PUSH, "undo": 2}], 0),
        ([PUSH, PUSH, {**PUSH, "undo": 2}, {**PUSH, "redo": 2}], 1),
        ([PUSH, PUSH, {**PUSH, "undo": 2}, {**PUSH, "redo": 2}, {**PUSH, "undo": 2}], 0),
        ([PUSH, {**PUSH, "undo": 1}, PUSH], 2),
        ([], -1),
    ],
)
def test_undo_takes_the_newest_change_in_force(records: list[dict[str, Any]], found: int) -> None:
    assert find_undo(numbered(*records)) == found


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([PUSH], -1),
        ([PUSH, {**PUSH, "undo": 1}], 1),
        ([PUSH, PUSH, {**PUSH, "undo": 2}, {**PUSH, "undo": 1}], 3),
        ([PUSH, PUSH, {**PUSH, "undo": 2}, {**PUSH, "undo": 1}, {**PUSH, "redo": 1}], 2),
        ([PUSH, {**PUSH, "undo": 1}, {**PUSH, "redo": 1}], -1),
        ([PUSH, {**PUSH, "undo": 1}, PUSH], -1),
    ],
)
def test_redo_takes_the_newest_undo_that_nothing_followed(records: list[dict[str, Any]], found: int) -> None:
    assert find_redo(numbered(*records)) == found


def test_a_look_that_reaches_too_short_says_so() -> None:
    records = [(number, {**PUSH, "undo": 10 - number}) for number in (6, 7, 8)]
    assert find_undo(records) is None
    assert find_redo([(9, {**PUSH, "redo": 8})]) is None


def entries(*messages: Any) -> list[Entry]:
    return [Entry(id, message) for id, message in enumerate(messages)]


def test_a_boundary_is_a_reply_whose_calls_are_answered() -> None:
    told = entries(u("q"), call("x"), res("x"), a("a"), u("q2"), call("y"), res("y"))
    assert [forking.boundary(told, id) for id in range(7)] == [None, None, None, 3, 3, 3, 3]
    with pytest.raises(NotFoundError):
        forking.boundary(told, 9)


def prefix(value: Transcript, id: int) -> Prefix:
    result = folded(value)
    return forking.prefix(Prefix(result.moment, result.records, result.removed), id)


def test_a_change_is_cut_within() -> None:
    value = Transcript([u("a"), a("b"), u("c"), a("d")])
    cut = prefix(value, 1)
    assert [entry["id"] for entry in cut.moment.entries] == [0, 1]
    assert cut.moment.next_entry == 2 and history.pushed(cut.records[0]) == 2
    value.splice(slice(1, 3), [u("x"), u("y")], by=P)
    cut = prefix(value, 4)
    assert [entry["id"] for entry in cut.moment.entries] == [0, 4]
    last = cut.records[-1]
    assert (last["from"], last["to"], last["with"]) == (1, 4, [4])
    before = cut.moment.copy()
    go_back(before, last, cut.removed[1])
    assert [entry["id"] for entry in before.entries] == [0, 1, 2, 3]


def test_asides_put_next_come_along_and_later_ones_do_not() -> None:
    value = Transcript([u("q")])
    value.push(a("a"))
    value.add_aside(Aside.note("t", "along", author=P, after=1))
    value.push(u("more"))
    value.add_aside(Aside.note("t", "later", author=P, after=1))
    cut = prefix(value, 1)
    assert [aside["value"]["text"] for aside in cut.moment.asides.values()] == ["along"]
    assert len(cut.records) == 3


def test_a_copied_record_keeps_no_callers_key() -> None:
    own = {**PUSH}
    assert forking.without_callers_keys(own) is own
    for key in ("turn 1", ["m1", "m2"]):
        copied = forking.without_callers_keys({"at": 1, "k": key, "h": 5, "n": 2})
        assert isinstance(copied["k"], ObjectId) and "h" not in copied and copied["n"] == 2


def test_taking_back_a_push_brings_back_the_halt_it_cleared() -> None:
    value = Transcript([u("a")])
    value.halt(Halt.KEPT)
    value.push(u("b"))
    result = folded(value)
    after = result.moment.copy()
    go_back(after, result.records[2], [])
    after.next_entry = result.moment.next_entry
    record, removed = transcribing.inverse(result.moment, after, result.records[2], 9, ObjectId())
    assert (record["hw"], record["halt"], after.halt) == (None, "kept", "kept")
    assert [entry["id"] for entry in removed] == [1]
    assert isinstance(value.unsaved()[1].change, HaltChange)
