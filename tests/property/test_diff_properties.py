"""The promises of the diff, over generated conversations."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.conversations import Conversation
from convostore.schemas.diff import QUEUES, Changes, Snapshot, Splice, diff
from convostore.schemas.json_values import same_json

any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=6)
text = st.text(max_size=6)
u64 = st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 1))
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), any_text),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(any_text, inner, max_size=3)),
    max_leaves=6,
)
# Few different items, so that lists share beginnings, ends and repetitions.
item = st.one_of(st.sampled_from([0, 0.0, False, None, "a", {"a": 1, "b": 2}, {"b": 2, "a": 1}]), json_values)
resource = st.fixed_dictionaries(
    {"_id": st.integers(0, 3), "tags": st.lists(st.sampled_from(["text", "md"]), max_size=2), "name": text},
    optional={"size": u64, "metadata": st.dictionaries(text, json_values, max_size=2)},
)
optional = {
    "thread": st.sampled_from(["t1", "t2"]),
    "status": st.sampled_from(["submitted", "working", "idle", "completed", "cancelled", "failed"]),
    "failed_reason": text,
    "child": u64,
    "label": st.sampled_from(["", "a", "travel"]),
    "extra": json_values,
    "updated_at": u64,
    "steering_messages": st.lists(text, max_size=2),
    "follow_up_messages": st.lists(text, max_size=2),
}


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    members: dict[str, Any] = draw(st.fixed_dictionaries({}, optional=optional))
    members |= {
        "id": 7,
        "user": "alice",
        "created_at": 1_700_000_000_000,
        "messages": draw(st.lists(item, max_size=8)),
        "resources": draw(st.lists(resource, max_size=3)),
        "artifacts": draw(st.lists(resource, max_size=2)),
        "usage": {name: draw(u64) for name in ("input_tokens", "output_tokens", "cached_tokens", "requests")},
    }
    return Conversation(**members)


def plain(record: Conversation) -> dict[str, Any]:
    return {name: value for name, value in record.to_json_object().items() if name not in QUEUES}


@given(conversations(), conversations())
def test_applying_the_difference_gives_the_later_state(before: Conversation, after: Conversation) -> None:
    result = diff(before, after).apply(before)
    assert same_json(plain(result), plain(after))
    for name in QUEUES:
        assert getattr(result, name) == getattr(before, name)


@given(conversations())
def test_a_state_does_not_differ_from_itself(record: Conversation) -> None:
    assert diff(record, record) == Changes()
    assert diff(Snapshot.of(record), Conversation.model_validate(record.model_dump())) == Changes()


@given(conversations(), conversations())
def test_the_same_states_give_the_same_difference_as_records_and_as_snapshots(
    before: Conversation, after: Conversation
) -> None:
    first = diff(before, after)
    again = diff(Snapshot.of(before), Snapshot.of(after))
    # By representation, because a NaN inside is not equal to itself for Python.
    assert repr(first) == repr(again)


@given(conversations(), conversations())
def test_nothing_is_said_that_need_not_be(before: Conversation, after: Conversation) -> None:
    changes = diff(before, after)
    old, new = plain(before), plain(after)
    for name in (*changes.set, *changes.unset):
        assert not same_json(old.get(name), new.get(name))
    for name, count in changes.usage.items():
        assert old["usage"][name] != count
    for name, splice in changes.splices.items():
        gone = old[name][splice.start : splice.stop]
        assert gone or splice.items
        if gone and splice.items:
            assert not same_json(gone[0], splice.items[0])
            assert not same_json(gone[-1], splice.items[-1])
        assert len(splice.items) + splice.removed == _fewest(old[name], new[name])


def _fewest(old: list[Any], new: list[Any]) -> int:
    """The fewest items that any one splice must take out and put in, found by trying all."""
    best = len(old) + len(new)
    for start in range(min(len(old), len(new)) + 1):
        if not same_json(old[:start], new[:start]):
            break
        for tail in range(min(len(old), len(new)) - start + 1):
            if same_json(old[len(old) - tail :], new[len(new) - tail :]):
                best = min(best, len(old) + len(new) - 2 * (start + tail))
    return best


@given(conversations(), st.lists(item, min_size=1, max_size=4))
def test_append_is_one_splice_at_the_end(before: Conversation, added: list[Any]) -> None:
    after = before.model_copy(update={"messages": [*before.messages, *added]})
    changes = diff(before, after)
    assert changes.fields() == {"messages"}
    end = len(before.messages)
    assert repr(changes.splices["messages"]) == repr(Splice(end, end, tuple(added)))
