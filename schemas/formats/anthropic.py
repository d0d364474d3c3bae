"""Anthropic's messages: lists, bodies of requests, single Messages, batches, recorded exchanges. Pure.

Each message stays as it came, thinking and signatures to the byte, in the dialect ``anthropic``. Read:

- a list of messages, several a line or in an array, messages a line, and the body of a request, whose
  ``system``, ``tools``, ``model`` and other members lie beside the record (a system prompt is no message of
  theirs);
- a single Message, as the API answers: a conversation of one message, known again by its ``id``, which says
  what it used; also out of the results of a batch, and put together from the events of a stream, one a line;
- recorded exchanges: pairs of ``request`` and ``response``, cassettes of VCR as JSON, HAR archives, answers
  as streams put together. A request whose messages begin with those of the one before it, and with what was
  answered, goes on from it; the messages of the last one and its answer are the conversation. Headers are
  left out.

Without an ``id`` or ``conversation_id`` beside it a conversation is known again by its first answer's, else
by the SHA-256 of its content. There are no times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from convostore.schemas.dialects import dialect_of
from convostore.schemas.formats.anthropic_streams import begins_stream, streamed_message, unstreamed
from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.counters import usage_of
from convostore.schemas.formats.foreign import Draft, Item, Sources, first_id
from convostore.schemas.formats.http_records import Exchange, exchange_of, exchanges_in, keep_once
from convostore.schemas.formats.items import Found, ReadOptions, Refused
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.formats.message_runs import conversations_in, held_conversations, stated_in
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.parts import Piece, rest_of
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.json_values import JSON, dump_text, text_digest
from convostore.schemas.usage import Usage

__all__ = ["NAME", "fits", "is_request", "read", "read_values"]

NAME = "anthropic"

_ROLES = frozenset({"user", "assistant"})
_IDS = ("conversation_id", "session_id", "id")
_OF_REQUESTS = frozenset({"anthropic_version", "stop_sequences", "system"})
_OF_OTHERS = frozenset({"mapping", "chat", "history", "conversations", "usage", "status"})


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds."""
    is_one = _is_conversation(value) or (_is_message(value) and _is_sign(value))
    return is_one or held_conversations(value, _is_conversation) is not None


def _is_sign(value: JSON) -> bool:
    """Whether it is a message that no other program writes."""
    return dialect_of(value) == NAME or _is_answer(value)


def _is_message(value: JSON) -> bool:
    if not isinstance(value, dict) or value.get("type", "message") != "message" or "messages" in value:
        return False
    return isinstance(value.get("role"), str) and value["role"] in _ROLES and "content" in value


def _is_answer(value: JSON) -> bool:
    """Whether it is a Message as the API answers."""
    return (
        isinstance(value, dict)
        and value.get("type") == "message"
        and value.get("role") == "assistant"
        and isinstance(value.get("content"), list)
        and ("stop_reason" in value or "usage" in value)
    )


def _is_list(value: JSON) -> bool:
    if not isinstance(value, list) or not all(map(_is_message, value[:20])):
        return False
    return any(map(_is_sign, value))


def is_request(value: JSON) -> bool:
    """Whether it is the body of a request to Anthropic's API, and of no other one."""
    messages = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(messages, list) or not all(map(_is_message, messages[:20])):
        return False
    if _OF_OTHERS & value.keys():
        return False
    if any(map(_is_sign, messages)):
        return True
    model, tools = value.get("model"), value.get("tools")
    own_tools = isinstance(tools, list) and any(
        isinstance(tool, dict) and "input_schema" in tool for tool in tools
    )
    is_its_model = isinstance(model, str) and model.startswith("claude-")
    return bool(messages) and bool(own_tools or is_its_model or _OF_REQUESTS & value.keys())


