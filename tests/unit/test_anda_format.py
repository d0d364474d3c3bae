"""Anda records in every form of spec/anda.md 10.4: what is read, under which identity, what is refused."""

from __future__ import annotations

import base64
import json
from typing import Any, TypeAlias

import cbor2
import pytest

from convostore.schemas.anda_cbor import field_names
from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import ConvostoreError
from convostore.schemas.formats import (
    ByteInput,
    Imported,
    ImportedDelta,
    Noticed,
    ReadOptions,
    Refused,
    detect,
)
from convostore.schemas.formats.anda import write
from convostore.schemas.json_values import same_json
from support.shared import SHARED

Item: TypeAlias = Imported | ImportedDelta | Noticed | Refused

USER = "uuc56-gyb"
MESSAGE = {"role": "user", "content": [{"type": "Text", "text": "hi"}], "timestamp": 1_700_000_000_000}
RECORD: dict[str, Any] = {
    "_id": 41,
    "user": USER,
    "thread": "cl9v200a1c609kg0000g",
    "messages": [MESSAGE],
    "resources": [],
    "artifacts": [],
    "status": "working",
    "usage": {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 3, "requests": 4},
    "child": 44,
    "ancestors": [1, 4],
    "label": "travel",
    "extra": {"priority": "high"},
    "period": 472222,
    "created_at": 1_700_000_000_000,
    "updated_at": 1_700_000_102_250,
}
DELTA: dict[str, Any] = {
    "_id": 41,
    "messages": [MESSAGE],
    "artifacts": [],
    "status": "completed",
    "usage": RECORD["usage"],
    "failed_reason": None,
    "updated_at": 1_700_000_200_000,
    "child": None,
}
DOCUMENT: dict[str, Any] = {
    "metadata": {
        "_id": 41,
        "created_at": "2023-11-14T22:13:20.000Z",
        "label": "travel",
        "status": "completed",
        "type": "Conversation",
        "updated_at": "2023-11-14T22:15:02.250Z",
        "user": USER,
    },
    "content": [{"role": "user", "content": [], "timestamp": "2023-11-14T22:13:20.000Z"}],
}
RENDERED = f"<documents>\n{json.dumps(DOCUMENT)}\n</documents>"
DISK = bytes.fromhex(
    "a16166ac001829014101024c6553f1000a0b0c04d20000010381a364726f6c65647573657267636f6e74656e7481a264747970656454657874647465"
    "78746268696974696d657374616d701b0000018bcfe568000480058006697375626d697474656408a46c696e7075745f746f6b656e73006d6f757470"
    "75745f746f6b656e73006d6361636865645f746f6b656e7300687265717565737473000ef60f1a0007349e101b0000018bcfe56800111b0000018bcf"
    "e56800"
)
ANDADB = RECORD | {"user": "b64:AQ==", "thread": "b64:ZVPxAAoLDATSAAAB", "extra": {"txt:b64:k": "txt:b64:v"}}


def read(
    data: str | bytes, options: ReadOptions | None = None
) -> list[Imported | ImportedDelta | Noticed | Refused]:
    source = ByteInput([data.encode() if isinstance(data, str) else data])
    found = detect(source)
    assert found.name == "anda" and found.read is not None
    return list(found.read(source, options or ReadOptions()))


def one(data: str | bytes, options: ReadOptions | None = None) -> Imported:
    (found,) = read(data, options)
    assert isinstance(found, Imported), found
    return found


def refusal(data: str | bytes, options: ReadOptions | None = None) -> Refused:
    (found,) = read(data, options)
    assert isinstance(found, Refused)
    return found


