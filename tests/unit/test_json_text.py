"""Long values are read member by member, to the same values, notes and refusals as short ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from convostore.schemas.formats import json_input, json_text
from convostore.schemas.formats.items import Found, Refused
from convostore.schemas.formats.json_text import beginning
from convostore.schemas.json_values import same_json
from support.json_strategies import json_values

READERS = {
    "lines": json_input.line_values,
    "array": json_input.array_items,
    "document": json_input.document_values,
}


def read(layout: str, data: bytes, cut: int, long: int) -> list[Found | Refused]:
    chunks = [data[start : start + cut] for start in range(0, len(data), cut)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "LONG", long)
        patch.setattr(json_input, "LONG", long)
        return list(READERS[layout](chunks))


def input_of(layout: str, values: list[Any], indent: int | None) -> bytes:
    if layout == "array":
        text = json.dumps(values, indent=indent, ensure_ascii=False)
    else:
        texts = (json.dumps(value, indent=indent if layout == "document" else None) for value in values)
        text = "\n".join(texts)
    return text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("layout", READERS)
@given(
    st.lists(json_values.filter(lambda value: value != ""), max_size=4),
    st.sampled_from([None, 1]),
    st.integers(1, 40),
)
def test_long_values_are_the_same(layout: str, values: list[Any], indent: int | None, cut: int) -> None:
    data = input_of(layout, values, indent)
    at_once, in_pieces = read(layout, data, cut, 1 << 20), read(layout, data, cut, 4)
    assert len(at_once) == len(in_pieces) == len(values)
    for one, other, value in zip(at_once, in_pieces, values, strict=True):
        assert isinstance(one, Found) and isinstance(other, Found)
        assert same_json(one.value, value) and same_json(other.value, value)
        assert (one.position, one.sha256, one.size) == (other.position, other.sha256, other.size)


FINE = "  [[[[1, 2], 3], 4], 5]  "
BROKEN = [
    '{"a": [1, 2, {"b": "text"}], "a": 3}',
    '{"a": [1, 2, {"b": "text"}], "c" 3}',
    '{"a": [1, 2, {"b": "text"}], 7: 3}',
    '{"a": [1, 2, {"b": nul}], "c": 3}',
    '{"a": [1, 2 3], "c": "d"}',
    '{"a": [1, 2, {"b": "text"}]} and more',
    '{"a": [1, 2, {"b": "text"',
    '{"a": [1, 2, {"b": ',
    '{"a": [1, 2, {"b": 1}',
    '{"a": [1, 1e999, {"b": 1}]}',
    '{"a": [1, {"b": "\\u12"}]}',
    '{"a": [1, 2, ]}',
    FINE,
    '{"a": {"x": 1, "y": 2, "x": 3, "z": [true, false]}}',
]


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("layout", READERS)
@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_broken_long_values_are_refused_alike(layout: str, text: str, cut: int) -> None:
    around = {"lines": "{}\n[1, 2, 3, 4]", "array": "[1, %s, [5, 6]]", "document": "%s\n[7, 8]"}[layout]
    before, _, after = around.partition("%s")
    last = text + "\n" + before if layout == "lines" else before + text
    middle = before + ("\n" if layout == "lines" else "") + text + after
    # Where brackets are missing and more follows, what is wrong may be told otherwise.
    for data in [last] if json_text.is_open(text) else [last, middle]:
        at_once, in_pieces = read(layout, data.encode(), cut, 1 << 20), read(layout, data.encode(), cut, 4)
        assert at_once == in_pieces
        assert any(isinstance(one, Refused) or one.notes for one in in_pieces) or text == FINE


@pytest.mark.parametrize("cut", [1, 3, 100])
def test_a_long_line_that_is_no_utf_8_is_refused_at_its_byte(cut: int) -> None:
    data = b'[1, 2, "\xc3\xa4", 3, "\xff", 4]\n[1, 2, 3, 4]\n'
    at_once, in_pieces = read("lines", data, cut, 1 << 20), read("lines", data, cut, 4)
    assert at_once == in_pieces
    assert isinstance(in_pieces[0], Refused) and "byte 18 is 0xff" in in_pieces[0].reason


def test_long_blank_lines_are_passed_over() -> None:
    assert read("lines", b" " * 40 + b"\n\n[1, 2, 3]\n" + b" " * 40, 5, 4) == read(
        "lines", b" " * 40 + b"\n\n[1, 2, 3]\n" + b" " * 40, 5, 1 << 20
    )


@given(json_values, st.integers(0, 200))
@example({"mapping": {"a": {"message": None}, "b": {"message": {"text": "long"}}}}, 45)
def test_a_beginning_is_a_part_of_the_value(value: Any, size: int) -> None:
    text = json.dumps(value)[: size + 1]
    if text[0] not in "{[":
        return
    assert _is_part(beginning(text), value)


def _is_part(part: Any, whole: Any) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        return list(part) == list(whole)[: len(part)] and all(_is_part(part[key], whole[key]) for key in part)
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(_is_part, part, whole))
    # Of a number there may be the first digits.
    return same_json(part, whole) or (type(part) in (int, float) and type(whole) in (int, float))
