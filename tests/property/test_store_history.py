"""Change records, over generated logs: the ids they gave, the keys they know, the sums they make."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.json_values import same_json
from convostore.store import history
from convostore.store.codec import U64_MAX
from convostore.store.history import HOUR_MS
from support.json_strategies import json_values

counts = st.one_of(st.integers(0, 5), st.sampled_from([2**62, 2**63, U64_MAX]))
usages = st.dictionaries(
    st.sampled_from(["input_tokens", "output_tokens", "cached_tokens", "requests"]), counts
)


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Pushes, splices and bare usage, in order of time, each under a key of its own."""
    log: list[dict[str, Any]] = []
    at = 0
    for number in range(draw(st.integers(0, 10))):
        at += draw(st.sampled_from([0, 1, HOUR_MS // 3, 5 * HOUR_MS]))
        key, usage = f"key-{number}", draw(usages)
        kind = draw(st.sampled_from(["push", "push", "splice", "usage"]))
        if kind == "push":
            model = draw(st.sampled_from([None, "m1", "m2"]))
            log.append(history.push_record(at, draw(st.integers(1, 4)), key=key, usage=usage, model=model))
        elif kind == "splice":
            drawn = draw(st.integers(0, 3))
            log.append(
                history.splice_record(
                    at, key, 0, 1, placed=range(drawn), drawn=drawn, removed=None, usage=usage
                )
            )
        else:
            log.append(history.usage_record(at, key, usage))
    return log


@given(logs(), st.integers(0, 100))
def test_a_record_tells_the_ids_it_gave_from_the_counter_behind_all(
    log: list[dict[str, Any]], first: int
) -> None:
    given_out, expected = first, []
    for record in log:
        pushed = history.pushed(record)
        expected.append(tuple(range(given_out, given_out + pushed)))
        given_out += history.drawn(record)
    found = [history.ids_of(log, place, given_out) for place in range(len(log))]
    assert found == expected


@given(logs())
def test_a_record_is_found_by_its_key_only(log: list[dict[str, Any]]) -> None:
    for place in range(len(log)):
        assert history.find_record(log, [f"key-{place}"]) == place
    assert history.find_record(log, ["key-99", "unknown"]) is None


@given(st.lists(st.text(max_size=3), min_size=1, max_size=4, unique=True))
def test_a_record_of_many_keys_is_found_by_each(keys: list[str]) -> None:
    record = history.push_record(1, len(keys), key=keys, digests=[1] * len(keys))
    assert history.keys_of(record) == keys
    assert [history.find_record([{"k": "none"}, record], [key]) for key in keys] == [1] * len(keys)


@given(json_values, json_values)
def test_a_digest_tells_different_json_apart(one: Any, other: Any) -> None:
    assert history.digest(one) == history.digest(one)
    if not same_json(one, other):
        assert history.digest(one) != history.digest(other)
        assert history.digest([one], other) != history.digest(one, [other])


def test_a_digest_tells_kinds_of_numbers_apart() -> None:
    assert len({history.digest(value) for value in (1, 1.0, True, "1", [1])}) == 5
