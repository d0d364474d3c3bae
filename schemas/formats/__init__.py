"""The formats that conversations come in and go out in. Pure: from bytes to values and back; opens nothing.

:data:`FORMATS` names them, :func:`detect` tells them apart by content, never by a file's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from convostore.schemas.errors import ImportFormatError
from convostore.schemas.formats import (
    anda,
    anthropic,
    canonical,
    chat_ui,
    chatgpt,
    claude_ai,
    claude_code,
    codex,
    langchain,
    langgraph,
    librechat,
    markdown,
    openai_agents,
    openai_chat,
    openai_responses,
    openwebui,
    pydantic_ai,
    rig_session,
    sharegpt,
)
from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.cbor_input import looks_like_cbor, peek_cbor
from convostore.schemas.formats.documents import Layout
from convostore.schemas.formats.extended_json import is_extended, relaxed
from convostore.schemas.formats.items import (
    Branch,
    Facts,
    Imported,
    ImportedDelta,
    Noticed,
    Origin,
    Position,
    ReadOptions,
    Refused,
)
from convostore.schemas.formats.json_layout import json_values, peek_values

__all__ = [
    "FORMATS",
    "Branch",
    "ByteInput",
    "Facts",
    "Format",
    "Imported",
    "ImportedDelta",
    "Item",
    "Noticed",
    "Origin",
    "Position",
    "ReadOptions",
    "Refused",
    "detect",
]


# How many messages of an input of messages by themselves are looked at, to tell whose they are.
_FEW = 20

Item: TypeAlias = Imported | ImportedDelta | Noticed | Refused
"""What a reader gives."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format: how to know it, whether it says whose the conversations are, and its reader.

    ``read`` is None where the input says more than conversations: the canonical format (``read_canonical``)
    and sessions of rig (``rig_session.read_bundle``).
    ``layout`` is given where the program keeps its conversations in a database: how they lie there.
    """

    name: str
    title: str
    names_user: bool
    fits: Callable[[Any], bool]
    read: Callable[[ByteInput, ReadOptions], Iterator[Item]] | None
    layout: Layout | None = None


def _is_canonical(value: Any) -> bool:
    return (
        isinstance(value, dict) and value.get("kind") == "header" and value.get("format") == canonical.FORMAT
    )


def _is_no_json(value: Any) -> bool:
    """Of a format that is told by how it begins."""
    return False


def _read_openai(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    return openai_chat.read(json_values(source), options)


FORMATS: dict[str, Format] = {
    found.name: found
    for found in (
        Format(canonical.FORMAT, "Convostore's own, with everything", True, _is_canonical, None),
        Format(anda.NAME, "Anda records, JSON or CBOR", True, anda.fits, anda.read),
        Format(openai_chat.NAME, "OpenAI chat JSON Lines", False, openai_chat.fits, _read_openai),
        Format(
            openai_responses.NAME,
            "OpenAI Responses, pages and run states",
            False,
            openai_responses.fits,
            openai_responses.read,
        ),
        Format(anthropic.NAME, "Anthropic messages", False, anthropic.fits, anthropic.read),
        Format(chatgpt.NAME, "ChatGPT conversations.json", False, chatgpt.fits, chatgpt.read),
        Format(claude_ai.NAME, "claude.ai export", True, claude_ai.fits, claude_ai.read),
        Format(
            librechat.NAME,
            "LibreChat, exports and database",
            True,
            librechat.fits,
            librechat.read,
            librechat.LAYOUT,
        ),
        Format(openwebui.NAME, "Open WebUI export", True, openwebui.fits, openwebui.read),
        Format(claude_code.NAME, "Claude Code sessions", False, claude_code.fits, claude_code.read),
        Format(codex.NAME, "Codex rollouts", False, codex.fits, codex.read),
        Format(markdown.NAME, "Markdown that was exported here", True, _is_no_json, markdown.read),
        Format(
            chat_ui.NAME, "Hugging Face chat-ui documents", True, chat_ui.fits, chat_ui.read, chat_ui.LAYOUT
        ),
        Format(
            langchain.NAME,
            "LangChain histories, lists and database",
            False,
            langchain.fits,
            langchain.read,
            langchain.LAYOUT,
        ),
        Format(
            langgraph.NAME, "LangGraph checkpoints", False, langgraph.fits, langgraph.read, langgraph.LAYOUT
        ),
        Format(
            openai_agents.NAME,
            "OpenAI Agents sessions in MongoDB",
            False,
            openai_agents.fits,
            openai_agents.read,
            openai_agents.LAYOUT,
        ),
        Format(pydantic_ai.NAME, "pydantic-ai message lists", False, pydantic_ai.fits, pydantic_ai.read),
        Format(rig_session.NAME, "rig sessions, a log or a bundle", False, rig_session.fits, None),
        Format(sharegpt.NAME, "ShareGPT data sets", False, sharegpt.fits, sharegpt.read),
    )
}


def detect(source: ByteInput) -> Format:
    """The one format that the beginning of the input fits; the input stays as it is.

    Raises:
        ImportFormatError: it is empty, no format fits, or several do (the error names them).

    """
    head = source.peek(64)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        if source.is_whole_within(64):
            raise ImportFormatError("the input is empty")
    elif head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ImportFormatError("the input is UTF-16; convert it to UTF-8")
    elif anda.looks_rendered(head):
        return FORMATS[anda.NAME]
    elif markdown.looks_so(head):
        return FORMATS[markdown.NAME]
    elif rig_session.looks_bundled(head):
        return FORMATS[rig_session.NAME]
    value = peek_cbor(source) if looks_like_cbor(head) else _first_of(source)
    fitting = [known for known in FORMATS.values() if _fits(known, value)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = " and ".join(known.name for known in fitting)
        raise ImportFormatError(f"the input may be {names}: say which with format= (--format)")
    raise ImportFormatError(f"no known format ({', '.join(FORMATS)}): {_seen(value)}")


def _first_of(source: ByteInput) -> Any:
    """The value by which the input is judged: its first, or of messages by themselves the list of a few."""
    values = [found.value for found in peek_values(source, _FEW)]
    if not values:
        return None
    first = values[0]
    if is_extended(first):
        try:
            return relaxed(first)
        except RecursionError:  # Nested so deeply that reading it will be refused; its members tell enough.
            return first
    if isinstance(first, dict) and isinstance(first.get("role"), str) and "messages" not in first:
        return [value for value in values if isinstance(value, dict) and "messages" not in value]
    return first


def _fits(known: Format, value: Any) -> bool:
    try:
        return known.fits(value) or (known.layout is not None and known.layout.is_loose(value))
    except RecursionError:  # What is nested so deeply is no beginning of any format.
        return False


def _seen(value: Any) -> str:
    if isinstance(value, dict):
        names = ", ".join(f"{name!a:.40}" for name in list(value)[:6])
        return f"it begins with an object of the members {names or 'none'}"
    return "nothing in it could be read" if value is None else f"it begins with a {type(value).__name__}"
