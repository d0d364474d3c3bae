"""``import`` of the sample exports under other names and endings, some of them compressed."""

from __future__ import annotations

import gzip
import importlib.util
import random

import pytest

from convostore.store import ConversationStore
from support.command_line import Command
from support.sample_exports import samples
from support.shared import shared

ENDINGS = (".png", ".jsonl", ".json", ".txt", ".zip", ".bson", "", ".gz")
HAS_LANGGRAPH = importlib.util.find_spec("ormsgpack") is not None
FORMATS = {
    "langchain-messages": "langchain",
    "langchain-mongo": "langchain",
    "langgraph-checkpoint": "langgraph",
    "openai-finetune": "openai",
    "openai-responses/codex-interleaved.jsonl": "codex",
}


@pytest.mark.shared
def test_names_and_endings_do_not_matter(convostore: Command, store: ConversationStore) -> None:
    dice = random.Random(4)
    # A delta belongs to a conversation that is not there, and its import fails.
    names = [name for name in samples() if name != "anda/engine-delta.json"]
    if not HAS_LANGGRAPH:
        names = [name for name in names if not name.startswith("langgraph")]
    dice.shuffle(names)
    files = {}
    for place, name in enumerate(names):
        file = f"{place}{dice.choice(ENDINGS)}"
        data = shared(f"data/exports/{name}").read_bytes()
        (convostore.folder / file).write_bytes(gzip.compress(data) if place % 5 == 0 else data)
        files[file] = name

    done = convostore("import", *files, "--user", "alice", "--json").json

    assert {files[one["file"]]: one["format"] for one in done["files"]} == {
        name: FORMATS.get(name, FORMATS.get(name.partition("/")[0], name.partition("/")[0])) for name in names
    }
    assert [one["error"] for one in done["files"]] == [None] * len(names)
    assert done["failed"] == 0 and done["imported"] == store.count(user="alice")


@pytest.mark.shared
@pytest.mark.skipif(HAS_LANGGRAPH, reason="the extra langgraph is installed")
def test_a_file_that_needs_a_missing_package_keeps_no_other_out(convostore: Command) -> None:
    folder = shared("data/exports")
    files = [
        folder / "langgraph-checkpoint/mongo-0.5.1-checkpoints.jsonl",
        folder / "sharegpt/fastchat-dummy.json",
    ]
    done = convostore("import", *files, "--user", "alice", "--json")
    assert (done.code, done.json["imported"]) == (1, 500)
    assert "convostore[langgraph]" in done.json["files"][0]["error"]
