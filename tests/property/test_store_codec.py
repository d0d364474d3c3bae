"""The codec's promise, over generated JSON: what is stored comes back equal, in the form it should have."""

from __future__ import annotations

from typing import Any

import bson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import same_json
from convostore.store import codec
from convostore.store.layout import Limits
from support.json_strategies import any_text, deep, foreign_values, json_values


def stored_and_read(value: Any) -> tuple[Any, codec.Body]:
    """What comes back of a value that was stored as the store does, through BSON."""
    body = codec.encode_body(value, "message")
    fields = bson.decode(bson.encode({"e": body.fields}, codec_options=codec.OPTIONS), codec.OPTIONS)["e"]
    blobs = {fields["blob"]["b"]: b"".join(body.pieces)} if body.pieces else {}
    return codec.decode_body(fields, blobs), body


@given(json_values)
def test_any_json_comes_back_equal(value: Any) -> None:
    found, _ = stored_and_read(value)
    assert same_json(found, value)


@given(json_values, st.integers(90, 480))
@settings(max_examples=40)
def test_deep_json_comes_back_equal(value: Any, levels: int) -> None:
    nested = deep(value, levels)
    found, _ = stored_and_read(nested)
    assert same_json(found, nested)


@given(json_values, st.sampled_from(["x", "\u4f60", "\ud83d", '"\\']), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_large_json_comes_back_equal_in_pieces(value: Any, letter: str, count: int) -> None:
    large = {"value": value, "text": letter * (count * Limits.INLINE)}
    found, body = stored_and_read(large)
    assert same_json(found, large)
    assert body.pieces and all(len(piece) <= Limits.BLOB_PIECE for piece in body.pieces)
    assert set(body.fields) == {"blob"}
    assert codec.document_size(body.fields) <= body.size < 200


@given(json_values)
def test_no_class_of_the_driver_leaks(value: Any) -> None:
    found, _ = stored_and_read(value)
    waiting = [found]
    while waiting:
        item = waiting.pop()
        assert type(item) in (dict, list, str, int, float, bool, type(None))
        waiting += item.values() if type(item) is dict else item if type(item) is list else []


@given(json_values)
def test_a_native_value_is_one_that_a_plain_driver_keeps(value: Any) -> None:
    body = codec.encode_body(value, "message")
    if "m" in body.fields:
        plain = bson.decode(bson.encode({"m": value}))["m"]
        assert same_json(codec.decode_body({"m": _plain_ints(plain)}, {}), value)
        assert body.size == len(bson.encode({"m": value}))


def _plain_ints(value: Any) -> Any:
    """Without the driver's own class for 64-bit numbers."""
    if isinstance(value, dict):
        return {key: _plain_ints(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain_ints(item) for item in value]
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


@given(json_values)
def test_text_is_taken_only_for_what_bson_cannot_hold(value: Any) -> None:
    body = codec.encode_body(value, "message")
    assert ("t" in body.fields) == _is_hard(value)
    if "t" in body.fields:
        assert body.fields["t"].isascii()


def _is_hard(value: Any) -> bool:
    """The design's list: keys of references, NUL in keys, numbers beyond 64 bits, lone surrogates."""
    if isinstance(value, dict):
        names = {"$ref", "$id", "$db"}
        return any(key in names or "\0" in key or _lone(key) or _is_hard(item) for key, item in value.items())
    if isinstance(value, list):
        return any(map(_is_hard, value))
    if isinstance(value, str):
        return _lone(value)
    return type(value) is int and not -(2**63) <= value < 2**63


def _lone(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def test_beyond_100_levels_text_is_taken() -> None:
    # The message itself is one level, what stands innermost is none.
    assert set(codec.encode_body(deep("x", 100), "message").fields) == {"m"}
    assert set(codec.encode_body(deep("x", 101), "message").fields) == {"t"}


@given(json_values, foreign_values, st.lists(st.sampled_from(["key", 0]), max_size=4))
def test_what_json_cannot_say_is_refused_with_its_path(value: Any, foreign: Any, steps: list[Any]) -> None:
    path, holder = "message", foreign
    for step in reversed(steps):
        holder = {"other": value, "key": holder} if step == "key" else [holder, value]
    for step in steps:
        path += ".key" if step == "key" else "[0]"
    with pytest.raises(InvalidRecordError) as refusal:
        codec.encode_body(holder, "message", index=3)
    assert refusal.value.path == path
    assert refusal.value.index == 3


@pytest.mark.parametrize(
    "value",
    [{1: "a"}, {None: 1}, {b"a": 1}, 10**4300, deep("x", 100_000)],
    ids=["a number", "null", "bytes", "4,301 digits", "100,000 levels"],
)
def test_odd_keys_long_numbers_and_bottomless_nesting_are_refused(value: Any) -> None:
    with pytest.raises(InvalidRecordError):
        codec.encode_body(value, "message")


@given(st.integers(0, 2**64 - 1))
@example(2**63 - 1)
@example(2**63)
def test_unsigned_numbers_come_back(number: int) -> None:
    stored = bson.decode(bson.encode({"n": codec.encode_u64(number)}), codec.OPTIONS)["n"]
    found = codec.decode_u64(stored)
    assert (found, type(found)) == (number, int)


@given(any_text)
def test_texts_of_fields_come_back(text: str) -> None:
    stored = bson.decode(bson.encode({"t": codec.encode_text(text)}), codec.OPTIONS)["t"]
    assert codec.decode_text(stored) == text
