"""CBOR: the record keyed by name and by index, and what is no CBOR."""

from __future__ import annotations

from typing import Any

import cbor2
import pytest

from convostore.schemas.anda_cbor import dump_cbor, field_names, load_cbor, named
from convostore.schemas.anda_records import AndaOptions, anda_records, read_anda
from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import InvalidRecordError, SchemaVersionError
from convostore.schemas.identifiers import Principal, Xid
from convostore.schemas.resources import Resource

# The sample of the specification, 10.3: a fresh version 4, written by the insert view.
SAMPLE = bytes.fromhex(
    "a16166ac001829014101024c6553f1000a0b0c04d20000010381a364726f6c65647573657267636f6e74656e7481a2647479"
    "7065645465787464746578746268696974696d657374616d701b0000018bcfe568000480058006697375626d697474656408"
    "a46c696e7075745f746f6b656e73006d6f75747075745f746f6b656e73006d6361636865645f746f6b656e73006872657175"
    "65737473000ef60f1a0007349e101b0000018bcfe56800111b0000018bcfe56800"
)
FRESH_4 = dict(
    enumerate(
        [
            "_id",
            "user",
            "thread",
            "messages",
            "resources",
            "artifacts",
            "status",
            "failed_reason",
            "usage",
            "steering_messages",
            "follow_up_messages",
            "child",
            "ancestors",
            "label",
            "extra",
            "period",
            "created_at",
            "updated_at",
        ]
    )
)
NOW = 1_700_000_000_000


def test_reference_check_of_principal_and_xid() -> None:
    value = {"thread": bytes(Xid(b"\x00" * 12)), "principal": bytes(Principal.anonymous())}
    encoded = "a2667468726561644c000000000000000000000000697072696e636970616c4104"
    assert dump_cbor(value).hex() == encoded
    assert load_cbor(bytes.fromhex(encoded)) == value


def test_sample_keyed_by_index_is_read_with_the_names_of_its_collection() -> None:
    read = read_anda(SAMPLE, AndaOptions(binary=True, names=FRESH_4))
    message = {"role": "user", "content": [{"type": "Text", "text": "hi"}], "timestamp": NOW}
    assert read.conversation == Conversation(
        id=41,
        user="uuc56-gyb",
        thread="cl9v200a1c609kg0000g",
        messages=[message],
        created_at=NOW,
        updated_at=NOW,
    )
    assert (read.conversation.period, read.version, read.notes) == (472222, 4, ())
    (item,) = anda_records(load_cbor(SAMPLE), AndaOptions(binary=True, names=FRESH_4))
    assert item == read


def test_names_of_the_collection_tell_the_version() -> None:
    names = {index: name for index, name in FRESH_4.items() if name not in ("child", "extra")} | {14: "x"}
    read = read_anda(SAMPLE, AndaOptions(binary=True, names=names))
    assert (read.version, read.unknown) == (2, {"x": None})


@pytest.mark.parametrize("names", [{}, {0: "_id"}, {**FRESH_4, 17: "updated_at", True: "user"}])
def test_index_without_a_name_is_refused(names: dict[int, str]) -> None:
    document = {"f": {0: 1, 18: 2}}
    with pytest.raises(InvalidRecordError):
        named(document, names)
    for value in ({"g": {}}, {"f": []}, [], None):
        with pytest.raises(InvalidRecordError):
            named(value, FRESH_4)


def test_names_come_from_the_schema_of_the_collection() -> None:
    entries = {
        "_id": {"n": "_id", "d": "id", "t": "U64", "u": True, "i": 0},
        "user": {"name": "user", "description": "", "type": "Bytes", "unique": False, "index": 1},
    }
    assert field_names({"schema": {"fields": entries, "version": 4}}) == {0: "_id", 1: "user"}
    assert field_names({"schema": entries | {"version": 4, "next_idx": 2}}) == {0: "_id", 1: "user"}
    for meta in ({}, {"schema": {}}, {"schema": {"fields": {"a": {"i": "0"}}}}, [], None):
        with pytest.raises(InvalidRecordError, match=r"meta\.cbor"):
            field_names(meta)


def test_record_has_ids_and_blobs_as_bytes() -> None:
    record = Conversation(
        id=7, user="2vxsx-fae", thread="cl9v200a1c609kg0000g", resources=[Resource(name="a", blob=b"hi")]
    )
    value = cbor2.loads(record.to_cbor())
    assert (value["user"], value["thread"]) == (b"\x04", bytes.fromhex("6553f1000a0b0c04d2000001"))
    assert value["resources"] == [{"_id": 0, "tags": [], "name": "a", "blob": b"hi"}]
    assert list(value) == list(record.to_json_object())
    assert Conversation.from_cbor(record.to_cbor(), strict=True) == record


def test_opaque_ids_stay_text() -> None:
    record, notes = Conversation(user="alice", thread="t1"), []
    assert Conversation.from_cbor(record.to_cbor(notes=notes)) == record
    assert [note.partition(":")[0] for note in notes] == ["user", "thread"]
    with pytest.raises(SchemaVersionError):
        record.to_cbor(strict=True)


def test_half_a_surrogate_pair_is_replaced_and_named() -> None:
    notes: list[str] = []
    record = Conversation(user="2vxsx-fae", messages=[{"a\ud83d": "b\udc00"}])
    assert Conversation.from_cbor(record.to_cbor(notes=notes)).messages == [{"a\ufffd": "b\ufffd"}]
    assert len(notes) == 2
    assert all(note.isascii() for note in notes)


def test_bytes_within_messages_become_text() -> None:
    message = {
        "role": "user",
        "user": b"\x04",
        "content": [
            {"type": "InlineData", "mimeType": "a/b", "data": b"hello"},
            {"type": "Action", "recipients": [b"\x01"]},
        ],
    }
    notes: list[str] = []
    data = cbor2.dumps({"user": b"\x01", "messages": [message], "extra": b"\x00"})
    read = Conversation.from_cbor(data, notes=notes)
    assert read.messages[0]["user"] == "2vxsx-fae"
    assert read.messages[0]["content"][0]["data"] == "b64:aGVsbG8="
    assert read.messages[0]["content"][1]["recipients"] == ["uuc56-gyb"]
    assert read.extra == "b64:AA=="
    assert "messages[0].content[1].recipients[0]: bytes, read as a principal" in notes


@pytest.mark.parametrize(
    "value",
    [{"user": b"\x00" * 30}, {"thread": b"\x00" * 11}, {"user": 5}, {"messages": [{1: 2}]}, {"extra": {1}}],
)
def test_wrong_value_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(InvalidRecordError):
        Conversation.from_cbor(cbor2.dumps({"user": "a", "messages": []} | value))


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\xff",
        b"\x82\x01",
        b"\x01\x02",
        b"\x61\xff",
        b"\xc0\x61x",
        b"\x81" * 100_000,
        b"\x5b" + b"\x7f" * 8,
        b"{}",
        b"\xd9\xd9\xf7\x01\x00",
    ],
)
def test_what_is_no_cbor_is_refused_with_its_path(source: bytes) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        load_cbor(source, "file")
    assert refused.value.path == "file"
    with pytest.raises(InvalidRecordError):
        Conversation.from_cbor(source)


def test_what_cbor_cannot_say_is_refused() -> None:
    for value in (object(), "\ud83d"):
        with pytest.raises(InvalidRecordError):
            dump_cbor(value)
