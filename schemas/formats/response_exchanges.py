"""Recorded exchanges with OpenAI's Responses, those that go on from one another as one conversation. Pure.

A request goes on from the one before it when it names that one's Response, or when its input begins with that
one's. Then it says either what is new or everything again; what was answered is taken once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from convostore.schemas.formats.http_records import Exchange, exchange_of, keep_once
from convostore.schemas.formats.parts import rest_of
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.formats.response_streams import streamed_response
from convostore.schemas.json_values import JSON, dump_text

__all__ = ["goes_on", "is_response", "said", "told_in", "told_of"]


class ToldOf(NamedTuple):
    """What exchanges say: the items, the Responses in order, and what lies beside."""

    items: list[JSON]
    responses: list[Mapping[str, Any]]
    unknown: dict[str, JSON]


def said(text: str) -> JSON:
    """An input that is a text, as the item that it stands for."""
    return {"type": "message", "role": "user", "content": text}


def is_response(value: JSON) -> bool:
    """Whether it is a Response."""
    if not isinstance(value, dict) or not isinstance(value.get("output"), list):
        return False
    return value.get("object") == "response" or str(value.get("id")).startswith("resp_")


def told_in(value: JSON) -> Exchange | None:
    """The exchange that a value is, when it is one with this API."""
    exchange = exchange_of(value)
    if exchange is None or not isinstance(exchange.request, dict):
        return None
    given = exchange.request.get("input")
    if not isinstance(given, (str, list)) or _response(exchange) is None:
        return None
    return exchange


def _response(exchange: Exchange) -> Mapping[str, Any] | None:
    body = exchange.response
    if isinstance(body, str):
        body = streamed_response(body)
    return body if is_response(body) else None


def _input(exchange: Exchange) -> list[JSON]:
    given = exchange.request.get("input")
    return [said(given)] if isinstance(given, str) else given


def goes_on(before: Exchange, after: Exchange) -> bool:
    """Whether a request goes on from the one before it."""
    named, response = after.request.get("previous_response_id"), _response(before)
    if named is not None:
        return response is not None and response.get("id") == named
    earlier, later = _input(before), _input(after)
    return len(later) > len(earlier) and all(map(_is_same, earlier, later))


def _is_same(one: JSON, other: JSON) -> bool:
    return dump_text(_plain(one)) == dump_text(_plain(other))


def _plain(item: JSON) -> JSON:
    if not isinstance(item, dict):
        return item
    return {name: held for name, held in sorted(item.items()) if (name, held) != ("type", "message")}


def told_of(exchanges: Sequence[Exchange], remarks: Remarks) -> ToldOf:
    """The items of all of them, and what else they say."""
    items: list[JSON] = []
    answered: list[JSON] = []
    found = ToldOf(items, [], {})
    for exchange in exchanges:
        if exchange.had_headers:
            remarks.add("headers of requests and responses were left out")
        keep_once(found.unknown, "requests", rest_of(exchange.request, "input"))
        keep_once(found.unknown, "exchanges", dict(exchange.about))
        if exchange.request.get("previous_response_id") is None:
            items.clear()
        items += _input(exchange)
        response = _response(exchange)
        if response is not None:
            items += response["output"]
            answered += response["output"]
            found.responses.append(response)
            keep_once(found.unknown, "responses", rest_of(response, "output"))
    there = set(map(dump_text, items))
    for item in answered:
        if dump_text(item) not in there:
            keep_once(found.unknown, "outputs", item)
    return found
