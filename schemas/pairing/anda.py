"""How Anda's messages hold calls and results (``spec/anda.md`` 3). Pure; implements ``grammar.Grammar``."""

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

__all__ = ["AndaGrammar"]


class AndaGrammar:
    """Anda: results are ``ToolOutput`` parts, in role ``tool`` by convention; ids may be missing."""

    dialect = "anda"
    joins_users = False

    def kind(self, message: JSON) -> Kind:
        """The part the message plays; a role that is no convention takes no part."""
        role = member(message, "role")
        return "user" if role in ("user", "tool") else "assistant" if role == "assistant" else "system"

    def failed(self, message: JSON) -> bool:
        """Never: Anda keeps failures on the conversation."""
        return False

    def calls(self, message: JSON) -> list[Call]:
        """Its ``ToolCall`` parts without an output beside them."""
        open_calls: list[Call] = []
        for part in _parts(message):
            if member(part, "type") == "ToolCall":
                key = _key(part)
                open_calls.append(Call(key, key[1], member(part, "name") or "", part, self.dialect))
            elif member(part, "type") == "ToolOutput":
                answered = next((call for call in open_calls if call.key == _key(part)), None)
                if answered is not None:
                    open_calls.remove(answered)
        return open_calls

    def blocks(self, message: JSON) -> list[Block]:
        """Its parts; ``ToolOutput`` parts are results."""
        return [
            Block(part, _key(part) if member(part, "type") == "ToolOutput" else None)
            for part in _parts(message)
        ]

    def holding(self, message: JSON, blocks: Sequence[Block]) -> JSON:
        """The message with those parts."""
        return {**members(message), "content": [block.part for block in blocks]}

    def made_up(self, call: Call, text: str) -> Block:
        """An error output for a call, as Anda's runner words one."""
        part = {"type": "ToolOutput", "name": call.name, "output": {"error": text}, "isError": True}
        return Block({**part, "callId": call.id} if call.key[0] == "id" else part, call.key)

    def renames(self, call: Call) -> bool:
        """Where it has an id: a call without one is answered by name."""
        return call.key[0] == "id"

    def renamed(self, message: JSON, call: Call, id: str) -> JSON:
        """The message with another ``callId`` for the call."""
        parts = swapped(_parts(message), call.part, {**call.part, "callId": id})
        return {**members(message), "content": parts}

    def answering(self, block: Block, id: str) -> Block:
        """The output with another ``callId``."""
        return Block({**block.part, "callId": id}, ("id", id))

    def results_message(self, blocks: Sequence[Block]) -> list[JSON]:
        """One message of role ``tool``."""
        return [{"role": "tool", "content": [block.part for block in blocks]}]

    def mergeable(self, first: JSON, second: JSON) -> bool:
        """Always: a message does not say which model wrote it."""
        return True

    def merged(self, first: JSON, second: JSON) -> JSON:
        """Parts joined, members of the first."""
        contents = members(first).get("content"), members(second).get("content")
        return {**members(first), "content": joined_texts(*contents)}

    def user_text(self, text: str, like: JSON) -> JSON:
        """A user message of one Text part."""
        return {"role": "user", "content": [{"type": "Text", "text": text}]}


def _parts(message: JSON) -> list[Any]:
    content = members(message).get("content")
    if isinstance(content, list):
        return content
    return [content] if isinstance(content, str) else []


def _key(part: JSON) -> CallKey:
    id = member(part, "callId")
    return ("name", member(part, "name") or "") if id is None else ("id", id)
