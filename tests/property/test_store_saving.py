"""Rebasing one writer's changes on another's, over generated states: both hold, or the conflict is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.diff import SCALARS, Changes, Snapshot, Splice, diff
from convostore.schemas.errors import ConflictError, StatusError
from convostore.schemas.json_values import same_json
from convostore.store import saving

members = st.fixed_dictionaries(
    {},
    optional={
        "label": st.sampled_from(["a", "b"]),
        "thread": st.sampled_from(["t", "u"]),
        "extra": st.sampled_from([1, 1.0, True, {"a": 1}, {"a": 1.0}, []]),
        "child": st.integers(1, 2),
        "failed_reason": st.sampled_from(["x", "y"]),
    },
)
messages = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=6)
counters = st.dictionaries(st.sampled_from(["input_tokens", "requests"]), st.integers(0, 2))


def record(members: dict[str, Any], messages: list[Any], usage: dict[str, int]) -> Conversation:
    return Conversation(
        id=1, user="alice", created_at=5, updated_at=5, messages=messages, usage=usage, **members
    )


states = st.builds(record, members, st.just(["a", "b", "c"]), counters)


@given(states, states, states)
def test_each_member_is_the_one_that_was_changed(
    base: Conversation, mine: Conversation, theirs: Conversation
) -> None:
    before, wanted, other = Snapshot.of(base), diff(base, mine), diff(base, theirs)
    names = [name for name in SCALARS if name != "updated_at"]
    both = [
        name
        for name in names
        if not same_json(_member(base, name), _member(mine, name))
        and not same_json(_member(base, name), _member(theirs, name))
        and not same_json(_member(mine, name), _member(theirs, name))
    ]
    counted = [
        name
        for name in ("input_tokens", "requests")
        if len({getattr(one.usage, name) for one in (base, mine, theirs)}) == 3
    ]
    if both or counted:
        with pytest.raises(ConflictError) as conflict:
            saving.rebase(wanted, other, before)
        error = conflict.value
        if error.field.startswith("usage."):
            name = error.field.split(".")[1]
            assert name in counted
            facts = (getattr(base.usage, name), getattr(theirs.usage, name))
        else:
            assert error.field in both
            facts = (_member(base, error.field), _member(theirs, error.field))
        assert same_json([error.expected, error.actual], list(facts))
        return
    after = saving.rebase(wanted, other, before).apply(other.apply(base))
    for name in names:
        source = theirs if same_json(_member(base, name), _member(mine, name)) else mine
        assert same_json(_member(after, name), _member(source, name))


def _member(one: Conversation, name: str) -> Any:
    value = getattr(one, name)
    return value.value if isinstance(value, ConversationStatus) else value


@given(messages, messages, messages)
def test_changes_of_different_places_of_a_list_both_hold(
    base: list[str], mine: list[str], theirs: list[str]
) -> None:
    before = Snapshot.of(record({}, base, {}))
    wanted = diff(before, Snapshot.of(record({}, mine, {})))
    other = diff(before, Snapshot.of(record({}, theirs, {})))
    if "messages" not in wanted.splices or "messages" not in other.splices:
        assert saving.rebase(wanted, other, before).splices == wanted.splices
        return
    own, their = wanted.splices["messages"], other.splices["messages"]
    apart = their.stop < own.start or own.stop < their.start
    appends = own.start == their.start == len(base)
    try:
        placed = saving.rebase(wanted, other, before).splices["messages"]
    except ConflictError as conflict:
        assert not apart and not appends
        assert conflict.field == "messages"
        assert conflict.expected == base[own.start : own.stop]
        assert conflict.actual == list(their.items)
        return
    assert their.stop <= own.start or own.stop <= their.start
    # Applied from the end of the list to its beginning, neither moves the other.
    order = [own, their] if own.start >= their.stop else [their, own]
    expected = base
    for splice in order:
        expected = splice.apply(expected)
    assert placed.apply(their.apply(base)) == expected


def test_both_who_append_are_kept_the_first_first() -> None:
    before = Snapshot.of(record({}, ["a"], {}))
    mine = Changes(splices={"messages": Splice(1, 1, ("mine",))})
    theirs = Changes(splices={"messages": Splice(1, 1, ("theirs",))})
    placed = saving.rebase(mine, theirs, before).splices["messages"]
    assert placed.apply(["a", "theirs"]) == ["a", "theirs", "mine"]


def test_insertions_at_one_place_are_a_conflict() -> None:
    """Which comes first would be a guess."""
    before = Snapshot.of(record({}, ["a", "b"], {}))
    mine = Changes(splices={"messages": Splice(1, 1, ("mine",))})
    theirs = Changes(splices={"messages": Splice(1, 1, ("theirs",))})
    with pytest.raises(ConflictError):
        saving.rebase(mine, theirs, before)


def test_cancelled_meanwhile_gives_way_to_no_running_status() -> None:
    before = Snapshot.of(record({}, [], {}))
    mine, theirs = Changes(set={"status": "working"}), Changes(set={"status": "cancelled"})
    rebased = saving.rebase(mine, theirs, before)
    settled = saving.settle_status(ConversationStatus.CANCELLED, rebased, force=False)
    assert "status" not in settled.set
    with pytest.raises(StatusError):
        saving.settle_status(ConversationStatus.CANCELLED, Changes(set={"status": "failed"}), force=False)
    forced = saving.settle_status(ConversationStatus.CANCELLED, mine, force=True)
    assert forced.set["status"] == "working"


@given(counters, counters)
def test_the_ledger_gets_what_counters_rose_by(before: dict[str, int], after: dict[str, int]) -> None:
    changes = diff(record({}, [], before), record({}, [], after))
    given = saving.usage_given(before, changes)
    for name in ("input_tokens", "requests"):
        assert given.get(name, 0) == max(after.get(name, 0) - before.get(name, 0), 0)


def test_members_become_fields_that_are_set_or_unset_once() -> None:
    changes = Changes(set={"status": "working", "extra": {"$ref": 1}, "label": "x"}, unset=("thread",))
    sets, gone = saving.member_updates(changes, 5)
    assert sets == {"status": "working", "extra_text": '{"$ref":1}', "label": "x"}
    assert sorted(gone) == ["due", "extra", "failed_reason", "thread"]
    assert not set(sets) & set(gone)
