"""Cases T: text that is no valid Unicode, that is cut, that holds NUL."""

from __future__ import annotations

import pytest

from convostore.schemas import Conversation
from convostore.schemas.errors import ConvostoreError, InvalidRecordError
from convostore.schemas.json_values import JSON, same_json
from convostore.schemas.resources import Resource
from support.journeys import PLAIN, Journey, check_lines, export

pytestmark = pytest.mark.parametrize("face", ["sync"], indirect=True)

HALVES = [
    "\ud800",
    "\udfff",
    "a\udb8d",
    "\udc81x",
    "\ud83d\ud83d",
    "\ude00\ud83d",
    "\U0001f600\ud83d",
    "\0\ud800",
]


def test_T01_lone_halves_wherever_JSON_has_text(journey: Journey) -> None:
    values: list[JSON] = [HALVES, {half: half for half in HALVES}, [[{"k": [half]}] for half in HALVES]]
    journey.keeps(*({"role": "tool", "content": value} for value in values))
    journey.keeps(*HALVES)
    journey.keeps_extra(values)
    resource = Resource(name="r", metadata={"m": values})
    id = journey.new(PLAIN, resources=[resource])
    assert same_json(journey.store.get(id).resources[0].metadata, resource.metadata)
    stored = journey.store.create(Conversation(user=journey.user), unknown={"u": values})
    check_lines(export(journey.store, journey.user))
    journey._exported()
    assert stored.id


def test_T01_one_odd_message_harms_no_other(journey: Journey) -> None:
    id = journey.new(PLAIN, {"content": HALVES}, PLAIN)
    page = journey.store.messages(id)
    assert same_json([entry.message for entry in page], [PLAIN, {"content": HALVES}, PLAIN])
    assert [head.id for head in journey.store.find(user=journey.user)] == [id]
    journey.store.edit(id, 1, PLAIN)
    assert journey.store.get(id).messages == [PLAIN] * 3


def test_T01_texts_of_the_record_are_refused_with_their_name(journey: Journey) -> None:
    for name in ("thread", "label", "failed_reason", "user"):
        with pytest.raises(ValueError, match="surrogate"):
            Conversation(**{"user": journey.user, name: "x\ud800"})
    for lists in ("steering_messages", "follow_up_messages"):
        record = Conversation(user=journey.user, **{lists: ["fine"]})
        getattr(record, lists).append("x\ud800")
        with pytest.raises(InvalidRecordError, match=lists):
            journey.store.create(record)
    record = Conversation(user=journey.user, resources=[Resource(name="r")])
    record.resources[0].tags.append("\ud800")
    with pytest.raises(InvalidRecordError, match=r"resources\[0\]"):
        journey.store.create(record)
    for member in ("name", "description", "uri", "mime_type"):
        with pytest.raises(ValueError, match="surrogate"):
            Resource(**{"name": "r", member: "\ud800"})
    assert journey.store.count(user=journey.user) == 0


def test_T02_halves_that_meet_are_one_character(journey: Journey) -> None:
    id = journey.new({"content": "\ud83c" + "\udf78"})
    assert same_json(journey.store.get(id).messages, [{"content": "\U0001f378"}])
    arguments = '{"t": "\\ud83c\\udf78"}'
    journey.keeps({"role": "assistant", "arguments": arguments})


def test_T03_nothing_is_cut(journey: Journey) -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    labels = [
        "a" * 199 + "\U0001f600" + "tail",
        family * 400,
        "\u20ac" * 5000,
        "e\u0301" * 3000,
        "\n\t \u00a0",
    ]
    for label in labels:
        id = journey.new({"role": "user", "content": label}, label=label, extra={"title": label})
        found = journey.store.head(id)
        assert found.label == found.extra["title"] == found.last.message["content"] == label
        assert [head.id for head in journey.store.find(user=journey.user, label=label)] == [id]
        assert journey.store.set_status(id, "failed", reason=label).failed_reason == label


def test_T03_ids_of_256_characters_and_not_one_more(journey: Journey) -> None:
    for text in ("x" * 256, "\U0001f600" * 256):
        record = journey.store.create(Conversation(user=text, thread=text, messages=[PLAIN]))
        assert [head.id for head in journey.store.find(user=text, thread=text)] == [record.id]
        assert journey.store.append(record.id, PLAIN, key=text, user=text).ids == (1,)
        for call in (
            lambda text=text: journey.store.find(user=text + "x"),
            lambda text=text, id=record.id: journey.store.append(id, PLAIN, key=text + "x"),
            lambda text=text, id=record.id: journey.store.update(id, thread=text + "x"),
        ):
            with pytest.raises(ConvostoreError):
                call()
        journey.store.delete(record.id)


def test_T06_NUL_and_controls_in_values(journey: Journey) -> None:
    controls = "".join(map(chr, (*range(32), *range(127, 160), 0xFEFF, 0x2028, 0x202E, 0xFFFF, 0x10FFFF)))
    journey.keeps({"role": "tool", "content": controls}, controls)
    journey.keeps_extra({"text": controls})
    id = journey.new(PLAIN, label=controls, follow_up_messages=[controls])
    store = journey.store
    store.steer(id, controls + "x")
    store.set_status(id, "failed", reason=controls)
    found = store.get(id)
    assert [found.label, found.follow_up_messages, found.steering_messages, found.failed_reason] == [
        controls,
        [controls],
        [controls + "x"],
        controls,
    ]
    assert store.take(id).follow_ups == (controls,)
    for refused in (
        lambda: store.find(user="a\0b"),
        lambda: store.update(id, thread="a\nb"),
        lambda: store.append(id, PLAIN, key="a\0b"),
    ):
        with pytest.raises(InvalidRecordError):
            refused()
