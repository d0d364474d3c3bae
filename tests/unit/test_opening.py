"""Compressed inputs, and inputs in UTF-16, as the bytes that they hold."""

from __future__ import annotations

import codecs
import gzip
import random

import pytest
import zstandard

from convostore.schemas.errors import ImportFormatError
from convostore.schemas.formats import ByteInput
from convostore.store.opening import plain_input

TEXT = '{"a": "ü\U0001f600"}\n'.encode() * 2_000
FRAME = zstandard.ZstdCompressor().compress


def plain(data: bytes, *, cut: int = 1_000) -> tuple[bytes, list[str]]:
    notes: list[str] = []
    source = ByteInput(data[start : start + cut] for start in range(0, len(data), cut))
    return b"".join(plain_input(source, notes.append)), notes


@pytest.mark.parametrize("cut", [1, 3, 100_000])
@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        gzip.compress(TEXT),
        gzip.compress(TEXT[:999]) + gzip.compress(TEXT[999:]),
        FRAME(TEXT),
        FRAME(TEXT[:999]) + FRAME(TEXT[999:]),
        gzip.compress(FRAME(TEXT)),
        FRAME(gzip.compress(TEXT)),
    ],
    ids=["plain", "gzip", "members", "zstd", "frames", "zstd in gzip", "gzip in zstd"],
)
def test_compression_is_undone_however_the_bytes_come(data: bytes, cut: int) -> None:
    assert plain(data, cut=cut) == (TEXT, [])


def test_nothing_stays_nothing() -> None:
    assert plain(b"") == (b"", [])
    assert plain(gzip.compress(b"")) == (b"", [])


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_is_read_and_named(codec: str) -> None:
    text = '["ü\U0001f600 and half: \ud800"]'
    mark = codecs.BOM_UTF16_LE if codec == "utf-16-le" else codecs.BOM_UTF16_BE
    found, notes = plain(mark + text.encode(codec, "surrogatepass"), cut=3)
    assert found == text.encode("utf-8", "surrogatepass")
    assert len(notes) == 1 and codec.upper().replace("-LE", "LE").replace("-BE", "BE") in notes[0]


@pytest.mark.parametrize("pack", [gzip.compress, FRAME], ids=["gzip", "zstd"])
def test_compression_that_is_cut_off_or_broken_is_an_error_wherever(pack: object) -> None:
    assert callable(pack)
    dice = random.Random(3)
    whole = pack(bytes(dice.getrandbits(8) for _ in range(5_000)))
    for end in range(5, len(whole), 97):
        with pytest.raises(ImportFormatError, match="broken compression"):
            plain(whole[:end])
    with pytest.raises(ImportFormatError, match="broken compression"):
        plain(whole[:4] + b"\xff" * 40)
    with pytest.raises(ImportFormatError, match="broken compression"):
        plain(whole + b"more")


def test_utf16_that_ends_within_a_character_is_an_error() -> None:
    with pytest.raises(ImportFormatError, match="UTF-16"):
        plain(codecs.BOM_UTF16_LE + b"[\0a")


def test_layer_upon_layer_is_refused() -> None:
    data = TEXT
    for _ in range(6):
        data = gzip.compress(data)
    with pytest.raises(ImportFormatError, match="compressed more than"):
        plain(data)


@pytest.mark.parametrize("pack", [gzip.compress, FRAME], ids=["gzip", "zstd"])
def test_bomb_is_unpacked_piece_by_piece(pack: object) -> None:
    assert callable(pack)
    bomb = pack(b"\0" * (96 << 20))
    largest = max(map(len, plain_input(ByteInput([bomb]), lambda text: None)))
    assert largest <= 40 << 20
