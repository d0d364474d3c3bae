"""Data directories of AndaDB: every layout of the files, several collections, resources, what is broken."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cbor2
import pytest

from convostore.schemas.errors import ImportFormatError
from convostore.schemas.identifiers import Principal
from convostore.store import ALL_USERS, ConversationStore, ImportReport
from support.andadb import (
    AT,
    FILES,
    FRESH,
    UPGRADED,
    collection,
    conversation,
    indexes,
    write_plain,
    write_wrapped,
)
from support.servers import Server

BYTES = b"\x89PNG bytes"
PICTURE = {"_id": 7, "tags": ["image", "png"], "name": "a.png", "mime_type": "image/png",
           "hash": hashlib.sha3_256(BYTES).digest(), "metadata": {"k": "v"}}  # fmt: skip
# The sample of spec/anda.md 10.3, to the byte.
SAMPLE = bytes.fromhex(
    "a16166ac001829014101024c6553f1000a0b0c04d20000010381a364726f6c65647573657267636f6e74656e7481a2647479"
    "7065645465787464746578746268696974696d657374616d701b0000018bcfe568000480058006697375626d697474656408"
    "a46c696e7075745f746f6b656e73006d6f75747075745f746f6b656e73006d6361636865645f746f6b656e73006872657175"
    "65737473000ef60f1a0007349e101b0000018bcfe56800111b0000018bcfe56800"
)


def objects() -> dict[str, bytes]:
    """Two collections whose ids overlap, one of them an old one, resources, and one of other things."""
    bot = [
        conversation(1, "one", child=2, resources=[{name: PICTURE[name] for name in PICTURE}]),
        conversation(2, "two", ancestors=[1], label="L", extra={"title": "T"}),
        conversation(300, "three", user=b"\x02"),
    ]
    old = [conversation(1, "old one", created_at=AT + 5, updated_at=AT + 5)]
    return {
        "agent/db_meta.cbor": cbor2.dumps({"name": "agent"}),
        "agent/storage_meta.cbor": cbor2.dumps({}),
        **collection("agent/bot", indexes(FRESH), bot),
        **collection("agent/old", UPGRADED, old),
        **collection("agent/resources", indexes(FILES), [{**PICTURE, "blob": BYTES}]),
        **collection("agent/keys", {"_id": 0, "secret": 1}, [{"_id": 1, "secret": "x"}]),
    }


@pytest.fixture
def store(replica_set: Server, database_name: str) -> Iterator[ConversationStore]:
    with replica_set.client() as client:
        opened = ConversationStore(client[database_name])
        opened.setup()
        yield opened


def counts(report: ImportReport) -> dict[str, int]:
    told = report.to_json()
    names = ("read", "imported", "updated", "unchanged", "renumbered", "skipped", "failed", "messages")
    return {name: told[name] for name in names if told[name]}


def identities(store: ConversationStore) -> set[str]:
    return {head.source.id for head in store.scan(user=ALL_USERS) if head.source is not None}


LAYOUTS: dict[str, Any] = {
    "plain": lambda folder, given: write_plain(folder, given),
    "zstd": lambda folder, given: write_plain(folder, given, compressed=True),
    "database": lambda folder, given: write_plain(folder, given) / "agent",
    "generations": lambda folder, given: write_wrapped(folder, given),
    "older MetaStore": lambda folder, given: write_wrapped(folder, given, generations=False),
    "around a MetaStore": lambda folder, given: write_wrapped(folder / "x", given).parent,
}


def test_every_layout_gives_the_same_conversations(store: ConversationStore, tmp_path: Path) -> None:
    expected = {"imported": 4, "renumbered": 1}
    for number, (name, write) in enumerate(LAYOUTS.items()):
        place = tmp_path / str(number)
        place.mkdir()
        report = store.import_folder(write(place, objects()))
        assert counts(report) == {"read": 4, "messages": 4, **expected}, (name, report.to_json())
        assert report.format == "anda" and report.notes.count("agent/keys: no conversations; left out") == 1
        expected = {"unchanged": 4}
    assert identities(store) == {
        f"agent/bot/1@{AT + 1}",
        f"agent/bot/2@{AT + 2}",
        f"agent/bot/300@{AT + 300}",
        f"agent/old/1@{AT + 5}",
    }


def test_members_links_and_resources_come_along(store: ConversationStore, tmp_path: Path) -> None:
    report = store.import_folder(write_plain(tmp_path, objects()))
    assert report.resources == 1
    first, second = store.get(1), store.get(2)
    assert first.user == str(Principal.from_bytes(b"\x01")) and first.status == "completed"
    assert first.messages[0]["content"] == [{"text": "one", "type": "Text"}]
    assert (first.child, second.ancestors, second.label, second.extra) == (2, [1], "L", {"title": "T"})
    (reference,) = first.resources
    kept = store.resources.get(reference.id, user=first.user)
    assert kept is not None and kept.blob == BYTES and reference.metadata is not None
    assert (reference.name, reference.tags, reference.metadata["k"]) == ("a.png", ["image", "png"], "v")
    (old,) = [head for head in store.scan(user=ALL_USERS) if head.source and "old" in head.source.id]
    assert store.get(old.id).messages[0]["content"][0]["text"] == "old one"


def test_one_collection_may_be_chosen_and_a_user_given(store: ConversationStore, tmp_path: Path) -> None:
    write_plain(tmp_path, objects())
    assert counts(store.import_folder(tmp_path, collection="old", user="alice"))["imported"] == 1
    assert store.count(user="alice") == 1
    with pytest.raises(ImportFormatError, match="agent/keys"):
        store.import_folder(tmp_path, collection="nothing")
    only = write_plain(tmp_path, objects()) / "agent" / "old"
    assert counts(store.import_folder(only, user="alice"))["unchanged"] == 1


def test_the_sample_of_the_specification(store: ConversationStore, tmp_path: Path) -> None:
    given = collection("agent/bot", indexes(FRESH), [conversation(41)])
    given["agent/bot/data/41.cbor"] = SAMPLE
    store.import_folder(write_plain(tmp_path, given))
    record = store.get(41)
    assert (record.thread, record.status, record.period) == ("cl9v200a1c609kg0000g", "submitted", 472_222)
    assert record.messages == [{"role": "user", "content": [{"type": "Text", "text": "hi"}], "timestamp": AT}]


def test_a_directory_that_grew_adds_only_what_is_new(store: ConversationStore, tmp_path: Path) -> None:
    store.import_folder(write_plain(tmp_path, objects()))
    later = conversation(2, "two", ancestors=[1], label="L", extra={"title": "T"}, updated_at=AT + 90)
    later["messages"].append({"role": "assistant", "content": [{"type": "Text", "text": "more"}]})
    documents = [
        conversation(1, "one", child=2, resources=[PICTURE]),
        later,
        conversation(300, "three", user=b"\x02"),
        conversation(400, "new"),
    ]
    report = store.import_folder(write_plain(tmp_path, collection("agent/bot", indexes(FRESH), documents)))
    assert counts(report) == {"read": 5, "imported": 1, "updated": 1, "unchanged": 3, "messages": 6}
    assert len(store.get(2).messages) == 2


def test_what_is_broken_is_reported_and_the_rest_taken(store: ConversationStore, tmp_path: Path) -> None:
    given = collection("bot", indexes(FRESH), [conversation(n) for n in range(1, 7)], ids=[1, 2, 3, 4, 5, 99])
    given["bot/data/2.cbor"] = given["bot/data/2.cbor"][:-3]
    given["bot/data/3.cbor"] = b"\x28\xb5\x2f\xfd broken"
    given["bot/data/4.cbor"] = cbor2.dumps({"f": {0: 4, 77: "x"}})
    given["bot/data/5.cbor"] = b"\x00" * 40
    given["secret/meta.cbor"] = b"\x93 not readable"
    given["secret/data/1.cbor"] = b"\x93"
    write_plain(tmp_path, given)
    (tmp_path / "bot" / "data" / "8.cbor").symlink_to("/etc/passwd")
    report = store.import_folder(tmp_path)
    assert counts(report) == {"read": 8, "imported": 2, "failed": 6, "messages": 2}
    assert {problem.position: problem.id for problem in report.problems} == {
        "secret/meta.cbor": None,
        "bot/data/2.cbor": "2",
        "bot/data/3.cbor": "3",
        "bot/data/4.cbor": None,
        "bot/data/5.cbor": "5",
        "bot/data/99.cbor": "99",
    }
    assert report.notes[-1] == "bot: 1 documents that the set of ids does not name were taken, too"
    assert identities(store) == {f"bot/1@{AT + 1}", f"bot/6@{AT + 6}"}


def test_broken_sets_of_ids_and_generations_keep_nothing_out(
    store: ConversationStore, tmp_path: Path
) -> None:
    place = write_wrapped(tmp_path, objects())
    (place / "meta" / "agent" / "bot" / "data" / "1.cbor").write_bytes(cbor2.dumps({"g": "../../../x"}))
    (place / "meta" / "agent" / "bot" / "data" / "300.cbor").unlink()
    newest = "00000192aabbccde-0badcafe"
    (place / "gen" / "agent" / "bot" / "data" / "300.cbor" / newest).unlink()
    for file in (place / "gen" / "agent" / "old" / "ids.cbor").iterdir():
        file.write_bytes(cbor2.dumps(b"\x01\x00"))
    report = store.import_folder(place)
    assert counts(report) == {"read": 4, "imported": 3, "failed": 1, "messages": 3}
    assert "no generation" in report.problems[0].reason
    assert any("agent/old/ids.cbor" in note and "cut short" in note for note in report.notes)
