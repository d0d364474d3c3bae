"""The table of dialects that pairing knows, and which of them a message speaks. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from convostore.schemas.dialects import DIALECTS, dialect_of
from convostore.schemas.entries import Entry
from convostore.schemas.json_values import JSON
from convostore.schemas.pairing.anda import AndaGrammar
from convostore.schemas.pairing.anthropic import AnthropicGrammar
from convostore.schemas.pairing.grammar import Grammar
from convostore.schemas.pairing.openai import OpenAIGrammar
from convostore.schemas.pairing.openai_responses import ResponsesGrammar
from convostore.schemas.pairing.rig import RigGrammar

__all__ = ["GRAMMARS", "grammar_of", "grammars_of"]

GRAMMARS: dict[str, Grammar] = {
    "anda": AndaGrammar(),
    "rig": RigGrammar(),
    "openai": OpenAIGrammar(),
    "anthropic": AnthropicGrammar(),
    "openai-responses": ResponsesGrammar(),
}
"""By name of the dialect; Anda's reads what no dialect is known for."""


def grammar_of(given: JSON | Entry) -> Grammar:
    """The grammar of one message: of the dialect its entry names, else the one its shape tells."""
    message, named = (given.message, given.dialect) if isinstance(given, Entry) else (given, None)
    return _grammar(dialect_of(message) if named is None or named not in GRAMMARS else named)


def grammars_of(messages: Sequence[JSON | Entry]) -> list[Grammar]:
    """The grammar of each message of a list.

    A message whose shape several dialects share (text with a role) speaks the one of the messages around
    it, if that is among them.
    """
    names = [_certain_dialect(given) for given in messages]
    known = [name for name in names if name is not None]
    around = known[0] if known else None
    grammars: list[Grammar] = []
    for given, name in zip(messages, names, strict=True):
        around = name or around
        if name is None and around is not None and _fits(given, around):
            grammars.append(GRAMMARS[around])
        else:
            grammars.append(grammar_of(given))
    return grammars


def _certain_dialect(given: JSON | Entry) -> str | None:
    if isinstance(given, Entry) and given.dialect in GRAMMARS:
        return given.dialect
    fitting = [name for name in GRAMMARS if _fits(given, name)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(given: JSON | Entry, name: str) -> bool:
    message = given.message if isinstance(given, Entry) else given
    return isinstance(message, dict) and DIALECTS[name].fits(message)


def _grammar(name: str | None) -> Grammar:
    return GRAMMARS.get(name or "anda", GRAMMARS["anda"])
