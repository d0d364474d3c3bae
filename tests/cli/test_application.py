"""What holds for every command: the URI, exit codes, errors in one line, pipes, help."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from convostore.schemas.conversations import Conversation
from convostore.store import ConversationStore
from support.command_line import COMMAND, Command
from support.servers import free_port

COMMANDS = [
    "init",
    "serve",
    "doctor",
    "demo",
    "import",
    "export",
    "list",
    "show",
    "delete",
    "expire",
    "stop",
    "steer",
    "follow-up",
    "tail",
]


@pytest.fixture
def nowhere(tmp_path: Path) -> Command:
    return Command(None, tmp_path)


def test_version_and_help_need_no_database_and_no_driver(nowhere: Command) -> None:
    began = time.monotonic()
    assert nowhere.fine("--version").out.startswith("convostore 0.")
    assert time.monotonic() - began < 5
    text = nowhere.fine("--help").out
    assert all(command in text for command in COMMANDS)
    loaded = subprocess.run(
        [str(COMMAND.parent / "python"), "-X", "importtime", COMMAND, "--version"],
        capture_output=True,
        text=True,
    ).stderr
    assert "typer" in loaded
    assert not {"pymongo", "pydantic", "rich"} & {line.split("|")[-1].strip() for line in loaded.splitlines()}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_json_and_both_ways_to_a_uri(nowhere: Command, command: str) -> None:
    text = nowhere.fine(command, "--help").out
    assert all(option in text for option in ("--json", "--uri", "--uri-file"))


@pytest.mark.parametrize("arguments", [["nothing"], ["list", "--nothing"], ["show"], ["import", "-", "-"]])
def test_wrong_use_is_one_line_and_exit_code_2(nowhere: Command, arguments: list[str]) -> None:
    found = nowhere(*arguments)
    assert found.code == 2
    assert found.out == "" and found.err.startswith("convostore: ") and found.err.count("\n") == 1


def test_no_command_at_all_shows_the_help(nowhere: Command) -> None:
    found = nowhere()
    assert found.code == 2 and "follow-up" in found.out and found.err == ""


def test_errors_are_objects_with_json(convostore: Command, store: ConversationStore) -> None:
    missing = convostore("show", "77", "--json")
    assert missing.code == 1 and missing.out == ""
    assert json.loads(missing.err) == {
        "error": {
            "type": "NotFoundError",
            "message": "conversation 77 does not exist",
            "kind": "conversation",
            "id": 77,
        }
    }
    usage = convostore("show", "--json")
    assert usage.code == 2 and json.loads(usage.err)["error"]["type"] == "Usage"


def test_uri_is_taken_from_options_before_the_environment(
    convostore: Command, store: ConversationStore, tmp_path: Path
) -> None:
    store.create(Conversation(user="alice"))
    uri = convostore.uri
    assert uri is not None
    wrong = Command("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100", tmp_path)
    (tmp_path / "uri").write_text(f"{uri}\n")
    for arguments in (
        ["list", "--uri", uri],
        ["--uri", uri, "list"],
        ["list", "--uri-file", "uri"],
        ["--uri-file", "uri", "list"],
        ["--uri", "mongodb://127.0.0.1:1", "list", "--uri", uri],
    ):
        found = wrong.fine(*arguments, "--json")
        assert len(found.json) == 1 and found.err == ""


@pytest.mark.parametrize("content", [None, "", "one\ntwo\n"])
def test_uri_file_that_is_none_is_wrong_use(nowhere: Command, tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "uri").write_text(content)
    found = nowhere("list", "--uri-file", "uri")
    assert found.code == 2 and "--uri-file uri" in found.err and found.err.count("\n") == 1
    both = nowhere("list", "--uri-file", "uri", "--uri", "embedded:x")
    assert both.code == 2 and "not both" in both.err


@pytest.mark.parametrize("uri", ["nonsense://secret@x", "mongodb://", "http://user:secret@x/"])
def test_uri_that_is_none_is_said_without_its_text(nowhere: Command, uri: str) -> None:
    found = nowhere("list", "--uri", uri)
    assert found.code in (1, 2) and found.err.count("\n") == 1 and "secret" not in found.err


def test_database_that_cannot_be_reached_is_one_line_soon_and_without_the_password(nowhere: Command) -> None:
    uri = f"mongodb://someone:secret@127.0.0.1:{free_port()}/?serverSelectionTimeoutMS=500"
    found = nowhere("list", "--uri", uri)
    assert found.code == 1 and found.err.count("\n") == 1 and "secret" not in found.err


def test_refused_login_is_one_line(convostore: Command) -> None:
    assert convostore.uri is not None
    head, _, tail = convostore.uri.partition("@")
    wrong = f"{head.rsplit(':', 1)[0]}:wrong-secret@{tail}"
    found = convostore("list", "--uri", wrong)
    assert found.code == 1 and found.err.count("\n") == 1 and "wrong-secret" not in found.err


def test_reader_that_goes_away_ends_it_quietly(convostore: Command, store: ConversationStore) -> None:
    big = [{"role": "user", "content": "x" * 10_000}] * 100
    for _ in range(3):
        store.create(Conversation(user="alice", messages=big))
    for arguments in (["export"], ["show", "1", "--limit", "0"], ["export", "--format", "openai"]):
        running = convostore.start(*arguments)
        assert running.stdout is not None and running.stderr is not None
        running.stdout.read(100)
        running.stdout.close()
        err = running.stderr.read()
        running.stderr.close()
        assert running.wait(60) in (0, 1)
        assert err == b""


def test_full_disk_is_one_line(convostore: Command, store: ConversationStore) -> None:
    store.create(Conversation(user="alice", messages=[{"role": "user", "content": "x" * 100_000}]))
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [COMMAND, "export"], stdout=full, stderr=subprocess.PIPE, env=convostore.environ(), timeout=60
        )
    assert done.returncode == 1
    assert b"No space left" in done.stderr and done.stderr.count(b"\n") == 1


def test_completion_is_offered(nowhere: Command) -> None:
    done = subprocess.run(
        [COMMAND],
        env={
            **nowhere.environ(),
            "_CONVOSTORE_COMPLETE": "complete_bash",
            "COMP_WORDS": "convostore fol",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["follow-up"]


def test_no_color_and_no_escapes_off_a_terminal(convostore: Command, store: ConversationStore) -> None:
    store.create(Conversation(user="alice"))
    for arguments in (["list"], ["--help"], ["list", "--help"]):
        assert "\x1b" not in convostore.fine(*arguments).out


def test_argument_that_is_no_text_is_refused(convostore: Command, store: ConversationStore) -> None:
    done = subprocess.run(
        [COMMAND, "list", "--user", os.fsdecode(b"\xff")], env=convostore.environ(), capture_output=True
    )
    assert done.returncode in (1, 2) and b"Traceback" not in done.stderr


def test_a_closed_standard_output_is_no_traceback() -> None:
    script = '"$0" list --uri mongodb://127.0.0.1:1/x?serverSelectionTimeoutMS=100 >&-'
    done = subprocess.run(["sh", "-c", script, str(COMMAND)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
