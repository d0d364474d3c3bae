"""What Anda's services wrap around records, taken off (``spec/anda.md`` 8.2, 10.1, 10.4). Pure.

Pages ``{"result": [...], "next_cursor": ...}``, single results, tool outputs ``{"output": {...}}``, replies
of the engine's RPC ``{"Ok": ...}``, and errors, which are reported and never imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from convostore.schemas.byte_text import read_bytes
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.formats.items import Found, Refused

__all__ = ["is_envelope", "unwrapped"]

_MAX_DEPTH = 8


def is_envelope(value: Any) -> bool:
    """Whether it is one of the wrappings, and no record itself."""
    if not isinstance(value, Mapping) or "messages" in value:
        return False
    if "result" in value or "Ok" in value or "Err" in value:
        return True
    return isinstance(value.get("error"), (Mapping, str)) or is_envelope(value.get("output"))


def unwrapped(found: Found, path: str = "", depth: int = 0) -> Iterator[Found | Refused]:
    """What is inside of every wrapping, with its path; what is wrapped in nothing comes as it is."""
    value = found.value
    at = f"{found.position}{path}" if path else found.position
    if depth > _MAX_DEPTH:
        yield Refused(at, "wrapped in too many layers")
    elif isinstance(value, list) and not (depth == 0 and not path and not value):
        for place, item in enumerate(value):
            yield from unwrapped(Found(found.position, item, found.notes), f"{path}[{place}]", depth + 1)
    elif not is_envelope(value):
        yield Found(at, value, found.notes)
    else:
        yield from _inside(found, value, at, path, depth)


def _inside(
    found: Found, value: Mapping[str, Any], at: int | str, path: str, depth: int
) -> Iterator[Found | Refused]:
    error = value.get("error", value.get("Err"))
    if error is not None:
        yield Refused(at, f"an error of the service, nothing to import: {_shown(error)}")
        return
    if "Ok" in value:
        yield from _ok(found, value["Ok"], at, path, depth)
        return
    if "result" not in value:
        inner = Found(found.position, value.get("output"), found.notes)
        yield from unwrapped(inner, f"{path}.output", depth + 1)
        return
    result, notes = value["result"], found.notes
    if value.get("next_cursor") is not None:
        notes = (*notes, f"the listing goes on after this page, at {_shown(value['next_cursor'])}")
    if isinstance(result, list) and not result:
        return
    yield from unwrapped(Found(found.position, result, notes), f"{path}.result", depth + 1)


def _ok(found: Found, ok: Any, at: int | str, path: str, depth: int) -> Iterator[Found | Refused]:
    if isinstance(ok, str):
        try:
            ok = json.loads(read_bytes(ok, "Ok"))
        except (InvalidRecordError, ValueError, RecursionError):
            yield Refused(at, "the reply is no JSON in base64")
            return
    yield from unwrapped(Found(found.position, ok, found.notes), f"{path}.Ok", depth + 1)


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 160 else f"{text[:159]}\u2026"
