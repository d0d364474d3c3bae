"""Every sample export, told by its content alone and imported, gives what its index says."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from convostore.store import ConversationStore
from support.branched_exports import contents
from support.sample_exports import NO_CONVERSATION, expected_of, samples, stored_counts
from support.servers import Server
from support.shared import shared

pytestmark = pytest.mark.shared

# What the index has no count of branches for: rewound lines, and sub-agents in the session's file.
BRANCHES = {"claude-code/real-short-session-2026.jsonl": 1, "claude-code/sidechain-2025.jsonl": 2}


@pytest.fixture(scope="module")
def store(replica_set: Server) -> Iterator[ConversationStore]:
    """One for all samples, each of a user of its own."""
    name = f"samples_{secrets.token_hex(4)}"
    with replica_set.client() as client:
        opened = ConversationStore(client[name])
        opened.setup()
        yield opened
        client.drop_database(name)


@pytest.mark.parametrize("name", [name for name in samples() if name != NO_CONVERSATION])
def test_sample_imports_to_what_its_index_says(store: ConversationStore, name: str) -> None:
    data, expected = shared(f"data/exports/{name}").read_bytes(), expected_of(name)

    report = store.import_conversations(data, user=name, file="x.png")

    counted = stored_counts(store, data, name)
    assert [one.numbers() for one in counted] == [
        {member: wanted[member] for member in one.numbers()}
        for one, wanted in zip(counted, expected["convs"], strict=True)
    ]
    assert len(counted) == expected["conversations"] == report.imported - report.branches
    assert report.branches == BRANCHES.get(name, branches(expected))
    assert report.messages == sum(one.merged for one in counted)
    assert [one.merged for one in counted] == [
        wanted.get("merged_by_message_id", wanted["total"]) for wanted in expected["convs"]
    ]
    parts = report.imported, report.updated, report.unchanged, report.skipped, report.failed
    assert report.read == sum(parts)
    found = store.check(user=name)
    assert found, found.findings
    before = contents(store, name)
    assert len(before) == report.imported

    again = store.import_conversations(data, user=name, file="y")

    assert again.imported == again.updated == 0 and again.unchanged == report.imported
    assert contents(store, name) == before


def branches(expected: dict[str, Any]) -> int:
    return sum(wanted.get("leaves", 1) - 1 for wanted in expected["convs"])


def test_sample_that_is_no_conversation_of_its_own_is_skipped_and_said(store: ConversationStore) -> None:
    data, expected = shared(f"data/exports/{NO_CONVERSATION}").read_bytes(), expected_of(NO_CONVERSATION)
    report = store.import_conversations(data, user=NO_CONVERSATION)
    assert expected["note"] == "no conversation of its own" and expected["total"] == 0
    assert (report.read, report.skipped, report.imported, report.format) == (1, 1, 0, "langgraph")
    assert "21 pending writes" in report.problems[0].reason
    assert store.count(user=NO_CONVERSATION) == 0


def test_samples_are_all_there() -> None:
    shared("data/exports/expected.json")
    assert len(samples()) == 51
