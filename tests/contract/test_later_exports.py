"""A later export of the same account adds what is new and touches nothing else, whatever its trees became."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from convostore.store import ALL_USERS, ConversationStore, ImportReport
from support.branched_exports import chatgpt, contents, node, text_of, texts_by_source
from support.servers import Server


@pytest.fixture
def store(replica_set: Server, database_name: str) -> Iterator[ConversationStore]:
    with replica_set.client() as client:
        opened = ConversationStore(client[database_name])
        opened.setup()
        yield opened


def imported(store: ConversationStore, *conversations: Any, **options: Any) -> ImportReport:
    report = store.import_conversations(json.dumps(conversations).encode(), user="alice", **options)
    assert report.read == sum(
        (report.imported, report.updated, report.unchanged, report.skipped, report.failed)
    )
    found = store.check(user=ALL_USERS)
    assert found, found.findings
    return report


def made_of(store: ConversationStore, source: str) -> list[int | None]:
    """When each message of the conversation was made."""
    (id,) = [head.id for head in store.scan(user="alice") if head.source and head.source.id == source]
    return [entry.made for entry in store.entries(id)]


NEW_START = node("b9", "a", "assistant", "oh", 20.0)
"""An answer given again at the beginning: a branch that is shorter than the active one."""


def test_active_branch_that_became_a_shorter_one_is_followed_and_the_old_one_becomes_a_fork(
    store: ConversationStore,
) -> None:
    imported(store, chatgpt())
    later = chatgpt(current="b9", extra_nodes=NEW_START)

    report = imported(store, later)

    assert (report.imported, report.updated, report.skipped, report.failed) == (1, 1, 0, 0)
    assert made_of(store, "g1") == [1000, 20_000]
    assert texts_by_source(store) == {
        "g1": ["hi", "oh"],
        "g1/b": ["hi", "hello", "why?", "because"],
        "g1/c2": ["hi", "hello", "how?", "so"],
        "g1/d3": ["hi", "hello", "how?", "or so"],
        "g1/r": ["once more"],
    }
    before = contents(store)
    assert imported(store, later).unchanged == 5
    assert contents(store) == before


def test_active_branch_that_became_another_long_one_is_followed(store: ConversationStore) -> None:
    imported(store, chatgpt())

    imported(store, chatgpt(current="d3"))

    found = texts_by_source(store)
    assert found["g1"] == ["hi", "hello", "how?", "or so"]
    assert made_of(store, "g1") == [1000, 2000, 5000, 7000]
    assert ["hi", "hello", "why?", "because"] in found.values()
    before = contents(store)
    assert imported(store, chatgpt(current="d3")).unchanged
    assert contents(store) == before


def test_active_branch_that_became_shorter_is_not_followed_where_the_others_are_left_out(
    store: ConversationStore,
) -> None:
    imported(store, chatgpt(), branches="active")

    report = imported(store, chatgpt(current="b9", extra_nodes=NEW_START), branches="active")

    assert report.updated == 0
    assert any("imports delete none" in problem.reason for problem in report.problems)
    assert texts_by_source(store)["g1"] == ["hi", "hello", "why?", "because"]


def test_conversation_that_lost_messages_at_its_source_keeps_them(store: ConversationStore) -> None:
    imported(store, chatgpt())
    shorter = chatgpt(current="c")
    del shorter["mapping"]["d"]

    report = imported(store, shorter)

    assert report.skipped == 1 and "imports delete none" in report.problems[0].reason
    assert texts_by_source(store)["g1"] == ["hi", "hello", "why?", "because"]


def test_conversation_changed_here_keeps_what_it_has_when_the_active_branch_became_another(
    store: ConversationStore,
) -> None:
    imported(store, chatgpt())
    (id,) = [head.id for head in store.find(user="alice").items if head.source and head.source.id == "g1"]
    store.append(id, {"role": "user", "content": "ours"})

    report = imported(store, chatgpt(current="b9", extra_nodes=NEW_START))

    assert report.skipped == 1
    assert [text_of(entry.message) for entry in store.entries(id)][-1] == "ours"


def test_new_conversations_come_in_and_the_known_ones_keep_their_versions(store: ConversationStore) -> None:
    imported(store, chatgpt())
    versions = {head.id: head.version for head in store.scan(user=ALL_USERS)}
    other = {**chatgpt(), "conversation_id": "g2", "title": "U"}

    report = imported(store, other, chatgpt())

    assert (report.imported, report.unchanged) == (4, 4)
    assert versions.items() <= {head.id: head.version for head in store.scan(user=ALL_USERS)}.items()
