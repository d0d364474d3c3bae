"""The store: its calls come in groups, each checked in a module of its own, planned by pure code, carried
out by the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal

from convostore.schemas.conversations import ConversationStatus
from convostore.schemas.formats import ReadOptions
from convostore.schemas.identifiers import check_user
from convostore.store import parameters
from convostore.store.asynchronous import (
    _checking,
    _setup,
    exchange,
    places,
)
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._connecting import AsyncConnection
from convostore.store.asynchronous._list_calls import ListCalls, conversations_wanted
from convostore.store.asynchronous._past_calls import PastCalls
from convostore.store.asynchronous._queue_calls import QueueCalls
from convostore.store.asynchronous._record_calls import RecordCalls
from convostore.store.asynchronous.analytics import AsyncAnalytics
from convostore.store.asynchronous.migrations import AsyncMigrations
from convostore.store.asynchronous.resources import AsyncResources
from convostore.store.asynchronous.saved_sessions import AsyncSavedSessions
from convostore.store.asynchronous.users import AsyncUserStore
from convostore.store.exchanging import ExportReport, ImportReport
from convostore.store.layout import Bounds
from convostore.store.parameters import UNSET, Unset, UserScope
from convostore.store.results import (
    CheckReport,
    SetupReport,
)

__all__ = ["AsyncConversationStore"]

_LONGEST_URI = 8192


class AsyncConversationStore(RecordCalls, QueueCalls, PastCalls, ListCalls):
    """Conversations of LLM agents in one MongoDB database.

    ``database`` is a pymongo ``AsyncDatabase`` or a Motor database (or, for unit tests, a mongomock one); it
    is neither opened nor closed here. :meth:`connect` makes a store that owns its client. ``prefix`` goes
    before every collection's name; ``clock`` gives milliseconds since 1970; ``ids`` gives conversation ids in
    place of the counter; ``timeout`` bounds each call, in seconds.

    Every call that names a conversation takes ``user=``: given, a conversation of another user is not found;
    left out, it is the operator's call. Calls over many take ``user="..."`` or ``user=ALL_USERS``. Every
    write is acknowledged by a majority and journalled; every read goes to the primary. Calls raise the errors
    of :mod:`convostore.schemas.errors`; ``UnavailableError`` may come from any of them.
    """

    def __init__(
        self,
        database: Any,
        *,
        prefix: str = "",
        clock: Callable[[], int] | None = None,
        ids: Callable[[], int] | None = None,
        timeout: float | None = 30.0,
        bounds: Bounds | None = None,
    ) -> None:
        self._connection: AsyncConnection | None = None
        self._backend: AsyncBackend | None = None
        if isinstance(database, AsyncConnection):
            self._connection = database
        else:
            self._backend = AsyncBackend(database, prefix=prefix, clock=clock, timeout=timeout, bounds=bounds)
        self._ids = ids

    @classmethod
    def connect(
        cls,
        uri: str | None = None,
        *,
        prefix: str = "",
        clock: Callable[[], int] | None = None,
        ids: Callable[[], int] | None = None,
        timeout: float | None = 30.0,
        bounds: Bounds | None = None,
    ) -> AsyncConversationStore:
        """A store on a ``mongodb://`` or ``embedded:PATH`` URI; else on ``CONVOSTORE_URI``, else
        ``embedded:``.

        The database is the one the URI names, else ``convostore``. The client connects, and the engine
        starts, at ``with`` or at the first call; both end at ``close`` or at the end of ``with``.
        """
        connection = AsyncConnection(uri, prefix=prefix, clock=clock, timeout=timeout, bounds=bounds)
        return cls(connection, ids=ids)

    async def __aenter__(self) -> AsyncConversationStore:
        await self._opened()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the client and leave the engine, when :meth:`connect` made them."""
        if self._connection is not None:
            await self._connection.close()

    def for_user(self, user: str) -> AsyncUserStore:
        """The same store for one user only: no call of it takes a user or leads to another one's
        conversations.
        """
        return AsyncUserStore(self, check_user(user))

    @property
    def resources(self) -> AsyncResources:
        """The resources that conversations refer to."""
        return AsyncResources(self._opened, self._ids)

    @property
    def analytics(self) -> AsyncAnalytics:
        """Figures over time: usage by period."""
        return AsyncAnalytics(self._opened)

    @property
    def migrations(self) -> AsyncMigrations:
        """Migrations between schema versions: where the database stands, and running them."""
        return AsyncMigrations(self._opened)

    @property
    def saved_sessions(self) -> AsyncSavedSessions:
        """Saved sessions of agents in exchange with conversations."""
        return AsyncSavedSessions(self._opened, self._ids)

    async def setup(self, *, dry_run: bool = False) -> SetupReport:
        """Make the collections, validators and indexes that are missing; safe to call at every start.

        One round trip when there is nothing to do. With ``dry_run`` nothing is made. Documents of an older
        release stay as they are, and the report's ``schema_version`` is that of the database: ``migrations``
        raises it.

        Raises:
            ConflictError: a collection of the same name holds something else.
            SchemaVersionError: a newer release set the database up.

        """
        backend = await self._opened()
        with backend.call("setup"):
            return await _setup.setup(backend, dry_run=parameters.flag(dry_run, "dry_run"))

    async def check(self, *, user: UserScope = parameters.ALL_USERS, repair: bool = False) -> CheckReport:
        """Check every invariant of what is stored; with ``repair`` remove what crashes left, when it is old.

        What is broken is reported, never touched. Takes a few round trips a conversation; the timeout is each
        one's.
        """
        owner = parameters.many_users(user)
        mend = parameters.flag(repair, "repair")
        return await _checking.check(await self._opened(), owner, repair=mend)

    async def import_conversations(
        self,
        source: bytes | IO[bytes] | Iterable[bytes],
        *,
        format: str = "auto",
        user: str | Unset = UNSET,
        file: str | None = None,
        branches: Literal["all", "active"] = "all",
        dry_run: bool = False,
        version: int | None = None,
        collection: str | None = None,
        field_names: Mapping[int, str] | None = None,
        into: int | None = None,
        messages_offset: int | None = None,
        artifacts_offset: int | None = None,
        on_progress: Callable[[ImportReport], object] | None = None,
    ) -> ImportReport:
        """Store what an export of this or another program holds; a repeat imports nothing twice.

        ``source`` is read by calls that block. ``format`` is ``auto``, which looks at the content, or a name
        of ``convostore.schemas.formats.FORMATS``; of a zip file the conversations and the files they
        name are taken. ``user`` owns all that is imported; left out, each conversation belongs to the user it
        names. ``file`` is noted as where it came from. A conversation is recognised by its identity in the
        source: an equal one is left alone, a changed one brought up to date, never shortened. Its id is kept
        when free, and links between conversations follow those that were renumbered. It is ``completed``
        unless the source states a status. Every branch beside the active one becomes a fork of what it
        leaves; ``branches="active"`` skips them. Bytes of resources go to ``resources``, once per user. The
        rest is for the ``anda`` format (``convostore.schemas.formats.ReadOptions``); ``into`` is the stored
        id that a delta belongs to. With ``dry_run`` nothing is written. What cannot be read or stored is in
        the report and stops nothing else.

        Raises:
            ImportFormatError: nothing of the source could be read.
            InvalidRecordError: the format names no user and none is given.
            QueryError: there is no such format, or ``branches`` is neither.

        """
        owner = parameters.one_user(user)
        if into is not None:
            parameters.conversation_id(into, "into")
        for value, name in ((messages_offset, "messages_offset"), (artifacts_offset, "artifacts_offset")):
            if value is not None:
                parameters.offset(value, name)
        if collection is not None:
            parameters.plain_text(collection, "collection")
        options = ReadOptions(
            owner, file, version, collection, field_names, messages_offset, artifacts_offset
        )
        return await exchange.import_conversations(
            await self._opened(),
            self._ids,
            source,
            format=format,
            options=options,
            into=into,
            branches=branches,
            dry_run=parameters.flag(dry_run, "dry_run"),
            on_progress=on_progress,
        )

    async def import_folder(
        self,
        folder: str | Path,
        *,
        format: str = "auto",
        user: str | Unset = UNSET,
        collection: str | None = None,
        branches: Literal["all", "active"] = "all",
        dry_run: bool = False,
        on_progress: Callable[[ImportReport], object] | None = None,
    ) -> ImportReport:
        """Store what the files of a folder, and of those below it, hold together.

        That is the data directory of an AndaDB, or a dump of ``mongodump`` or files of ``mongoexport`` of a
        program that :meth:`import_database` knows. ``collection`` leaves out AndaDB's collections of other
        names; of its resources those are taken that conversations name. Compressed files are read, too; what
        holds no conversations is left out and noted. The rest is as in :meth:`import_conversations`.

        Raises:
            ImportFormatError: the files hold no conversations, or those of several programs.
            InvalidRecordError: the format names no user and none is given.
            OSError: a file cannot be read.
            QueryError: there is no such format, or ``branches`` is neither.

        """
        if collection is not None:
            parameters.plain_text(collection, "collection")
        options = ReadOptions(parameters.one_user(user), collection=collection)
        return await places.import_folder(
            await self._opened(),
            self._ids,
            Path(folder),
            format=format,
            options=options,
            branches=branches,
            dry_run=parameters.flag(dry_run, "dry_run"),
            on_progress=on_progress,
        )

    async def import_database(
        self,
        uri: str,
        *,
        format: str = "auto",
        user: str | Unset = UNSET,
        collection: str | None = None,
        branches: Literal["all", "active"] = "all",
        dry_run: bool = False,
        on_progress: Callable[[ImportReport], object] | None = None,
    ) -> ImportReport:
        """Store the conversations that another program keeps in a live MongoDB, which is only read.

        ``uri`` names the server and, where it holds several, the database. Which program it is shows in the
        documents of its collections; ``format``, and ``collection`` where it has several of a kind, say it
        where it does not. Documents are streamed, one conversation in memory at a time. Of the URI nothing
        is stored or told but the names of database and collection. The rest is as in
        :meth:`import_conversations`.

        Raises:
            ImportFormatError: it holds no conversations, or several kinds of them; the error names them.
            InvalidRecordError: the format names no user and none is given.
            QueryError: there is no such format, or ``branches`` is neither.
            UnavailableError: the server does not answer, or may not be read.

        """
        if collection is not None:
            parameters.plain_text(collection, "collection")
        options = ReadOptions(parameters.one_user(user), collection=collection)
        return await places.import_database(
            await self._opened(),
            self._ids,
            parameters.plain_text(uri, "uri", most=_LONGEST_URI),
            format=format,
            options=options,
            branches=branches,
            dry_run=parameters.flag(dry_run, "dry_run"),
            on_progress=on_progress,
        )

    async def export_conversations(
        self,
        write: Callable[[bytes], Any],
        *,
        user: UserScope,
        thread: str | None = None,
        status: ConversationStatus | str | Sequence[ConversationStatus | str] | None = None,
        label: str | None = None,
        since: int | None = None,
        until: int | None = None,
        format: str = "convostore",
        version: int = 4,
        strict: bool = False,
        on_progress: Callable[[ExportReport], object] | None = None,
    ) -> ExportReport:
        """Give the conversations that :meth:`find` would give to ``write``, in pieces, the lowest id first.

        ``format`` is ``convostore`` (everything; the same data give the same bytes), ``anda`` (records as the
        writer of schema ``version`` has them), ``openai`` (chat JSON Lines), ``anthropic`` (messages, JSON
        Lines), ``sharegpt`` (an array) or ``parquet`` (a row a message; extra ``analytics``). What a format
        cannot say is in the report; ``strict`` makes it an error. Memory does not grow with what is exported.

        Raises:
            QueryError: a condition makes no sense, there is no such format, or it is one of
                :meth:`export_files`.
            SchemaVersionError: with ``strict``, a record holds what its format or version cannot say.
            UnavailableError: the format needs an extra that is not installed.

        """
        wanted = conversations_wanted(user, thread, status, label, since, until)
        return await exchange.export_conversations(
            await self._opened(),
            write,
            wanted,
            format=format,
            version=version,
            strict=parameters.flag(strict, "strict"),
            on_progress=on_progress,
        )

    async def export_files(
        self,
        create: Callable[[str], AbstractContextManager[Callable[[bytes], Any]]],
        *,
        user: UserScope,
        thread: str | None = None,
        status: ConversationStatus | str | Sequence[ConversationStatus | str] | None = None,
        label: str | None = None,
        since: int | None = None,
        until: int | None = None,
        format: str,
        strict: bool = False,
        on_progress: Callable[[ExportReport], object] | None = None,
    ) -> ExportReport:
        """As :meth:`export_conversations`, for formats that have a file for each conversation.

        ``format`` is ``markdown``, ``html`` or ``librechat``, whose files also hold the forks of a
        conversation that are wanted too. ``create`` is called with the name of each file
        and gives a context in which its bytes are written; an error leaves that context, too.

        Raises:
            QueryError: a condition makes no sense, there is no such format, or it is one of
                :meth:`export_conversations`.
            SchemaVersionError: with ``strict``, a record holds what the format cannot say.

        """
        wanted = conversations_wanted(user, thread, status, label, since, until)
        return await exchange.export_files(
            await self._opened(),
            create,
            wanted,
            format=format,
            strict=parameters.flag(strict, "strict"),
            on_progress=on_progress,
        )
