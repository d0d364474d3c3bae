"""Writing the record as each of Anda's versions: what it has, how it says it, what it cannot say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from convostore.schemas.anda_versions import VERSIONS, ancestor_order, infer_version
from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import InvalidRecordError, SchemaVersionError
from convostore.schemas.json_values import same_json
from convostore.schemas.resources import Resource
from convostore.schemas.usage import Usage

# The examples of the specification, 1.3.
VERSION_1 = (
    '{"_id":7,"user":"uuc56-gyb","thread":"cl9v200a1c609kg0000g",'
    '"messages":[{"role":"user","content":[{"type":"Text","text":"Summarise the attached memo"}],'
    '"timestamp":1700000000000}],'
    '"resources":[{"_id":3,"tags":["text","md"],"name":"memo.md","mime_type":"text/markdown","size":5,'
    '"hash":"Mzi-aU9QxfM4gUmGzfBoZFOoiLhPQk15KvS5ICOY85I=",'
    '"metadata":{"user":"uuc56-gyb","created_at":"2023-11-14T22:13:19.512873+00:00"}}],'
    '"artifacts":[],"status":"working","usage":{"input_tokens":812,"output_tokens":44,"requests":1},'
    '"follow_up_messages":["also list the open questions"],"ancestors":[6,4,1],'
    '"period":472222,"created_at":1700000000000,"updated_at":1700000003120}'
)
VERSION_1_WITH_NULLS = (
    '{"_id":8,"user":"2vxsx-fae","thread":null,"messages":[],"resources":[],"artifacts":[],"status":"submitted",'
    '"usage":{"input_tokens":0,"output_tokens":0,"requests":0},"steering_messages":null,"follow_up_messages":null,'
    '"ancestors":null,"period":472222,"created_at":1700000000000,"updated_at":1700000000000}'
)
VERSION_4 = (
    '{"_id":41,"user":"uuc56-gyb","thread":"cl9v200a1c609kg0000g",'
    '"messages":[{"role":"user","content":[{"type":"Text","text":"Find me a train to Bern"}],'
    '"timestamp":1700000000000}],"resources":[],"artifacts":[{"_id":12,"tags":["text"],"name":"plan.txt","size":5,'
    '"hash":"b64:Mzi-aU9QxfM4gUmGzfBoZFOoiLhPQk15KvS5ICOY85I="}],'
    '"status":"failed","failed_reason":"operation cancelled",'
    '"usage":{"input_tokens":10,"output_tokens":20,"cached_tokens":3,"requests":2},'
    '"steering_messages":["stop searching"],"follow_up_messages":["book it"],'
    '"child":44,"ancestors":[1,4,6],"label":"travel","extra":{"priority":"high"},'
    '"period":472222,"created_at":1700000000000,"updated_at":1700000102250}'
)


def conversation(**members: Any) -> Conversation:
    return Conversation(**({"user": "2vxsx-fae"} | members))


@pytest.mark.parametrize(("text", "version"), [(VERSION_1, 1), (VERSION_4, 4)])
def test_example_of_the_specification_is_written_letter_by_letter(text: str, version: int) -> None:
    read = Conversation.from_json(text, strict=True)
    assert read.to_json(version, strict=True) == text


def test_example_with_nulls_is_read_and_written_without() -> None:
    read = Conversation.from_json(VERSION_1_WITH_NULLS, strict=True)
    written = json.loads(read.to_json(1, strict=True))
    nulls = ("thread", "steering_messages", "follow_up_messages", "ancestors")
    assert same_json(written, {k: v for k, v in json.loads(VERSION_1_WITH_NULLS).items() if k not in nulls})


@pytest.mark.parametrize(
    ("version", "lacks"),
    [(1, {"child", "label", "extra"}), (2, {"child", "extra"}), (3, {"child"}), (4, set())],
)
def test_each_version_has_its_members_in_order(version: int, lacks: set[str]) -> None:
    record = Conversation.from_json(VERSION_4)
    notes: list[str] = []
    written = json.loads(record.to_json(version, notes=notes))
    assert list(written) == [name for name in json.loads(VERSION_4) if name not in lacks]
    assert {note.partition(":")[0] for note in notes} == lacks | (
        {"usage.cached_tokens"} if version == 1 else set()
    )


@pytest.mark.parametrize("version", [1, 2, 3])
def test_strict_writing_refuses_members_the_version_lacks(version: int) -> None:
    with pytest.raises(SchemaVersionError) as refused:
        Conversation.from_json(VERSION_4).to_json(version, strict=True)
    assert refused.value.known == version
    assert refused.value.found in ("child", "label", "extra", "usage.cached_tokens")


@pytest.mark.parametrize(
    ("version", "written"), [(1, [6, 4, 1]), (2, [6, 4, 1]), (3, [1, 4, 6]), (4, [1, 4, 6])]
)
def test_ancestors_run_in_the_order_of_the_version(version: int, written: list[int]) -> None:
    record = conversation(ancestors=[1, 4, 6])
    assert record.to_json_object(version)["ancestors"] == written
    assert Conversation.from_json(record.to_json(version)).ancestors == [1, 4, 6]
    assert record.ancestors == [1, 4, 6]


@pytest.mark.parametrize("ancestors", [[3, 9, 5], [2, 2], [9, 5, 3]])
@pytest.mark.parametrize("version", [1, 2])
def test_ancestors_of_unclear_order_are_written_as_they_are(ancestors: list[int], version: int) -> None:
    notes: list[str] = []
    assert conversation(ancestors=ancestors).to_json_object(version, notes=notes)["ancestors"] == ancestors
    assert notes == ["ancestors: their order is unclear; written as it is"]


@pytest.mark.parametrize(("version", "text"), [(1, "aGk="), (2, "aGk="), (3, "aGk="), (4, "b64:aGk=")])
def test_bytes_have_the_flavour_of_the_version(version: int, text: str) -> None:
    record = conversation(resources=[Resource(name="a", blob=b"hi")])
    assert record.to_json_object(version)["resources"][0]["blob"] == text


@pytest.mark.parametrize(
    ("version", "written"), [(1, "completed"), (2, "completed"), (3, "idle"), (4, "idle")]
)
def test_idle_is_said_only_where_it_is_known(version: int, written: str) -> None:
    notes: list[str] = []
    record = conversation(status="idle")
    assert record.to_json_object(version, notes=notes)["status"] == written
    assert len(notes) == (written != "idle")
    if written != "idle":
        with pytest.raises(SchemaVersionError):
            record.to_json(version, strict=True)


def test_counter_that_version_1_lacks_is_named_only_when_it_counts() -> None:
    notes: list[str] = []
    assert "cached_tokens" not in conversation().to_json_object(1, strict=True, notes=notes)["usage"]
    conversation(usage=Usage(cached_tokens=1)).to_json(1, notes=notes)
    assert notes == ["usage.cached_tokens: version 1 has no such counter; left out"]
    assert conversation().to_json_object(2, strict=True)["usage"]["cached_tokens"] == 0


@pytest.mark.parametrize(("name", "value"), [("user", "alice"), ("thread", "t1")])
def test_opaque_ids_are_written_and_named(name: str, value: str) -> None:
    notes: list[str] = []
    record = conversation(**{name: value})
    assert record.to_json_object(notes=notes)[name] == value
    assert [note.partition(":")[0] for note in notes] == [name]
    with pytest.raises(SchemaVersionError):
        record.to_json(strict=True)


@pytest.mark.parametrize(
    ("value", "written", "path"),
    [
        (float("nan"), None, "messages[1].a[0]"),
        (float("-inf"), None, "messages[1].a[0]"),
        (2**64, 2**64, "messages[1].a[0]"),
        (-(2**63) - 1, -(2**63) - 1, "messages[1].a[0]"),
        ("x\ud83d", "x\ud83d", "messages[1].a[0]"),
        ({"\udc00": 1}, {"\udc00": 1}, "messages[1].a[0]"),
    ],
)
def test_what_anda_cannot_read_back_is_named(value: Any, written: Any, path: str) -> None:
    notes: list[str] = []
    record = conversation(messages=[{"a": [1]}, {"a": [value], "b": 1.0}])
    text = record.to_json(notes=notes)
    text.encode()
    assert same_json(json.loads(text)["messages"], [{"a": [1]}, {"a": [written], "b": 1.0}])
    assert [note.partition(":")[0] for note in notes] == [path]
    with pytest.raises(SchemaVersionError) as refused:
        record.to_json(strict=True)
    assert refused.value.found == path


def test_whole_numbers_of_64_bits_are_no_matter() -> None:
    notes: list[str] = []
    conversation(messages=[2**64 - 1, -(2**63)], extra=[2**63]).to_json(strict=True, notes=notes)
    assert notes == []


@pytest.mark.parametrize("value", [{1, 2}, b"x", (1,), {5: 1}])
def test_what_is_no_json_is_refused_with_its_path(value: Any) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        conversation(messages=[1, {"a": value}]).to_json()
    assert refused.value.path.startswith("messages[1].a")
    with pytest.raises(InvalidRecordError, match="extra"):
        conversation(extra=value).to_cbor()


def test_deepest_message_is_written_in_every_form() -> None:
    value: Any = float("nan")
    for _ in range(490):
        value = {"k": value}
    record = conversation(messages=[value, json.loads("[" * 490 + "1e300" + "]" * 490)])
    assert Conversation.from_json(record.to_json()).messages[1] == record.messages[1]
    assert Conversation.from_cbor(record.to_cbor()).messages[1] == record.messages[1]


def test_plain_messages_are_the_same_objects_in_the_object() -> None:
    record = conversation(messages=[{"role": "user", "content": "x"}])
    assert record.to_json_object()["messages"][0] is record.messages[0]


@pytest.mark.parametrize("version", [0, 5, "4", True, None, 4.0])
def test_unknown_version_is_refused(version: Any) -> None:
    for write in (Conversation.to_json, Conversation.to_json_object, Conversation.to_cbor):
        with pytest.raises(SchemaVersionError):
            write(conversation(), version)


@pytest.mark.parametrize(
    ("given", "order"), [([], 1), ([5], 1), ([1, 4, 6], 1), ([6, 4, 1], -1), ([1, 1], 0), ([1, 3, 2], 0)]
)
def test_order_of_ancestors_shows_in_their_ids(given: list[int], order: int) -> None:
    assert ancestor_order(given) == order


def test_version_is_inferred_from_the_members() -> None:
    assert [infer_version({name: None}) for name in ("child", "extra", "label", "ancestors")] == [4, 3, 2, 1]
    assert infer_version({"label": "a", "extra": 1}) == 3
    assert list(VERSIONS) == [1, 2, 3, 4]
