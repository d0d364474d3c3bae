"""Exports of any size, written conversation by conversation; equal arguments give equal bytes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any
from uuid import UUID

from support.measuring import WORDS

__all__ = ["chatgpt_conversation", "write_chat_lines", "write_chatgpt"]

_BEGUN = 1_700_000_000.0
_NEXT = 700.0  # seconds from one conversation to the next
_REGENERATED = 0.03  # of the answers
_TEXT = " ".join(random.Random(0).choices(WORDS, k=100_000))


def write_chatgpt(file: Path, size: int) -> int:
    """A ChatGPT archive of at least ``size`` bytes, one array; how many conversations it has."""
    count, written = 0, 0
    with file.open("w") as target:
        while written < size:
            text = json.dumps(chatgpt_conversation(count))
            written += target.write(f"{',' if count else '['}\n{text}")
            count += 1
        target.write("]\n")
    return count


def write_chat_lines(file: Path, count: int) -> None:
    """So many conversations as OpenAI chat JSON Lines, a few questions and answers each."""
    with file.open("w") as target:
        for number in range(count):
            dice = random.Random(number)
            messages = [{"role": "system", "content": f"You are assistant {number}."}]
            for _ in range(dice.randint(1, 5)):
                messages.append({"role": "user", "content": _words(dice, 20)})
                messages.append({"role": "assistant", "content": _words(dice, 60)})
            target.write(json.dumps({"id": f"run-{number}", "messages": messages}) + "\n")


def chatgpt_conversation(
    number: int, turns: int | None = None, regenerated: float = _REGENERATED
) -> dict[str, Any]:
    """A conversation of so many questions, by default of 1 to 20, as ChatGPT's archives have them.

    A root without a message, a hidden system message, questions with answers: each in a node of its own. Some
    answers call a tool before, some were thought about; the share ``regenerated`` was given twice, which
    makes branches.
    """
    return _Tree(number, regenerated).conversation(turns)


class _Tree:
    def __init__(self, number: int, regenerated: float) -> None:
        self._regenerated = regenerated
        self._dice = random.Random(number)
        self._created = _BEGUN + _NEXT * number
        self._time = self._created
        self._nodes: dict[str, dict[str, Any]] = {"client-created-root": _node("client-created-root", None)}
        self._last = "client-created-root"

    def conversation(self, turns: int | None) -> dict[str, Any]:
        self._add(
            "system", {"content_type": "text", "parts": [""]}, is_visually_hidden_from_conversation=True
        )
        for _ in range(turns or self._dice.randint(1, 20)):
            self._add("user", self._text(40), serialization_metadata={"custom_symbol_offsets": []})
            self._answer()
        return {
            "title": _words(self._dice, 4),
            "create_time": self._created,
            "update_time": self._time,
            "mapping": self._nodes,
            "moderation_results": [],
            "current_node": self._last,
            "plugin_ids": None,
            "conversation_id": self._id(),
            "conversation_template_id": None,
            "gizmo_id": None,
            "is_archived": False,
            "safe_urls": [],
            "default_model_slug": "gpt-5",
        }

    def _answer(self) -> None:
        question, dice = self._last, self._dice
        if dice.random() < self._regenerated:
            self._add("assistant", self._text(120), model_slug="gpt-4o")
            self._last = question
        if dice.random() < 0.2:
            thought = {"summary": _words(dice, 3), "content": _words(dice, 50), "finished": True}
            self._add("assistant", {"content_type": "thoughts", "thoughts": [thought]}, model_slug="gpt-5")
        if dice.random() < 0.2:
            code = {"content_type": "code", "language": "python", "text": f"print({_words(dice, 20)!r})"}
            self._add("assistant", code, to="python", model_slug="gpt-5")
            output = {"content_type": "execution_output", "text": _words(dice, 30)}
            self._add("tool", output, name="python", aggregate_result={"status": "success"})
        self._add("assistant", self._text(160), model_slug="gpt-5", finish_details={"type": "stop"})

    def _add(
        self, role: str, content: dict[str, Any], *, name: str | None = None, to: str = "all", **metadata: Any
    ) -> None:
        self._time += self._dice.uniform(0.5, 20)
        message = {
            "id": self._id(),
            "author": {"role": role, "name": name, "metadata": {}},
            "create_time": round(self._time, 6),
            "update_time": None,
            "content": content,
            "status": "finished_successfully",
            "end_turn": role == "assistant" and to == "all",
            "weight": 1.0,
            "metadata": {"message_type": "next", "timestamp_": "absolute", **metadata},
            "recipient": to,
            "channel": None,
        }
        id = message["id"]
        self._nodes[id] = _node(id, self._last, message)
        self._nodes[self._last]["children"].append(id)
        self._last = id

    def _text(self, words: int) -> dict[str, Any]:
        return {"content_type": "text", "parts": [_words(self._dice, words)]}

    def _id(self) -> str:
        return str(UUID(int=self._dice.getrandbits(128), version=4))


def _node(id: str, parent: str | None, message: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"id": id, "message": message, "parent": parent, "children": []}


def _words(dice: random.Random, about: int) -> str:
    size = 8 * dice.randint(about // 2, about * 3 // 2)
    start = dice.randrange(len(_TEXT) - size)
    return _TEXT[start : start + size]
