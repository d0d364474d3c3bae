"""Conversations from saved sessions and back, as the store's calls make them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.identifiers import check_user
from convostore.store import faults, parameters
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._session_exchange import export_session, import_session
from convostore.store.asynchronous.sessions.stores import AsyncSessionStore
from convostore.store.codec import encode_u64
from convostore.store.exchanging import ExportReport, ImportReport
from convostore.store.parameters import UNSET, Unset

__all__ = ["AsyncSavedSessions"]


class AsyncSavedSessions:
    """Saved sessions, ``rig-session/4``, in exchange with conversations. Record by record: history, ids,
    times and asides are the same on both sides.
    """

    def __init__(self, opened: Callable[[], Awaitable[AsyncBackend]], ids: Callable[[], int] | None) -> None:
        self._opened = opened
        self._ids = ids

    async def load(
        self, session: AsyncSessionStore, *, user: str, name: str, dry_run: bool = False
    ) -> ImportReport:
        """Make a conversation of ``user`` from each agent's log; a repeat imports nothing twice.

        ``name`` is the session's. A log that grew since its import brings its new changes, unless the
        conversation went on here as well. Saved values, the session's own log and its files go along beside
        the conversations. Torn last lines are left out and noted; nothing of the session is changed.

        Raises:
            SessionFormatError: a log does not read; nothing was written.

        """
        owner = check_user(user)
        named = parameters.plain_text(name, "name")
        parameters.flag(dry_run, "dry_run")
        backend = await self._opened()
        with faults.translated("import"):
            return await import_session(backend, self._ids, session, user=owner, name=named, dry_run=dry_run)

    async def save(
        self, session: AsyncSessionStore, ids: Sequence[int], *, user: str | Unset = UNSET
    ) -> ExportReport:
        """Write the conversations as the agents of one session, each with all that it brought from one.

        A log that is there already must be the beginning of what is written. Messages of other dialects are
        said in rig's words, which the report counts; tokens have no place in a session.

        Raises:
            NotFoundError: there is no such conversation for that user.
            ConflictError: a log of that name holds something else.

        """
        owner = parameters.one_user(user)
        if isinstance(ids, (str, bytes)) or not isinstance(ids, Sequence):
            raise InvalidRecordError("ids", "must be a list of ids")
        checked = [parameters.conversation_id(id) for id in ids]
        backend = await self._opened()
        scope = {} if owner is None else {"user": owner}
        with faults.translated("export"):
            return await export_session(
                backend, session, [{"_id": encode_u64(id), **scope} for id in checked]
            )
