"""A later export of the same account adds what is new and touches nothing else, whatever its trees became."""

from __future__ import annotations

import json
from typing import Any

from support.accounts import Account
from support.branched_exports import chatgpt, contents, node, text_of


def data(*conversations: Any) -> bytes:
    return json.dumps(conversations).encode()


NEW_START = node("b9", "a", "assistant", "oh", 20.0)
"""An answer given again at the beginning: a branch that is shorter than the active one."""


def test_active_branch_that_became_a_shorter_one_is_followed_and_the_old_one_becomes_a_fork(
    account: Account,
) -> None:
    account.imported(data(chatgpt()))
    later = chatgpt(current="b9", extra_nodes=NEW_START)

    report = account.imported(data(later))

    assert (report.imported, report.updated, report.skipped, report.failed) == (1, 1, 0, 0)
    assert account.made("g1") == [1000, 20_000]
    assert account.texts() == {
        "g1": ["hi", "oh"],
        "g1/b": ["hi", "hello", "why?", "because"],
        "g1/c2": ["hi", "hello", "how?", "so"],
        "g1/d3": ["hi", "hello", "how?", "or so"],
        "g1/r": ["once more"],
    }
    before = contents(account.store, account.user)
    assert account.imported(data(later)).unchanged == 5
    assert contents(account.store, account.user) == before


def test_active_branch_that_became_another_long_one_is_followed(account: Account) -> None:
    account.imported(data(chatgpt()))

    account.imported(data(chatgpt(current="d3")))

    found = account.texts()
    assert found["g1"] == ["hi", "hello", "how?", "or so"]
    assert account.made("g1") == [1000, 2000, 5000, 7000]
    assert ["hi", "hello", "why?", "because"] in found.values()
    before = contents(account.store, account.user)
    assert account.imported(data(chatgpt(current="d3"))).unchanged
    assert contents(account.store, account.user) == before


def test_active_branch_that_became_shorter_is_not_followed_where_the_others_are_left_out(
    account: Account,
) -> None:
    account.imported(data(chatgpt()), branches="active")

    report = account.imported(data(chatgpt(current="b9", extra_nodes=NEW_START)), branches="active")

    assert report.updated == 0
    assert any("imports delete none" in problem.reason for problem in report.problems)
    assert account.texts()["g1"] == ["hi", "hello", "why?", "because"]


def test_conversation_that_lost_messages_at_its_source_keeps_them(account: Account) -> None:
    account.imported(data(chatgpt()))
    shorter = chatgpt(current="c")
    del shorter["mapping"]["d"]

    report = account.imported(data(shorter))

    assert report.skipped == 1 and "imports delete none" in report.problems[0].reason
    assert account.texts()["g1"] == ["hi", "hello", "why?", "because"]


def test_conversation_changed_here_keeps_what_it_has_when_the_active_branch_became_another(
    account: Account,
) -> None:
    account.imported(data(chatgpt()))
    id = account.head("g1").id
    account.store.append(id, {"role": "user", "content": "ours"})

    report = account.imported(data(chatgpt(current="b9", extra_nodes=NEW_START)))

    assert report.skipped == 1
    assert [text_of(entry.message) for entry in account.store.entries(id)][-1] == "ours"


def test_new_conversations_come_in_and_the_known_ones_keep_their_versions(account: Account) -> None:
    account.imported(data(chatgpt()))
    versions = {head.id: head.version for head in account.heads()}
    other = {**chatgpt(), "conversation_id": "g2", "title": "U"}

    report = account.imported(data(other, chatgpt()))

    assert (report.imported, report.unchanged) == (4, 4)
    assert versions.items() <= {head.id: head.version for head in account.heads()}.items()
