"""``import`` of the sample exports under other names and endings, some of them compressed."""

from __future__ import annotations

import gzip
import random

import pytest

from convostore.store import ConversationStore
from support.command_line import Command
from support.sample_exports import samples
from support.shared import shared

ENDINGS = (".png", ".jsonl", ".json", ".txt", ".zip", ".bson", "", ".gz")
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