WRAPPED = {
    "alone": RECORD,
    "array": [RECORD],
    "page": {"result": [RECORD], "next_cursor": None},
    "single": {"result": RECORD},
    "tool output": {"output": {"result": RECORD}, "usage": {}},
    "brain": {"result": [RECORD], "next_cursor": None, "error": None},
    "reply in base64": {"Ok": base64.urlsafe_b64encode(json.dumps({"result": RECORD}).encode()).decode()},
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", WRAPPED)
def test_record_comes_out_of_every_wrapping(name: str, indent: int | None) -> None:
    found = one(json.dumps(WRAPPED[name], indent=indent))
    assert same_json(found.conversation.to_json_object(), RECORD)
    assert found.source.id == "41@1700000000000"
    assert found.entries is not None
    assert [(fact.made, fact.dialect) for fact in found.entries] == [(1_700_000_000_000, "anda")]


@pytest.mark.parametrize("wrapped", [RECORD, [RECORD], {"result": [RECORD]}, {"output": {"result": RECORD}}])
def test_cbor_keyed_by_name_gives_the_same_record(wrapped: Any) -> None:
    text = (
        json.dumps(wrapped)
        .replace(f'"{USER}"', '"\\u0001USER"')
        .replace(f'"{RECORD["thread"]}"', '"\\u0001XID"')
    )
    value = cbor2.loads(cbor2.dumps(_with_bytes(json.loads(text))))
    assert same_json(one(cbor2.dumps(value)).conversation.to_json_object(), RECORD)


def _with_bytes(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_bytes(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_bytes(item) for item in value]
    known = {"\x01USER": b"\x01", "\x01XID": bytes.fromhex("6553f1000a0b0c04d2000001")}
    return known.get(value, value) if isinstance(value, str) else value


def test_several_records_in_lines_and_in_a_cbor_sequence() -> None:
    other = RECORD | {"_id": 42}
    assert [
        item.source.id
        for item in read(f"{json.dumps(RECORD)}\n{json.dumps(other)}\n")
        if isinstance(item, Imported)
    ] == [
        "41@1700000000000",
        "42@1700000000000",
    ]
    sequence = cbor2.dumps(RECORD | {"user": b"\x01"}) + cbor2.dumps(other | {"user": b"\x01"})
    assert [type(item) for item in read(sequence)] == [Imported, Imported]


def test_pages_one_after_the_other_and_what_a_page_leaves_out() -> None:
    page = json.dumps({"result": [RECORD, 7, {"deleted": True}], "next_cursor": "b64:AQ=="})
    record, number, deleted, notice = read(f"{page}\n")
    assert isinstance(record, Imported) and record.position == "1.result[0]"
    assert isinstance(number, Refused) and number.position == "1.result[1]"
    assert isinstance(deleted, Refused) and "no conversation" in deleted.reason
    assert isinstance(notice, Noticed) and "next_cursor" in notice.text


@pytest.mark.parametrize(
    "value",
    [
        {"error": {"code": 404, "message": "document not found"}},
        {"result": None, "next_cursor": None, "error": {"message": "document not found"}},
        {"output": {"error": "document not found", "result": RECORD}},
        {"Err": "document not found"},
    ],
)
def test_error_of_a_service_is_reported_and_nothing_imported(value: Any) -> None:
    assert "document not found" in refusal(json.dumps(value)).reason


def test_empty_page_gives_nothing() -> None:
    assert read('{"result":[],"next_cursor":null}') == []


def test_delta_is_never_a_record() -> None:
    found = refusal(json.dumps(DELTA))
    assert "offsets" in found.reason and found.id == "41"


def test_delta_at_offsets_says_what_was_added_and_what_is_cleared() -> None:
    (found,) = read(json.dumps({"result": DELTA}), ReadOptions(messages_offset=3, artifacts_offset=1))
    assert isinstance(found, ImportedDelta)
    assert (found.delta.id, found.messages_offset, found.artifacts_offset) == (41, 3, 1)
    assert found.delta.messages == [MESSAGE] and found.delta.artifacts == []
    assert found.delta.status == "completed"
    assert {"child", "failed_reason"} <= found.given


@pytest.mark.parametrize(
    "data", [json.dumps(DOCUMENT), RENDERED, json.dumps({"result": RENDERED}), f"\n{RENDERED}\n"]
)
def test_prompt_view_is_a_transcript_of_its_own_identity(data: str) -> None:
    found = one(data)
    assert found.source.id == "document/41@1700000000000"
    assert found.conversation.messages == [{"role": "user", "content": [], "timestamp": 1_700_000_000_000}]
    assert (found.conversation.label, found.conversation.updated_at) == ("travel", 1_700_000_102_250)
    assert any("not in it" in note for note in found.notes)


def test_broken_line_of_rendered_documents_is_named() -> None:
    first, second = read(RENDERED.replace("<documents>\n", "<documents>\n{oops\n"))
    assert isinstance(first, Refused) and first.position == "1#1"
    assert isinstance(second, Imported)


@pytest.mark.parametrize("data", ["<documents>\n{}\n", "<html></html>", "<documents>"])
def test_other_markup_is_refused(data: str) -> None:
    assert "no conversation but a text" in refusal(data).reason


def test_andadb_json_has_its_escapes_undone() -> None:
    found = one(json.dumps({"result": ANDADB}))
    assert (found.conversation.user, found.conversation.thread) == (USER, RECORD["thread"])
    assert found.conversation.extra == {"b64:k": "b64:v"}


def test_document_keyed_by_index_needs_the_names_of_its_collection() -> None:
    assert "meta.cbor" in refusal(DISK).reason
    entries = {name: {"n": name, "i": index} for index, name in enumerate(list(RECORD)[:6])}
    entries |= {name: {"n": name, "i": index} for index, name in ((6, "status"), (8, "usage"), (14, "extra"))}
    entries |= {"period": {"n": "period", "i": 15}, "created_at": {"n": "created_at", "i": 16}}
    entries["updated_at"] = {"n": "updated_at", "i": 17}
    names = field_names({"schema": entries})
    found = one(DISK, ReadOptions(field_names=names))
    assert (found.conversation.id, found.conversation.user) == (41, USER)
    assert found.conversation.messages == [MESSAGE]
    assert found.conversation.status.value == "submitted"


def test_members_without_a_name_are_kept_apart() -> None:
    found = one(json.dumps(RECORD | {"priority": 7, "usage": RECORD["usage"] | {"tool_tokens": 9}}))
    assert found.unknown == {"priority": 7, "usage": {"tool_tokens": 9}}


def test_same_id_in_another_collection_is_another_conversation() -> None:
    later = RECORD | {"created_at": 1_700_000_000_001}
    ids = {one(json.dumps(RECORD)).source.id, one(json.dumps(later)).source.id}
    ids.add(one(json.dumps(RECORD), ReadOptions(collection="bot")).source.id)
    assert ids == {"41@1700000000000", "41@1700000000001", "bot/41@1700000000000"}


def test_record_without_an_id_is_known_by_its_content() -> None:
    nameless = json.dumps(RECORD | {"_id": 0})
    first, second = read(f"{nameless}\n{nameless}\n")
    assert isinstance(first, Imported) and isinstance(second, Imported)
    assert first.source.id.startswith("sha256:") and second.source.id == f"{first.source.id}#2"


def test_missing_user_is_anonymous_only_in_version_2() -> None:
    missing = {name: value for name, value in RECORD.items() if name not in ("user", "child", "extra")}
    assert "user" in refusal(json.dumps(missing)).reason
    assert one(json.dumps(missing), ReadOptions(version=2)).conversation.user == "2vxsx-fae"
    assert one(json.dumps(missing), ReadOptions(user="alice")).conversation.user == "alice"


def test_given_user_owns_what_is_read_and_the_named_one_is_kept() -> None:
    found = one(json.dumps(RECORD), ReadOptions(user="alice"))
    assert found.conversation.user == "alice" and found.unknown == {"user": USER}
    assert any(USER in note for note in found.notes)


@pytest.mark.parametrize("user", ["", "a\nb", "uuc56-gyaaa-aaaaa-aaaaa-aaa"])
def test_given_user_must_be_one(user: str) -> None:
    with pytest.raises(ConvostoreError):
        read(json.dumps(RECORD), ReadOptions(user=user))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"status": "done"}, "status"),
        ({"usage": {"input_tokens": -1, "output_tokens": 0, "requests": 0}}, "usage.input_tokens"),
        ({"messages": {"a": 1}}, "messages"),
        ({"resources": [{"_id": 1, "name": "x", "tags": [], "hash": "AAAA"}]}, "resources[0].hash"),
        ({"child": 2**64}, "child"),
    ],
)
def test_record_that_is_none_is_refused_with_its_line_and_path(change: dict[str, Any], path: str) -> None:
    good, bad = read(f"{json.dumps(RECORD)}\n{json.dumps(RECORD | change)}\n")
    assert isinstance(good, Imported)
    assert isinstance(bad, Refused) and bad.position == 2 and bad.id == "41" and path in bad.reason


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_record_written_in_pieces_equals_the_versions_own_text(version: int) -> None:
    record = Conversation.model_validate(RECORD | {"ancestors": [4, 1], "messages": []})
    messages = [MESSAGE, {"role": "x", "content": "\u00e9", "f": 1e16}]
    notes: list[str] = []
    text = "".join(write(record, messages, version=version, notes=notes))
    whole = record.model_copy(update={"messages": messages})
    assert text == whole.to_json(version=version) + "\n"


@pytest.mark.shared
@pytest.mark.parametrize("name", ["bot-action-cards", "brain-list-page", "engine-delta"])
def test_sample_exports_hold_what_their_index_says(name: str) -> None:
    exports = SHARED / "data" / "exports"
    expected = json.loads((exports / "expected.json").read_text())[f"anda/{name}.json"]["expected"]
    items = read((exports / "anda" / f"{name}.json").read_bytes())
    found = [item.conversation for item in items if isinstance(item, Imported)]
    assert len(found) == expected["conversations"]
    assert sum(len(record.messages) for record in found) == expected["total"]
    for record, wanted in zip(found, expected["convs"], strict=True):
        assert (record.status.value, record.created_at, record.updated_at) == (
            wanted["status"],
            wanted["created_at"],
            wanted["updated_at"],
        )


def test_messages_of_other_dialects_in_a_record_are_known_as_such() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "plain", "timestamp": 5},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"no": "role"},
    ]
    found = one(json.dumps(RECORD | {"messages": messages}))
    assert found.entries is not None
    assert [fact.dialect for fact in found.entries] == ["anda", "openai", None]
