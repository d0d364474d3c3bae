"""Sets of ids as AndaDB writes them: each kind of container, and what is none."""

from __future__ import annotations

import struct

import pytest

from convostore.schemas.roaring import roaring_numbers


def bitmap(*containers: tuple[int, int, bytes], offsets: bool = True) -> bytes:
    """A 32-bit bitmap of containers: upper half, count of numbers, bytes."""
    described = b"".join(struct.pack("<HH", high, count - 1) for high, count, _ in containers)
    places = b"\0" * 4 * len(containers) if offsets else b""
    return (
        struct.pack("<II", 12_346, len(containers)) + described + places + b"".join(c for *_, c in containers)
    )


def test_lists_fields_and_runs() -> None:
    # Written by another implementation: {1, 2, 41}.
    data = bytes.fromhex("0100000000000000000000003a300000010000000000020010000000010002002900")
    assert list(roaring_numbers(data)) == [1, 2, 41]
    field = (2**64 - 1).to_bytes(8, "little") * 80 + b"\0" * (8192 - 640)
    many = struct.pack("<QI", 1, 3) + bitmap((0, 5120, field), (1, 1, b"\x05\0"))
    assert list(roaring_numbers(many)) == [(3 << 32) + n for n in (*range(5120), 65_541)]
    runs = struct.pack("<QI", 1, 0) + struct.pack("<I", 12_347) + b"\x01" + struct.pack("<HH", 0, 5)
    runs += struct.pack("<HHHHH", 2, 10, 2, 20, 2)
    assert list(roaring_numbers(runs)) == [10, 11, 12, 20, 21, 22]
    assert list(roaring_numbers(b"\0" * 8)) == []


CUT = bytes.fromhex("0100000000000000000000003a30000001000000000002001000000001")


@pytest.mark.parametrize(
    "data", [b"", b"\1", struct.pack("<QI", 1, 0), struct.pack("<QII", 1, 0, 77), CUT], ids=len
)
def test_what_is_no_set_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="set of ids"):
        list(roaring_numbers(data))
