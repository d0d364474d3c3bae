"""What the logs of a saved session say, and what a save adds to one (``spec/rig.md`` 7.3 to 7.7). Pure.

From a log's bytes to values, and from a transcript to the lines that save it; ``store`` reads and appends
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from convostore.schemas.errors import ConflictError, MismatchError, SessionFormatError
from convostore.schemas.json_values import JSON
from convostore.schemas.pairing import pending_calls
from convostore.schemas.session_lines import (
    Header,
    Line,
    Record,
    Retired,
    SavedValue,
    Stamp,
    read_line,
    split_torn,
    stamp_of,
)
from convostore.schemas.transcript import ChangeRecord, ResetChange, State, Transcript, fresh_lineage
from convostore.schemas.transcript.outbox import now_ms
from convostore.schemas.transcript.spans import last_is_users
from convostore.schemas.transcript.state import apply

__all__ = [
    "Log",
    "LogEnd",
    "as_of",
    "fold",
    "fork_lines",
    "history",
    "log_end",
    "main_agent",
    "read_log",
    "restorable",
    "save_lines",
    "saved_values",
]


@dataclass(frozen=True, slots=True)
class Log:
    """A log as read: its header with its stamp, the lines after it, the bytes of a torn last line, if any."""

    stamp: Stamp
    header: Header
    lines: tuple[Line, ...]
    torn: bytes = b""


class LogEnd(NamedTuple):
    """Where a log ends: its lineage, how many changes it holds, the next ``seq``, its last ``n``."""

    lineage: int
    changes: int
    seq: int
    n: int


_NO_CHANGES = frozenset({"header", "state", "retired"})


def read_log(data: bytes, log: str) -> Log:
    """Read a log strictly, folding its changes too; a torn last line is left out and reported.

    Raises:
        SessionFormatError: another format, a line that cannot be read, stamps that do not rise, a change
        that does
            not apply; with the log, the line from 1 and why.

    """
    whole, torn = split_torn(data)
    lines = [read_line(line, log, number) for number, line in enumerate(whole.split(b"\n")[:-1], 1)]
    if not lines or not isinstance(lines[0].record, Header):
        raise SessionFormatError("has no header", file=log, position=1)
    _check_rising((line.stamp for line in lines), log)
    read = Log(lines[0].stamp, lines[0].record, tuple(lines[1:]), torn)
    fold(read)
    return read


def log_end(data: bytes, log: str) -> LogEnd:
    """Where a log ends; its header and every stamp are checked, its records are not read.

    Raises:
        SessionFormatError: as :func:`read_log`, but for records.

    """
    stamps = [
        stamp_of(line, log, number) for number, line in enumerate(split_torn(data)[0].split(b"\n")[:-1], 1)
    ]
    if not stamps:
        raise SessionFormatError("has no header", file=log, position=1)
    _check_rising((stamp for stamp, _ in stamps), log)
    header = read_line(data.split(b"\n", 1)[0], log, 1).record
    assert isinstance(header, Header)
    changes = sum(kind not in _NO_CHANGES for _, kind in stamps)
    return LogEnd(header.lineage, changes, len(stamps), stamps[-1][0].n)


def _check_rising(stamps: Iterable[Stamp], log: str) -> None:
    last = -1
    for stamp in stamps:
        if stamp.n <= last:
            raise SessionFormatError(f"n is {stamp.n} after {last}", file=log, position=stamp.seq + 1)
        last = stamp.n


def _records(lines: Iterable[Line]) -> Iterator[tuple[Line, ChangeRecord]]:
    for line in lines:
        if not isinstance(line.record, Header | SavedValue | Retired):
            yield line, ChangeRecord(line.record, line.by, line.stamp.t)


def _folded(log: Log, lines: Iterable[Line]) -> Transcript:
    transcript = Transcript(clock=lambda: 0)
    for line, record in _records(lines):
        try:
            transcript.apply(record)
        except MismatchError as error:
            raise SessionFormatError(str(error), file=log.header.log, position=line.stamp.seq + 1) from error
    return transcript


def fold(log: Log, *, clock: Callable[[], int] = now_ms) -> Transcript:
    """The conversation a log holds; it continues that log.

    Raises:
        SessionFormatError: a change does not apply.

    """
    folded = _folded(log, log.lines)
    return Transcript.of_state(
        folded.state(), lineage=log.header.lineage, revision=folded.revision(), clock=clock
    )


def as_of(log: Log, n: int) -> Transcript:
    """The conversation as the records before record ``n`` of the session left it; it continues nothing."""
    return Transcript.of_state(_folded(log, (line for line in log.lines if line.stamp.n < n)).state())


def history(log: Log) -> list[tuple[Stamp, ChangeRecord | SavedValue | Retired]]:
    """Every record after the header with its stamp; changes have the time they were written at."""
    listed: list[tuple[Stamp, ChangeRecord | SavedValue | Retired]] = []
    for line in log.lines:
        if isinstance(line.record, SavedValue | Retired):
            listed.append((line.stamp, line.record))
        elif not isinstance(line.record, Header):
            listed.append((line.stamp, ChangeRecord(line.record, line.by, line.stamp.t)))
    return listed


def saved_values(log: Log) -> dict[str, JSON]:
    """The saved values: the newest of each key, without those that null removed."""
    values: dict[str, JSON] = {}
    for line in log.lines:
        if isinstance(line.record, SavedValue):
            values.pop(line.record.key, None)
            if line.record.value is not None:
                values[line.record.key] = line.record.value
    return values


def restorable(logs: Mapping[str, Log]) -> list[str]:
    """The agents that a restore brings back, in the order given: not retired, nor spawned by one that is."""

    def lives(name: str, seen: frozenset[str] = frozenset()) -> bool:
        log = logs.get(name)
        if log is None or name in seen:
            return log is None
        if any(isinstance(line.record, Retired) for line in log.lines):
            return False
        return log.header.parent is None or lives(log.header.parent, seen | {name})

    return [name for name in logs if lives(name)]


def main_agent(logs: Mapping[str, Log]) -> str | None:
    """The first by id among the agents that a restore brings back and nobody spawned."""
    return min((name for name in restorable(logs) if logs[name].header.parent is None), default=None)


def save_lines(transcript: Transcript, log: str, end: LogEnd | None, *, n: int, now: int) -> list[Line]:
    """The lines that save a transcript to a log that ends so (None: there is none); empty when all is saved.

    A log without changes takes any transcript: the unsaved records of one that began from nothing, one
    reset of any other. ``n`` is the first free place in the session, ``now`` stamps the records without a
    time. Afterwards the caller empties the outbox and calls ``continue_log`` with the log's lineage and
    number of changes.

    Raises:
        ConflictError: the log holds changes that the transcript does not continue; nothing is to be written.

    """
    lines: list[Line] = []
    if end is None:
        end = LogEnd(fresh_lineage(now), 0, 1, n)
        lines.append(Line(Stamp(0, n, now), Header(log, end.lineage)))
        n += 1
    if transcript.continues(end.lineage, end.changes):
        records = transcript.unsaved()
    elif end.changes == 0:
        records = [ChangeRecord(ResetChange(transcript.state()))]
    else:
        actual = (transcript.lineage(), transcript.revision() - len(transcript.unsaved()))
        raise ConflictError("log", expected=(end.lineage, end.changes), actual=actual)
    for place, record in enumerate(records):
        stamp = Stamp(end.seq + place, n + place, now if record.at is None else record.at)
        lines.append(Line(stamp, record.change, record.by))
    return lines


def fork_lines(log: Log, name: str, *, at: int | None = None, n: int, now: int) -> list[Line]:
    """A new log that holds a prefix of another: up to the latest turn boundary not after message ``at``.

    Through an answer it ends with that answer and what was recorded about it; through a request it ends
    before it. Without a message it is the whole log. The new log has its own lineage, every record its
    time, and the source's saved values as they are now.
    """
    changes = list(_records(log.lines))
    kept = len(changes) if at is None else _boundary(changes, at)
    lines = [Line(Stamp(0, n, now), Header(name, fresh_lineage(now)))]
    records: list[tuple[Record, Line | None]] = [(line.record, line) for line, _ in changes[:kept]]
    records += [(SavedValue(key, value), None) for key, value in saved_values(log).items()]
    for place, (record, line) in enumerate(records, 1):
        stamp = Stamp(place, n + place, now if line is None else line.stamp.t)
        lines.append(Line(stamp, record, None if line is None else line.by))
    return lines


def _boundary(changes: Sequence[tuple[Line, ChangeRecord]], at: int) -> int:
    """How many changes there are up to the latest turn boundary not after that message."""
    state, kept = State(), 0
    for place, (line, record) in enumerate(changes, 1):
        apply(state, record.change, line.stamp.t)
        if state.next_entry > at + 1:
            break
        if not last_is_users(state) and not pending_calls(state.entries):
            kept = place
    return kept
