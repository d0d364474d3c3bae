"""Readers of foreign formats, whatever becomes of a fixture: each record is taken or named, nothing lost."""

from __future__ import annotations

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from convostore.schemas.errors import ImportFormatError
from convostore.schemas.formats import ByteInput, Imported, Item, Refused, detect
from support.format_fixtures import FIXTURES, Fixture
from support.importing import at, changed, places_of, read
from support.scale import SCALE

FEW = max(15, round(750 * SCALE))
quickly = settings(
    max_examples=FEW, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
every_format = pytest.mark.parametrize("fixture", FIXTURES.values(), ids=FIXTURES)


@every_format
@quickly
@given(data=st.data())
def test_whatever_a_member_becomes_its_record_is_taken_or_named(
    fixture: Fixture, data: st.DataObject
) -> None:
    value = data.draw(changed(fixture.value))
    written = fixture.written(value)

    items = read(written, fixture.format)

    assert value == [] or items
    assert_each_is_taken_or_named(fixture, items)
    assert [told(item) for item in read(written, fixture.format, cut=37)] == [told(item) for item in items]


@every_format
@quickly
@given(data=st.data())
def test_whatever_a_member_becomes_its_format_is_told_or_refused(
    fixture: Fixture, data: st.DataObject
) -> None:
    written = fixture.written(data.draw(changed(fixture.value)))
    try:
        found = detect(ByteInput([written]))
    except ImportFormatError:
        return
    if found.name == fixture.format and found.read is not None:
        assert_each_is_taken_or_named(fixture, read(written, found.name))


@every_format
@quickly
@given(data=st.data())
def test_what_a_member_says_is_kept_or_named(fixture: Fixture, data: st.DataObject) -> None:
    mark = "a mark that no fixture has"
    path = data.draw(st.sampled_from(sorted(places_of(fixture.value), key=str)), label="path")
    odd = data.draw(st.sampled_from([mark, [mark], {"k": mark}, {"type": "text", "text": mark}]), label="odd")
    value = copy.deepcopy(fixture.value)
    holder = at(value, path[:-1])
    if isinstance(holder, list) and data.draw(st.booleans(), label="is one more"):
        holder.insert(path[-1], odd)
    else:
        holder[path[-1]] = odd

    items = read(fixture.written(value), fixture.format)

    if not any(isinstance(item, Refused) for item in items):
        is_kept = mark in "".join(map(told, items))
        assert is_kept or fixture.lets_go_of(path), f"lost without a word: {path}"


@every_format
@quickly
@given(data=st.data())
def test_damaged_bytes_are_read_or_named(fixture: Fixture, data: st.DataObject) -> None:
    whole = fixture.written(fixture.value)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 40)))
    damage = data.draw(st.sampled_from([b"", b"\xff", b"\0", b'"', b"{", b"]", b"\n", b"1e999", b"\\ud800"]))
    damaged = whole[:start] + damage + (b"" if data.draw(st.booleans()) else whole[end:])
    try:
        detect(ByteInput([damaged]))
    except ImportFormatError as error:
        assert str(error)

    items = read(damaged, fixture.format)

    for item in items:
        assert isinstance(item, Imported) or told(item)
    if damaged.strip(b"[] \r\n"):
        assert items, "nothing was taken and nothing named"


@every_format
@quickly
@given(data=st.data())
def test_what_is_nested_deeply_is_taken_or_named(fixture: Fixture, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(places_of(fixture.value), key=str)), label="path")
    depth = data.draw(st.sampled_from([400, 600, 800, 950, 5_000]), label="depth")
    opening, closing = data.draw(st.sampled_from([("[", "]"), ('{"a":', "}")]), label="brackets")
    value = copy.deepcopy(fixture.value)
    at(value, path[:-1])[path[-1]] = "the place"
    written = fixture.written(value).replace(
        b'"the place"', f"{opening * depth}1{closing * depth}".encode(), 1
    )
    with suppress(ImportFormatError):
        detect(ByteInput([written]))

    assert read(written, fixture.format)


def assert_each_is_taken_or_named(fixture: Fixture, items: list[Item]) -> None:
    counted = [item for item in items if isinstance(item, (Imported, Refused))]
    for item in counted:
        assert not isinstance(item, Refused) or item.reason
        assert item.position not in (None, "")
    if not fixture.is_lines:
        # The changed one, and the one after it, which nothing happened to.
        assert len(counted) >= 2
        assert isinstance(counted[-1], Imported)


def told(item: Item) -> str:
    """All that the reader gives of it, as text."""
    if not isinstance(item, Imported):
        return str(item)
    branches = [
        [one.source.to_json(), one.messages, one.unknown, [each.to_json() for each in one.resources]]
        for one in item.branches
    ]
    record = item.conversation.to_json_object()
    parts = [record, item.unknown, item.source.to_json(), item.notes, branches]
    return json.dumps(parts, default=dict)
