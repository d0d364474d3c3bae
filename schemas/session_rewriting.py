"""A saved log written anew with other words, such as without a secret (``spec/rig.md`` 7.9). Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.schemas.json_values import JSON, check_json
from convostore.schemas.session_lines import Header, Line, Record, Retired, SavedValue
from convostore.schemas.session_logs import Log
from convostore.schemas.transcript import (
    Aside,
    AsideChange,
    Change,
    HaltChange,
    PushChange,
    ResetChange,
    SpliceChange,
    fresh_lineage,
)

__all__ = ["rewritten_change", "rewritten_lines"]

Rewriter = Callable[[JSON], JSON]


def rewritten_lines(log: Log, rewriter: Rewriter, *, by: Author, now: int) -> list[Line]:
    """The lines of a log, with every message, aside value and saved value put through ``rewriter``.

    Stamps, ids and authors stay, so history and ``as_of`` work as before. The header says who rewrote the
    log and when, and has a fresh lineage: a value loaded before can no longer be appended. A torn last
    line is left out.

    Raises:
        InvalidRecordError: ``rewriter`` gave something that is no JSON.

    """
    mark: JSON = {"by": by.to_json(), "at": now}
    header = replace(log.header, lineage=fresh_lineage(now), rewrites=(*log.header.rewrites, mark))
    return [Line(log.stamp, header)] + [
        replace(line, record=_record(line.record, rewriter)) for line in log.lines
    ]


def _record(record: Record, rewriter: Rewriter) -> Record:
    if isinstance(record, Header | Retired):
        return record
    if isinstance(record, SavedValue):
        return SavedValue(record.key, _checked(rewriter, record.value))
    return rewritten_change(record, rewriter)


def rewritten_change(change: Change, rewriter: Rewriter) -> Change:
    """A change with its messages and aside values put through ``rewriter``; ids, authors, times stay."""
    if isinstance(change, PushChange | SpliceChange):
        return replace(change, entries=tuple(_entry(entry, rewriter) for entry in change.entries))
    if isinstance(change, AsideChange):
        return change if change.aside is None else replace(change, aside=_aside(change.aside, rewriter))
    if isinstance(change, HaltChange):
        return change
    state = change.state.copy()
    state.entries = [_entry(entry, rewriter) for entry in state.entries]
    state.asides = {id: _aside(aside, rewriter) for id, aside in state.asides.items()}
    return ResetChange(state)


def _entry(entry: Entry, rewriter: Rewriter) -> Entry:
    return replace(entry, message=_checked(rewriter, entry.message))


def _aside(aside: Aside, rewriter: Rewriter) -> Aside:
    return replace(aside, value=_checked(rewriter, aside.value))


def _checked(rewriter: Rewriter, value: JSON) -> JSON:
    said = rewriter(value)
    check_json(said, "rewritten")
    return said
