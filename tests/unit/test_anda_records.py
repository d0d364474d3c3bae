"""What one value of Anda's programs holds: records, deltas, documents and errors, in every envelope."""

from __future__ import annotations

import base64
import json
from typing import Any

import cbor2
import pytest

from convostore.schemas.anda_records import (
    AndaDelta,
    AndaNotice,
    AndaOptions,
    AndaRecord,
    AndaRefused,
    anda_records,
    read_anda,
)
from convostore.schemas.conversations import Conversation
from convostore.schemas.documents import Documents
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.resources import Resource
from support.shared import shared

NOW = 1_700_000_000_000


def record(id: int = 7, **members: Any) -> Conversation:
    message = {"role": "user", "content": [{"type": "Text", "text": "hi"}], "timestamp": NOW}
    given: dict[str, Any] = {"id": id, "user": "2vxsx-fae", "messages": [message], "created_at": NOW}
    return Conversation(**(given | members))


PLAIN = record().to_json_object()
DELTA = record().to_delta().to_json()


def found(value: Any, **options: Any) -> list[Any]:
    return list(anda_records(value, AndaOptions(**options)))


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (PLAIN, ""),
        ([PLAIN], "[0]"),
        ({"result": PLAIN}, ".result"),
        ({"result": [PLAIN], "next_cursor": None}, ".result[0]"),
        ({"result": [PLAIN], "error": None}, ".result[0]"),
        ({"output": {"result": PLAIN}, "usage": {}}, ".output.result"),
        ({"output": PLAIN, "is_error": False}, ".output"),
        (
            {"Ok": base64.b64encode(json.dumps({"output": {"result": PLAIN}}).encode()).decode()},
            ".Ok.output.result",
        ),
    ],
)
def test_record_is_found_in_every_envelope(value: Any, path: str) -> None:
    (item,) = found(value)
    assert isinstance(item, AndaRecord)
    assert (item.conversation, item.path, item.lossy) == (record(), path, False)


def test_record_is_found_in_cbor_envelopes() -> None:
    inner = cbor2.dumps({"output": {"result": [cbor2.loads(record().to_cbor())]}})
    (item,) = found({"Ok": inner}, binary=True)
    assert item.conversation == record()


def test_all_records_of_a_page_are_found_in_order_and_the_rest_is_announced() -> None:
    page = {"result": [record(id).to_json_object() for id in (9, 8, 7)], "next_cursor": "b64:Bw=="}
    *records, notice = found(page)
    assert [item.conversation.id for item in records] == [9, 8, 7]
    assert isinstance(notice, AndaNotice) and "next_cursor" in notice.text


def test_bad_record_of_a_page_is_refused_alone() -> None:
    first, second, third = found([PLAIN, PLAIN | {"_id": 8, "status": "done"}, PLAIN | {"_id": 9}])
    assert isinstance(first, AndaRecord) and isinstance(third, AndaRecord)
    assert isinstance(second, AndaRefused)
    assert (second.path, second.id) == ("[1]", 8)
    assert isinstance(second.error, InvalidRecordError) and second.error.path == "[1].status"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"error": {"code": 404, "message": "document not found"}}, "document not found"),
        ({"error": "permission denied", "result": None}, "permission denied"),
        ({"Err": "invalid cursor"}, "invalid cursor"),
        ({"output": {"error": {"message": "no"}}}, "no"),
    ],
)
def test_error_of_a_server_is_refused_with_its_text(value: Any, text: str) -> None:
    (item,) = found(value)
    assert isinstance(item, AndaRefused) and text in str(item.error)


def test_result_beside_an_error_is_not_taken() -> None:
    (refused,) = found({"error": {"message": "late"}, "result": PLAIN})
    assert isinstance(refused, AndaRefused)


def test_empty_answer_is_said() -> None:
    (item,) = found({"result": None})
    assert isinstance(item, AndaNotice)
    assert found({"result": []}) == found([]) == []


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        True,
        "hello",
        b"x",
        {},
        {"deleted": True},
        {"_id": 3, "tags": [], "name": "a.md"},
        {"f": {0: 1}},
        {"Ok": "?"},
        {"Ok": "AAAA"},
        {"metadata": {"type": "Resource"}, "content": None},
        "<documents>\nx\n</documents>",
    ],
)
def test_what_is_no_conversation_is_refused(value: Any) -> None:
    (item,) = found(value)
    assert isinstance(item, AndaRefused)


def test_what_is_wrapped_without_end_is_refused() -> None:
    value: Any = PLAIN
    for _ in range(900):
        value = {"result": [value]}
    (item,) = found(value)
    assert isinstance(item, AndaRefused)


