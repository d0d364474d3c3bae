"""Conversations as Anthropic's API takes them: a line each, ``{"id", "system", "messages"}``. Pure.

Messages in the dialect ``anthropic`` go out as they are, signatures to the byte. Of others: system messages
at the beginning become ``system``, later ones messages of the user, as no other place is theirs; results of
tools follow their call in one message of the user; thoughts are blocks without a signature unless an importer
kept one. What was imported from this format has the members that lay beside it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from convostore.schemas.conversations import Conversation
from convostore.schemas.dialects import DIALECTS
from convostore.schemas.entries import Entry
from convostore.schemas.formats.outgoing import Losses, Outgoing, dialect_in, parts_in, result_text, source_id
from convostore.schemas.json_output import foreign_json
from convostore.schemas.json_values import JSON
from convostore.schemas.messages import (
    FileDataPart,
    InlineDataPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
)

__all__ = ["NAME", "write"]

NAME = "anthropic"

_SYSTEM = frozenset({"system", "developer"})
_RESULTS = frozenset({"tool", "function"})


def write(given: Outgoing, losses: Losses) -> Iterator[str]:
    """One conversation as a line, in pieces."""
    entries = iter(given.entries)
    system, entries = _system(entries, losses, given.record)
    head: dict[str, JSON] = {}
    id = source_id(given, NAME)
    if id is not None:
        head["id"] = id
    if given.record.extra is not None:
        head["metadata"] = given.record.extra
    if given.source is not None and given.source.format == NAME:
        head |= given.unknown
    if system:
        head["system"] = system[0]["text"] if len(system) == 1 else system
    members = "".join(f"{foreign_json(name)}:{foreign_json(value)}," for name, value in head.items())
    yield "{" + members + '"messages":['
    for place, message in enumerate(_messages(entries, losses, given.record)):
        yield ("," if place else "") + foreign_json(message)
    yield "]}\n"


def _system(
    entries: Iterator[Entry], losses: Losses, record: Conversation
) -> tuple[list[dict[str, JSON]], Iterator[Entry]]:
    """The texts of the system messages at the beginning, and the entries behind them."""
    texts: list[dict[str, JSON]] = []
    for entry in entries:
        parts = parts_in(entry)
        if parts is None or _role(entry) not in _SYSTEM:
            return texts, chain([entry], entries)
        for part, _ in parts:
            if isinstance(part, TextPart):
                texts.append({"type": "text", "text": part.text})
            else:
                losses.add("what a system prompt has beside text is left out", record)
    return texts, iter(())


def _role(entry: Entry) -> str | None:
    role = entry.message.get("role") if isinstance(entry.message, dict) else None
    return role if isinstance(role, str) else None


def _messages(entries: Iterable[Entry], losses: Losses, record: Conversation) -> Iterator[JSON]:
    """The messages; neighbours of nothing but results are one."""
    held: list[JSON] = []
    for entry in entries:
        said = _message(entry, losses, record)
        if _is_results(entry, said):
            held += said["content"]
            continue
        if held:
            yield {"role": "user", "content": held}
            held = []
        yield said
    if held:
        yield {"role": "user", "content": held}


def _is_results(entry: Entry, said: JSON) -> bool:
    """Whether it was made of another dialect's message and holds nothing but results."""
    if said is entry.message or not isinstance(said["content"], list) or not said["content"]:
        return False
    return all(isinstance(block, dict) and block.get("type") == "tool_result" for block in said["content"])


def _message(entry: Entry, losses: Losses, record: Conversation) -> JSON:
    if dialect_in(entry) == NAME or _is_the_same(entry.message):
        return entry.message
    parts = parts_in(entry)
    if parts is None:
        losses.add("what is no message is left as it is", record)
        return entry.message
    role = _role(entry)
    if role in _SYSTEM:
        losses.add("system messages between others are messages of the user", record)
    elif role not in ("user", "assistant", *_RESULTS):
        losses.add("roles that Anthropic has not are user", record)
    if entry.message.get("name") is not None and role not in _RESULTS:
        losses.add("names of speakers are left out", record)
    blocks = [_block(part, rest, losses, record) for part, rest in parts]
    return {"role": "assistant" if role == "assistant" else "user", "content": blocks}


def _is_the_same(message: JSON) -> bool:
    """Whether it is a text with a role, which many dialects write alike."""
    return (
        isinstance(message, dict)
        and message.keys() == {"role", "content"}
        and message["role"] in ("user", "assistant")
        and isinstance(message["content"], str)
    )


def _block(part: Part, rest: Mapping[str, JSON], losses: Losses, record: Conversation) -> JSON:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ReasoningPart):
        signature = rest.get("signature")
        if isinstance(signature, str):
            return {"type": "thinking", "thinking": part.text, "signature": signature}
        losses.add("thoughts have no signature, without which the API does not take them back", record)
        return {"type": "thinking", "thinking": part.text}
    if isinstance(part, ToolCallPart):
        if part.call_id is None:
            losses.add("calls and results without an id have none", record)
        if not isinstance(part.args, dict):
            losses.add("arguments that are no object stay as they are", record)
        id = {} if part.call_id is None else {"id": part.call_id}
        return {"type": "tool_use", **id, "name": part.name, "input": part.args}
    if isinstance(part, ToolOutputPart):
        return _result(part, losses, record)
    if isinstance(part, InlineDataPart) and _kind_of(part.mime_type) is not None:
        data = base64.b64encode(part.data).decode()
        source: dict[str, JSON] = {"type": "base64", "media_type": part.mime_type, "data": data}
        return {"type": _kind_of(part.mime_type), "source": source}
    if isinstance(part, FileDataPart) and part.file_uri.startswith(("https://", "http://")):
        kind = (
            "document" if part.mime_type is not None and _kind_of(part.mime_type) == "document" else "image"
        )
        return {"type": kind, "source": {"type": "url", "url": part.file_uri}}
    written = part.to_json()
    if not DIALECTS[NAME].fits({"role": "assistant", "content": [written]}):
        losses.add("parts that Anthropic has no block for stay as they are", record)
    return written


def _kind_of(mime_type: str) -> str | None:
    """The block that bytes of that type may be in."""
    if mime_type in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        return "image"
    return "document" if mime_type == "application/pdf" else None


def _result(part: ToolOutputPart, losses: Losses, record: Conversation) -> JSON:
    content = part.output
    if not isinstance(content, str) and not _are_blocks(content):
        losses.add("results that are no text are written as their JSON", record)
        content = result_text(content)
    if part.call_id is None:
        losses.add("calls and results without an id have none", record)
    id = {} if part.call_id is None else {"tool_use_id": part.call_id}
    error = {"is_error": part.is_error} if part.is_error is not None else {}
    return {"type": "tool_result", **id, "content": content, **error}


def _are_blocks(output: JSON) -> bool:
    return (
        isinstance(output, list) and bool(output) and DIALECTS[NAME].fits({"role": "user", "content": output})
    )
