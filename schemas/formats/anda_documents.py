"""Anda's prompt view read back: Documents and their rendered text (``spec/anda.md`` 7.5, 7.6, 10.4). Pure.

The view has lost tool calls, files, resources, usage and more, so what is read from it is a transcript, never
the same conversation as the record that it showed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from convostore.schemas.anda_times import read_rfc3339
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON

__all__ = ["document_record", "is_document", "rendered_lines"]

_OPENING = re.compile(r"\s*<([A-Za-z_][\w.-]*)>[ \t\r]*\n")
_NAMES = ("_id", "user", "thread", "status", "label")


def is_document(value: Any) -> bool:
    """Whether it is the Document of a conversation: its metadata have that type, its content is a list."""
    if not isinstance(value, Mapping) or not isinstance(value.get("metadata"), Mapping):
        return False
    return value["metadata"].get("type") == "Conversation" and isinstance(value.get("content"), list)


def document_record(value: Mapping[str, Any]) -> dict[str, JSON]:
    """The record that a Document shows, as far as it shows it, with times in milliseconds.

    Raises:
        InvalidRecordError: a time in it is no RFC 3339.

    """
    metadata: Mapping[str, Any] = value["metadata"]
    record: dict[str, JSON] = {name: metadata[name] for name in _NAMES if name in metadata}
    for name in ("created_at", "updated_at"):
        if metadata.get(name) is not None:
            record[name] = read_rfc3339(metadata[name], f"metadata.{name}")
    record["messages"] = [_message(item, f"content[{place}]") for place, item in enumerate(value["content"])]
    known = {"type", "created_at", "updated_at", *_NAMES}
    return record | {
        name: item for name, item in metadata.items() if name not in known and name not in record
    }


def _message(value: Any, path: str) -> JSON:
    if not isinstance(value, dict):
        raise InvalidRecordError(path, "no message")
    if not isinstance(value.get("timestamp"), str):
        return value
    return value | {"timestamp": read_rfc3339(value["timestamp"], f"{path}.timestamp")}


def rendered_lines(text: str) -> list[tuple[int, str]] | None:
    """The lines with Documents, with their numbers, of a rendered text; None when it is none."""
    opening = _OPENING.match(text)
    if opening is None or not text.rstrip().endswith(f"</{opening[1]}>"):
        return None
    lines = list(enumerate(text.rstrip().split("\n"), 1))
    first = opening[0].count("\n")
    return [(number, line) for number, line in lines[first:-1] if line.strip()]