def test_delta_is_no_record() -> None:
    full = record(status="working", child=9, artifacts=[Resource(name="a")]).to_delta(0, 0)
    item, partial = found(
        [full.to_json(), {name: DELTA[name] for name in ("_id", "messages", "status", "usage")}]
    )
    assert isinstance(item, AndaDelta) and isinstance(partial, AndaDelta)
    assert item.delta == full
    assert item.given == DELTA.keys()
    assert partial.given == {"_id", "messages", "status", "usage"}


def test_bad_delta_is_refused_with_its_path() -> None:
    (item,) = found({"result": DELTA | {"updated_at": -1}})
    assert isinstance(item, AndaRefused) and isinstance(item.error, InvalidRecordError)
    assert item.error.path == ".result.updated_at"


def test_document_is_read_as_a_transcript() -> None:
    made = record(thread="cl9v200a1c609kg0000g", label="l", status="working", updated_at=NOW + 5)
    (item,) = found(made.to_document().to_json())
    assert isinstance(item, AndaRecord) and item.lossy
    assert item.conversation == made
    assert item.notes == ()


@pytest.mark.parametrize(
    "wrapped", [lambda text: text, lambda text: {"output": text}, lambda text: f"now\n---\n{text}"]
)
def test_rendered_documents_are_read_one_by_one(wrapped: Any) -> None:
    block = Documents([record(7).to_document(), record(8).to_document()]).render()
    items = found(wrapped(block))
    assert [item.conversation.id for item in items] == [7, 8]
    assert [item.path[-2:] for item in items] == ["#1", "#2"]
    assert all(item.lossy for item in items)


def test_older_documents_are_read() -> None:
    metadata = {"_id": 7, "type": "Conversation", "user": "2vxsx-fae", "status": "completed"}
    content = [
        {"role": "user", "content": "text", "timestamp": None},
        {"role": "user", "content": [], "timestamp": 5},
        "odd",
    ]
    (item,) = found({"metadata": metadata, "content": content})
    assert item.conversation.messages == [{"role": "user", "content": "text"}, content[1], "odd"]
    assert item.conversation.created_at == 0


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (
            {"metadata": {"type": "Conversation", "created_at": "yesterday"}, "content": []},
            "metadata.created_at",
        ),
        ({"metadata": {"type": "Conversation"}, "content": "x"}, "content"),
        (
            {"metadata": {"type": "Conversation"}, "content": [{"role": "user", "timestamp": "x"}]},
            "content[0].timestamp",
        ),
    ],
)
def test_bad_document_is_refused_with_its_path(document: Any, path: str) -> None:
    (item,) = found(document)
    assert isinstance(item, AndaRefused) and isinstance(item.error, InvalidRecordError)
    assert item.error.path == path


def test_owner_is_given_to_records_without_one() -> None:
    (refused,) = found({name: value for name, value in PLAIN.items() if name != "user"})
    assert isinstance(refused, AndaRefused)
    (item,) = found({name: value for name, value in PLAIN.items() if name != "user"}, user="alice")
    assert item.conversation.user == "alice"


def test_one_record_is_read_from_text_bytes_and_object() -> None:
    text = record().to_json()
    for source in (text, text.encode(), json.loads(text)):
        assert read_anda(source).conversation == record()
    assert read_anda(record().to_cbor(), AndaOptions(binary=True)).conversation == record()
    with pytest.raises(InvalidRecordError):
        read_anda("[]")


@pytest.mark.shared
def test_sample_exports_are_found_as_expected() -> None:
    expected = json.loads(shared("data/exports/expected.json").read_text())
    for name in ("bot-action-cards", "brain-list-page", "engine-delta"):
        items = found(json.loads(shared(f"data/exports/anda/{name}.json").read_text()))
        wanted = expected[f"anda/{name}.json"]["expected"]
        records = [item for item in items if isinstance(item, AndaRecord)]
        assert not [item for item in items if isinstance(item, (AndaRefused, AndaNotice))]
        assert len(records) == wanted["conversations"]
        assert sum(len(item.conversation.messages) for item in records) == wanted["total"]
        for item, one in zip(records, wanted["convs"], strict=True):
            assert (str(item.conversation.id), item.conversation.status) == (one["title"], one["status"])
            assert (item.conversation.created_at, item.conversation.updated_at) == (
                one["created_at"],
                one["updated_at"],
            )
    (delta,) = items
    assert isinstance(delta, AndaDelta) and len(delta.delta.messages) == 1