def _is_conversation(value: JSON) -> bool:
    if isinstance(value, list):
        return _is_list(value) or any(_is_pair(item) for item in value[:3])
    if not isinstance(value, dict):
        return False
    if _is_answer(value) or is_request(value) or _is_pair(value) or _batched(value) is not None:
        return True
    if begins_stream(value):
        return True
    inside = list(exchanges_in(Found(0, value)))
    return len(inside) > 1 and any(isinstance(one, Found) and _is_pair(one.value) for one in inside[:3])


def _is_pair(value: JSON) -> bool:
    exchange = exchange_of(value)
    return exchange is not None and is_request(exchange.request)


def _batched(value: JSON) -> JSON:
    """The body, or the Message, in a line of a batch; None when it is none."""
    if not isinstance(value, dict) or "custom_id" not in value:
        return None
    result = value.get("result")
    held = result.get("message") if isinstance(result, dict) else value.get("params")
    return held if _is_answer(held) or is_request(held) else None


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The conversations in the input, in the memory that the largest needs.

    Raises:
        InvalidRecordError: ``options.user`` is missing or no valid id.

    """
    return read_values(json_values(source), options)


def read_values(values: Iterable[Found | Refused], options: ReadOptions) -> Iterator[Item]:
    """The conversations in the values; raises as :func:`read`."""
    sources = Sources(NAME, options, names_user=False)
    each = (one for found in values for one in exchanges_in(found))
    runs = conversations_in(unstreamed(each), _begins, _is_whole, lambda value: isinstance(value, dict))
    return sources.each(_chained(runs), lambda found: [_conversation(found, sources)])


def _begins(value: JSON) -> bool:
    """Whether it is a message of several that come by themselves; an answer stands alone."""
    return _is_message(value) and not _is_answer(value)


def _is_whole(value: JSON) -> bool:
    return not isinstance(value, list) and _is_conversation(value) and not _is_answer(value)


# Exchanges that go on from one another


def _chained(values: Iterable[Found | Refused]) -> Iterator[Found | Refused]:
    """Lists of what is one conversation: exchanges that go on from one another, or one value."""
    held: list[Exchange] = []
    first: Found | None = None
    for found in values:
        exchange = None if isinstance(found, Refused) else exchange_of(found.value)
        if isinstance(found, Refused) or exchange is None or not _messages(exchange.request):
            yield found
        elif held and _goes_on(held[-1], exchange):
            held.append(exchange)
        else:
            yield from _together(first, held)
            first, held = found, [exchange]
    yield from _together(first, held)


def _together(first: Found | None, held: list[Exchange]) -> Iterator[Found]:
    if first is not None:
        yield Found(first.position, _Recorded(held), first.notes)


class _Recorded:
    """Exchanges that are one conversation; no JSON, so no input can hold one."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self.exchanges = exchanges


def _messages(body: JSON) -> list[JSON]:
    messages = body.get("messages") if isinstance(body, dict) else None
    return messages if isinstance(messages, list) else []


def _goes_on(before: Exchange, after: Exchange) -> bool:
    try:
        return _continues(before, after)
    except RecursionError:  # Each will be refused by itself.
        return False


def _continues(before: Exchange, after: Exchange) -> bool:
    """Whether a request begins with the messages of the one before it and what that was answered."""
    earlier, later = _messages(before.request), _messages(after.request)
    if len(later) < len(earlier) or any(map(_differ, earlier, later)):
        return False
    answer = _answer(before.response)
    if answer is None:
        return True
    return len(later) > len(earlier) and _gist(later[len(earlier)]) == _gist(answer)


def _answer(body: JSON) -> dict[str, Any] | None:
    """The Message in the body of a response."""
    if isinstance(body, str):
        body = streamed_message(body)
    return body if isinstance(body, dict) and _is_message(body) else None


def _differ(one: JSON, other: JSON) -> bool:
    return dump_text(_plain(one)) != dump_text(_plain(other))


