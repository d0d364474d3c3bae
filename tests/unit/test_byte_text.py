"""The base64 flavours of Anda: what is written, and everything that is read."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas.byte_text import read_bytes, write_bytes
from convostore.schemas.errors import InvalidRecordError


def test_bytes_are_written_url_safe_with_padding() -> None:
    assert write_bytes(bytes.fromhex("009f9296")) == "b64:AJ-Slg=="
    assert write_bytes(bytes.fromhex("009f9296"), prefixed=False) == "AJ-Slg=="
    assert write_bytes(b"") == "b64:"


@pytest.mark.parametrize(
    "given",
    [
        "AJ-Slg==",
        "AJ-Slg",
        "AJ-Slg=",
        "b64:AJ-Slg==",
        "b64:AJ-Slg",
        "AJ+Slg==",
        "b64:AJ+Slg",
        [0, 159, 146, 150],
        b"\x00\x9f\x92\x96",
    ],
)
def test_bytes_are_read_in_every_form(given: Any) -> None:
    assert read_bytes(given, "blob") == bytes.fromhex("009f9296")


@pytest.mark.parametrize(
    "given",
    [
        "A",
        "A===",
        "AJ+Sl-==",
        "AJ Slg==",
        "b64:b64:AJ-Slg==",
        "é",
        "AJ-Slg==\n",
        [256],
        [-1],
        [True],
        ["0"],
        7,
        None,
        1.5,
        {"$binary": "AA=="},
    ],
)
def test_what_is_no_base64_is_refused_with_its_path(given: Any) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        read_bytes(given, "resources[0].blob")
    assert refused.value.path == "resources[0].blob"
