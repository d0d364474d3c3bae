"""Image bytes of saved sessions: into files named by content, and back (``spec/rig.md`` 7.1). Pure.

In a log an image holds ``{"type":"url","value":"blob:<sha256>.<ext>"}``; the bytes are in the file
``blobs/<sha256>.<ext>``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from convostore.schemas.entries import Entry
from convostore.schemas.json_values import JSON
from convostore.schemas.transcript import Change, PushChange, ResetChange, SpliceChange

__all__ = ["BLOBS", "put_back_blobs", "take_out_blobs"]

BLOBS = "blobs/"
"""The folder of the files."""

_MARK = "blob:"


def take_out_blobs(change: Change) -> tuple[Change, dict[str, bytes]]:
    """The change without the bytes of its images, and the files that hold them, by name.

    An image whose base64 is not exactly what its bytes give stays as it is.
    """
    files: dict[str, bytes] = {}

    def take_out(source: dict[str, Any], media_type: JSON) -> dict[str, Any]:
        value = source.get("value")
        if source.get("type") != "base64" or not isinstance(value, str):
            return source
        try:
            data = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            return source
        if base64.b64encode(data).decode() != value:
            return source
        kind = (
            media_type
            if isinstance(media_type, str) and media_type.isascii() and media_type.isalnum()
            else "bin"
        )
        name = f"{hashlib.sha256(data).hexdigest()}.{kind}"
        files[BLOBS + name] = data
        return {"type": "url", "value": _MARK + name}

    return _with_sources(change, take_out), files


def put_back_blobs(change: Change, read: Callable[[str], bytes | None]) -> Change:
    """The change with the bytes of its images; ``read`` gives a file by its name, none if it is missing."""

    def put_back(source: dict[str, Any], media_type: JSON) -> dict[str, Any]:
        value = source.get("value")
        if source.get("type") != "url" or not isinstance(value, str) or not value.startswith(_MARK):
            return source
        data = read(BLOBS + value.removeprefix(_MARK))
        return source if data is None else {"type": "base64", "value": base64.b64encode(data).decode()}

    return _with_sources(change, put_back)


def _with_sources(change: Change, edit: Callable[[dict[str, Any], JSON], dict[str, Any]]) -> Change:
    def entry(held: Entry) -> Entry:
        message = _message(held.message, edit)
        return held if message is held.message else replace(held, message=message)

    if isinstance(change, PushChange | SpliceChange):
        return replace(change, entries=tuple(map(entry, change.entries)))
    if isinstance(change, ResetChange):
        state = change.state.copy()
        state.entries = list(map(entry, state.entries))
        return ResetChange(state)
    return change


def _message(message: JSON, edit: Callable[[dict[str, Any], JSON], dict[str, Any]]) -> JSON:
    """The message, or the same object when no image of it changed."""
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return message
    parts = [_part(part, edit) for part in content]
    return message if all(map(_is, parts, content)) else {**message, "content": parts}


def _part(part: JSON, edit: Callable[[dict[str, Any], JSON], dict[str, Any]]) -> JSON:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "toolresult":
        return _message(part, edit)
    if kind != "image" or not isinstance(part.get("data"), dict):
        return part
    source = edit(part["data"], part.get("media_type"))
    return part if source is part["data"] else {**part, "data": source}


def _is(a: object, b: object) -> bool:
    return a is b
