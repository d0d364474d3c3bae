"""Ids: the published vectors of principals and xids, and what is accepted as a user, a thread, a number."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas.errors import InvalidRecordError, TooLargeError
from convostore.schemas.identifiers import (
    Principal,
    Xid,
    check_label,
    check_text,
    check_thread,
    check_u64,
    check_user,
)

PRINCIPALS = [
    ("", "aaaaa-aa"),
    ("04", "2vxsx-fae"),
    ("01", "uuc56-gyb"),
    ("abcd01", "em77e-bvlzu-aq"),
    ("00000000000000000101", "rwlgt-iiaaa-aaaaa-aaaaa-cai"),
    ("00000000000000010101", "rrkah-fqaaa-aaaaa-aaaaq-cai"),
    ("00000000000000020101", "ryjl3-tyaaa-aaaaa-aaaba-cai"),
    ("0102030405", "i4fzt-5abai-bqibi"),
    (
        "a96aed793cb6f7680f3be591c40f102653da511efc596ebb9fee6ad502",
        "dn73l-5njnl-wxspf-w65ua-6o7fs-hca6e-bgkpn-fchx4-lfxlx-h7onl-kqe",
    ),
    (
        "448ba8215959bfd27b745fb728efcf1d4f32cf9510cfa46555c1c30402",
        "fo76k-ecero-uccwk-zx7jh-w5c7w-4uo7t-y5j4z-m7fiq-z6sgk-vobym-cae",
    ),
    ("ff" * 29, "tsdi7-6x777-77777-77777-77777-77777-77777-77777-77777-77777-776"),
]

XIDS = [
    ("4d88e15b60f486e428412dc9", "9m4e2mr0ui3e8a215n4g"),
    ("6553f1000a0b0c04d2000001", "cl9v200a1c609kg0000g"),
    ("0102030405060708090a0b0c", "041061050o3gg28a1c60"),
    ("11" * 12, "248h248h248h248h248g"),
    ("00" * 12, "00000000000000000000"),
    ("ff" * 12, "vvvvvvvvvvvvvvvvvvvg"),
]


@pytest.mark.parametrize(("raw", "text"), PRINCIPALS)
def test_principal_vector(raw: str, text: str) -> None:
    assert str(Principal.from_bytes(bytes.fromhex(raw))) == text
    assert bytes(Principal.parse(text)) == bytes.fromhex(raw)
    assert Principal.parse(text.upper()) == Principal.parse(text)


@pytest.mark.parametrize(
    ("key", "text"), [(b"\x01" * 32, PRINCIPALS[8][1]), (b"\x07" * 32, PRINCIPALS[9][1])]
)
def test_principal_of_a_key(key: bytes, text: str) -> None:
    assert Principal.self_authenticating(key).text == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "aaaaa",
        "aaaaaaa",
        "2vxsxfae",
        "2vx-sxfae",
        "2vxsx-faf",
        "2vxsx-fae=",
        "2vxsx-fae-",
        "2vxsx-fa1",
        "rwlgt-iiaaa-aaaaa-aaaaa-cai-aaaaa",
        "rwlgt-iiaaa-aaaaa-aaaaa-ca\u0131",
        "tsdi7-6x777-77777-77777-77777-77777-77777-77777-77777-77777-77777-76",
    ],
)
def test_what_is_no_principal_is_refused(text: str) -> None:
    assert not Principal.is_valid(text)
    with pytest.raises(InvalidRecordError, match=r"^somewhere: "):
        Principal.parse(text, "somewhere")


def test_principal_has_at_most_29_bytes() -> None:
    with pytest.raises(InvalidRecordError):
        Principal.from_bytes(b"\x00" * 30)


@pytest.mark.parametrize(("raw", "text"), XIDS)
def test_xid_vector(raw: str, text: str) -> None:
    assert str(Xid.from_bytes(bytes.fromhex(raw))) == text
    assert bytes(Xid.parse(text)) == bytes.fromhex(raw)


def test_parts_of_an_xid() -> None:
    xid = Xid.parse("9m4e2mr0ui3e8a215n4g")
    assert (xid.seconds, xid.machine.hex(), xid.process, xid.counter) == (
        1300816219,
        "60f486",
        58408,
        4271561,
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cl9v200a1c609kg0000",
        "cl9v200a1c609kg0000g0",
        "CL9V200A1C609KG0000G",
        "cl9v200a1c609kg0000h",
        "cl9v200a1c609kg0000w",
        "cl9v200a1c609kg000é",
        "vvvvvvvvvvvvvvvvvvvv",
    ],
)
def test_what_is_no_xid_is_refused(text: str) -> None:
    assert not Xid.is_valid(text)
    with pytest.raises(InvalidRecordError):
        Xid.parse(text)


def test_made_xids_differ_and_sort_by_time() -> None:
    assert Xid.make(1_700_000_000_999).seconds == 1_700_000_000
    assert Xid.make(1_700_000_000_000) != Xid.make(1_700_000_000_000)
    assert Xid.make(1_700_000_000_000).text < Xid.make(1_700_000_001_000).text
    assert Xid.make(0, b"\x00" * 8) == Xid(b"\x00" * 12)


@pytest.mark.parametrize("value", [0, 1, 2**53 + 1, 2**64 - 1])
def test_u64_is_given_back(value: int) -> None:
    assert check_u64(value, "n") == value


@pytest.mark.parametrize("value", [True, False, 1.0, float("nan"), "1", None, -1, 2**64, {"$gt": 0}, [1]])
def test_what_is_no_u64_is_refused_with_its_path(value: Any) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        check_u64(value, "usage.requests")
    assert refused.value.path == "usage.requests"


@pytest.mark.parametrize(
    "user",
    [
        "alice",
        "x" * 256,
        "\U0001f600" * 256,
        "a b\u00a0c",
        "user@example.org",
        "{'$ne': None}",
        "550e8400-e29b-41d4-a716-446655440000",
        "2vxsx-faf",
        "AAAAA-BBBBB-CCCCC-DDDDD-EEE",
        "rwlgt-iiaaa-aaaaa-aaaaa-cai",
    ],
)
def test_user_is_kept_as_it_is(user: str) -> None:
    assert check_user(user) == user
    assert type(check_user(user)) is str


@pytest.mark.parametrize(
    "user",
    [None, "", 7, True, b"alice", {"$ne": None}, ["alice"], "a\nb", "a\x00", "\x7f", "a\x85b", "x\ud83d"],
)
def test_what_is_no_user_is_refused(user: Any) -> None:
    with pytest.raises(InvalidRecordError):
        check_user(user)
    with pytest.raises(InvalidRecordError):
        check_thread(user)


def test_user_of_more_than_256_characters_is_too_large() -> None:
    with pytest.raises(TooLargeError) as refused:
        check_user("x" * 257)
    assert (refused.value.size, refused.value.limit) == (257, 256)


@pytest.mark.parametrize(
    "user", ["rwlgt-iiaaa-aaaaa-aaaaa-caj", "alpha-bravo-delta-hotel-x", "rwlgt-iiaaa-aaaaa-aaaaa-CAI"]
)
def test_user_that_looks_like_a_principal_must_be_one(user: str) -> None:
    with pytest.raises(InvalidRecordError):
        check_user(user)
    assert check_thread(user) == user


def test_text_subclasses_become_plain_text() -> None:
    class Name(str):
        pass

    assert type(check_user(Name("alice"))) is str


def test_label_is_any_text_that_utf8_can_hold() -> None:
    assert check_label("") == ""
    assert check_label("\n\t a" * 200) == "\n\t a" * 200
    with pytest.raises(InvalidRecordError, match="surrogate"):
        check_label("x\ud83d")
    with pytest.raises(InvalidRecordError):
        check_text(None, "name")
