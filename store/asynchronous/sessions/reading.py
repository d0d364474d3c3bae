"""Reading saved sessions: strictly, and without writing anything (``spec/rig.md`` 7.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from convostore.schemas import session_logs
from convostore.schemas.errors import NotFoundError, SessionFormatError
from convostore.schemas.json_values import JSON
from convostore.schemas.session_files import blob_files, with_blobs
from convostore.schemas.session_lines import Retired, SavedValue, Stamp
from convostore.schemas.session_logs import Log
from convostore.schemas.transcript import ChangeRecord, Transcript
from convostore.schemas.transcript.outbox import now_ms
from convostore.store.asynchronous.sessions.stores import AsyncSessionSource, AsyncSessionStore
from convostore.store.session_names import SESSION_LOG

__all__ = [
    "Agent",
    "AsyncSession",
    "as_of",
    "history",
    "load",
    "put_images_back",
    "read_conversation",
    "read_logs",
    "read_whole_log",
]


async def read_whole_log(store: AsyncSessionSource, log: str, *, images: bool = True) -> Log | None:
    """The log as it stands, with its images put back; None when there is none.

    Raises:
        SessionFormatError: it does not read; with log, line and reason.

    """
    try:
        data = await store.read_log(log)
    except NotFoundError:
        return None
    read = session_logs.read_log(data, log)
    return await put_images_back(store, read) if images else read


async def put_images_back(store: AsyncSessionSource, log: Log) -> Log:
    """The log with the bytes of its images, as far as their files are there."""
    files: dict[str, bytes] = {}
    for name in blob_files(log):
        try:
            files[name] = await store.read_file(name)
        except NotFoundError:
            continue
    return with_blobs(log, files)


async def load(store: AsyncSessionStore, log: str, *, clock: Callable[[], int] = now_ms) -> Transcript:
    """The conversation that a log holds; it continues that log. An empty one when there is no log.

    Raises:
        SessionFormatError: the log does not read; with log, line and reason.

    """
    found = await read_whole_log(store, log)
    return Transcript(clock=clock) if found is None else session_logs.fold(found, clock=clock)


async def history(
    store: AsyncSessionStore, log: str
) -> list[tuple[Stamp, ChangeRecord | SavedValue | Retired]]:
    """Every record behind the header with its stamp, oldest first; none when there is no log."""
    found = await read_whole_log(store, log)
    return [] if found is None else session_logs.history(found)


async def as_of(store: AsyncSessionStore, log: str, n: int) -> Transcript:
    """The conversation as the records before record ``n`` of the session left it; it continues nothing."""
    found = await read_whole_log(store, log)
    return Transcript() if found is None else session_logs.as_of(found, n)


@dataclass(slots=True)
class Agent:
    """One agent of a session: its conversation, its saved values, who spawned it, whether it is gone."""

    name: str
    conversation: Transcript
    values: dict[str, JSON] = field(default_factory=dict)
    parent: str | None = None
    retired: bool = False


@dataclass(slots=True)
class AsyncSession:
    """A saved session as it was read.

    ``agents`` are all of them, by name, in the order their logs were started, those that are retired
    included; ``values`` the session's own saved values; ``torn`` the bytes of last lines that were cut off,
    by log; ``unreadable`` why a log was set aside, by log, after :meth:`read_lenient` only.
    """

    agents: dict[str, Agent] = field(default_factory=dict)
    values: dict[str, JSON] = field(default_factory=dict)
    torn: dict[str, bytes] = field(default_factory=dict)
    unreadable: dict[str, SessionFormatError] = field(default_factory=dict)
    restorable: tuple[str, ...] = ()
    """The agents that a restore brings back: not retired, nor spawned by one that is."""
    main_agent: str | None = None
    """The first by id of those that nobody spawned."""

    @classmethod
    async def read(cls, store: AsyncSessionStore, *, clock: Callable[[], int] = now_ms) -> AsyncSession:
        """Read a session whole or not at all; nothing is written.

        Raises:
            SessionFormatError: a log of it does not read; with log, line and reason.

        """
        return cls._of(await read_logs(store), clock)

    @classmethod
    async def read_lenient(
        cls, store: AsyncSessionStore, *, clock: Callable[[], int] = now_ms
    ) -> AsyncSession:
        """As :meth:`read`, but each log that does not read is set aside, with why."""
        logs: dict[str, Log] = {}
        unreadable: dict[str, SessionFormatError] = {}
        for name in sorted(await store.logs()):
            try:
                found = await read_whole_log(store, name)
            except SessionFormatError as error:
                unreadable[name] = error
            else:
                logs |= {} if found is None else {name: found}
        session = cls._of(in_order(logs), clock)
        session.unreadable = unreadable
        return session

    @classmethod
    def _of(cls, logs: Mapping[str, Log], clock: Callable[[], int]) -> AsyncSession:
        own = logs.get(SESSION_LOG)
        theirs = {name: log for name, log in logs.items() if name != SESSION_LOG}
        return cls(
            {
                name: Agent(
                    name,
                    session_logs.fold(log, clock=clock),
                    session_logs.saved_values(log),
                    log.header.parent,
                    any(isinstance(line.record, Retired) for line in log.lines),
                )
                for name, log in theirs.items()
            },
            {} if own is None else session_logs.saved_values(own),
            {name: log.torn for name, log in logs.items() if log.torn},
            {},
            tuple(session_logs.restorable(theirs)),
            session_logs.main_agent(theirs),
        )


async def read_logs(store: AsyncSessionSource, *, images: bool = True) -> dict[str, Log]:
    """Every log of a session, in the order they were started.

    Raises:
        SessionFormatError: one of them does not read.

    """
    logs: dict[str, Log] = {}
    for name in sorted(await store.logs()):
        found = await read_whole_log(store, name, images=images)
        if found is not None:
            logs[name] = found
    return in_order(logs)


def in_order(logs: Mapping[str, Log]) -> dict[str, Log]:
    """The logs in the order they were started."""
    return dict(sorted(logs.items(), key=lambda item: (item[1].stamp.n, item[1].stamp.t)))


async def read_conversation(
    store: AsyncSessionStore, agent: str | None = None, *, clock: Callable[[], int] = now_ms
) -> Transcript:
    """One agent's conversation, the main agent's when none is named; nothing is written.

    Raises:
        NotFoundError: there is no such agent, or no main one.
        SessionFormatError: its log does not read.

    """
    if agent is None:
        logs = await read_logs(store, images=False)
        logs.pop(SESSION_LOG, None)
        agent = session_logs.main_agent(logs)
    found = None if agent is None else await read_whole_log(store, agent)
    if found is None:
        raise NotFoundError("agent", agent)
    return session_logs.fold(found, clock=clock)
