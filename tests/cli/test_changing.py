"""``delete``, ``expire``, ``stop``, ``steer`` and ``follow-up``."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest

from convostore.schemas.conversations import Conversation
from convostore.store import ALL_USERS, ConversationStore
from support.command_line import COMMAND, Command

HI = {"role": "user", "content": "hi"}
HOUR = 3_600_000


def test_delete_needs_yes_off_a_terminal(convostore: Command, store: ConversationStore) -> None:
    one = store.create(Conversation(user="alice", messages=[HI]))
    refused = convostore("delete", one.id)
    assert refused.code == 2 and "--yes" in refused.err and refused.err.count("\n") == 1
    assert store.count(user="alice") == 1
    tried = convostore.fine("delete", one.id, "--dry-run")
    assert "would delete conversation" in tried.out and store.count(user="alice") == 1
    done = convostore.fine("delete", one.id, "--yes", "--json").json
    assert done == {"_id": one.id, "deleted": True, "messages": 1}
    assert store.count(user="alice") == 0
    again = convostore("delete", one.id, "--yes")
    assert again.code == 1 and "does not exist" in again.err


@pytest.mark.parametrize(("answer", "left"), [("n", 1), ("y", 0)])
def test_delete_asks_on_a_terminal(
    convostore: Command, store: ConversationStore, answer: str, left: int
) -> None:
    one = store.create(Conversation(user="alice", messages=[HI]))
    ours, theirs = pty.openpty()
    try:
        running = subprocess.Popen(
            [COMMAND, "delete", str(one.id)],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=convostore.environ(),
        )
        os.write(ours, f"{answer}\n".encode())
        _, err = running.communicate(timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    assert b"Delete conversation" in err
    assert running.returncode == (1 if left else 0)
    assert store.count(user="alice") == left


def test_expire_counts_by_whole_hours_and_spares_what_is_to_be_run(
    convostore: Command, store: ConversationStore
) -> None:
    for hour in (1, 2, 3):
        store.create(
            Conversation(user="alice", created_at=hour * HOUR, updated_at=hour * HOUR, status="completed")
        )
    store.create(Conversation(user="alice", created_at=HOUR, updated_at=HOUR, status="working"))
    store.create(Conversation(user="bob", created_at=HOUR, updated_at=HOUR, status="idle"))
    assert convostore("expire").code == 2
    assert convostore("expire", "--before", 3 * HOUR + 5).code == 2
    tried = convostore.fine("expire", "--before", 3 * HOUR + 5, "--dry-run", "--json").json
    assert tried == {"expired": 3, "before": 3 * HOUR, "by": "created", "dry_run": True}
    one = convostore.fine("expire", "--before", 3 * HOUR, "--user", "bob", "--yes", "--json").json
    assert one["expired"] == 1
    updated = convostore.fine("expire", "--before", 3 * HOUR, "--by", "updated", "--dry-run")
    assert updated.out.startswith("would delete 2 conversations updated before 1970-01-01 03:00:00+00:00")
    done = convostore.fine("expire", "--before", 3 * HOUR, "--include", "working", "--yes")
    assert done.out.startswith("deleted 3 conversations")
    assert store.count(user=ALL_USERS) == 1
    nothing = convostore.fine("expire", "--before", "1970-01-01T01:00:00Z", "--json").json
    assert nothing["expired"] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--before", "2026-02-30"],
        ["--before", "soon"],
        ["--before", "1969-12-31"],
        ["--before", "90d", "--by", "read"],
        ["--before", "90d", "--include", "done"],
        ["--before", "2026-01-01", "--tz", "Mars/Phobos"],
    ],
)
def test_expire_refuses_what_makes_no_sense_in_one_line(convostore: Command, arguments: list[str]) -> None:
    found = convostore("expire", "--dry-run", *arguments)
    assert found.code == 2 and found.out == "" and found.err.count("\n") == 1
    assert arguments[-1] in found.err


def test_stop_and_queues(convostore: Command, store: ConversationStore) -> None:
    one = store.create(Conversation(user="alice", status="working"))
    head = convostore.fine("steer", one.id, "-", "--json", stdin="from a pipe").json
    assert head["steering_messages"] == ["from a pipe"]
    convostore.fine("follow-up", one.id, "--key", "k", "--", "-- odd text")
    convostore.fine("follow-up", one.id, "--key", "k", "--", "-- odd text")
    assert store.get(one.id).follow_up_messages == ["-- odd text"]
    stopped = convostore.fine("stop", one.id, "--reason", "enough")
    assert stopped.out == f"conversation {one.id} is cancelled; waiting: 1 steering, 1 follow-up\n"
    assert store.get(one.id).failed_reason == "enough"
    blank = convostore("steer", one.id, "  ")
    assert blank.code == 1 and "blank" in blank.err


@pytest.mark.parametrize("id", ["x", "1.0", "-1", "18446744073709551616", ""])
def test_id_that_is_none_is_refused(convostore: Command, store: ConversationStore, id: str) -> None:
    found = convostore("stop", "--", id)
    assert found.code in (1, 2) and found.err.count("\n") == 1
