"""Cases C: content that other stores dropped, reordered, merged or refused."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from convostore.schemas.errors import ConflictError, InvalidRecordError
from convostore.schemas.json_values import JSON, same_json
from convostore.schemas.resources import Resource
from convostore.store.layout import SCHEMA_VERSION
from support.faces import Face
from support.journeys import PLAIN, Journey

one_face = pytest.mark.parametrize("face", ["sync"], indirect=True)

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SIBLINGS: list[JSON] = [
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "assistant", "content": [], "tool_calls": [CALL]},
    {"role": "assistant", "tool_calls": [CALL]},
    {"role": "assistant", "tool_calls": [CALL], "content": None},
    {"role": "assistant", "content": {}, "tool_calls": [CALL]},
]


@one_face
def test_C01_signatures_come_back_to_the_byte(journey: Journey) -> None:
    signature = "EqQBCkYIBRgCKkBa+/==" * 500 + "\u00a0\u2014\r\n\t"
    parts = [
        {"type": "thinking", "thinking": "step\u00a01 \u2014 z", "signature": signature},
        {"type": "redacted_thinking", "data": signature, "extra": None},
        {"thoughtSignature": signature, "functionCall": {"name": "f", "args": {}}},
    ]
    journey.keeps({"role": "assistant", "content": parts})


@one_face
def test_C03_nothing_scans_or_logs_what_people_wrote(
    journey: Journey, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "sk-test-0000000000000000000000000000"
    with caplog.at_level(logging.DEBUG, logger="convostore"):
        journey.keeps({"role": "user", "content": secret, "signature": f"Er{secret}=="})
    assert secret not in caplog.text


@one_face
def test_C05_absent_null_and_empty_stay_different(journey: Journey) -> None:
    store, id = journey.store, journey.new(*SIBLINGS)
    store.append(id, SIBLINGS)
    assert same_json(store.get(id).messages, SIBLINGS * 2)
    edited = journey.new(SIBLINGS[-1])
    for message in SIBLINGS:
        assert store.edit(edited, 0, message).changed == ("messages",), "each is another message"
        record = store.get(edited)
        assert same_json(record.messages, [message])
        assert not store.save(record).changed
    journey._exported()


@one_face
def test_C06_an_answer_cut_short_is_marked_and_kept(journey: Journey) -> None:
    store, id = journey.store, journey.new({"role": "user", "content": "hi"})
    for content in ("", [], None):
        store.append(id, {"role": "assistant", "content": content}, unfinished=True)
    store.append(id, {"role": "user", "content": "again"})
    assert [entry.unfinished for entry in store.entries(id)] == [False, True, True, True, False]
    shown = [entry.message["content"] for entry in store.messages(id, for_model=True)]
    assert shown == ["hi", "again"]
    assert store.head(id).message_count == 5
    journey._exported()
    entries = list(journey.target.entries(id))
    assert [entry.unfinished for entry in entries] == [False, True, True, True, False]


def test_C07_unknown_variants_never_stop_a_list(journey: Journey) -> None:
    odd: list[JSON] = [
        {"role": role, "content": content}
        for role in ("developer", "function", "brand_new_2030", "", None, 7)
        for content in ([{"type": "new"}, {"no_type": 1}, "bare", None, 7], {"type": 5}, [[[]]])
    ]
    ids = {journey.new(*odd), journey.new(odd[0]), journey.new("bare"), journey.new(None, 7, [])}
    store = journey.store
    assert {head.id for head in store.find(user=journey.user)} == ids
    assert {record.id for record in store.batch_get(sorted(ids), user=journey.user)} == ids
    for id in ids:
        store.messages(id, for_model=True)
        assert len(store.get(id).parsed) == store.head(id).message_count
        store.get(id).to_document()
    journey._exported()


@one_face
def test_C10_parts_stay_in_the_order_they_were_made(journey: Journey) -> None:
    kinds = ["reasoning", "tool_a", "tool_b", "reasoning", "text"]
    parts = [{"type": kind, "n": number} for number, kind in enumerate(kinds)]
    store, id = journey.store, journey.new(PLAIN)
    streamed = store.append(id, {"role": "assistant", "content": []}, unfinished=True).ids[0]
    for count in range(1, 6):
        store.edit(id, streamed, {"role": "assistant", "content": parts[:count]})
        assert store.messages(id, limit=1).items[0].message["content"] == parts[:count]


@one_face
def test_C11_key_order_survives_everything(journey: Journey) -> None:
    value = {
        "zebra": 1,
        "alpha": {"z": 1, "a": 2, "10": 3, "2": 4},
        "_id": 5,
        "10": 1,
        "2": 2,
        "B": 0,
        "a": 0,
    }
    journey.keeps(value, {"role": "tool", "content": [value]})
    store, id = journey.store, journey.new(PLAIN, extra=dict(value))
    store.update(id, merge={"zz": 1, "aa": 2})
    store.update(id, merge={"zebra": value})
    found = store.get(id).extra
    assert list(found) == [*value, "zz", "aa"]
    assert same_json(found["zebra"], value)
    turned = dict(reversed(list(value.items())))
    assert store.edit(id, 0, turned).changed and store.edit(id, 0, value).changed, "order counts"
    record = store.get(id)
    record.extra = dict(reversed(list(record.extra.items())))
    assert store.save(record).changed == ("extra",)
    assert next(iter(store.head(id).extra)) == "aa"


@one_face
def test_C12_old_and_new_shapes_of_a_message_side_by_side(journey: Journey) -> None:
    first = {"role": "assistant", "content": "hi"}
    second = {
        "role": "assistant",
        "content": "",
        "output": [{"content": [{"type": "output_text", "text": "hi"}]}],
    }
    journey.keeps(first, second)
    id = journey.new(first, second, label="shapes")
    assert same_json([entry.message for entry in journey.store.entries(id)], [first, second])
    assert len(journey.store.get(id).parsed) == 2
    assert journey.head_document(id)["schema_version"] == SCHEMA_VERSION, "the version is in the record"
    for message in (first, second):
        journey.store.append(id, message, usage={"output_tokens": 1, "requests": 1})
    (row,) = journey.store.analytics.usage(user=journey.user, label="shapes")
    assert (row.messages, row.output_tokens, row.unknown) == (4, 2, 1), "counted whatever its shape"


@one_face
def test_C13_the_message_that_breaks_a_rule_is_named(journey: Journey) -> None:
    turn: list[JSON] = [{"role": "assistant", "content": str(number)} for number in range(7)]
    id = journey.new(PLAIN)
    broken = [*turn[:3], {"role": "assistant", "content": [{"x": {1}}]}, *turn[4:]]
    with journey.nothing_written(), pytest.raises(InvalidRecordError) as refused:
        journey.store.append(id, broken)
    assert (refused.value.index, refused.value.path) == (3, "messages[3].content[0].x")
    journey.store.append(id, [message for number, message in enumerate(broken) if number != 3])
    assert journey.store.head(id).message_count == 7


def test_C14_members_change_independently(journey: Journey, face: Face) -> None:
    store, id = journey.store, journey.new(PLAIN)
    first, second = store.get(id), store.get(id)
    first.extra, second.label = {"a": 1}, "t"
    second.resources = [Resource(name="file")]
    store.save(first)
    assert store.save(second).rebased
    store.update(id, merge={"b": 2})
    store.update(id, thread="thread")
    record = store.get(id)
    assert (record.extra, record.label, record.thread) == ({"a": 1, "b": 2}, "t", "thread")
    assert [item.name for item in record.resources] == ["file"]
    writes: list[Any] = [
        lambda one: one.update(id, label="new"),
        lambda one: one.update(id, merge={"c": 3}),
        lambda one: one.update(id, merge={"d": 4}),
        lambda one: one.append(id, PLAIN, resources=Resource(name="attached")),
        lambda one: one.append(id, PLAIN, artifacts=Resource(name="made")),
        lambda one: one.append(id, PLAIN, usage={"requests": 1}),
        lambda one: one.steer(id, "now"),
        lambda one: one.set_status(id, "working"),
    ]
    assert not [one for one in face.together(store, writes) if isinstance(one, Exception)]
    record = store.get(id)
    assert record.extra == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert (record.label, record.status, record.usage.requests) == ("new", "working", 1)
    assert [item.name for item in record.resources + record.artifacts] == ["file", "attached", "made"]
    assert len(record.messages) == 4 and record.steering_messages == ["now"]
    stale = store.get(id)
    store.update(id, label="theirs")
    stale.label = "mine"
    with journey.nothing_written(), pytest.raises(ConflictError) as refused:
        store.save(stale)
    assert (refused.value.field, refused.value.expected, refused.value.actual) == ("label", "new", "theirs")
