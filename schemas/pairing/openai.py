"""How OpenAI's chat messages hold calls and results. Pure; implements ``grammar.Grammar``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from convostore.schemas.json_values import JSON
from convostore.schemas.pairing.grammar import (
    Block,
    Call,
    CallKey,
    Kind,
    joined_texts,
    member,
    members,
    swapped,
)

__all__ = ["OpenAIGrammar"]


class OpenAIGrammar:
    """OpenAI chat: a result is a message of its own (``tool``, formerly ``function``)."""

    dialect = "openai"
    joins_users = False

    def kind(self, message: JSON) -> Kind:
        """The part the message plays."""
        role = member(message, "role")
        if role in ("user", "tool", "function"):
            return "user"
        return "assistant" if role == "assistant" else "system"

    def failed(self, message: JSON) -> bool:
        """Never: a stored message does not say why it ended."""
        return False

    def calls(self, message: JSON) -> list[Call]:
        """Its ``tool_calls``, and its ``function_call`` of old, which has no id."""
        former = members(message).get("function_call")
        calls = [_call(part) for part in _listed_calls(message)]
        if isinstance(former, dict):
            name = member(former, "name") or ""
            calls.append(Call(("name", name), name, name, message, self.dialect))
        return calls

    def blocks(self, message: JSON) -> list[Block]:
        """The whole message is one piece."""
        role = member(message, "role")
        return [Block(message, _result_key(message) if role in ("tool", "function") else None)]

    def holding(self, message: JSON, blocks: Sequence[Block]) -> JSON:
        """The piece itself: a message has one only."""
        return blocks[0].part if blocks else message

    def made_up(self, call: Call, text: str) -> Block:
        """A result for a call; OpenAI has no mark for errors."""
        if call.key[0] == "id":
            return Block({"role": "tool", "tool_call_id": call.id, "content": text}, call.key)
        role = "function" if "function_call" in members(call.part) else "tool"
        return Block({"role": role, "name": call.name, "content": text}, call.key)

    def renames(self, call: Call) -> bool:
        """All but the ``function_call`` of old, which has no id."""
        return "function_call" not in members(call.part)

    def renamed(self, message: JSON, call: Call, id: str) -> JSON:
        """The message with another id for the call."""
        calls = swapped(_listed_calls(message), call.part, {**call.part, "id": id})
        return {**members(message), "tool_calls": calls}

    def answering(self, block: Block, id: str) -> Block:
        """The result for another id."""
        return Block({**block.part, "tool_call_id": id}, ("id", id))

    def results_message(self, blocks: Sequence[Block]) -> list[JSON]:
        """A message each."""
        return [block.part for block in blocks]

    def mergeable(self, first: JSON, second: JSON) -> bool:
        """Always: a message does not say which model wrote it."""
        return True

    def merged(self, first: JSON, second: JSON) -> JSON:
        """Texts joined by a blank line, calls one after the other, members of the first."""
        earlier, later = members(first), members(second)
        joined: dict[str, Any] = {**later, **earlier}
        joined["content"] = joined_texts(earlier.get("content"), later.get("content"))
        calls = [*_listed_calls(earlier), *_listed_calls(later)]
        return {**joined, "tool_calls": calls} if calls else joined

    def user_text(self, text: str, like: JSON) -> JSON:
        """A user message, of parts where the other is: a shape that rig and others share."""
        parts = isinstance(members(like).get("content"), list)
        return {"role": "user", "content": [{"type": "text", "text": text}] if parts else text}


def _listed_calls(message: JSON) -> list[Any]:
    listed = members(message).get("tool_calls")
    return listed if isinstance(listed, list) else []


def _call(part: JSON) -> Call:
    id, name = member(part, "id"), member(members(part).get("function"), "name") or member(part, "name") or ""
    return Call(
        ("name", name) if id is None else ("id", id), name if id is None else id, name, part, "openai"
    )


def _result_key(message: JSON) -> CallKey:
    id = member(message, "tool_call_id")
    return ("name", member(message, "name") or "") if id is None else ("id", id)
