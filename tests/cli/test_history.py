"""``history``, ``undo``, ``redo``, ``fork``, ``show --as-of``, and saved sessions in and out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from convostore.schemas.authors import Author
from convostore.schemas.conversations import Conversation
from convostore.schemas.transcript import Transcript
from convostore.store import ConversationStore
from convostore.store.sessions import DirectorySessionStore, Session, load, save
from support.command_line import Command
from support.shared import shared
from support.transcripts import a, u


@pytest.fixture
def told(store: ConversationStore) -> int:
    """A conversation of three changes: two messages, an edit by a plugin, an answer."""
    id = store.create(Conversation(user="alice", messages=[u("question"), a("answer")])).id
    store.edit(id, 1, a("better answer"), author=Author.plugin("editor"))
    store.append(id, [u("more"), a("the last")], usage={"input_tokens": 5})
    return id


def test_history_lists_changes_the_oldest_first(convostore: Command, told: int) -> None:
    found = convostore.fine("history", told)
    assert found.lines[0].split() == ["REVISION", "AT", "WHAT", "BY", "ADDED", "REMOVED"]
    assert [line.split()[0] for line in found.lines[1:]] == ["1", "2", "3"]
    assert "splice" in found.lines[2] and "plugin editor" in found.lines[2]
    assert [line.split()[0] for line in convostore.fine("history", told, "-n", 1).lines[1:]] == ["3"]
    changes = convostore.fine("history", told, "--json").json
    assert [change["kind"] for change in changes] == ["push", "splice", "push"]
    assert changes[1]["by"] == {"kind": {"plugin": "editor"}} and changes[1]["removed"] == [1]
    assert changes[2]["usage"] == {"input_tokens": 5} and changes[2]["added"] == [2, 3]
    lines = convostore.fine("history", told, "--json-lines").lines
    assert [json.loads(line) for line in lines] == changes


def test_undo_and_redo_say_what_they_did(convostore: Command, store: ConversationStore, told: int) -> None:
    assert convostore.fine("undo", told).lines == [f"conversation {told} is at revision 4: undid revision 3"]
    assert len(store.get(told).messages) == 2
    assert convostore.fine("undo", told, "--json").json["undoes"] == 2
    assert store.get(told).messages[1] == a("answer")
    assert "redid revision 2" in convostore.fine("redo", told).out
    convostore.fine("redo", told)
    assert len(store.get(told).messages) == 4
    refused = convostore("redo", told)
    assert refused.code == 2 and "nothing to redo" in refused.err
    missing = convostore("undo", 77, "--json")
    assert missing.code == 1 and json.loads(missing.err)["error"]["type"] == "NotFoundError"


def test_a_fork_begins_at_the_turn_or_exactly(
    convostore: Command, store: ConversationStore, told: int
) -> None:
    said = convostore.fine("fork", told, "--at", "m2").out
    assert "with 2 messages" in said
    made = convostore.fine("fork", told, "--at", "2", "--exact", "--json").json
    assert made["forked_from"] == told and made["messages"] == 3
    assert len(store.get(made["_id"]).messages) == 3
    assert convostore.fine("fork", told, "--json").json["messages"] == 4
    for wrong in (["--at", "x"], ["--at", "-1"], ["--exact"]):
        assert convostore("fork", told, *wrong).code == 2
    assert convostore("fork", told, "--at", "99").code == 1


def test_show_as_of_a_revision_or_a_time(convostore: Command, told: int) -> None:
    past = convostore.fine("show", told, "--as-of", 1, "--json").json
    assert past["revision"] == 1 and [entry["message"] for entry in past["entries"]] == [
        u("question"),
        a("answer"),
    ]
    text = convostore.fine("show", told, "--as-of", "2").out
    assert "at revision 2: 2 messages" in text and "better answer" in text
    assert "the newest 1 of 2" in convostore.fine("show", told, "--as-of", "2", "-n", 1).out
    changes = convostore.fine("history", told, "--json").json
    now = convostore.fine("show", told, "--as-of", changes[-1]["at"], "--json").json
    assert now["revision"] == 3
    assert convostore.fine("show", told, "--as-of", "2020-01-01", "--json").json["entries"] == []
    assert convostore("show", told, "--as-of", "9").code == 2
    assert convostore("show", told, "--as-of", "yesterday").code == 2


@pytest.fixture
def rivers(tmp_path: Path) -> Path:
    """A saved session of two agents."""
    folder = tmp_path / "rivers"
    session = DirectorySessionStore(folder)
    for name in ("main", "helper"):
        save(session, name, Transcript([u(f"{name} asks"), a("answer")]))
    session.write_file("meta.json", b'{"title":"Rivers"}')
    return folder


def test_a_session_goes_in_and_comes_out(
    convostore: Command, store: ConversationStore, rivers: Path, tmp_path: Path
) -> None:
    done = convostore.fine("import", rivers, "--format", "rig-session", "--user", "alice", "--json").json
    assert (done["read"], done["imported"], done["messages"]) == (2, 2, 4)
    assert store.count(user="alice") == 2
    again = convostore.fine("import", tmp_path, "--user", "alice", "--json").json
    assert (again["imported"], again["unchanged"]) == (0, 2)
    out = tmp_path / "out"
    convostore.fine("export", "--format", "rig-session", "--out", out)
    files = [path.relative_to(rivers) for path in rivers.rglob("*") if path.is_file()]
    assert len(files) == 4
    assert all(
        (out / "rivers" / file).read_bytes() == (rivers / file).read_bytes()
        for file in files
        if file.name != ".lock"
    )


def test_any_conversation_comes_out_as_a_session(
    convostore: Command, store: ConversationStore, told: int, tmp_path: Path
) -> None:
    report = convostore.fine("export", "--format", "rig-session", "--out", tmp_path / "out", "--json").json
    assert (report["conversations"], report["messages"]) == (1, 4)
    session = DirectorySessionStore(tmp_path / "out" / f"conversation-{told}")
    assert load(session, str(told)).messages() == store.get(told).messages


def test_sessions_that_cannot_be_read_or_written_are_refused(
    convostore: Command, store: ConversationStore, rivers: Path, tmp_path: Path
) -> None:
    assert "--user" in convostore("import", rivers).err
    assert convostore("export", "--format", "rig-session").code == 2
    missing = convostore("import", tmp_path / "none", "--format", "rig-session", "--user", "alice")
    assert missing.code == 1
    (rivers / "logs" / "main.jsonl").write_bytes(b'{"no":"header"}\n')
    refused = convostore("import", rivers, "--user", "alice")
    assert refused.code == 1 and "main" in refused.err and "at 1" in refused.err
    (tmp_path / "empty").mkdir()
    assert convostore("import", tmp_path / "empty", "--user", "alice").code == 1
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "talk.jsonl").write_bytes(b"{}\n")
    assert "older layout" in convostore("import", tmp_path / "old", "--user", "alice").err
    assert store.count(user="alice") == 0


@pytest.mark.shared
def test_a_single_log_is_a_session(convostore: Command, store: ConversationStore, tmp_path: Path) -> None:
    file = shared("data/exports/rig-session/session-4-torn-tail.jsonl")
    done = convostore.fine("import", file, "--format", "rig-session", "--user", "alice")
    assert "cut off" in done.out
    (head,) = store.find(user="alice")
    assert head.message_count == 2 and head.source is not None and head.source.format == "rig-session"
    convostore.fine("export", "--format", "rig-session", "--out", tmp_path / "out")
    session = Session.read(DirectorySessionStore(tmp_path / "out" / file.stem))
    (agent,) = session.agents.values()
    assert len(agent.conversation) == 2 and len(agent.values) == 2
