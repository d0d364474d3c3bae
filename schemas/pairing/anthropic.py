"""How Anthropic's messages hold calls and results. Pure; implements ``grammar.Grammar``."""

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

__all__ = ["AnthropicGrammar"]


class AnthropicGrammar:
    """Anthropic: results are blocks of the user message behind the reply, before everything else in it.

    Tools of the server (``server_tool_use``) are answered in the same message and take no part.
    """

    dialect = "anthropic"
    joins_users = True

    def kind(self, message: JSON) -> Kind:
        """The part the message plays."""
        role = member(message, "role")
        return "user" if role == "user" else "assistant" if role == "assistant" else "system"

    def failed(self, message: JSON) -> bool:
        """Never: a stored message does not say that it failed."""
        return False

    def calls(self, message: JSON) -> list[Call]:
        """Its ``tool_use`` blocks."""
        return [
            Call(
                _key(member(block, "id")),
                member(block, "id") or "",
                member(block, "name") or "",
                block,
                "anthropic",
            )
            for block in _blocks(message)
            if member(block, "type") == "tool_use"
        ]

    def blocks(self, message: JSON) -> list[Block]:
        """Its blocks; ``tool_result`` blocks are results."""
        return [
            Block(
                block, _key(member(block, "tool_use_id")) if member(block, "type") == "tool_result" else None
            )
            for block in _blocks(message)
        ]

    def holding(self, message: JSON, blocks: Sequence[Block]) -> JSON:
        """The message with those blocks."""
        return {**members(message), "content": [block.part for block in blocks]}

    def made_up(self, call: Call, text: str) -> Block:
        """An error result for a call."""
        part = {"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": True}
        return Block(part, call.key)

    def renames(self, call: Call) -> bool:
        """Always."""
        return True

    def renamed(self, message: JSON, call: Call, id: str) -> JSON:
        """The message with another id for the call."""
        blocks = swapped(_blocks(message), call.part, {**call.part, "id": id})
        return {**members(message), "content": blocks}

    def answering(self, block: Block, id: str) -> Block:
        """The result for another id."""
        return Block({**block.part, "tool_use_id": id}, _key(id))

    def results_message(self, blocks: Sequence[Block]) -> list[JSON]:
        """One user message."""
        return [{"role": "user", "content": [block.part for block in blocks]}]

    def mergeable(self, first: JSON, second: JSON) -> bool:
        """Always: a message need not say which model wrote it."""
        return True

    def merged(self, first: JSON, second: JSON) -> JSON:
        """Blocks joined, members of the first, the end of the second."""
        contents = members(first).get("content"), members(second).get("content")
        ends = {
            name: members(second)[name]
            for name in ("stop_reason", "stop_sequence")
            if name in members(second)
        }
        return {**members(first), **ends, "content": joined_texts(*contents)}

    def user_text(self, text: str, like: JSON) -> JSON:
        """A user message of one text block."""
        return {"role": "user", "content": [{"type": "text", "text": text}]}


def _blocks(message: JSON) -> list[Any]:
    content = members(message).get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content if isinstance(content, list) else []


def _key(id: str | None) -> CallKey:
    return ("id", id or "")
