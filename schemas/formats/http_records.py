"""Recorded exchanges over HTTP, whose bodies are JSON: pairs, cassettes of VCR, archives of browsers. Pure.

Headers are never kept: they may hold keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from convostore.schemas.formats.attachments import base64_bytes
from convostore.schemas.formats.items import Found, Refused
from convostore.schemas.formats.parts import rest_of
from convostore.schemas.json_values import JSON, same_json

__all__ = ["Exchange", "exchange_of", "exchanges_in", "keep_once"]

_HEADERS = ("headers", "cookies")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its response; a body that is no JSON stays text. ``about`` is what else is said."""

    request: JSON
    response: JSON
    about: Mapping[str, JSON]
    had_headers: bool


def exchanges_in(found: Found | Refused) -> Iterator[Found | Refused]:
    """The pairs of a cassette or an archive one by one; every other value as it is."""
    pairs = None if isinstance(found, Refused) else _pairs(found.value)
    if pairs is None or isinstance(found, Refused):
        yield found
        return
    path, items = pairs
    for place, item in enumerate(items):
        yield Found(f"{found.position}{path}[{place}]", item, found.notes if place == 0 else ())


def _pairs(value: JSON) -> tuple[str, list[JSON]] | None:
    if isinstance(value, list):
        return ("", value) if any(exchange_of(item) is not None for item in value[:3]) else None
    if not isinstance(value, dict):
        return None
    log = value.get("log")
    if isinstance(log, dict) and isinstance(log.get("entries"), list):
        return ".log.entries", log["entries"]
    held = value.get("interactions")
    return (".interactions", held) if isinstance(held, list) else None


def exchange_of(value: JSON) -> Exchange | None:
    """The exchange that a value is; None when it is none."""
    if not isinstance(value, dict):
        return None
    request, response = value.get("request"), value.get("response")
    if not isinstance(request, dict) or not isinstance(response, dict):
        return None
    asked, answered = _body(request), _body(response)
    if asked is None or answered is None:
        return None
    about = rest_of(value, "request", "response")
    for name, half in (("request", request), ("response", response)):
        rest = rest_of(half, "body", "postData", "content", *_HEADERS)
        if rest:
            about[name] = rest
    had_headers = any(half.get(name) for half in (request, response) for name in _HEADERS)
    return Exchange(asked[0], answered[0], about, had_headers)


def _body(half: Mapping[str, Any]) -> tuple[JSON] | None:
    """The body of a request or a response, in a place of its own since null is one, too."""
    held = next((half[name] for name in ("body", "postData", "content") if name in half), None)
    if held is None:
        return (None,) if "body" in half else None
    if isinstance(held, dict):
        for name in ("string", "text", "base64_string"):
            if isinstance(held.get(name), str) and set(held) <= _AROUND_TEXT:
                is_coded = name == "base64_string" or held.get("encoding") == "base64"
                return (_read(held[name], is_coded=is_coded),)
    return (_read(held) if isinstance(held, str) else held,)


_AROUND_TEXT = {
    "string",
    "base64_string",
    "text",
    "encoding",
    "mimeType",
    "size",
    "compression",
    "params",
    "comment",
}


def _read(text: str, *, is_coded: bool = False) -> JSON:
    if is_coded:
        data = base64_bytes(text)
        if data is None:
            return text
        text = data.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def keep_once(unknown: dict[str, JSON], name: str, value: JSON) -> None:
    """Keep something in the list of that name beside a record, the same thing once, nothing not at all."""
    held = unknown.get(name, [])
    if value is not None and value != {} and not any(same_json(value, one) for one in held):
        unknown[name] = [*held, value]
