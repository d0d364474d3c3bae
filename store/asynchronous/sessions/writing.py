"""Writing a running session: its agents' logs, saved values, in one order over all (``spec/rig.md`` 7.6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from convostore.schemas import session_logs
from convostore.schemas.errors import ConvostoreError, NotFoundError
from convostore.schemas.json_values import JSON, check_json
from convostore.schemas.session_lines import Header, Line, Retired, SavedValue, Stamp, split_torn
from convostore.schemas.session_logs import LogEnd
from convostore.schemas.transcript import Transcript, fresh_lineage
from convostore.schemas.transcript.outbox import now_ms
from convostore.store.asynchronous.sessions.reading import AsyncSession
from convostore.store.asynchronous.sessions.saving import count_changes, set_torn_aside, settle, write_lines
from convostore.store.asynchronous.sessions.stores import AsyncSessionStore
from convostore.store.session_names import SESSION_LOG, log_name

__all__ = ["AsyncSessionWriter"]


@dataclass(slots=True)
class _Place:
    end: LogEnd
    length: int


class AsyncSessionWriter:
    """Logs a session while it runs; one without a store logs nothing.

    Nothing is logged before :meth:`start`. After a failed write nothing more is logged: every later call
    raises what the first one raised, which :attr:`failure` gives.
    """

    def __init__(self, store: AsyncSessionStore | None = None, *, clock: Callable[[], int] = now_ms) -> None:
        self._store = store
        self._clock = clock
        self._places: dict[str, _Place] = {}
        self._started = False
        self._next = 0
        self.failure: ConvostoreError | None = None
        """What made it stop, if anything did."""

    @classmethod
    async def open(
        cls, store: AsyncSessionStore, *, clock: Callable[[], int] = now_ms
    ) -> tuple[AsyncSessionWriter, AsyncSession]:
        """A writer that goes on with a session, and the session without agents that are gone.

        Torn last lines are set aside.

        Raises:
            SessionFormatError: a log does not read; nothing was written.

        """
        session = await AsyncSession.read(store, clock=clock)
        writer = cls(store, clock=clock)
        for name in (*session.agents, SESSION_LOG):
            try:
                data = await store.read_log(name)
            except NotFoundError:
                continue
            whole, torn = split_torn(data)
            if torn:
                await set_torn_aside(store, name, data)
            place = _Place(session_logs.log_end(whole, name), len(whole))
            writer._places[name] = place
            writer._next = max(writer._next, place.end.n + 1)
        session.agents = {name: session.agents[name] for name in session.restorable}
        return writer, session

    def start(self) -> None:
        """Log from now on."""
        self._started = True

    @property
    def logs(self) -> bool:
        """Whether what is written now is logged."""
        return self._started and self._store is not None and self.failure is None

    async def open_log(self, log: str, parent: str | None = None) -> None:
        """Start an agent's log unless it has one; ``parent`` is the agent that spawned it.

        Raises:
            ConflictError: another writer started it meanwhile.

        """
        log_name(log)
        if self._logging() and log not in self._places:
            header = Header(log, fresh_lineage(self._clock()), parent)
            end = LogEnd(header.lineage, 0, 0, -1)
            await self._write(log, _Place(end, 0), [Line(Stamp(0, self._next, self._clock()), header)])

    async def save(self, log: str, conversation: Transcript) -> None:
        """Append a conversation's unsaved records; nothing when nothing is logged.

        Raises:
            ConflictError: the conversation does not continue the log, or another writer was there.

        """
        await self.open_log(log)
        if not self._logging():
            return
        end = self._places[log].end
        try:
            lines = session_logs.save_lines(conversation, log, end, n=self._next, now=self._clock())
        except ConvostoreError as error:
            self.failure = error
            raise
        if lines:
            await self._write(log, self._places[log], lines)
        settle(conversation, end, lines)

    async def put_value(self, log: str, key: str, value: JSON) -> None:
        """Save a value under a key, in an agent's log or in that of the session; null removes it.

        Raises:
            InvalidRecordError: it is no JSON.

        """
        check_json(value, "value")
        await self._record(log, SavedValue(key, value))

    async def retire(self, log: str) -> None:
        """Say that an agent is gone for good."""
        await self._record(log, Retired())

    async def _record(self, log: str, record: SavedValue | Retired) -> None:
        await self.open_log(log)
        if self._logging():
            place = self._places[log]
            stamp = Stamp(place.end.seq, self._next, self._clock())
            await self._write(log, place, [Line(stamp, record)])

    def _logging(self) -> bool:
        if self.failure is not None:
            raise self.failure
        return self.logs

    async def _write(self, log: str, place: _Place, lines: Sequence[Line]) -> None:
        assert self._store is not None
        try:
            length = await write_lines(self._store, log, place.length, lines)
        except ConvostoreError as error:
            self.failure = error
            raise
        last = lines[-1].stamp
        changes = place.end.changes + count_changes(lines)
        self._places[log] = _Place(LogEnd(place.end.lineage, changes, last.seq + 1, last.n), length)
        self._next = last.n + 1
