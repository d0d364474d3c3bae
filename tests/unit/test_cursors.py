"""Anda's cursors: the vectors of the specification, both forms read, nonsense refused."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas.cursors import decode_cursor, encode_cursor
from convostore.schemas.errors import InvalidRecordError, QueryError

VECTORS = [
    (1, "AQ=="),
    (23, "Fw=="),
    (24, "GBg="),
    (123, "GHs="),
    (255, "GP8="),
    (1000, "GQPo"),
    (65535, "Gf__"),
    (4294967296, "GwAAAAEAAAAA"),
]


@pytest.mark.parametrize(("id", "text"), VECTORS)
def test_cursor_vector(id: int, text: str) -> None:
    assert encode_cursor(id) == f"b64:{text}"
    assert encode_cursor(id, prefixed=False) == text
    assert decode_cursor(text) == decode_cursor(f"b64:{text}") == id


def test_largest_id_has_a_cursor() -> None:
    assert decode_cursor(encode_cursor(2**64 - 1)) == 2**64 - 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "b64:",
        "!!",
        "AQEB",
        "YXg=",
        "IA==",
        "GAE=",
        "9gAA",
        "gQE=",
        "wkkBAAAAAAAAAAA=",
        "GBgA",
        7,
        None,
        ["AQ=="],
        {"$gt": ""},
        "AQ" * 5000,
    ],
)
def test_what_is_no_cursor_is_refused(text: Any) -> None:
    with pytest.raises(QueryError) as refused:
        decode_cursor(text)
    assert refused.value.parameter == "cursor"


@pytest.mark.parametrize("id", [-1, 2**64, True, "1", 1.0])
def test_what_is_no_id_has_no_cursor(id: Any) -> None:
    with pytest.raises(InvalidRecordError):
        encode_cursor(id)
