"""What change records credit: every message and token once, to the quarter it was written in."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.periods import QUARTER_MS
from convostore.store import history
from convostore.store.codec import U64_MAX, decode_u64
from convostore.store.crediting import credited, first_hour, read_counts

COUNTERS = ("input_tokens", "output_tokens", "cached_tokens", "requests")
TIMES = st.integers(0, 12 * QUARTER_MS)


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """A push, or usage alone, or a splice; at most two models; some messages with times of their own."""
    at, key = draw(TIMES), draw(st.text(max_size=3))
    usage = draw(st.none() | st.dictionaries(st.sampled_from(COUNTERS), st.integers(1, U64_MAX), min_size=1))
    kind = draw(st.sampled_from(["push", "usage", "splice"]))
    if kind == "usage":
        return history.usage_record(at, key, usage or {"requests": 1})
    if kind == "splice":
        drawn = draw(st.integers(0, 3))
        return history.splice_record(
            at, key, 0, 1, placed=range(drawn), drawn=drawn, removed=[{"id": 0}], usage=usage
        )
    made = draw(st.lists(st.none() | TIMES, min_size=1, max_size=4))
    model = draw(st.sampled_from([None, "small", "large"]))
    record = history.push_record(at, len(made), key=key, usage=usage, model=model)
    return record | (history.own_times(made, at) if draw(st.booleans()) else {})


logs = st.lists(records(), max_size=12)


def written(record: dict[str, Any]) -> int:
    return int(record["e"]) if "e" in record else history.pushed(record)


@given(logs)
def test_every_message_and_token_is_credited_once(log: list[dict[str, Any]]) -> None:
    totals: dict[Any, int] = defaultdict(int)
    for record in log:
        model = record.get("md", "")
        totals[model, "messages"] += written(record)
        for name, count in history.usage_of(record).items():
            totals[model, name] = min(totals[model, name] + count, U64_MAX)
    found: dict[Any, int] = defaultdict(int)
    for row in credited(log):
        counts = read_counts(row)
        for name in ("messages", *COUNTERS):
            place = (row.get("m", ""), name)
            found[place] = min(found[place] + getattr(counts, name), U64_MAX)
    assert {place: count for place, count in found.items() if count} == {
        place: count for place, count in totals.items() if count
    }


@given(logs)
def test_each_is_credited_to_its_own_quarter(log: list[dict[str, Any]]) -> None:
    messages: dict[int, int] = defaultdict(int)
    requests: dict[int, int] = defaultdict(int)
    for record in log:
        own = record.get("qs", [])
        for quarter, count in own:
            messages[quarter] += count
        quarter = record["at"] // QUARTER_MS
        messages[quarter] += written(record) - sum(count for _, count in own)
        requests[quarter] = min(requests[quarter] + history.usage_of(record).get("requests", 0), U64_MAX)
    rows = credited(log)
    found: dict[int, int] = defaultdict(int)
    asked: dict[int, int] = defaultdict(int)
    for row in rows:
        assert row["h"] == row["q"] // 4
        found[row["q"]] += row["n"]
        asked[row["q"]] = min(asked[row["q"]] + decode_u64(row.get("r", 0)), U64_MAX)
    assert {q: n for q, n in found.items() if n} == {q: n for q, n in messages.items() if n}
    assert {q: n for q, n in asked.items() if n} == {q: n for q, n in requests.items() if n}
    assert [(row["q"], row.get("m", "")) for row in rows] == sorted(
        (row["q"], row.get("m", "")) for row in rows
    )
    assert first_hour(log) == min((row["h"] for row in rows), default=None)


@given(logs)
def test_known_and_unknown_usage_are_told_apart(log: list[dict[str, Any]]) -> None:
    rows = [read_counts(row) for row in credited(log)]
    assert sum(row.known for row in rows) == sum("u" in record for record in log)
    silent = [record for record in log if "u" not in record and history.pushed(record)]
    assert sum(row.unknown for row in rows) == len(silent)
    assert sum(row.edits for row in rows) == sum("from" in record for record in log)


@given(logs, st.integers(0, 12))
def test_sums_of_parts_add_up(log: list[dict[str, Any]], cut: int) -> None:
    """Whoever seals a log in two does not change what was used in a quarter."""
    totals: dict[Any, int] = defaultdict(int)
    for part in (log[:cut], log[cut:]):
        for row in credited(part):
            totals[row["q"], row.get("m")] += row["n"]
    assert dict(totals) == {(row["q"], row.get("m")): row["n"] for row in credited(log)}


def test_what_undo_brings_back_was_written_before() -> None:
    taken = history.splice_record(1, "a", 0, 2, placed=[], drawn=0, removed=[{"id": 0}, {"id": 1}])
    back = history.splice_record(2, "b", 0, 0, placed=[0, 1], drawn=2, removed=None) | {"undo": 1}
    (row,) = credited([taken, back])
    assert (row["n"], row["d"]) == (0, 2)


def test_changes_of_status_are_kept_each_once() -> None:
    log = [history.push_record(at, 1, key="k", model="m") | {"st": "working"} for at in (1, 2, 3)]
    log.append(history.push_record(4, 1, key="k") | {"st": "completed"})
    (plain, by_model) = credited(log)
    assert plain["st"] == [[1, "working"], [4, "completed"]]
    assert "st" not in by_model and by_model["n"] == 3
