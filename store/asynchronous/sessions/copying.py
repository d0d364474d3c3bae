"""Forks of logs, and sessions written anew without something (``spec/rig.md`` 7.7, 7.9)."""

from __future__ import annotations

import json
from collections.abc import Callable

from convostore.schemas import session_logs
from convostore.schemas.authors import Author
from convostore.schemas.errors import NotFoundError
from convostore.schemas.json_values import JSON, check_json, dump_text
from convostore.schemas.session_blobs import BLOBS
from convostore.schemas.session_files import RECOVERED, blob_files
from convostore.schemas.session_lines import write_line
from convostore.schemas.session_logs import Log
from convostore.schemas.session_rewriting import rewritten_lines
from convostore.schemas.transcript.outbox import now_ms
from convostore.store.asynchronous.sessions.reading import put_images_back, read_logs, read_whole_log
from convostore.store.asynchronous.sessions.saving import without_images, write_lines
from convostore.store.asynchronous.sessions.stores import AsyncSessionStore

__all__ = ["fork", "rewrite"]


async def fork(
    store: AsyncSessionStore,
    log: str,
    name: str,
    *,
    at: int | None = None,
    into: AsyncSessionStore | None = None,
    clock: Callable[[], int] = now_ms,
) -> None:
    """Write a new log ``name`` that holds a prefix of another, in the same session or ``into`` another one.

    It ends at the latest turn boundary not after message ``at``, without it with the log. Record by record,
    so history works in it, ids, times and asides are the same; its lineage is its own.

    Raises:
        NotFoundError: there is no log to fork.
        ConflictError: there is a log of the new name.
        SessionFormatError: the log does not read.

    """
    target = store if into is None else into
    found = await read_whole_log(store, log)
    if found is None:
        raise NotFoundError("log", log)
    held = await read_logs(target, images=False)
    ends = [(one.lines[-1].stamp if one.lines else one.stamp).n for one in held.values()]
    n = max(ends, default=-1) + 1
    await write_lines(target, name, 0, session_logs.fork_lines(found, name, at=at, n=n, now=clock()))


async def rewrite(
    store: AsyncSessionStore,
    rewriter: Callable[[JSON], JSON],
    *,
    by: Author,
    clock: Callable[[], int] = now_ms,
) -> None:
    """Give every message, aside's value and saved value to ``rewriter`` and write what it gives, log by log.

    Files of JSON go through it too; files of images that nothing refers to any more, and torn lines that were
    set aside, are removed. Each log gets a fresh lineage, so that what was loaded before cannot be saved, and
    its header says ``by`` whom and when. A call that was cut off is finished by calling again.

    Raises:
        SessionFormatError: a log does not read; nothing was written.
        ConflictError: a log was written to meanwhile; call again.
        InvalidRecordError: ``rewriter`` gave what is no JSON.

    """
    logs: dict[str, tuple[int, Log]] = {}
    for name in sorted(await store.logs()):
        data = await store.read_log(name)
        logs[name] = len(data), await put_images_back(store, session_logs.read_log(data, name))
    kept: set[str] = set()
    for name, (length, log) in logs.items():
        lines = await without_images(store, rewritten_lines(log, rewriter, by=by, now=clock()))
        data = b"".join(map(write_line, lines))
        await store.replace_log(name, length, data)
        kept |= set(blob_files(session_logs.read_log(data, name)))
    for name in await store.files():
        if name.startswith(BLOBS):
            if name not in kept:
                await store.remove_file(name)
        elif name.startswith(RECOVERED):
            await store.remove_file(name)
        else:
            await _rewrite_file(store, name, rewriter)


async def _rewrite_file(store: AsyncSessionStore, name: str, rewriter: Callable[[JSON], JSON]) -> None:
    data = await store.read_file(name)
    try:
        value = json.loads(data)
    except ValueError:
        return  # a file of another kind: the rewriter knows values only
    written = rewriter(value)
    check_json(written, name)
    await store.write_file(name, dump_text(written).encode())
