"""Calls that wait for results: which, how to close them, what answers them (``spec/rig.md`` 6.5). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from convostore.schemas.entries import Entry
from convostore.schemas.errors import PairingError
from convostore.schemas.json_values import JSON
from convostore.schemas.pairing.grammar import NO_RESULT, Call, CallKey
from convostore.schemas.pairing.grammars import GRAMMARS, grammar_of

__all__ = ["answers", "close_pending", "pending_calls"]


def pending_calls(messages: Sequence[JSON | Entry]) -> list[Call]:
    """The calls of the last assistant message that no later result names, in call order.

    By id, not by occurrence, and whatever the reply's stop reason is.
    """
    answered: set[CallKey | None] = set()
    for given in reversed(messages):
        grammar, message = grammar_of(given), given.message if isinstance(given, Entry) else given
        kind = grammar.kind(message)
        if kind == "assistant":
            return [call for call in grammar.calls(message) if call.key not in answered]
        if kind == "user":
            answered.update(block.result for block in grammar.blocks(message))
    return []


def close_pending(calls: Sequence[Call], *, text: str = NO_RESULT) -> list[JSON]:
    """Messages that answer each call with a made-up error result, in order, in the dialect of the calls.

    One user message in rig, one of role ``tool`` in Anda, one a call in OpenAI.
    """
    closing: list[JSON] = []
    for dialect, group in groupby(calls, key=lambda call: call.dialect):
        grammar = GRAMMARS[dialect]
        closing.extend(grammar.results_message([grammar.made_up(call, text) for call in group]))
    return closing


def answers(calls: Sequence[Call], results: Sequence[JSON | Entry]) -> None:
    """Check that messages answer these calls exactly: one result an occurrence, in any order, nothing else.

    Raises:
        PairingError: ``kind`` is ``not_a_result``, ``unknown_call`` (or one answered already), or
            ``unanswered_call`` with the ids left over in call order.

    """
    waiting = list(calls)
    for index, given in enumerate(results):
        grammar, message = grammar_of(given), given.message if isinstance(given, Entry) else given
        blocks = grammar.blocks(message) if grammar.kind(message) == "user" else []
        keys = [block.result for block in blocks] or [None]
        for key in keys:
            path = f"results[{index}]"
            if key is None:
                raise PairingError(path, "is no tool result", index=index, kind="not_a_result")
            call = next((call for call in waiting if call.key == key), None)
            if call is None:
                reason = f"no call {ascii(key[1])[:80]} waits for a result"
                raise PairingError(path, reason, index=index, kind="unknown_call", calls=(key[1],))
            waiting.remove(call)
    if waiting:
        left = tuple(call.id for call in waiting)
        raise PairingError(
            "results", f"nothing answers {', '.join(left)[:200]}", kind="unanswered_call", calls=left
        )
