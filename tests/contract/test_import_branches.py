"""Imports of formats with branches on a real server: every line kept, nothing twice, whatever interrupts."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from convostore.schemas.errors import ImportFormatError, QueryError
from convostore.store import ALL_USERS, ConversationStore, ImportReport
from support.branched_exports import (
    PNG,
    chatgpt,
    contents,
    import_bytes,
    node,
    openwebui_with_image,
    sessions,
    texts_by_source,
)
from support.killed_clients import killed_at
from support.servers import Server


@pytest.fixture
def store(replica_set: Server, database_name: str) -> Iterator[ConversationStore]:
    with replica_set.client() as client:
        opened = ConversationStore(client[database_name])
        opened.setup()
        yield opened


def data(value: Any) -> bytes:
    return json.dumps(value).encode()


def assert_adds_up(report: ImportReport) -> None:
    parts = report.imported, report.updated, report.unchanged, report.skipped, report.failed
    assert report.read == sum(parts), report


def assert_sound(store: ConversationStore) -> None:
    found = store.check(user=ALL_USERS)
    assert found, found.findings


def test_each_branch_is_a_fork_of_what_it_leaves(store: ConversationStore) -> None:
    report = store.import_conversations(data([chatgpt()]), user="alice")

    assert (report.read, report.imported, report.branches, report.messages) == (4, 4, 3, 8)
    assert texts_by_source(store) == {
        "g1": ["hi", "hello", "why?", "because"],
        "g1/c2": ["hi", "hello", "how?", "so"],
        "g1/d3": ["hi", "hello", "how?", "or so"],
        "g1/r": ["once more"],
    }
    ids = {head.source.id: head.id for head in store.find(user="alice").items if head.source}
    copied = [entry.id for entry in store.entries(ids["g1"])][:2]
    assert [entry.id for entry in store.entries(ids["g1/c2"])][:2] == copied
    made = [entry.made for entry in store.entries(ids["g1/d3"])]
    assert made == [1000, 2000, 5000, 7000]
    assert_sound(store)


def test_branches_active_skips_the_others_and_says_so(store: ConversationStore) -> None:
    report = store.import_conversations(data([chatgpt()]), user="alice", branches="active")

    assert (report.read, report.imported, report.skipped, report.branches) == (4, 1, 3, 3)
    assert [problem.id for problem in report.problems] == ["g1/c2", "g1/r", "g1/d3"]
    assert list(texts_by_source(store)) == ["g1"]
    assert report


def test_branches_of_another_word_are_refused(store: ConversationStore) -> None:
    with pytest.raises(QueryError, match="branches"):
        store.import_conversations(b"[]", user="alice", branches="some")  # type: ignore[arg-type]


def test_dry_run_reports_branches_and_stores_nothing(store: ConversationStore) -> None:
    report = store.import_conversations(data([chatgpt()]), user="alice", dry_run=True)

    assert (report.read, report.imported, report.branches, report.messages) == (4, 4, 3, 8)
    assert store.count(user=ALL_USERS) == 0


def test_later_export_lets_branches_grow_and_adds_new_ones(store: ConversationStore) -> None:
    store.import_conversations(data([chatgpt()]), user="alice")
    later = node("e2", "d2", "user", "fine", 9.0) | node("b4", "a", "assistant", "hey", 10.0)

    report = store.import_conversations(data([chatgpt(extra_nodes=later)]), user="alice")

    assert (report.imported, report.unchanged + report.updated, report.branches) == (1, 4, 4)
    assert texts_by_source(store) == {
        "g1": ["hi", "hello", "why?", "because"],
        "g1/c2": ["hi", "hello", "how?", "so", "fine"],
        "g1/d3": ["hi", "hello", "how?", "or so"],
        "g1/r": ["once more"],
        "g1/b4": ["hi", "hey"],
    }
    assert_sound(store)


def test_branch_of_a_conversation_that_was_changed_here_is_stored_whole(store: ConversationStore) -> None:
    store.import_conversations(data([chatgpt()]), user="alice", branches="active")
    (head,) = store.find(user="alice").items
    record = store.get(head.id)
    record.messages = record.messages[2:]
    store.save(record)

    report = store.import_conversations(data([chatgpt()]), user="alice")

    assert report.imported == 3
    assert texts_by_source(store)["g1/c2"] == ["hi", "hello", "how?", "so"]
    assert any("g1/c2 goes on from g1" in note and "stored whole" in note for note in report.notes)
    assert_sound(store)


def test_branch_leaves_the_messages_of_the_source_where_they_were_edited_here(
    store: ConversationStore,
) -> None:
    store.import_conversations(data([chatgpt()]), user="alice", branches="active")
    (head,) = store.find(user="alice").items
    store.edit(head.id, 1, {"role": "assistant", "content": "edited"})

    store.import_conversations(data([chatgpt()]), user="alice")

    assert texts_by_source(store)["g1/c2"] == ["hi", "hello", "how?", "so"]
    assert texts_by_source(store)["g1"][1] == "edited"
    assert_sound(store)


def test_session_that_goes_on_from_another_is_a_fork_of_it(store: ConversationStore) -> None:
    report = store.import_conversations(sessions(), user="alice")

    assert (report.read, report.imported, report.branches, report.messages) == (2, 2, 0, 5)
    assert texts_by_source(store) == {
        "s1": ["hi", "hello", "go on"],
        "s2": ["hi", "hello", "another way", "as you like"],
    }
    again = store.import_conversations(sessions(), user="alice")
    assert (again.unchanged, again.messages) == (2, 5)
    assert_sound(store)


def test_what_holds_no_conversation_is_skipped_and_no_failure(store: ConversationStore) -> None:
    empty = {"title": "gone", "conversation_id": "g2", "current_node": None}

    report = store.import_conversations(data([empty, chatgpt()]), user="alice")

    assert (report.skipped, report.failed) == (1, 0)
    assert_adds_up(report)
    assert report


def test_bytes_of_resources_are_stored_once_and_named_by_all_lines(store: ConversationStore) -> None:
    report = store.import_conversations(data([openwebui_with_image()]), user="alice")

    assert (report.imported, report.branches, report.resources) == (2, 1, 1)
    records = [store.get(head.id) for head in store.find(user="alice").items]
    named = {resource.id for record in records for resource in record.resources}
    assert len(named) == 1 and 0 not in named
    assert all(resource.blob is None for record in records for resource in record.resources)
    assert store.resources.get(named.pop(), user="alice").blob == PNG
    again = store.import_conversations(data([openwebui_with_image()]), user="alice")
    assert again.unchanged == 2


def test_import_killed_at_any_command_and_repeated_is_one_clean_import(
    store: ConversationStore, replica_set: Server, database_name: str
) -> None:
    source = data([chatgpt()])
    store.import_conversations(source, user="alice")
    expected = contents(store)
    place, is_killed = 0, True
    while is_killed:
        for head in store.find(user=ALL_USERS).items:
            store.delete(head.id)
        is_killed = killed_at(place, import_bytes, replica_set.uri(), database_name, source)
        store.import_conversations(source, user="alice")
        assert contents(store) == expected, f"killed at command {place}"
        place += 1
    assert place > 10
    assert_sound(store)


def zipped(**members: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return held.getvalue()


def test_zip_gives_the_conversations_of_all_numbered_files_and_their_assets(store: ConversationStore) -> None:
    parts = [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-abc"}]
    picture = node("a", "root", "user", "", 1.0, content_type="multimodal_text", parts=parts)
    first = chatgpt(extra_nodes=picture)
    source = zipped(
        **{
            "export/conversations-001.json": data([{**chatgpt(), "conversation_id": "g2"}]),
            "export/conversations-000.json": data([first]),
            "export/file-abc-cat.png": PNG,
            "export/chat.html": b"<html>",
        }
    )

    report = store.import_conversations(source, user="alice", file="e.zip")

    assert (report.format, report.imported, report.failed, report.resources) == ("chatgpt", 8, 0, 1)
    heads = {head.source.id: head for head in store.find(user="alice").items if head.source}
    assert heads["g2"].source.file == "e.zip/export/conversations-001.json"  # type: ignore[union-attr]
    (resource,) = store.get(heads["g1"].id).resources
    assert store.resources.get(resource.id, user="alice").blob == PNG
    assert store.import_conversations(source, user="alice", file="e.zip").unchanged == 8


@pytest.mark.parametrize("name", ["../conversations.json", "/etc/conversations.json", "a/../../x.json"])
def test_zip_member_whose_path_climbs_out_fails_and_the_rest_is_imported(
    store: ConversationStore, name: str
) -> None:
    source = zipped(**{name: data([chatgpt()]), "conversations.json": data([chatgpt()])})

    report = store.import_conversations(source, user="alice")

    assert (report.imported, report.failed) == (4, 1)
    assert report.problems[0].position == name
    assert_adds_up(report)


def test_zip_bomb_fails_unread(store: ConversationStore) -> None:
    bomb = b"[" + b" " * (64 << 20)

    report = store.import_conversations(zipped(**{"conversations.json": bomb}), user="alice")

    assert (report.read, report.failed) == (1, 1)
    assert "claims to unpack" in report.problems[0].reason


@pytest.mark.parametrize("broken", [b"PK\x03\x04 not a zip file", zipped(**{"readme.txt": b"hi"})])
def test_zip_that_is_broken_or_holds_no_conversations_is_refused(
    store: ConversationStore, broken: bytes
) -> None:
    with pytest.raises(ImportFormatError, match="zip file"):
        store.import_conversations(broken, user="alice")


def test_file_in_a_zip_that_cannot_be_read_keeps_no_other_out(store: ConversationStore) -> None:
    members = {"conversations-0.json": b"nonsense", "conversations-1.json": data([chatgpt()])}

    report = store.import_conversations(zipped(**members), user="alice")

    assert report.imported == 4
    assert report.error is not None and "conversations-0.json" in report.error
    assert not report
