"""Saved sessions of rig in one file: a log by itself, or a bundle of a whole session as text. Pure.

A log is JSON Lines that begin with a header (``spec/rig.md`` 7); a last line that was cut off is left out. A
bundle has sections ``=== logs/NAME.jsonl``, ``=== files/NAME`` and ``=== blobs/NAME``, the name on a line of
its own and what it names below. Conversations keep their whole history, so they are not read as those of
other formats are; see ``store.saved_sessions``. Logs of ``rig-session/3`` hold the same records under another
name of the format.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Final

from convostore.schemas.errors import SessionFormatError
from convostore.schemas.json_values import JSON
from convostore.schemas.session_blobs import BLOBS
from convostore.schemas.session_lines import FORMAT

__all__ = ["NAME", "Bundle", "fits", "looks_bundled", "read_bundle"]

NAME: Final = "rig-session"

_BEFORE: Final = "rig-session/3"
_SECTION: Final = re.compile(rb"^=== ((?:logs|files|blobs)/[^\r\n]+?)[ \t]*\r?\n", re.MULTILINE)
_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = _BOM + b" \t\r\n"
_ENDING: Final = ".jsonl"


@dataclass(slots=True)
class Bundle:
    """The logs and files of a session by their names, and what there is to say about how they were read."""

    logs: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def fits(value: JSON) -> bool:
    """Whether the value is the header of a log."""
    if not isinstance(value, dict) or value.get("type") != "header" or "log" not in value:
        return False
    format = value.get("format")
    return isinstance(format, str) and format.startswith(f"{NAME}/")


def looks_bundled(head: bytes) -> bool:
    """Whether the input begins as a bundle does."""
    return head.lstrip(_BLANK).startswith((b"=== logs/", b"=== files/", b"=== blobs/"))


def read_bundle(data: bytes) -> Bundle:
    """The session in the input.

    Raises:
        SessionFormatError: it is no log and no bundle, or two sections have one name.

    """
    found, data = Bundle(), data.removeprefix(_BOM)
    sections = list(_SECTION.finditer(data)) if looks_bundled(data[:64]) else []
    if not sections:
        log = _upgraded(data.lstrip(_BLANK), found)
        found.logs[_name_of(log)] = log
        return found
    ends = [section.start() for section in sections[1:]] + [len(data)]
    for section, end in zip(sections, ends, strict=True):
        _take(found, section[1].decode("utf-8", "replace"), data[section.end() : end])
    return found


def _take(found: Bundle, path: str, body: bytes) -> None:
    folder, _, name = path.partition("/")
    if folder == "logs":
        held, key, body = found.logs, name.removesuffix(_ENDING), _upgraded(body, found)
    else:
        held, key = found.files, name if folder == "files" else BLOBS + name
        body = body.removesuffix(b"\n") if folder == "files" else _blob(body, name, found)
    if key in held:
        raise SessionFormatError("is twice in the bundle", file=path)
    held[key] = body


def _blob(body: bytes, name: str, found: Bundle) -> bytes:
    """The bytes of a file named by their hash; the line's end before the next section is none of them."""
    hash = name.partition(".")[0]
    for data in (body, body.removesuffix(b"\n"), body.removesuffix(b"\r\n")):
        if hashlib.sha256(data).hexdigest() == hash:
            return data
    found.notes.append(f"the bytes of {BLOBS}{name} are not those that its name stands for")
    return body.removesuffix(b"\n")


def _upgraded(log: bytes, found: Bundle) -> bytes:
    """The log with the present name of the format in its header."""
    head, end, rest = log.partition(b"\n")
    if _header(head).get("format") != _BEFORE:
        return log
    note = f"logs of {_BEFORE} are read as {FORMAT}, which has the same records"
    found.notes += [] if note in found.notes else [note]
    return head.replace(_BEFORE.encode(), FORMAT.encode(), 1) + end + rest


def _header(line: bytes) -> dict[str, JSON]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return header if isinstance(header, dict) else {}


def _name_of(log: bytes) -> str:
    name = _header(log.partition(b"\n")[0]).get("log")
    if not isinstance(name, str):
        raise SessionFormatError("is no log: its first line is no header", position=1)
    return name
