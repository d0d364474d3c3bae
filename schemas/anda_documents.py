"""Records out of documents, the view that models were shown (``spec/anda.md`` 7.5, 7.6, 10.4). Pure.

A document has the messages pruned, no usage and no lineage: what is read from it is a transcript, not the
record.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from convostore.schemas.anda_times import read_rfc3339
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON

__all__ = ["is_document", "record_of_document", "rendered_documents"]

_BLOCK = re.compile(r"(?:.*\n)?<([A-Za-z_][\w.-]*)>\n(.*)\n</\1>\s*", re.DOTALL)
_COPIED = ("_id", "user", "thread", "status", "label")
_TIMES = ("created_at", "updated_at")


def is_document(value: Any) -> bool:
    """Whether it is the document of a conversation."""
    metadata = value.get("metadata") if isinstance(value, Mapping) else None
    return isinstance(metadata, Mapping) and "content" in value and metadata.get("type") == "Conversation"


def rendered_documents(text: str) -> list[str] | None:
    """The lines between the tags of a rendered block, one per document; None when the text holds no block."""
    found = _BLOCK.fullmatch(text)
    return None if found is None else found[2].split("\n")


def record_of_document(document: Mapping[str, Any], path: str = "") -> dict[str, JSON]:
    """The record's members that the document tells, times in milliseconds again, everything else empty.

    Raises:
        InvalidRecordError: a time is none, or the content is no list of messages.

    """
    metadata, content = document["metadata"], document["content"]
    if not isinstance(content, list):
        raise InvalidRecordError(f"{path}.content".lstrip("."), "must be a list of messages")
    members: dict[str, JSON] = {name: metadata[name] for name in _COPIED if name in metadata}
    for name in _TIMES:
        # Times that Anda's calendar lacks are left out of a document.
        given = metadata.get(name)
        members[name] = 0 if given is None else read_rfc3339(given, f"{path}.metadata.{name}".lstrip("."))
    members["messages"] = [
        _message(message, f"{path}.content[{place}]".lstrip(".")) for place, message in enumerate(content)
    ]
    usage = {"input_tokens": 0, "output_tokens": 0, "requests": 0}
    return members | {"resources": [], "artifacts": [], "usage": usage, "period": 0}


def _message(message: JSON, path: str) -> JSON:
    if not isinstance(message, Mapping) or "timestamp" not in message:
        return message
    given = message["timestamp"]
    if given is None:
        return {name: value for name, value in message.items() if name != "timestamp"}
    if not isinstance(given, str):
        return message
    return {**message, "timestamp": read_rfc3339(given, f"{path}.timestamp")}