def _plain(value: JSON) -> JSON:
    """The value without marks of the cache, which move from request to request; texts as blocks."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {name: _plain(item) for name, item in sorted(value.items()) if name != "cache_control"}
    if isinstance(found.get("role"), str) and isinstance(found.get("content"), str):
        found["content"] = [{"text": found["content"], "type": "text"}]
    return found


def _gist(message: JSON) -> list[JSON]:
    """By what an answer is told again when it is sent back, though not every member of its blocks is."""
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    said = [block for block in (blocks if isinstance(blocks, list) else []) if isinstance(block, dict)]
    return [
        [block.get(name) for name in ("type", "text", "id", "tool_use_id", "signature")] for block in said
    ]


# Conversations


def _conversation(found: Found, sources: Sources) -> Item:
    value = found.value
    remarks = Remarks()
    unknown: dict[str, JSON] = {}
    usage: Usage | None = None
    if isinstance(value, _Recorded):
        messages, id, unknown, usage = _of_exchanges(value.exchanges, remarks)
        digest, size = text_digest(messages)
    else:
        digest, size = text_digest(value)
        inside = _batched(value)
        if inside is not None:
            result = value.get("result")
            unknown = rest_of(value, "params" if inside is value.get("params") else "result")
            if isinstance(result, dict) and inside is result.get("message"):
                unknown["result"] = rest_of(result, "message")
            value = inside
        id = first_id(value, *_IDS)
        if isinstance(value, list):
            messages = value
        elif isinstance(value, dict) and _is_message(value):
            messages = [value]
        elif isinstance(value, dict) and isinstance(value.get("messages"), list):
            messages = value["messages"]
            named = next((name for name in _IDS if id is not None and first_id(value, name) == id), "")
            unknown = {**unknown, **rest_of(value, "messages", named)}
        else:
            kind = type(value).__name__
            return Refused(found.position, f"a value of {kind} without messages", id)
    if not messages:
        return Refused(found.position, "it has no messages", id, skipped=True)
    stated = stated_in(unknown, Moments(remarks))
    return Draft(
        user=sources.owner(),
        source=sources.identified(id, digest),
        pieces=[_piece(message, remarks) for message in messages],
        size=size,
        title=stated.title,
        created=stated.created,
        updated=stated.updated,
        usage=usage,
        unknown=stated.unknown,
        notes=(*found.notes, *remarks.lines()),
    ).imported(found.position)


def _piece(message: JSON, remarks: Remarks) -> Piece:
    if not isinstance(message, dict):
        remarks.add("messages that are no objects are kept as they are", message)
        return Piece(message, None, NAME)
    return Piece(message, None, NAME, usage=usage_of(message.get("usage"), remarks))


def _of_exchanges(
    exchanges: Sequence[Exchange], remarks: Remarks
) -> tuple[list[JSON], str | None, dict[str, JSON], Usage]:
    """The messages, the id of the first answer, what else is said, and what all answers used."""
    messages = list(_messages(exchanges[-1].request))
    unknown: dict[str, JSON] = {}
    usage = Usage()
    id = None
    for place, exchange in enumerate(exchanges):
        if exchange.had_headers:
            remarks.add("headers of requests and responses were left out")
        keep_once(unknown, "requests", rest_of(exchange.request, "messages"))
        keep_once(unknown, "exchanges", dict(exchange.about))
        answer = _answer(exchange.response)
        if answer is None:
            keep_once(unknown, "responses", exchange.response)
            continue
        used = usage_of(answer.get("usage"), remarks)
        if used is not None:
            usage.accumulate(used)
        id = id or first_id(answer, "id")
        if place == len(exchanges) - 1:
            messages.append(answer)
            continue
        sent = (
            messages[len(_messages(exchange.request))]
            if len(messages) > len(_messages(exchange.request))
            else None
        )
        is_told = isinstance(sent, dict) and not _differ(sent.get("content"), answer.get("content"))
        keep_once(unknown, "responses", rest_of(answer, "role", "content") if is_told else answer)
    return messages, id, unknown, usage
