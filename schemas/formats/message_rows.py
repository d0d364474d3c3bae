"""A conversation's messages as rows of plain values, one each, for tables. Pure.

``ROW`` names the columns in their order with what they hold: ``u64``, ``text``, ``flag``, ``bytes``, ``time``
(milliseconds since 1970), or a list of such structures. What a table cannot hold is None or replaced there;
``message`` is always the whole message as JSON in ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from convostore.schemas.entries import Entry
from convostore.schemas.formats.outgoing import Losses, Outgoing, dialect_in, own_title, result_text, said_in
from convostore.schemas.json_output import foreign_json
from convostore.schemas.messages import (
    ActionPart,
    FileDataPart,
    InlineDataPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
)

__all__ = ["PART", "ROW", "rows"]

PART: Final[Mapping[str, str]] = {
    "kind": "text",
    "text": "text",
    "name": "text",
    "call_id": "text",
    "arguments": "text",
    "output": "text",
    "is_error": "flag",
    "mime_type": "text",
    "uri": "text",
    "data": "bytes",
    "json": "text",
}
"""A part: its kind (text, reasoning, tool_call, tool_output, data, file, action, other) and what it has.

``arguments`` are JSON, ``output`` is text as it came or JSON, ``json`` what has no column.
"""

ROW: Final[Mapping[str, str]] = {
    "conversation": "u64",
    "user": "text",
    "thread": "text",
    "label": "text",
    "title": "text",
    "status": "text",
    "conversation_created_at": "time",
    "conversation_updated_at": "time",
    "forked_from": "u64",
    "source_format": "text",
    "source_id": "text",
    "position": "u64",
    "entry": "u64",
    "made": "time",
    "author_kind": "text",
    "author_name": "text",
    "dialect": "text",
    "unfinished": "flag",
    "role": "text",
    "name": "text",
    "text": "text",
    "thoughts": "text",
    "parts": "parts",
    "message": "text",
}
"""The columns: those of the conversation, the same in each of its rows, then those of the message."""

_HALF = re.compile("[\ud800-\udfff]")
_LAST = 2**63 - 1


def rows(given: Outgoing, losses: Losses) -> Iterator[dict[str, Any]]:
    """The rows of a conversation, in order; every column is there."""
    record = given.record
    if not given.count:
        losses.add("conversations without messages have no row", record)
    cells = _Cells(given, losses)
    conversation = {
        "conversation": record.id,
        "user": record.user,
        "thread": record.thread,
        "label": record.label,
        "title": cells.text(own_title(record)),
        "status": record.status.value,
        "conversation_created_at": cells.time(record.created_at),
        "conversation_updated_at": cells.time(record.updated_at),
        "forked_from": None if given.forked_from is None else given.forked_from.id,
        "source_format": None if given.source is None else given.source.format,
        "source_id": None if given.source is None else given.source.id,
    }
    for position, entry in enumerate(given.entries):
        yield {**conversation, "position": position, **cells.message(entry)}


class _Cells:
    """Makes the cells of one conversation's rows."""

    def __init__(self, given: Outgoing, losses: Losses) -> None:
        self._given = given
        self._losses = losses

    def text(self, value: str | None) -> str | None:
        """The text as columns hold it: UTF-8."""
        if value is None or not _HALF.search(value):
            return value
        self._losses.add("halves of surrogate pairs are U+FFFD in texts and parts", self._given.record)
        return _HALF.sub("\ufffd", value)

    def time(self, value: int | None) -> int | None:
        """The time, where a column holds it."""
        if value is None or value <= _LAST:
            return value
        self._losses.add("times beyond 2^63 milliseconds are missing", self._given.record)
        return None

    def message(self, entry: Entry) -> dict[str, Any]:
        """The cells of one message."""
        message = said_in(entry)
        author = entry.author
        parts = [] if message is None else message.content
        return {
            "entry": entry.id,
            "made": self.time(entry.made),
            "author_kind": None if author is None else author.kind,
            "author_name": None if author is None else author.name or author.source,
            "dialect": dialect_in(entry),
            "unfinished": entry.unfinished,
            "role": None if message is None else self.text(message.role),
            "name": None if message is None else self.text(message.name),
            "text": None if message is None else self.text(message.text),
            "thoughts": None if message is None else self.text(message.thoughts),
            "parts": [{**dict.fromkeys(PART), **self._part(part)} for part in parts],
            "message": foreign_json(entry.message),
        }

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, (TextPart, ReasoningPart)):
            kind = "text" if isinstance(part, TextPart) else "reasoning"
            return {"kind": kind, "text": self.text(part.text)}
        if isinstance(part, ToolCallPart):
            called = {"name": self.text(part.name), "call_id": self.text(part.call_id)}
            return {"kind": "tool_call", **called, "arguments": foreign_json(part.args)}
        if isinstance(part, ToolOutputPart):
            of = {"name": self.text(part.name) or None, "call_id": self.text(part.call_id)}
            output = self.text(result_text(part.output))
            return {"kind": "tool_output", **of, "output": output, "is_error": part.is_error}
        if isinstance(part, InlineDataPart):
            return {"kind": "data", "mime_type": self.text(part.mime_type), "data": part.data}
        if isinstance(part, FileDataPart):
            return {"kind": "file", "mime_type": self.text(part.mime_type), "uri": self.text(part.file_uri)}
        kind = "action" if isinstance(part, ActionPart) else "other"
        return {"kind": kind, "json": foreign_json(part.to_json())}
