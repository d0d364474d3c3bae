"""Resources: members, hashes, preparation, selection by tags, and the views for models."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from pydantic import ValidationError

from convostore.schemas.byte_text import write_bytes
from convostore.schemas.json_values import same_json
from convostore.schemas.messages import FileDataPart, InlineDataPart, TextPart
from convostore.schemas.resources import Resource, select_resources

HELLO = bytes.fromhex("3338be694f50c5f338814986cdf0686453a888b84f424d792af4b9202398f392")
NOW = 1_700_000_000_000
EVERYTHING: dict[str, Any] = {
    "_id": 12,
    "tags": ["text", "md"],
    "name": "plan.txt",
    "description": "a plan",
    "uri": "https://files.example/plan.txt",
    "mime_type": "text/plain",
    "blob": "b64:aGVsbG8=",
    "size": 5,
    "hash": "b64:Mzi-aU9QxfM4gUmGzfBoZFOoiLhPQk15KvS5ICOY85I=",
    "metadata": {"n": 1},
}


def named(name: str, **members: Any) -> Resource:
    return Resource(name=name, **members)


def test_json_comes_back_in_order() -> None:
    resource = Resource.model_validate(EVERYTHING)
    assert (resource.id, resource.blob, resource.hash) == (12, b"hello", HELLO)
    assert same_json(resource.to_json(), EVERYTHING)


def test_bytes_can_be_written_bare() -> None:
    written = Resource.model_validate(EVERYTHING).to_json(prefixed=False)
    assert written["blob"] == "aGVsbG8="
    assert written["hash"] == "Mzi-aU9QxfM4gUmGzfBoZFOoiLhPQk15KvS5ICOY85I="


def test_unset_members_are_left_out() -> None:
    assert same_json(named("a").to_json(), {"_id": 0, "tags": [], "name": "a"})
    assert list(named("a", blob=b"").to_json()) == ["_id", "tags", "name", "blob"]


def test_members_hold_bytes_as_bytes() -> None:
    assert Resource.model_validate(EVERYTHING).members()["blob"] == b"hello"


def test_model_dump_has_the_name_of_the_id_in_json() -> None:
    assert named("a", id=3).model_dump()["_id"] == 3
    dumped = Resource.model_validate(EVERYTHING).model_dump(mode="json")
    assert dumped["blob"] == "b64:aGVsbG8="


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"name": None},
        {"name": "a\ud83d"},
        {"name": b"a"},
        {"name": "a", "tags": "text"},
        {"name": "a", "tags": [1]},
        {"name": "a", "size": -1},
        {"name": "a", "size": 1.0},
        {"name": "a", "size": True},
        {"name": "a", "hash": "b64:AQID"},
        {"name": "a", "blob": "?"},
        {"name": "a", "metadata": []},
        {"name": "a", "mimeType": "text/plain"},
        {"name": "a", "_id": 2**64},
    ],
)
def test_model_refuses(members: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Resource.model_validate(members)


@pytest.mark.parametrize(
    ("blob", "text"),
    [
        (b"hello", "Mzi-aU9QxfM4gUmGzfBoZFOoiLhPQk15KvS5ICOY85I="),
        (b"\x01\x02\x03", "_ReApvye4NqybOtLOUGrA-ZszZcNHbkWEsZt9FFbCgo="),
        (b"", write_bytes(hashlib.sha3_256(b"").digest(), prefixed=False)),
    ],
)
def test_prepared_resource_has_the_hash_of_its_bytes(blob: bytes, text: str) -> None:
    prepared = named("a", id=5, blob=blob, hash=b"\x00" * 32).prepare("alice", NOW)
    assert prepared.to_json(prefixed=False)["hash"] == text
    assert prepared.metadata is None


def test_preparing_says_whose_a_new_resource_is() -> None:
    given = named("a", metadata={"user": "mallory", "n": 1}, size=9)
    prepared = given.prepare("2vxsx-fae", NOW + 50)
    assert prepared.metadata == {"user": "2vxsx-fae", "n": 1, "created_at": "2023-11-14T22:13:20.050+00:00"}
    assert (prepared.hash, prepared.size) == (None, 9)
    assert given.metadata == {"user": "mallory", "n": 1}


def test_hash_without_bytes_stays() -> None:
    assert named("a", hash=HELLO).prepare("alice", NOW).hash == HELLO


def test_reference_has_no_bytes() -> None:
    reference = Resource.model_validate(EVERYTHING).reference(9)
    assert (reference.id, reference.blob, reference.hash) == (9, None, HELLO)


@pytest.mark.parametrize(
    ("tags", "taken"),
    [
        ([], ""),
        (["*"], "abc"),
        (["text"], "ac"),
        (["md", "image"], "bc"),
        (["x", "*"], ""),
        (["*", "x"], "abc"),
    ],
)
def test_selection_takes_out_what_has_a_tag(tags: list[str], taken: str) -> None:
    resources = [named("a", tags=["text"]), named("b", tags=["image"]), named("c", tags=["text", "md"])]
    assert "".join(item.name for item in select_resources(resources, tags)) == taken
    assert "".join(item.name for item in resources) == "".join(sorted(set("abc") - set(taken)))


@pytest.mark.parametrize(
    ("resource", "part"),
    [
        (named("a", blob=b"a\tb\r\n"), TextPart(text="a\tb\r\n")),
        (named("a", blob=b"x" * 19 + b"\x00"), TextPart(text="x" * 19 + "\x00")),
        (
            named("a", blob=b"x" * 18 + b"\x00"),
            InlineDataPart(mime_type="application/octet-stream", data=b"x" * 18 + b"\x00"),
        ),
        (named("a", blob=b"x" * 4096 + b"\x00" * 4096), TextPart(text="x" * 4096 + "\x00" * 4096)),
        (
            named("a", blob=b"\xff\xd8\xff\xe0"),
            InlineDataPart(mime_type="image/jpeg", data=b"\xff\xd8\xff\xe0"),
        ),
        (
            named("a", blob=b"RIFF\x00\x00\x00\xffWEBP"),
            InlineDataPart(mime_type="image/webp", data=b"RIFF\x00\x00\x00\xffWEBP"),
        ),
        (named("a", blob=b"\xff", mime_type="x/y"), InlineDataPart(mime_type="x/y", data=b"\xff")),
        (named("a", uri="u", mime_type="x/y"), FileDataPart(file_uri="u", mime_type="x/y")),
        (named("a", blob=b"", uri="u"), FileDataPart(file_uri="u")),
        (named("a", uri="  "), None),
        (named("a"), None),
    ],
)
def test_part_for_a_model(resource: Resource, part: Any) -> None:
    assert resource.to_part() == part


def test_document_shows_all_but_the_bytes() -> None:
    document = Resource.model_validate(EVERYTHING).to_document()
    assert document.content == "hello"
    assert document.metadata["id"] == document.metadata["_id"] == 12
    assert document.metadata["type"] == "Resource"
    assert "blob" not in document.metadata
    assert list(document.metadata) == sorted(document.metadata)
    assert named("a", blob=b"\xff").to_document().content is None


def test_resources_are_equal_when_their_json_is() -> None:
    assert named("a", metadata={"n": 1}) != named("a", metadata={"n": 1.0})
    assert named("a", metadata={"n": 1}) == named("a", metadata={"n": 1})
