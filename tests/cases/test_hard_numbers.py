"""Hard inputs: numbers that databases, drivers or JSON readers change or refuse."""

from __future__ import annotations

import pytest

from convostore.schemas import Conversation, Usage
from convostore.schemas.errors import InvalidRecordError, QueryError
from support.hard_inputs import Row
from support.journeys import PLAIN, Journey, check_lines, export

pytestmark = pytest.mark.shared


def test_HI_040_ints_beyond_int64(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    journey.keeps_extra(row.value)


def test_HI_041_huge_int_5000_digits(row: Row, journey: Journey) -> None:
    journey.refuses(row.value, ".content.n")
    journey.refuses_extra(row.value, ".content.n")


def test_HI_042_huge_ints_as_parameters(row: Row, journey: Journey) -> None:
    seq, too_many, skipped, none = (
        next(step[name] for name in ("seq", "limit", "skip") if name in step) for step in row.value
    )
    store, id = journey.store, journey.new(PLAIN)
    for call in (
        lambda: store.get(seq),
        lambda: store.messages(id, before=seq),
        lambda: store.messages(id, after=-seq),
        lambda: store.edit(id, seq, PLAIN),
        lambda: store.append(id, PLAIN, expected=seq),
    ):
        with pytest.raises(InvalidRecordError):
            call()
    for call in (
        lambda: store.messages(id, limit=too_many),
        lambda: store.messages(id, limit=none),
        lambda: store.delta(id, skipped),
        lambda: store.delta(id, seq),
        lambda: store.find(user=journey.user, limit=seq),
        lambda: store.find(user=journey.user, since=seq),
        lambda: store.delete_expired(seq, user=journey.user),
    ):
        with pytest.raises(QueryError):
            call()


def test_HI_043_unsigned_usage(row: Row, journey: Journey) -> None:
    given = row.value["usage"]
    id = journey.new(PLAIN, usage=Usage(**given))
    journey.store.append(id, PLAIN, usage=given)
    usage = journey.store.get(id).usage
    assert usage.input_tokens == 2**64 - 1, "a counter stops at the end of its range"
    assert usage.output_tokens == 2 * given["output_tokens"]
    assert journey.store.head(id).usage == usage
    check_lines(export(journey.store, journey.user))
    journey.keeps(row.value)


def test_HI_045_beyond_2_53(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    written = export(journey.store, journey.user).decode()
    assert '{"$int":"718293645546372819"}' in written, "a reader of doubles would round it"


def test_HI_046_non_finite(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    journey.keeps_extra(row.value)
    assert '{"$float":"NaN"}' in export(journey.store, journey.user).decode()


def test_HI_048_float_edges(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    journey.keeps_extra(row.value)


def test_HI_049_numbers_in_text(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_050_bool_int_float(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    for id in (1.0, "1", True):
        with pytest.raises(InvalidRecordError):
            journey.store.get(id)
    with pytest.raises(InvalidRecordError):
        journey.store.create(Conversation(user=journey.user), source={"id": 1})
