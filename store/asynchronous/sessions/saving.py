"""Saving a conversation to a log, if the log is as its reader read it (``spec/rig.md`` 7.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from convostore.schemas import session_logs
from convostore.schemas.errors import NotFoundError
from convostore.schemas.session_blobs import take_out_blobs
from convostore.schemas.session_lines import (
    Header,
    Line,
    Retired,
    SavedValue,
    recovered_name,
    split_torn,
    write_line,
)
from convostore.schemas.session_logs import LogEnd
from convostore.schemas.transcript import Transcript
from convostore.schemas.transcript.outbox import now_ms
from convostore.store.asynchronous.sessions.stores import AsyncSessionStore

__all__ = ["save", "set_torn_aside", "write_lines"]


async def save(
    store: AsyncSessionStore, log: str, conversation: Transcript, *, clock: Callable[[], int] = now_ms
) -> None:
    """Append a conversation's unsaved records to a log, if and only if it continues that log.

    Without a log, one is started; a log without changes takes any conversation, whole. Of two that were
    loaded from the same log the second is refused. A torn last line is set aside first. Afterwards nothing is
    unsaved and the conversation continues the log. Records are not read: a change that does not apply is
    found by ``load``.

    Raises:
        ConflictError: the log holds other changes, or got some meanwhile; nothing was written.
        SessionFormatError: it is no log of this format; nothing was written.

    """
    try:
        data = await store.read_log(log)
    except NotFoundError:
        data = b""
    whole, torn = split_torn(data)
    end = session_logs.log_end(whole, log) if whole else None
    n = 0 if end is None else end.n + 1
    lines = session_logs.save_lines(conversation, log, end, n=n, now=clock())
    if torn:
        await set_torn_aside(store, log, data)
    if lines:
        await write_lines(store, log, len(whole), lines)
    settle(conversation, end, lines)


def settle(conversation: Transcript, end: LogEnd | None, lines: Sequence[Line]) -> None:
    """Let the conversation continue the log that ended so and has these lines since."""
    if end is None:
        header = lines[0].record
        assert isinstance(header, Header)
        end = LogEnd(header.lineage, 0, 0, 0)
    conversation.take_unsaved()
    conversation.continue_log(end.lineage, end.changes + count_changes(lines))


def count_changes(lines: Iterable[Line]) -> int:
    """How many of the lines are changes of the conversation."""
    return sum(not isinstance(line.record, Header | SavedValue | Retired) for line in lines)


async def set_torn_aside(store: AsyncSessionStore, log: str, data: bytes) -> None:
    """Put the last line of ``data``, which is all of the log and was cut off, into a file, and cut it away.

    Raises:
        ConflictError: the log has another length by now.

    """
    whole, torn = split_torn(data)
    await store.write_file(recovered_name(log, torn), torn)
    await store.replace_log(log, len(data), whole)


async def write_lines(store: AsyncSessionStore, log: str, length: int, lines: Sequence[Line]) -> int:
    """Append lines to a log of that length, the bytes of their images to files; how long it is then.

    Raises:
        ConflictError: the log has another length.

    """
    data = b"".join([write_line(line) for line in await without_images(store, lines)])
    await store.append_log(log, length, data)
    return length + len(data)


async def without_images(store: AsyncSessionStore, lines: Sequence[Line]) -> list[Line]:
    """The lines as they are written: with the bytes of their images in files."""
    plain: list[Line] = []
    for line in lines:
        record = line.record
        if not isinstance(record, Header | SavedValue | Retired):
            record, files = take_out_blobs(record)
            for name, held in files.items():
                await store.write_file(name, held)
        plain.append(replace(line, record=record))
    return plain
