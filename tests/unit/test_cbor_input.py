"""Reading CBOR from bytes: sequences and arrays, however the bytes are cut, and broken input."""

from __future__ import annotations

from typing import Any

import cbor2
import pytest

from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.cbor_input import cbor_values, looks_like_cbor, peek_cbor
from convostore.schemas.formats.items import Found, Refused

VALUES: list[Any] = [{"a": b"x", "b": [1, 2.5, None]}, {"c": "\u00e9" * 300}, {}, [1, [2]]]
ENCODED = [cbor2.dumps(value) for value in VALUES]


def cut(data: bytes, size: int) -> ByteInput:
    return ByteInput([data[start : start + size] for start in range(0, len(data), size)])


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(
    "data",
    [
        cbor2.dumps(VALUES),
        b"".join(ENCODED),
        b"\xd9\xd9\xf7" + cbor2.dumps(VALUES),
        b"\x9f" + b"".join(ENCODED) + b"\xff",
        b"\x9b\x00\x00\x00\x00\x00\x00\x00\x04" + b"".join(ENCODED),
    ],
)
def test_values_come_one_by_one(data: bytes, size: int) -> None:
    found = list(cbor_values(cut(data, size)))
    assert [item.value for item in found if isinstance(item, Found)] == VALUES
    assert [item.position for item in found] == ["[0]", "[1]", "[2]", "[3]"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (cbor2.dumps(VALUES)[:-3], "ends in the middle"),
        (cbor2.dumps(VALUES) + b"\x01", "after the array"),
        (b"\x9f\x01", "ends in the middle"),
        (b"\x83\xff", "no CBOR"),
        (b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", "ends in the middle"),
        (b"\x81\x5b\x7f\xff\xff\xff\xff\xff\xff\xff", "."),
        (b"\x81" * 50_000, "."),
        (b"\xa1" * 50_000, "."),
    ],
)
def test_broken_input_ends_with_a_reason(data: bytes, reason: str) -> None:
    last = list(cbor_values(cut(data, 100)))[-1]
    assert isinstance(last, Refused) and (reason == "." or reason in last.reason)


@pytest.mark.parametrize("data", [b"{}", b"[]", b"", b"\xef\xbb\xbf{}", "\u00e9".encode(), b"\xff\xfe"])
def test_no_text_is_taken_for_cbor(data: bytes) -> None:
    assert not looks_like_cbor(data)


def test_looking_at_the_first_value_takes_nothing() -> None:
    source = cut(cbor2.dumps([{"long": "x" * 200_000}]), 1000)
    assert peek_cbor(source) == {"long": "x" * 200_000}
    assert len(list(cbor_values(source))) == 1
