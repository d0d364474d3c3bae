"""The 200 real runs: pairing of every cut of them, and their calls and results counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from convostore.schemas import pairing
from convostore.schemas.transcript import Transcript
from support.shared import shared

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def runs() -> list[list[Any]]:
    lines = shared("data/airline_agent_runs.openai.jsonl").read_text().splitlines()
    return [json.loads(line)["messages"] for line in lines]


def accepted_by_a_provider(messages: list[Any]) -> bool:
    """The provider's rule, apart from the library: a reply's results follow it at once, one a call."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return False
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return False
        else:
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
    return not waiting


def test_their_transcripts_show_every_call_with_its_result(runs: list[list[Any]]) -> None:
    transcripts = [Transcript(messages) for messages in runs]
    pairs = sum(len(pairing.matches(t.messages())) for t in transcripts)
    assert (len(runs), sum(map(len, transcripts)), pairs) == (200, 5308, 1164)
    for t in transcripts:
        t.validate()


def test_every_cut_of_every_run_is_repaired(runs: list[list[Any]]) -> None:
    for messages in runs:
        pairs = pairing.matches(messages)
        broken = 0
        for cut in range(len(messages) + 1):
            head, tail = pairing.repair(messages[:cut]), pairing.repair(messages[cut:])
            assert accepted_by_a_provider(head.messages) and accepted_by_a_provider(tail.messages)
            broken += bool(head.faults) and bool(tail.faults)
        assert not pairs or broken > 0


def test_no_window_of_any_run_splits_a_call_from_its_result(runs: list[list[Any]]) -> None:
    for messages in runs[:50]:
        for last in range(1, len(messages) + 1):
            window = messages[pairing.window_start(messages, last) :]
            assert accepted_by_a_provider(window)
            assert pairing.for_model(window).messages == window
