"""Hard inputs: files to import, and usage that is no count."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas.errors import ConflictError, InvalidRecordError, QueryError
from convostore.schemas.json_values import JSON, same_json
from convostore.store.history import usage_of
from support.hard_inputs import Row
from support.journeys import PLAIN, Clock, Journey

pytestmark = pytest.mark.shared


def lines(row: Row, *, each_a_conversation: bool) -> bytes:
    """The row's messages as a file: one a line, or each in a conversation of its own."""
    given = [f'{{"messages":[{line}]}}' for line in row.value] if each_a_conversation else row.value
    return "\n".join(given).encode()


def refused_positions(report: Any) -> list[Any]:
    return [problem.position for problem in report.problems if problem.kind == "failed"]


def test_HI_071_date_as_text_import(row: Row, journey: Journey) -> None:
    for each in (True, False):
        report = journey.store.import_conversations(
            lines(row, each_a_conversation=each), format="openai", user=f"{journey.user} {each}"
        )
        assert refused_positions(report) == [4, 5], "a date that is none, and one without a zone"
        heads = list(journey.store.scan(user=f"{journey.user} {each}"))
        entries = [entry for head in heads for entry in journey.store.entries(head.id)]
        assert [entry.made for entry in entries] == [1_704_067_200_000] * 3
        assert {head.created_at for head in heads} == {1_704_067_200_000}
        assert same_json(
            [entry.message["created_at"] for entry in entries],
            [
                "2024-01-01T00:00:00Z",
                1704067200,
                1704067200000,
            ],
        )
        since = journey.store.find(user=f"{journey.user} {each}", since=1_704_067_200_000)
        assert len(since) == len(heads)


def test_HI_169_import_lines(row: Row, journey: Journey) -> None:
    report = journey.store.import_conversations(
        lines(row, each_a_conversation=False), format="openai", user=journey.user
    )
    assert refused_positions(report) == [3, 6, 7, 8], "a cut line, and what is no message"
    assert (report.messages, report.imported, report.failed) == (4, 1, 4)
    assert any("occurs twice" in note for note in report.notes)
    (head,) = journey.store.scan(user=journey.user)
    contents = [entry.message["content"] for entry in journey.store.entries(head.id)]
    assert same_json(contents, ["1", "bom", "2", float("nan")])
    again = journey.store.import_conversations(
        lines(row, each_a_conversation=False), format="openai", user=journey.user
    )
    assert (again.imported, again.unchanged) == (0, 1)
    assert journey.store.count(user=journey.user) == 1


def as_counters(usage: dict[str, JSON]) -> dict[str, JSON]:
    """The row's usage under our names."""
    names = {"in": "input_tokens", "out": "output_tokens"}
    return {names[name]: count for name, count in usage.items()}


def test_HI_171_usage_repeated_on_parts(row: Row, journey: Journey) -> None:
    first, second, _ = row.value
    store, id = journey.store, journey.new()
    # One response, one key: its usage counts once, whatever is sent again under that key.
    for _ in range(2):
        store.append(id, PLAIN, key=first["response_id"], usage=as_counters(second["usage"]))
    with pytest.raises(ConflictError):
        store.append(id, PLAIN, key=first["response_id"], usage=as_counters(first["usage"]))
    usage = store.head(id).usage
    assert (usage.input_tokens, usage.output_tokens) == (4, 27)
    assert store.head(id).message_count == 1


def test_HI_174_dst_hours(row: Row, journey: Journey, clock: Clock) -> None:
    from datetime import datetime

    store = journey.store
    clock.now = int(datetime.fromisoformat("2024-01-01T00:00:00+00:00").timestamp() * 1000)
    id = journey.new()
    given = []
    for step in row.value:
        if step["do"] == "record_usage":
            clock.now = int(datetime.fromisoformat(step["at"].replace("Z", "+00:00")).timestamp() * 1000)
            given.append((clock.now, as_counters(step["usage"])))
            store.append(id, PLAIN, usage=given[-1][1])
    records = journey.head_document(id)["log"]
    assert [(record["at"], usage_of(record)) for record in records] == given
    assert store.head(id).usage.input_tokens == 15
    reports = [step for step in row.value if step["do"] == "usage"]
    *known, unknown = [
        lambda step=step: store.analytics.usage(user=journey.user, by=step["by"], tz=step["tz"])
        for step in reports
    ]
    hours, days, half_hours = [{one.label: one.input_tokens for one in ask()} for ask in known]
    assert all(sum(report.values()) == 15 for report in (hours, days, half_hours))
    assert {label: count for label, count in hours.items() if count} == {
        "2024-03-10T01:00-05:00": 4,
        "2024-03-10T03:00-04:00": 8,
        "2024-11-03T01:00-04:00": 1,
        "2024-11-03T01:00-05:00": 2,
    }
    assert {label: count for label, count in days.items() if count} == {"2024-03-10": 12, "2024-11-03": 3}
    with pytest.raises(QueryError, match="Mars/Phobos"):
        unknown()


def test_HI_175_dirty_usage(row: Row, journey: Journey) -> None:
    store, id = journey.store, journey.new()
    good = 0
    for number, usage in enumerate(row.value):
        counted = None if usage is None else as_counters(usage)
        count = 0 if counted is None else counted.get("input_tokens", 0)
        fits = type(count) is int and count >= 0
        if not fits:
            with journey.nothing_written(), pytest.raises(InvalidRecordError, match="input_tokens"):
                store.append(id, PLAIN, usage=counted)
        done = store.append(id, PLAIN, usage=counted, usage_errors="report")
        assert done.ids == (number,), "bad usage never blocks saving the message"
        assert bool(done.usage_errors) is not fits
        good += count if fits else 0
    usage = store.head(id).usage
    assert usage.input_tokens == min(good, 2**64 - 1)
    assert usage.output_tokens == usage.cached_tokens == usage.requests == 0
