"""``init``, ``doctor``, ``demo`` and ``serve``, and everything on an embedded folder."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from convostore.schemas.conversations import Conversation
from convostore.store import ConversationStore
from convostore.store.layout import SCHEMA_VERSION
from support.command_line import Command
from support.servers import Server

HI = {"role": "user", "content": "hi"}


def test_init_tells_first_and_then_makes_what_is_missing(convostore: Command) -> None:
    tried = convostore.fine("init", "--dry-run")
    assert "would make collections: conversations" in tried.out
    made = convostore.fine("init", "--json").json
    assert "conversations" in made["collections"] and made["schema_version"] == SCHEMA_VERSION
    again = convostore.fine("init")
    assert again.out == f"nothing is missing\nschema version {SCHEMA_VERSION}\n"


def test_doctor_is_content_with_what_is_fine_and_names_what_is_broken(
    convostore: Command, store: ConversationStore, replica_set: Server, database_name: str
) -> None:
    one = store.create(Conversation(user="alice", messages=[HI] * 200))
    fine = convostore.fine("doctor")
    assert fine.out == "checked 1 conversations with 200 messages: fine\n"
    assert convostore.fine("doctor", "--json", "--user", "bob").json["conversations"] == 0
    with replica_set.client() as client:
        client[database_name].segments.delete_one({})
    broken = convostore("doctor", "--repair")
    assert broken.code == 1 and broken.out.startswith("broken: ") and str(one.id) in broken.out
    told = convostore("doctor", "--json")
    assert told.code == 1 and not told.json["fine"] and told.json["findings"][0]["severity"] == "broken"


def test_demo_shows_a_sample_that_it_loads_once(convostore: Command) -> None:
    first = convostore.fine("demo")
    assert "3 conversations (3 new)" in first.out
    assert "find_trains" in first.out and "Trains to Bern" in first.out and "input_tokens" in first.out
    again = convostore.fine("demo", "--json").json
    assert (again["import"]["unchanged"], len(again["conversations"])) == (3, 3)
    assert again["usage"]["input_tokens"] == 2154
    assert len(convostore.fine("list", "--json").json) == 3


def test_serve_runs_only_embedded_servers(convostore: Command) -> None:
    found = convostore("serve")
    assert found.code == 2 and found.err.count("\n") == 1 and "embedded:FOLDER" in found.err


@pytest.fixture
def embedded(tmp_path: Path) -> Command:
    return Command(None, tmp_path)


def test_embedded_folder_keeps_what_commands_store_and_serve_shares_it(
    embedded: Command, tmp_path: Path
) -> None:
    uri = "embedded:folder"
    lines = json.dumps({"id": "a", "messages": [HI]}) + "\n"
    serving = embedded.start("serve", "--uri", uri)
    assert serving.stdout is not None
    address = serving.stdout.readline().decode().strip()
    assert address.startswith("mongodb://")
    try:
        done = embedded.fine("--uri", uri, "import", "--user", "alice", stdin=lines)
        assert done.out == "read 1 conversations with 1 messages; 1 imported\n"
        assert len(embedded.fine("list", "--uri", address, "--json").json) == 1
    finally:
        serving.send_signal(signal.SIGINT)
        _, err = serving.communicate(timeout=60)
    assert serving.returncode == 130 and b"Traceback" not in err
    assert len(embedded.fine("list", "--uri", uri, "--json").json) == 1


def test_embedded_default_is_named_beside_the_output(embedded: Command, tmp_path: Path) -> None:
    found = embedded.fine("list", "--json")
    assert found.json == []
    assert found.err.startswith("convostore: using embedded:") and str(tmp_path) in found.err
    assert found.err.count("\n") == 1


@pytest.mark.parametrize("kind", ["file", "foreign"])
def test_folder_that_cannot_be_used_is_one_line(embedded: Command, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("no folder")
    else:
        place.mkdir()
        (place / "WiredTiger").write_text("somebody else's")
        (place / "mongod.lock").write_text("1\n")
    found = embedded("list", "--uri", f"embedded:{place}")
    assert found.code == 1 and found.err.count("\n") == 1


def test_missing_server_binary_says_what_to_install(embedded: Command, tmp_path: Path) -> None:
    embedded.environment["CONVOSTORE_MONGOD"] = str(tmp_path / "no-mongod")
    found = embedded("list", "--uri", "embedded:folder")
    assert found.code == 1 and found.err.count("\n") == 1 and "mongod" in found.err
