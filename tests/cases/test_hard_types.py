"""Hard inputs: what JSON cannot say, and what must stay the JSON it is."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas import Conversation
from convostore.schemas.errors import InvalidRecordError, QueryError
from support.hard_inputs import Row
from support.journeys import PLAIN, Journey

pytestmark = pytest.mark.shared


def test_HI_064_aware_non_utc(row: Row, journey: Journey) -> None:
    journey.refuses(row.value, ".created_at")
    journey.refuses_extra(row.value, ".created_at")


def test_HI_065_naive(row: Row, journey: Journey) -> None:
    journey.refuses(row.value, ".created_at")


def test_HI_066_fold_and_gap(row: Row, journey: Journey) -> None:
    for date in row.value:
        journey.refuses({"role": "user", "at": [date]}, ".at[0]")
        journey.refuses_extra(date)
        for call in (
            lambda date=date: journey.store.find(user=journey.user, since=date),
            lambda date=date: journey.store.delete_expired(date, user=journey.user),
        ):
            with pytest.raises(QueryError):
                call()
        with pytest.raises(ValueError, match="created_at"):
            Conversation(user=journey.user, created_at=date)


def test_HI_072_decimals(row: Row, journey: Journey) -> None:
    journey.refuses(row.value, ".content[0]")
    for (number,) in row.value["content"]:
        journey.refuses({"role": "tool", "content": [number]}, ".content[0]")


def test_HI_073_uuids(row: Row, journey: Journey) -> None:
    journey.refuses(row.value, ".content.order")
    journey.refuses_extra(row.value, ".content.order")
    id, uuid = journey.new(PLAIN), row.value["content"]["order"]
    calls: list[Any] = [
        lambda: journey.store.get(uuid),
        lambda: journey.store.get(id, user=uuid),
        lambda: journey.store.find(user=uuid),
        lambda: journey.store.append(id, PLAIN, key=uuid),
    ]
    for call in calls:
        with pytest.raises(InvalidRecordError):
            call()


def test_HI_076_state_with_late_bad_value(row: Row, journey: Journey) -> None:
    journey.refuses_extra(row.value, ".at")
    journey.refuses(row.value, ".at")
    late = {name: value for name, value in row.value.items() if name != "at"}
    journey.refuses_extra(late, ".mime")


def test_HI_080_text_that_is_json(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    journey.keeps_extra(row.value["content"])


def test_HI_081_list_content_with_tool_call_part(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_082_tuple_content(row: Row, journey: Journey) -> None:
    journey.refuses(row.value, ".content")
    journey.refuses_extra(row.value, ".content")
