"""A conversation rewritten or deleted by another while its past is read: one life of it is read whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import NotFoundError, UnavailableError
from convostore.store import ConversationStore
from convostore.store.layout import Bounds
from support.meddling import Meddler
from support.servers import Server

BOUNDS = Bounds(keep=2, soft_count=4, step=1, log_soft=4, log_keep=2)
MEDIUM, LARGE = 20_000, 70_000
"""Bytes of a message: above what lies in a change record, and in an entry."""


def said(text: str, size: int = MEDIUM) -> dict[str, Any]:
    return {"role": "user", "content": text + "x" * size}


class Scene:
    """A conversation with large messages, present and removed, whose history is partly sealed."""

    def __init__(self, store: ConversationStore, other: ConversationStore, meddler: Meddler) -> None:
        self.store, self.other, self.meddler = store, other, meddler
        store.setup()
        self.id = store.create(Conversation(user="alice", messages=[said("a"), said("b"), said("c")])).id
        for number in range(8):
            store.edit(self.id, number % 3, said(f"{number}", (MEDIUM, LARGE)[number % 2]))

    def rewritten_at(self, collection: str) -> None:
        """Somebody rewrites it just before it is looked for something in that collection."""
        self.meddler.meddle(
            "find", collection, lambda: self.other.rewrite(self.id, lambda message: message), before=True
        )

    def deleted_at(self, collection: str) -> None:
        """Somebody deletes it just before it is looked for something in that collection."""
        self.meddler.meddle("find", collection, lambda: self.other.delete(self.id), before=True)


@pytest.fixture
def scene(replica_set: Server, database_name: str) -> Iterator[Scene]:
    meddler = Meddler()
    with (
        MongoClient[dict[str, Any]](replica_set.uri(), event_listeners=[meddler]) as client,
        replica_set.client() as another,
    ):
        store = ConversationStore(client[database_name], bounds=BOUNDS)
        yield Scene(store, ConversationStore(another[database_name], bounds=BOUNDS), meddler)


def exported(scene: Scene) -> list[Any]:
    lines: list[bytes] = []
    report = scene.store.export_conversations(lines.append, user="alice")
    assert report.conversations == 1
    return [line for line in b"".join(lines).splitlines() if b'"' in line and len(line) > LARGE]


READS: dict[str, Callable[[Scene], Any]] = {
    "transcript": lambda scene: scene.store.transcript(scene.id).messages(),
    "as_of": lambda scene: scene.store.as_of(scene.id, 3).messages(),
    "history": lambda scene: scene.store.history(scene.id),
    "fork": lambda scene: scene.store.fork(scene.id).messages,
    "undo": lambda scene: bool(scene.store.undo(scene.id)) and scene.store.get(scene.id).messages,
    "rewrite": lambda scene: scene.store.rewrite(scene.id, lambda message: message).changed,
    "export": exported,
}


def reaches(name: str, collection: str) -> bool:
    """Whether the call looks for something in that collection."""
    wanted = {
        "transcript": {"blobs"},
        "history": {"changes"},
        "undo": {"bodies"},
    }
    return collection in wanted.get(name, {"blobs", "changes", "bodies"})


CASES = [
    (name, collection)
    for name in READS
    for collection in ("blobs", "changes", "bodies")
    if reaches(name, collection)
]


@pytest.mark.parametrize(("name", "collection"), CASES)
def test_what_is_rewritten_meanwhile_is_read_again(scene: Scene, name: str, collection: str) -> None:
    scene.rewritten_at(collection)
    found = READS[name](scene)
    assert scene.meddler.done
    if name == "undo":
        scene.store.redo(scene.id)
    assert found == READS[name](scene)
    assert [one for one in scene.store.check().findings if one.severity == "broken"] == []


@pytest.mark.parametrize(("name", "collection"), list(dict(CASES).items()))
def test_what_is_deleted_meanwhile_is_not_found(scene: Scene, name: str, collection: str) -> None:
    scene.deleted_at(collection)
    if name == "export":
        assert scene.store.export_conversations(lambda line: None, user="alice").conversations == 0
    else:
        with pytest.raises(NotFoundError) as refusal:
            READS[name](scene)
        assert refusal.value.kind == "conversation"
    assert scene.meddler.done


@pytest.mark.parametrize("name", ["as_of", "fork", "rewrite", "export"])
def test_what_is_broken_is_said_to_be_broken(scene: Scene, name: str) -> None:
    scene.other.check()  # opens it
    backend = scene.other._backend
    assert backend is not None
    backend.collection("bodies").delete_many({})
    with pytest.raises(UnavailableError, match="run check"):
        READS[name](scene)
