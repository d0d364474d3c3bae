"""Exports of a file for each conversation, on a real server: what is in the files comes back from them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import QueryError, SchemaVersionError
from convostore.schemas.json_values import same_json
from convostore.schemas.resources import Resource
from convostore.store import ALL_USERS, ConversationStore, ExportReport
from convostore.store.layout import Bounds
from support.exporting import ANDA, ANTHROPIC, OPENAI, PNG
from support.servers import Server

LARGE = bytes(range(256)) * 1200
"""Bytes that lie in GridFS."""


@pytest.fixture
def store(replica_set: Server, database_name: str) -> Iterator[ConversationStore]:
    bounds = Bounds(keep=2, soft_count=4, hard_count=6, step=1)
    with replica_set.client() as client:
        opened = ConversationStore(client[database_name], bounds=bounds)
        opened.setup()
        yield opened


def into(folder: Path) -> Callable[[str], AbstractContextManager[Callable[[bytes], Any]]]:
    @contextmanager
    def create(name: str) -> Iterator[Callable[[bytes], Any]]:
        with (folder / name).open("xb") as file:
            yield file.write

    return create


def exported(store: ConversationStore, folder: Path, format: str, **options: Any) -> ExportReport:
    return store.export_files(into(folder), **({"user": ALL_USERS} | options), format=format)


def filled(store: ConversationStore) -> list[int]:
    """A conversation with segments, a blob and files, a short one, an empty one of somebody else."""
    photo = store.resources.add(Resource(name="cat.png", uri="urn:photo", blob=PNG), user="alice")
    report = store.resources.add(Resource(name="r.bin", blob=LARGE), user="alice")
    members = {"resources": [photo], "artifacts": [report], "extra": {"title": "Cats: & Dogs/../x"}}
    first = store.create(Conversation(user="alice", messages=ANDA, **members))
    for message in (*OPENAI, {"role": "user", "content": "x" * 70_000}):
        store.append(first.id, message)
    second = store.create(Conversation(user="alice", messages=ANTHROPIC, status="completed"))
    third = store.create(Conversation(user="bob"))
    return [first.id, second.id, third.id]


def test_markdown_files_are_the_same_conversations_when_imported_elsewhere(
    store: ConversationStore, replica_set: Server, database_name: str, tmp_path: Path
) -> None:
    ids = filled(store)
    report = exported(store, tmp_path, "markdown")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"{ids[0]}-cats-dogs-x.md", f"{ids[1]}.md", f"{ids[2]}.md"]
    assert (report.conversations, report.messages) == (3, len(ANDA) + len(OPENAI) + 1 + len(ANTHROPIC))
    assert report.bytes == sum(path.stat().st_size for path in tmp_path.iterdir())
    with replica_set.client() as client:
        other = ConversationStore(client[f"{database_name}_other"])
        other.setup()
        for path in sorted(tmp_path.iterdir()):
            for outcome in ("imported", "unchanged"):
                done = other.import_conversations(path.read_bytes(), file=path.name)
                assert (done.format, getattr(done, outcome), done.failed) == ("markdown", 1, 0)
        for id in ids:
            before, after = store.get(id), other.get(id)
            assert same_json(after.messages, before.messages)
            for member in ("user", "status", "extra", "created_at", "usage", "ancestors"):
                assert getattr(after, member) == getattr(before, member), member
            made = [[entry.made for entry in one.entries(id)] for one in (store, other)]
            assert made[0] == made[1]
            for name in ("resources", "artifacts"):
                blobs = [
                    [opened.resources.get(item.id, user=record.user).blob for item in getattr(record, name)]
                    for opened, record in ((store, before), (other, after))
                ]
                assert blobs[0] == blobs[1]
        client.drop_database(f"{database_name}_other")


def test_pages_hold_the_bytes_that_messages_name(store: ConversationStore, tmp_path: Path) -> None:
    filled(store)
    report = exported(store, tmp_path, "html", user="alice")
    assert report.conversations == 2
    page = next(path for path in tmp_path.iterdir() if "cats" in path.name).read_text("utf-8")
    assert page.count("<article") == len(ANDA) + len(OPENAI) + 1
    assert page.count("data:image/png;base64,") == 3 and len(page) > len(LARGE) * 4 // 3
    assert report.notes == ["pages are for reading: what is kept beside parts, and history, is left out"]


def test_conversations_deleted_meanwhile_leave_no_file(store: ConversationStore, tmp_path: Path) -> None:
    ids = filled(store)
    create = into(tmp_path)

    @contextmanager
    def deleting(name: str) -> Iterator[Callable[[bytes], Any]]:
        store.delete(ids[1])
        with create(name) as write:
            yield write

    store.export_files(deleting, user=ALL_USERS, format="markdown")
    # What was read already is written whole, whatever becomes of it; the rest is as it was.
    assert {path.name.partition("-")[0].removesuffix(".md") for path in tmp_path.iterdir()} >= {
        str(ids[0]),
        str(ids[2]),
    }


def test_formats_of_one_file_and_of_many_are_told_apart(store: ConversationStore, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="use export_files"):
        store.export_conversations(bytes, user=ALL_USERS, format="markdown")
    with pytest.raises(QueryError, match="use export_conversations"):
        exported(store, tmp_path, "openai")
    with pytest.raises(QueryError, match="format"):
        exported(store, tmp_path, "pdf")
    assert list(tmp_path.iterdir()) == []


def test_strict_refuses_what_a_format_cannot_say(store: ConversationStore, tmp_path: Path) -> None:
    id = store.create(Conversation(user="alice", messages=[{"role": "user", "content": "\x00"}])).id
    with pytest.raises(SchemaVersionError, match=f"conversation {id}"):
        exported(store, tmp_path, "html", strict=True)
    assert exported(store, tmp_path, "markdown", strict=True).conversations == 1


def texts(store: ConversationStore, id: int) -> str:
    return "".join(str(entry.message["content"]) for entry in store.entries(id))


def test_librechat_files_are_trees_whose_forks_come_back(
    store: ConversationStore, replica_set: Server, database_name: str, tmp_path: Path
) -> None:
    root = store.create(Conversation(user="alice", messages=[said(letter) for letter in "abcdefgh"]))
    fork = store.fork(root.id, 3, exact=True)
    store.append(fork.id, [said("x"), said("y")])
    inner = store.fork(fork.id, 4, exact=True)
    store.append(inner.id, said("z"))
    early = store.fork(inner.id, 1, exact=True)  # leaves what the first of them wrote
    store.append(early.id, said("q"))
    edited = store.fork(root.id, 2, exact=True)
    store.edit(edited.id, 0, said("A"))
    alone = store.create(Conversation(user="bob", messages=[said("w")]))
    report = exported(store, tmp_path, "librechat")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{root.id}.json", f"{alone.id}.json"]
    assert report.conversations == 6
    assert "a fork whose beginning was changed since begins by itself" in report.notes
    with replica_set.client() as client:
        other = ConversationStore(client[f"{database_name}_other"])
        other.setup()
        for path in tmp_path.iterdir():
            assert other.import_conversations(path.read_bytes()).failed == 0
        found = sorted(
            "".join(entry.message["content"][0]["text"] for entry in other.entries(head.id))
            for head in other.scan(user=ALL_USERS)
        )
        client.drop_database(f"{database_name}_other")
    ids = (root.id, fork.id, inner.id, early.id, edited.id, alone.id)
    assert found == sorted(texts(store, id) for id in ids)
    assert found == ["Abc", "abcdefgh", "abcdxy", "abcdxz", "abq", "w"]


def test_librechat_forks_of_what_is_not_wanted_are_files_of_their_own(
    store: ConversationStore, tmp_path: Path
) -> None:
    root = store.create(Conversation(user="alice", label="old", messages=[said("a"), said("b")]))
    fork = store.fork(root.id, 0, exact=True)
    store.update(fork.id, label="new")
    store.append(fork.id, said("c"))
    exported(store, tmp_path, "librechat", label="new")
    (path,) = tmp_path.iterdir()
    assert path.name == f"{fork.id}.json"
    value = json.loads(path.read_text())
    assert [message["text"] for message in value["messages"]] == ["a", "c"]


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_formats_of_one_file_hold_all_conversations(store: ConversationStore, count: int) -> None:
    for number in range(count):
        store.create(Conversation(user="alice", messages=[said(f"m{number}"), *ANTHROPIC]))
    found: dict[str, list[Any]] = {}
    for format in ("anthropic", "sharegpt", "openai", "parquet"):
        pieces: list[bytes] = []
        report = store.export_conversations(pieces.append, user=ALL_USERS, format=format)
        data = b"".join(pieces)
        assert (report.conversations, report.bytes) == (count, len(data))
        if format == "parquet":
            found[format] = parquet.read_table(io.BytesIO(data)).to_pylist()
        else:
            text = data.decode("ascii")
            found[format] = (
                json.loads(text) if format == "sharegpt" else list(map(json.loads, text.splitlines()))
            )
    assert [value["messages"][0]["content"] for value in found["anthropic"]] == [
        f"m{n}" for n in range(count)
    ]
    assert [value["conversations"][0]["value"] for value in found["sharegpt"]] == [
        f"m{n}" for n in range(count)
    ]
    assert len(found["openai"]) == count and len(found["parquet"]) == count * (1 + len(ANTHROPIC))
