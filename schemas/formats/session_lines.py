"""What the readers of sessions written line by line share: the lines' digest, and those kept beside. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.json_values import JSON, dump_text

__all__ = ["LinesDigest", "kept_lines"]

# Bytes of lines that are no messages that are kept beside a session: the head of its record holds them.
_MOST_KEPT = 64 << 10


class LinesDigest:
    """The size of the lines of a session, and their SHA-256."""

    def __init__(self) -> None:
        self.size = 0
        self._hash = hashlib.sha256()

    def add(self, text: str) -> None:
        """Take in one more line, in ASCII."""
        self.size += len(text)
        self._hash.update(text.encode("ascii") + b"\n")

    def sha256(self) -> str:
        """The hash so far, in hex."""
        return self._hash.hexdigest()


def kept_lines(lines: Iterable[Mapping[str, JSON]], remarks: Remarks) -> list[JSON]:
    """The lines that are no messages, as many as fit beside a record; the others are remarked."""
    kept: list[JSON] = []
    size = 0
    for line in lines:
        size += len(dump_text(line))
        if size <= _MOST_KEPT:
            kept.append(line)
        else:
            remarks.add(f"lines that are no messages were left out, of the type {line.get('type')!a:.40}")
    return kept
