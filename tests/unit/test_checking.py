"""The doctor's pure part: content with a sound head, and with no damage to it."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.store import checking, history
from convostore.store.codec import encode_u64
from convostore.store.crediting import credited
from support.layouts import Layout, layout_of


def sound() -> Layout:
    entries = [{"id": id, "m": f"entry {id}"} for id in range(12)]
    layout = layout_of(entries, [3, 4], plain=2)
    counters = ("input_tokens", "output_tokens", "cached_tokens", "requests")
    layout.head |= {
        "log": [history.push_record(1, 1, key=f"k{number}") for number in range(3)],
        "revision": 5,
        "log_start": 2,
        "created_at": 7_300_000,
        "period": 2,
        "usage": {name: encode_u64(2**64 - 1) for name in counters},
    }
    return layout


def sealed_records() -> list[dict[str, Any]]:
    records = [history.push_record(at, 1, key=f"s{at}", usage={"requests": 1}) for at in (1, 2)]
    sums = credited(records)
    return [{"_id": {"from": 1}, "to": 2, "recs": records, "sums": sums}]


def findings(layout: Layout, changes: list[dict[str, Any]]) -> list[str]:
    found = checking.check_head(layout.head) + checking.check_usage(layout.head)
    found += checking.check_segments(layout.head, layout.segments)
    found += checking.check_ledger(layout.head, changes)
    return [f"{one.severity} {one.kind}" for one in found]


def test_a_sound_conversation_has_no_findings() -> None:
    assert findings(sound(), sealed_records()) == []


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({"embedded_count": 6}, "embedded_count"),
        ({"embedded_bytes": 9_000}, "embedded_bytes"),
        ({"revision": 6}, "log"),
        ({"period": 3}, "period"),
        ({"next_entry": 11}, "entry_ids"),
        ({"taken_steering": [{"text": "lost"}]}, "queues"),
        ({"usage": {"input_tokens": -1}}, "usage"),
        ({"usage": {}}, "usage"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_member_is_told(members: dict[str, Any], kind: str) -> None:
    layout = sound()
    layout.head |= members
    assert f"broken {kind}" in findings(layout, sealed_records())


def test_an_entry_with_an_id_behind_one_without_is_told() -> None:
    layout = sound()
    layout.head["messages"] = layout.head["messages"][::-1]
    assert "broken entry_ids" in findings(layout, sealed_records())


def test_a_missing_segment_is_told() -> None:
    layout = sound()
    layout.segments.popitem()
    assert findings(layout, sealed_records()) == ["broken segment_missing"]


def test_a_segment_unlike_its_item_is_told() -> None:
    layout = sound()
    segment = next(iter(layout.segments.values()))
    del segment[0]
    assert findings(layout, sealed_records()) == ["broken segment_count"]
    segment.append({"id": 40, "m": "foreign"})
    assert "broken segment_ids" in findings(layout, sealed_records())


def test_two_entries_of_one_id_are_told() -> None:
    layout = sound()
    first, second = layout.segments.values()
    second[1] = first[0]
    assert "broken entry_ids" in findings(layout, sealed_records())


def test_missing_or_wrong_sealed_records_are_told() -> None:
    assert findings(sound(), []) == ["broken changes_gap"]
    wrong = sealed_records()
    wrong[0]["sums"][0]["n"] += 1
    assert findings(sound(), wrong) == ["broken ledger"]
    short = sealed_records()
    del short[0]["recs"][0]
    assert "broken changes_gap" in findings(sound(), short)


def test_records_sealed_by_one_who_died_before_the_cut_are_no_damage() -> None:
    ahead = {"_id": {"from": 3}, "to": 4, "recs": [], "sums": []}
    assert findings(sound(), [*sealed_records(), ahead]) == []


def test_every_reference_to_pieces_is_found() -> None:
    entries = [{"blob": {"b": 1}}, {"m": 1}, {"name": "r", "blob": "b64:AA"}]
    records = [{"rm": [{"blob": {"b": 2}}]}, {"at": 1}]
    assert checking.referenced_blobs(entries, records) == {1, 2}
