"""Hard inputs: keys that mean something to MongoDB, or to nobody."""

from __future__ import annotations

import pytest

from convostore.schemas.json_values import same_json
from support.hard_inputs import Row
from support.journeys import PLAIN, Journey

pytestmark = pytest.mark.shared


def test_HI_012_schema_keys(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_013_dollar_top_level(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_014_dbref_like(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_015_dbref_like_with_db(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_016_dotted_and_nested_state(row: Row, journey: Journey) -> None:
    state = row.value["state"]
    id = journey.new(PLAIN)
    for name, value in state.items():
        journey.store.update(id, merge={name: value})
    assert same_json(journey.store.get(id).extra, state)
    journey.keeps_extra(row.value)
    journey.keeps(row.value)


def test_HI_017_nul_in_key(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    journey.keeps_extra(row.value)


def test_HI_030_each_as_data(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_031_message_shaped_like_push(row: Row, journey: Journey) -> None:
    id = journey.new(PLAIN)
    assert journey.store.append(id, row.value).ids == (1,)
    assert journey.store.head(id).message_count == 2
    journey.keeps(row.value)


def test_HI_033_reserved_names(row: Row, journey: Journey) -> None:
    id = journey.new(PLAIN)
    plain = journey.head_document(journey.new(PLAIN))
    journey.store.append(id, row.value)
    stored = journey.head_document(id)
    assert stored.keys() == plain.keys()
    assert (stored["_id"], stored["user"], stored["version"]) == (id, journey.user, 2)
    journey.keeps(row.value)
    journey.keeps_extra(row.value)


def test_HI_034_edit_and_delete_dollar_message(row: Row, journey: Journey) -> None:
    appended, edited, deleted = row.value
    id = journey.new(PLAIN)
    place = journey.store.append(id, appended["message"]).ids[0]
    journey.store.edit(id, place, edited["message"])
    record = journey.store.get(id)
    assert same_json(record.messages, [PLAIN, edited["message"]])
    del record.messages[deleted["index"] + 1]
    journey.store.save(record)
    assert same_json(journey.store.get(id).messages, [PLAIN])


def test_HI_035_odd_key_types(row: Row, journey: Journey) -> None:
    journey.refuses(row.value, ".content[1]")
    journey.refuses_extra(row.value, ".content[1]")
