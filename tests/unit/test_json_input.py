"""Reading JSON from bytes: exact values, every layout, and what broken input does."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from convostore.schemas.formats.items import Found, Refused
from convostore.schemas.formats.json_input import (
    array_items,
    decode,
    document_values,
    line_values,
    lines,
)
from convostore.schemas.formats.json_layout import layout_of
from convostore.schemas.json_values import same_json

Reader = Callable[[Iterable[bytes]], Iterator[Found | Refused]]


def chunked(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def values(found: Iterable[Found | Refused]) -> list[Any]:
    return [item.value if isinstance(item, Found) else item for item in found]


EXACT = (
    '{"one":1,"float":1.0,"big":123456789012345678901234567890,"minus":-0.0,"e":1e5,'
    '"half":"\\ud800","pair":"\\ud83d\\ude00","z":"\u00e9\U0001f600","nul":"\\u0000","b":1,"a":2}'
)
MEANT = {
    "one": 1,
    "float": 1.0,
    "big": 123456789012345678901234567890,
    "minus": -0.0,
    "e": 1e5,
    "half": "\ud800",
    "pair": "\U0001f600",
    "z": "\u00e9\U0001f600",
    "nul": "\x00",
    "b": 1,
    "a": 2,
}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (line_values, f"{EXACT}\n{EXACT}"),
        (array_items, f"[{EXACT} ,\n{EXACT}]"),
        (document_values, f"{EXACT}\n\n{EXACT}\n"),
    ],
)
def test_values_are_exact_however_the_bytes_are_cut(reader: Reader, text: str, size: int) -> None:
    found = values(reader(chunked(text.encode(), size)))
    assert len(found) == 2
    assert all(same_json(value, MEANT) for value in found)


def test_nan_and_infinities_are_taken_as_written() -> None:
    (value,) = values(line_values([b"[NaN, Infinity, -Infinity]"]))
    assert math.isnan(value[0]) and value[1:] == [math.inf, -math.inf]


def test_number_beyond_doubles_is_refused_and_not_made_infinite() -> None:
    (refused,) = line_values([b'{"x":1e999}\n'])
    assert isinstance(refused, Refused) and "1e999" in refused.reason


def test_broken_lines_are_named_and_stop_nothing() -> None:
    text = '\ufeff{"n":1}\r\n\r\n{"n":\n\ufeff{"n":2}\n{"n":3} "n"\n{"n":5}\n{"n":"cut'
    found = list(line_values([text.encode()]))
    assert [item.position for item in found] == [1, 3, 4, 5, 6, 7]
    assert [item.value["n"] for item in found if isinstance(item, Found)] == [1, 2, 5]
    reasons = [item.reason for item in found if isinstance(item, Refused)]
    assert reasons[0].startswith("no JSON")
    assert "there is more" in reasons[1]
    assert "ends in the middle" in reasons[2]


@pytest.mark.parametrize("between", ["", " ", "\r", "\ufeff"])
def test_objects_behind_each_other_on_a_line_are_taken_one_by_one(between: str) -> None:
    text = between.join(['{"n":1}', '{"n":2}', '{"n":3}']) + '\n{"n":4}{"n":\n{"n":5}{"n":6}x\n{"n":7}{"n":8'
    found = list(line_values([text.encode()]))
    assert [item.position for item in found] == [1, 1, 1, 2, 2, 3, 3, 3, 4, 4]
    assert [item.value["n"] for item in found if isinstance(item, Found)] == [1, 2, 3, 4, 5, 6, 7]
    assert [item.reason[:7] for item in found if isinstance(item, Refused)] == [
        "no JSON",
        "no JSON",
        "the inp",
    ]
    assert len({item.sha256 for item in found if isinstance(item, Found)}) == 7


def test_very_many_objects_on_a_line_are_taken_in_time() -> None:
    assert len(list(line_values([b"{}" * 150_000]))) == 150_000


def test_line_that_is_no_utf8_is_named() -> None:
    bad, good = line_values([b'{"a":"\xff"}\n{"a":1}\n'])
    assert isinstance(bad, Refused) and bad.position == 1 and "UTF-8" in bad.reason and "0xff" in bad.reason
    assert isinstance(good, Found)


def test_surrogate_written_as_three_bytes_is_kept() -> None:
    (value,) = values(line_values([b'"\xed\xa0\x80"']))
    assert value == "\ud800"


def test_key_that_occurs_twice_is_noted_and_the_last_value_taken() -> None:
    (found,) = line_values([b'{"a":1,"b":{"c":1,"c":2},"a":3}'])
    assert isinstance(found, Found)
    assert found.value == {"a": 3, "b": {"c": 2}}
    assert found.notes == (
        "the key 'c' occurs twice in one object; the last value was taken",
        "the key 'a' occurs twice in one object; the last value was taken",
    )


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 5_000])
def test_what_python_cannot_read_is_refused_by_line(text: str) -> None:
    bad, good = line_values([text.encode(), b'\n{"a":1}'])
    assert isinstance(bad, Refused) and bad.position == 1
    assert isinstance(good, Found)


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_broken_item_of_an_array_that_is_closed_stops_nothing(size: int) -> None:
    data = b'[{"n":1},{"n":tru, "x":["]"]},{"n":2},{"n":1e999},{"n":3}]'
    found = list(array_items(chunked(data, size)))
    assert [item.value["n"] for item in found if isinstance(item, Found)] == [1, 2, 3]
    assert [item.position for item in found if isinstance(item, Refused)] == ["[1]", "[3]"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"n":1},{"n":"cut', "ends in the middle"),
        ('[{"n":1},', "the input ends"),
        ('[{"n":1}', "ends before the array does"),
        ('[{"n":1} {"n":2}]', "a comma is missing"),
        ('[{"n":1}] x', "more that is no array"),
        ('[{"n":1},oops,{"n":2}]', "cannot be told apart"),
    ],
)
def test_array_that_breaks_off_is_said_to(text: str, reason: str) -> None:
    first, *rest = array_items([text.encode()])
    assert isinstance(first, Found)
    assert rest and all(isinstance(item, Refused) for item in rest)
    assert any(reason in item.reason for item in rest if isinstance(item, Refused))


def test_several_arrays_are_read_one_after_the_other() -> None:
    found = list(array_items([b"[1,2]\n[]\n[3]"]))
    assert values(found) == [1, 2, 3]
    assert [item.position for item in found] == ["[0]", "[1]", "[2]"]


def test_documents_are_at_the_line_where_they_begin() -> None:
    found = list(document_values([b'\n{\n "a":1\n}\n{"a":\n2}']))
    assert [(item.position, item.value) for item in found if isinstance(item, Found)] == [
        (2, {"a": 1}),
        (5, {"a": 2}),
    ]


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ('{"a":1}', "lines"),
        ('{"a":1}\n{"a":2}', "lines"),
        ('{"a":"cut\n{"a":2}', "lines"),
        ('{"a":1,\n{"a":2}\n', "lines"),
        ('{\n  "a": 1\n}', "document"),
        ('{"result":\n{"a":1}\n}', "document"),
        ('[{"a":1}]', "array"),
        ('[\n {"a":1},\n {"a":2}\n]', "array"),
        ('[{"role":"user"}]', "lines"),
        ('[{"role":"user"}]\n[{"role":"user"}]', "lines"),
        ('[\n{"role":"user"}\n]', "document"),
        ("[]", "lines"),
        ("", "lines"),
        ("\ufeff \n", "lines"),
    ],
)
def test_layout_is_told_from_the_start(text: str, layout: str) -> None:
    assert layout_of(text, whole=True) == layout


@pytest.mark.parametrize("text", ["", '[{"role":"us', '[{"role":"user"}', '{\n"a":1'])
def test_layout_waits_for_more_when_the_start_does_not_tell(text: str) -> None:
    assert layout_of(text, whole=False) is None


def test_value_alone_says_where_it_breaks() -> None:
    refused = decode('  {"a" 1}', 3)
    assert refused == Refused(3, "no JSON: expecting ':' delimiter, at character 6")


def test_lines_keep_their_numbers_across_chunks() -> None:
    assert list(lines([b"a\nb", b"", b"c\n", b"\n", b"d"])) == [
        (1, b"a", True),
        (2, b"bc", True),
        (3, b"", True),
        (4, b"d", False),
    ]


@pytest.mark.parametrize("reader", [line_values, array_items])
def test_long_input_is_read_in_the_memory_of_one_value(reader: Reader) -> None:
    item = json.dumps({"text": "x" * 1000}).encode()
    start, between, end = (b"", b"\n", b"") if reader is line_values else (b"[", b",", b"]")
    run = between.join([item] * 64) + between

    def chunks() -> Iterator[bytes]:
        yield start
        for _ in range(300):
            yield run
        yield item + end

    tracemalloc.start()
    try:
        count = sum(1 for found in reader(chunks()) if isinstance(found, Found))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 300 * 64 + 1
    assert peak < 2_000_000


def test_equal_short_texts_of_a_large_value_are_one_in_memory() -> None:
    item = {"id": "0123456789", "text": "x" * 1000, "parent": "0123456789"}
    (found,) = values(array_items(chunked(json.dumps([[item] * 2000]).encode(), 1 << 16)))
    assert found == [item] * 2000
    assert len({id(text) for each in found for text in (each["id"], each["parent"])}) == 1
