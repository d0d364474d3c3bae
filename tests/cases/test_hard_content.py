"""Hard inputs: content that is empty, null, unknown or in an order that matters."""

from __future__ import annotations

import pytest

from convostore.schemas.json_values import same_json
from support.hard_inputs import Row
from support.journeys import PLAIN, Journey

pytestmark = pytest.mark.shared


def test_HI_085_signed_thinking(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_087_signature_like_secret(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_088_null_content(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_089_empty_string_content(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_090_empty_list_content(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_091_no_content_key(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_092_null_everywhere(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_093_empty_assistant_between(row: Row, journey: Journey) -> None:
    messages = row.value[0]["messages"]
    id = journey.new(*messages)
    for message in messages:
        journey.store.append(id, message)
    assert same_json(journey.store.get(id).messages, messages + messages)
    shown = [entry.message for entry in journey.store.messages(id, for_model=True)]
    assert all(message in messages for message in shown)
    assert [message["content"] for message in shown if message["content"]] == ["hi", "again"] * 2
    unfinished = journey.store.append(id, messages[1], unfinished=True).ids[0]
    assert journey.store.messages(id, limit=1).items[0].unfinished
    assert unfinished not in [entry.id for entry in journey.store.messages(id, for_model=True)]


def test_HI_094_unknown_parts(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    listed = journey.store.find(user=journey.user).items
    assert {head.id for head in listed} == {head.id for head in journey.store.scan(user=journey.user)}
    assert journey.store.count(user=journey.user) == len(listed) > 0


def test_HI_095_unknown_roles(row: Row, journey: Journey) -> None:
    # A message is stored as it came: no role is known or unknown to the store.
    messages = row.value[0]["messages"]
    id = journey.new()
    assert len(journey.store.append(id, messages).ids) == len(messages)
    assert same_json(journey.store.get(id).messages, messages)
    journey.keeps(*messages)


def test_HI_096_responses_style_items(row: Row, journey: Journey) -> None:
    items = row.value[0]["messages"]
    id = journey.new()
    journey.store.append(id, items, dialect="openai-responses")
    page = journey.store.messages(id)
    assert same_json([entry.message for entry in page], items)
    assert {entry.dialect for entry in page} == {"openai-responses"}
    journey.keeps(*items)


def test_HI_103_part_order(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    parts = row.value["content"]
    id = journey.new(PLAIN)
    streamed = journey.store.append(id, {**row.value, "content": parts[:1]}, unfinished=True).ids[0]
    for count in range(2, len(parts) + 1):
        journey.store.edit(
            id, streamed, {**row.value, "content": parts[:count]}, finished=count == len(parts)
        )
    assert same_json(journey.store.get(id).messages, [PLAIN, row.value])
    assert not journey.store.messages(id, limit=1).items[0].unfinished


def test_HI_104_key_order(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    journey.keeps_extra(row.value)


def test_HI_105_two_schema_versions(row: Row, journey: Journey) -> None:
    first = {"role": "assistant", "content": "hi"}
    second = {"role": "assistant", **row.value}
    id = journey.new(first, second)
    assert same_json(journey.store.get(id).messages, [first, second])
    for message in (first, second):
        journey.store.append(id, message, usage={"output_tokens": 1, "requests": 1})
    (day,) = journey.store.analytics.usage(user=journey.user)
    assert (day.messages, day.output_tokens) == (4, 2), "counted whatever its shape"
    journey.keeps(row.value, second)


def test_HI_106_metadata_merge(row: Row, journey: Journey) -> None:
    first, second, titled, _ = row.value
    store, id = journey.store, journey.new(PLAIN)
    store.update(id, merge=first["value"])
    store.update(id, merge=second["value"])
    store.update(id, label=titled["title"])
    record = store.get(id)
    assert same_json(record.extra, first["value"] | second["value"])
    assert record.label == titled["title"]
    store.update(id, merge={"n": {"y": 2}})
    assert same_json(store.head(id).extra, {"a": 1, "n": {"y": 2}, "b": 2}), "a member is replaced whole"
    store.update(id, extra=None)
    assert (store.head(id).extra, store.head(id).label) == (None, titled["title"])
