"""How the items of OpenAI's Responses hold calls and results. Pure; implements ``grammar.Grammar``."""

from __future__ import annotations

from collections.abc import Sequence

from convostore.schemas.dialects.openai_responses import is_result
from convostore.schemas.json_values import JSON
from convostore.schemas.pairing.grammar import Block, Call, CallKey, Kind, member, members

__all__ = ["ResponsesGrammar"]

_ANSWERED = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "computer_call": "computer_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
"""The calls that the caller answers, by the type of the item that does; OpenAI answers the others itself."""


class ResponsesGrammar:
    """OpenAI Responses: every call and every result is an item of its own, which nothing is merged with.

    Of several calls in a row each gets its result right behind it in what a model reads.
    """

    dialect = "openai-responses"
    joins_users = False

    def kind(self, message: JSON) -> Kind:
        """The part the item plays; reasoning and what OpenAI answers itself take none."""
        kind = member(message, "type") or "message"
        if kind in _ANSWERED:
            return "assistant"
        if is_result(members(message)) and kind in _ANSWERED.values():
            return "user"
        role = member(message, "role") if kind == "message" else None
        return "user" if role == "user" else "assistant" if role == "assistant" else "system"

    def failed(self, message: JSON) -> bool:
        """Never: an item that failed is not stored as one."""
        return False

    def calls(self, message: JSON) -> list[Call]:
        """The call that it is."""
        kind = member(message, "type") or ""
        if kind not in _ANSWERED:
            return []
        id = member(message, "call_id") or ""
        return [Call(("id", id), id, member(message, "name") or kind, message, self.dialect)]

    def blocks(self, message: JSON) -> list[Block]:
        """The whole item is one piece."""
        is_answer = member(message, "type") in _ANSWERED.values()
        return [Block(message, _key(message) if is_answer else None)]

    def holding(self, message: JSON, blocks: Sequence[Block]) -> JSON:
        """The piece itself: an item has one only."""
        return blocks[0].part if blocks else message

    def made_up(self, call: Call, text: str) -> Block:
        """A result for a call; there is no mark for errors."""
        kind = _ANSWERED[member(call.part, "type") or "function_call"]
        return Block({"type": kind, "call_id": call.id, "output": text}, call.key)

    def renames(self, call: Call) -> bool:
        """Always."""
        return True

    def renamed(self, message: JSON, call: Call, id: str) -> JSON:
        """The item with another id for the call."""
        return {**members(message), "call_id": id}

    def answering(self, block: Block, id: str) -> Block:
        """The result for another id."""
        return Block({**block.part, "call_id": id}, ("id", id))

    def results_message(self, blocks: Sequence[Block]) -> list[JSON]:
        """An item each."""
        return [block.part for block in blocks]

    def mergeable(self, first: JSON, second: JSON) -> bool:
        """Never: items of one turn stand side by side."""
        return False

    def merged(self, first: JSON, second: JSON) -> JSON:
        """The first; never asked for."""
        return first

    def user_text(self, text: str, like: JSON) -> JSON:
        """A user message of one text."""
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def _key(item: JSON) -> CallKey:
    return ("id", member(item, "call_id") or "")
