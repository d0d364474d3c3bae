"""Filters of lists, against the conditions they stand for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.conversations import ConversationStatus
from convostore.schemas.errors import QueryError
from convostore.store.codec import decode_u64
from convostore.store.finding import Wanted, cursor_after, query_for

HOUR = 3_600_000
times = st.one_of(st.integers(0, 5 * HOUR), st.integers(0, 300 * HOUR), st.integers(0, 2**64 - 1))


def holds(query: dict[str, Any], document: dict[str, Any]) -> bool:
    """Whether a filter of equality, ``$in``, ``$gte``, ``$lt`` and ``$lte`` fits the document."""
    for name, wanted in query.items():
        value = document[name]
        if not isinstance(wanted, dict):
            if value != wanted:
                return False
            continue
        for operator, bound in wanted.items():
            if operator == "$in":
                fits = value in [one if isinstance(one, str) else decode_u64(one) for one in bound]
            else:
                number = decode_u64(bound)
                fits = {"$gte": value >= number, "$lt": value < number, "$lte": value <= number}[operator]
            if not fits:
                return False
    return True


@given(st.one_of(st.none(), times), st.one_of(st.none(), times), times)
def test_a_range_of_times_holds_what_was_created_in_it(
    since: int | None, until: int | None, created: int
) -> None:
    wanted = Wanted(None, since=since, until=until)
    document = {"created_at": created, "period": created // HOUR}
    if since is not None and until is not None and since >= until:
        with pytest.raises(QueryError):
            query_for(wanted)
        return
    inside = (since is None or since <= created) and (until is None or created < until)
    assert holds(query_for(wanted), document) == inside


@given(times, st.integers(1, 260))
def test_a_short_range_names_its_hours_one_by_one(since: int, hours: int) -> None:
    """An index is then read hour by hour, in order of ids; the server does that for 200 at most."""
    until = since + hours * HOUR
    if until >= 2**64:
        return
    period = query_for(Wanted("alice", since=since, until=until))["period"]
    named = (until - 1) // HOUR - since // HOUR + 1
    if named <= 200:
        assert len(period["$in"]) == named
    else:
        assert set(period) == {"$gte", "$lte"}


def test_every_condition_is_a_plain_value_under_its_own_name() -> None:
    statuses = (ConversationStatus.WORKING, ConversationStatus.FAILED)
    query = query_for(Wanted("$ne", "a.b", statuses, "{'$gt': ''}"))
    assert query == {
        "user": "$ne",
        "thread": "a.b",
        "status": {"$in": ["working", "failed"]},
        "label": "{'$gt': ''}",
    }
    assert query_for(Wanted(None)) == {}


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6, unique=True), st.integers(1, 6))
def test_a_cursor_goes_on_behind_the_last_of_a_page(ids: list[int], limit: int) -> None:
    ids.sort(reverse=True)
    cursor = cursor_after(ids, limit)
    if len(ids) <= limit:
        assert cursor is None
        return
    bound = query_for(Wanted("alice"), cursor)["_id"]
    assert [id for id in ids if id < decode_u64(bound["$lt"])] == ids[limit:]


@pytest.mark.parametrize("cursor", ["", "nonsense", "b64:", "b64:!!", "5", "b64:" + "A" * 400])
def test_a_cursor_that_is_none_of_ours_is_refused(cursor: str) -> None:
    with pytest.raises(QueryError):
        query_for(Wanted("alice"), cursor)
