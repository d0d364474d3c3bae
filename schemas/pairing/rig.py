"""How rig's messages hold calls and results (``spec/rig.md`` 1). Pure; implements ``grammar.Grammar``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from convostore.schemas.json_values import JSON
from convostore.schemas.pairing.grammar import Block, Call, CallKey, Kind, member, members, swapped

__all__ = ["RigGrammar"]


class RigGrammar:
    """rig: results are parts of user messages, a reply says how it stopped."""

    dialect = "rig"
    joins_users = True

    def kind(self, message: JSON) -> Kind:
        """The part the message plays."""
        role = member(message, "role")
        return "user" if role == "user" else "assistant" if role == "assistant" else "system"

    def failed(self, message: JSON) -> bool:
        """Whether its stop is an error or an abort."""
        stop = members(message).get("stop")
        return isinstance(stop, dict) and ("error" in stop or "aborted" in stop)

    def calls(self, message: JSON) -> list[Call]:
        """Its ``toolcall`` parts."""
        return [
            Call(
                _key(part.get("id")),
                _text(part.get("id")),
                member(part.get("function"), "name") or "",
                part,
                "rig",
            )
            for part in _parts(message)
            if member(part, "type") == "toolcall"
        ]

    def blocks(self, message: JSON) -> list[Block]:
        """Its parts; ``toolresult`` parts are results."""
        return [
            Block(part, _key(part.get("call")) if member(part, "type") == "toolresult" else None)
            for part in _parts(message)
        ]

    def holding(self, message: JSON, blocks: Sequence[Block]) -> JSON:
        """The message with those parts."""
        return {**members(message), "content": [block.part for block in blocks]}

    def made_up(self, call: Call, text: str) -> Block:
        """An error result for a call."""
        part = {
            "type": "toolresult",
            "call": members(call.part).get("id"),
            "name": call.name,
            "content": [{"type": "text", "text": text}],
            "is_error": True,
        }
        return Block(part, call.key)

    def renames(self, call: Call) -> bool:
        """Always."""
        return True

    def renamed(self, message: JSON, call: Call, id: str) -> JSON:
        """The message with a provider's id for the call."""
        part = {**call.part, "id": {"provider": {"call_id": id}}}
        return {**members(message), "content": swapped(_parts(message), call.part, part)}

    def answering(self, block: Block, id: str) -> Block:
        """The result for a provider's id."""
        return Block({**block.part, "call": {"provider": {"call_id": id}}}, ("id", id))

    def results_message(self, blocks: Sequence[Block]) -> list[JSON]:
        """One user message."""
        return [{"role": "user", "content": [block.part for block in blocks]}]

    def mergeable(self, first: JSON, second: JSON) -> bool:
        """Two replies of one origin, as far as known, both failed or both not (0.47.1)."""
        origins = [origin for reply in (first, second) if (origin := members(reply).get("origin"))]
        return self.failed(first) == self.failed(second) and (len(origins) < 2 or origins[0] == origins[1])

    def merged(self, first: JSON, second: JSON) -> JSON:
        """Parts joined, members of the first, the second's stop."""
        joined = {**members(first), "content": [*_parts(first), *_parts(second)]}
        joined.pop("stop", None)
        return {**joined, "stop": second["stop"]} if "stop" in members(second) else joined

    def user_text(self, text: str, like: JSON) -> JSON:
        """A user message of one text part."""
        return {"role": "user", "content": [{"type": "text", "text": text}]}


def _parts(message: JSON) -> list[Any]:
    content = members(message).get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _key(id: JSON) -> CallKey:
    provider = members(members(id).get("provider"))
    call_id, item_id = member(provider, "call_id"), member(provider, "item_id")
    if call_id is not None:
        return ("id", call_id, item_id) if item_id else ("id", call_id)
    return ("local", _text(id))


def _text(id: JSON) -> str:
    return member(members(id).get("provider"), "call_id") or member(id, "local") or ""
