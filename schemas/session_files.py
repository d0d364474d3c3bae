"""Which files a log's images lie in, and the log with its images put back (``spec/rig.md`` 7.1). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from convostore.schemas.session_blobs import BLOBS, put_back_blobs
from convostore.schemas.session_lines import Header, Line, Retired, SavedValue
from convostore.schemas.session_logs import Log
from convostore.schemas.transcript import Change

__all__ = ["RECOVERED", "blob_files", "with_blobs"]

RECOVERED: Final = "recovered/"
"""The folder of torn last lines that were set aside."""

_BLOB: Final = re.compile(re.escape(BLOBS) + r"[0-9a-f]{64}\.[A-Za-z0-9]{1,16}")


def _changes(lines: Iterable[Line]) -> Iterable[Change]:
    for line in lines:
        if not isinstance(line.record, Header | SavedValue | Retired):
            yield line.record


def blob_files(log: Log) -> list[str]:
    """The names of the files that the log's images lie in, each once, in order."""
    named: dict[str, None] = {}

    def note(name: str) -> None:
        # A name of another form comes from no writer of this format, and is left as the URL that it is.
        if _BLOB.fullmatch(name):
            named.setdefault(name)

    for change in _changes(log.lines):
        put_back_blobs(change, note)
    return list(named)


def with_blobs(log: Log, files: Mapping[str, bytes]) -> Log:
    """The log with the bytes of its images; an image whose file is not there stays a reference."""
    if not files:
        return log
    lines = tuple(
        line
        if isinstance(line.record, Header | SavedValue | Retired)
        else replace(line, record=put_back_blobs(line.record, files.get))
        for line in log.lines
    )
    return replace(log, lines=lines)
