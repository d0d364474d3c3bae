"""OpenAI's Responses as streams of events, each stream as the Response that it ends with. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from convostore.schemas.formats.items import Found, Refused
from convostore.schemas.formats.response_items import StreamedItems
from convostore.schemas.json_values import JSON

__all__ = ["is_event", "streamed_response", "unstreamed"]

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


def is_event(value: JSON) -> bool:
    """Whether it is an event of such a stream."""
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind.startswith("response.") and "role" not in value


def streamed_response(body: str) -> dict[str, JSON] | None:
    """The Response in the text of a stream; None when it is no stream, or cut off."""
    stream = _Stream()
    for line in body.splitlines():
        if line.startswith("data:"):
            try:
                event = json.loads(line[5:])
            except (ValueError, RecursionError):
                continue
            if is_event(event) and stream.take(event):
                return stream.response()
    return None


def unstreamed(values: Iterable[Found | Refused]) -> Iterator[Found | Refused]:
    """The values, events of streams as the Response that they end with.

    One that was cut off is the Response with its items as far as they came, with a note.
    """
    stream, begun = _Stream(), None
    for found in values:
        if isinstance(found, Refused) or not is_event(found.value):
            yield found
            continue
        if begun is not None and stream.is_over_with(found.value):
            yield _cut(begun, stream)
            stream, begun = _Stream(), None
        begun = begun or found
        if stream.take(found.value):
            yield Found(begun.position, stream.response(), begun.notes)
            stream, begun = _Stream(), None
    if begun is not None:
        yield _cut(begun, stream)


def _cut(begun: Found, stream: _Stream) -> Found:
    notes = (*begun.notes, "the stream of events was cut off; its items are as far as they came")
    return Found(begun.position, stream.response(), notes)


@dataclass(slots=True)
class _Stream:
    """A Response on its way."""

    head: dict[str, Any] = field(default_factory=dict)
    items: StreamedItems = field(default_factory=StreamedItems)

    def is_over_with(self, event: Mapping[str, Any]) -> bool:
        """Whether an event begins another Response."""
        return event["type"] == "response.created" and bool(self.head)

    def take(self, event: Mapping[str, Any]) -> bool:
        """Take an event; whether it was the last."""
        held = event.get("response")
        if isinstance(held, dict):
            self.head = held
        else:
            self.items.take(event)
        return event["type"] in _ENDS

    def response(self) -> dict[str, JSON]:
        """The Response as far as it came."""
        output = self.head.get("output")
        return {"object": "response", **self.head, "output": output if output else self.items.items()}
