"""The store: every call of design 5, checked here, planned by pure code, carried out by the modules beside
this one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import IO, Any, Literal

from convostore.schemas.conversations import Conversation, ConversationDelta, ConversationStatus
from convostore.schemas.entries import Entry, Page, Source
from convostore.schemas.errors import InvalidRecordError, QueryError
from convostore.schemas.formats import ReadOptions
from convostore.schemas.identifiers import check_label, check_thread, check_user
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource
from convostore.schemas.transcript import Transcript
from convostore.schemas.translation import translated
from convostore.store import baselines, parameters, requests
from convostore.store.asynchronous import (
    _appending,
    _checking,
    _creating,
    _editing,
    _forking,
    _listing,
    _queues,
    _reading,
    _removing,
    _rewriting,
    _saving,
    _setup,
    _states,
    _transcripts,
    exchange,
)
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._connecting import AsyncConnection
from convostore.store.asynchronous._watching import AsyncWatch
from convostore.store.asynchronous.analytics import AsyncAnalytics
from convostore.store.asynchronous.resources import AsyncResources
from convostore.store.asynchronous.saved_sessions import AsyncSavedSessions
from convostore.store.asynchronous.users import AsyncUserStore
from convostore.store.codec import encode_u64
from convostore.store.exchanging import ExportReport, ImportReport
from convostore.store.finding import Wanted
from convostore.store.heads import HEAD_FIELDS, conversation_head
from convostore.store.layout import Bounds
from convostore.store.paging import PageRequest
from convostore.store.parameters import UNSET, Unset, UserScope
from convostore.store.queues import QueueName
from convostore.store.results import (
    Appended,
    CheckReport,
    ConversationHead,
    Deleted,
    Queued,
    Rewritten,
    Saved,
    SetupReport,
)
from convostore.store.saying import said_in
from convostore.store.timeline import Revision

__all__ = ["AsyncConversationStore"]

MOST_IDS = 1000
MOST_MESSAGES = 5000
MOST_HEADS = 1000


class AsyncConversationStore:
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

    async def _opened(self) -> AsyncBackend:
        if self._connection is not None:
            return await self._connection.open()
        assert self._backend is not None
        return self._backend

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
    def saved_sessions(self) -> AsyncSavedSessions:
        """Saved sessions of agents in exchange with conversations."""
        return AsyncSavedSessions(self._opened, self._ids)

    # Setting up and looking after

    async def setup(self, *, dry_run: bool = False) -> SetupReport:
        """Make the collections, validators and indexes that are missing; safe to call at every start.

        One round trip when there is nothing to do. With ``dry_run`` nothing is made.

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
        writer of schema ``version`` has them) or ``openai`` (chat JSON Lines). What a format cannot say is in
        the report; ``strict`` makes it an error. Memory does not grow with what is exported.

        Raises:
            QueryError: a condition makes no sense, or there is no such format.
            SchemaVersionError: with ``strict``, a record holds what its version cannot say.

        """
        wanted = _wanted(user, thread, status, label, since, until)
        return await exchange.export_conversations(
            await self._opened(),
            write,
            wanted,
            format=format,
            version=version,
            strict=parameters.flag(strict, "strict"),
            on_progress=on_progress,
        )

    # One conversation

    async def create(
        self,
        conversation: Conversation,
        *,
        source: Source | None = None,
        unknown: Mapping[str, JSON] | None = None,
    ) -> Conversation:
        """Store a new conversation; the same object, now with id, times and what the store notes on it.

        An id of 0 is replaced by the next free one; another is honoured when free, and later ids are above
        it. Times of 0 become the present. ``source`` (unique per user and format) and ``unknown`` lie beside
        the record. Round trips: 2, with ``ids=`` of the caller's 1; a long one takes more.

        Raises:
            ConflictError: the id or the source is held already; whose it is is not said.
            InvalidRecordError, TooLargeError: something in it cannot be stored.

        """
        record = _record(conversation)
        backend = await self._opened()
        draft = _creating.draft_of(backend, record, source=source, unknown=unknown)
        with backend.call("create"):
            return await _creating.create(backend, draft, self._ids)

    async def get(self, id: int, *, user: str | Unset = UNSET) -> Conversation:
        """The whole record, at one version. Round trips: 1, +1 with older messages, +1 with large ones.

        Raises:
            NotFoundError: there is none of that id for that user.

        """
        backend, owner = await self._owner(id, user, "get")
        with backend.call("get"):
            return await _reading.read_record(backend, owner, comment="get")

    async def head(self, id: int, *, user: str | Unset = UNSET) -> ConversationHead:
        """The record without its lists, with counts and version, in one round trip."""
        backend, owner = await self._owner(id, user, "head")
        fields = None if backend.engine == "mongomock" else HEAD_FIELDS
        with backend.call("head"):
            return conversation_head(await _reading.read_head(backend, owner, fields, comment="head"))

    async def save(
        self, conversation: Conversation, *, user: str | Unset = UNSET, force: bool = False
    ) -> Saved:
        """Store what changed in a record since it was read or saved, in one update; nothing when nothing did.

        What others changed meanwhile is taken in first when it is something else; the record then holds both.
        Queues are no part of it. ``cancelled`` stays under a save that brings submitted, working or idle;
        ``force`` lets any status follow. Round trips: 0 or 1, more after another writer.

        Raises:
            ConflictError: the same member was changed by another writer; ``expected`` is what it was when
            read. InvalidRecordError: it was never stored, or a queue, the id, user, ancestors or times of
            creation
                were changed.
            StatusError: the status may not follow.

        """
        record = _record(conversation)
        baselines.baseline(record)
        parameters.flag(force, "force")
        backend, owner = await self._owner(_stored_id(record), _same_user(record, user), "save")
        with backend.call("save"):
            return await _saving.save(backend, record, owner, force=force)

    async def append(
        self,
        target: int | Conversation,
        messages: JSON | Sequence[JSON] = (),
        *,
        user: str | Unset = UNSET,
        artifacts: Resource | Sequence[Resource] | None = None,
        resources: Resource | Sequence[Resource] | None = None,
        usage: Any = None,
        usage_errors: Literal["raise", "report"] = "raise",
        model: str | None = None,
        status: ConversationStatus | str | None = None,
        author: Any = None,
        dialect: str | None = None,
        key: str | None = None,
        keys: Sequence[str] | None = None,
        took: str | None = None,
        expected: int | None = None,
        unfinished: bool = False,
        force: bool = False,
    ) -> Appended:
        """Append one message or a list, all or none, in one round trip whose cost does not grow with the
        history.

        ``usage`` is added to the counters; None is unknown; ``model`` is what it was used by. ``key`` makes a
        repeated call give the first result, ``keys``, one a message, make repeated messages recognised;
        ``took`` clears queued texts that became these messages; ``expected`` is the version to build on. On a
        record in hand, which then holds what is stored, the messages must be unchanged since it was read.
        Round trips: 1; with ``key`` or ``keys`` on a long history 3; more for messages above 64 KiB.

        Raises:
            NotFoundError: there is none of that id for that user.
            ConflictError: the version is another, or a key was used for other content.
            LeaseLostError: the receipt lapsed or was used.
            StatusError: the status may not follow, and ``force`` is not given.
            InvalidRecordError, TooLargeError: something cannot be stored; ``index`` is its message.

        """
        held = target if isinstance(target, Conversation) else None
        if held is not None:
            requests.check_unchanged_messages(held)
        id = target if held is None else _stored_id(held)
        backend, owner = await self._owner(id, user if held is None else _same_user(held, user), "append")
        counted, refused = requests.given_usage(usage, usage_errors)
        asked = requests.append_request(
            messages,
            now=backend.now(),
            make_key=backend.key,
            artifacts=_listed(artifacts),
            resources=_listed(resources),
            usage=counted,
            model=model,
            status=status,
            author=author,
            dialect=dialect,
            key=key,
            keys=keys,
            took=took,
            expected=expected,
            unfinished=unfinished,
            force=force,
        )
        with backend.call("append"):
            outcome = await _appending.append(backend, owner, asked)
            if held is not None:
                await _appending.bring_up_to_date(backend, owner, held, asked, outcome)
        return Appended(
            outcome.ids,
            outcome.version,
            ConversationStatus(outcome.head["status"]),
            outcome.replayed,
            refused,
        )

    async def edit(
        self,
        id: int,
        entry_id: int,
        message: JSON,
        *,
        user: str | Unset = UNSET,
        author: Any = None,
        expected: int | None = None,
        finished: bool | None = None,
    ) -> Saved:
        """Put another message in an entry's place; its id, author and time stay, the old one goes to history.

        ``finished`` ends (True) or sets (False) the entry's mark of being unfinished. An equal message
        changes nothing. Round trips: 2 for a recent entry, 5 for an older one.

        Raises:
            NotFoundError: there is no such conversation or entry.
            ConflictError: the version is not the expected one.

        """
        parameters.entry_id(entry_id, "entry_id")
        parameters.version(expected)
        who = parameters.author(author)
        if finished is not None:
            parameters.flag(finished, "finished")
        backend, owner = await self._owner(id, user, "edit")
        with backend.call("edit"):
            return await _editing.edit(
                backend,
                owner,
                entry_id,
                parameters.messages([message])[0],
                author=None if who is None else who.to_json(),
                expected=expected,
                finished=finished,
            )

    async def update(
        self,
        id: int,
        *,
        user: str | Unset = UNSET,
        label: str | Unset | None = UNSET,
        extra: JSON | Unset = UNSET,
        merge: Mapping[str, JSON] | None = None,
        failed_reason: str | Unset | None = UNSET,
        child: int | Unset | None = UNSET,
        thread: str | Unset | None = UNSET,
    ) -> ConversationHead:
        """Set single members; what is left out stays, None clears. ``merge`` puts keys into ``extra``.

        Round trips: 1, with ``merge`` 2.
        """
        given: dict[str, Any] = {}
        if label is not UNSET:
            given["label"] = None if label is None else check_label(label)
        if thread is not UNSET:
            given["thread"] = None if thread is None else check_thread(thread)
        if extra is not UNSET:
            given["extra"] = extra
        if failed_reason is not UNSET:
            given["failed_reason"] = parameters.reason_text(failed_reason, "failed_reason")
        if child is not UNSET:
            given["child"] = None if child is None else parameters.conversation_id(child, "child")
        if merge is not None and not isinstance(merge, Mapping):
            raise InvalidRecordError("merge", f"must be an object, not {type(merge).__name__}")
        backend, owner = await self._owner(id, user, "update")
        with backend.call("update"):
            if not given and merge is None:
                return conversation_head(await _reading.read_head(backend, owner, None, comment="update"))
            return conversation_head(await _states.update_members(backend, owner, given, merge))

    async def set_status(
        self,
        id: int,
        status: ConversationStatus | str,
        *,
        user: str | Unset = UNSET,
        reason: str | None = None,
        expected: int | ConversationStatus | str | None = None,
        force: bool = False,
    ) -> ConversationHead:
        """Bring a conversation to a status; ``expected`` is the version or the status to come from.

        ``reason`` becomes ``failed_reason``; leaving failed clears it. Only this call leads from cancelled
        back to submitted. Round trips: 1.

        Raises:
            StatusError: the status may not follow, and ``force`` is not given.
            ConflictError: the version or status is not the expected one.

        """
        wanted = parameters.status(status)
        base: int | ConversationStatus | None
        base = (
            parameters.status(expected, "expected")
            if isinstance(expected, str)
            else parameters.version(expected)
        )
        why = parameters.reason_text(reason, "reason")
        parameters.flag(force, "force")
        backend, owner = await self._owner(id, user, "set_status")
        with backend.call("set_status"):
            head = await _states.set_status(backend, owner, wanted, reason=why, expected=base, force=force)
            return conversation_head(head)

    async def stop(
        self, id: int, *, user: str | Unset = UNSET, reason: str | None = None
    ) -> ConversationHead:
        """Cancel a conversation that is submitted, working or idle; another stays as it is. Round trips:
        1.
        """
        why = parameters.reason_text(reason, "reason")
        backend, owner = await self._owner(id, user, "stop")
        with backend.call("stop"):
            return conversation_head(await _states.stop(backend, owner, why))

    # Queues

    async def steer(
        self, id: int, text: str, *, user: str | Unset = UNSET, key: str | None = None
    ) -> ConversationHead:
        """Queue a text that interrupts; accepted in every status. The same ``key`` queues it once. Round
        trips: 1.

        Raises:
            InvalidRecordError: it is blank.
            TooLargeError: above 1 MiB, or above 4 MiB with what is queued.
            ConflictError: the key was used for another text.

        """
        return await self._enqueue(id, user, "steering_messages", text, key, "steer")

    async def follow_up(
        self, id: int, text: str, *, user: str | Unset = UNSET, key: str | None = None
    ) -> ConversationHead:
        """Queue a text that waits for the end of the turn; otherwise as :meth:`steer`."""
        return await self._enqueue(id, user, "follow_up_messages", text, key, "follow_up")

    async def _enqueue(
        self, id: int, user: str | Unset, name: QueueName, text: str, key: str | None, call: str
    ) -> ConversationHead:
        checked, named = parameters.queued_text(text), parameters.call_key(key)
        backend, owner = await self._owner(id, user, call)
        with backend.call(call):
            return conversation_head(
                await _queues.enqueue(backend, owner, name, checked, named, comment=call)
            )

    async def take(
        self, id: int, *, user: str | Unset = UNSET, key: str | None = None, lease_ms: int = 60_000
    ) -> Queued:
        """Take what is queued, under a lease; the same ``key`` gives the same answer as long as it holds.

        ``append(..., took=receipt)`` stores what the texts became and clears them in the same update; a
        lapsed lease, or :meth:`give_back`, puts them back at the front. ``lease_ms=0`` takes them for good.
        While somebody holds a lease, others get nothing. Round trips: 1, 2 when nothing is there.
        """
        named = parameters.call_key(key)
        if type(lease_ms) is not int or not 0 <= lease_ms <= 30 * 86_400_000:
            raise InvalidRecordError("lease_ms", "must be milliseconds from 0 to 30 days, an int")
        backend, owner = await self._owner(id, user, "take")
        with backend.call("take"):
            return await _queues.take(backend, owner, named, lease_ms)

    async def give_back(self, id: int, receipt: str, *, user: str | Unset = UNSET) -> ConversationHead:
        """Put texts taken under a lease back at the front of their queues.

        Raises:
            LeaseLostError: the receipt lapsed, was used, or is somebody else's.

        """
        checked = parameters.plain_text(receipt, "receipt")
        backend, owner = await self._owner(id, user, "give_back")
        with backend.call("give_back"):
            return conversation_head(await _queues.give_back(backend, owner, checked))

    # Lineage and end

    async def continue_from(
        self,
        parent: int | Conversation,
        *,
        user: str | Unset = UNSET,
        messages: Sequence[JSON] = (),
        key: str | None = None,
        status: ConversationStatus | str = ConversationStatus.SUBMITTED,
        thread: str | Unset | None = UNSET,
        label: str | None = None,
        extra: JSON = None,
    ) -> Conversation:
        """Create the conversation that follows ``parent``: its ancestors are the parent's and the parent.

        The parent's ``child`` is set when it has none. User and thread are the parent's. The same ``key``
        gives the same child. Round trips: 2 with a record, +1 for an id from the counter, +1 with an id.
        """
        named = parameters.call_key(key)
        wanted = parameters.status(status)
        given = parameters.messages(messages)
        held = parent if isinstance(parent, Conversation) else None
        id = parameters.conversation_id(parent if held is None else _stored_id(held))
        backend, owner = await self._owner(
            id, user if held is None else _same_user(held, user), "continue_from"
        )
        with backend.call("continue_from"):
            if held is None:
                head = await _reading.read_head(backend, owner, {"messages": 0}, comment="continue_from")
                held = baselines.load({**head, "resources": [], "artifacts": []}, [], {})
            stored = baselines.baseline(held).snapshot
            if owner.get("user", stored.value("user")) != stored.value("user"):
                raise _reading.not_found(owner)
            child = Conversation.checked(
                {
                    "user": stored.value("user"),
                    "thread": stored.value("thread") if thread is UNSET else thread,
                    "messages": given,
                    "status": wanted,
                    "ancestors": [*(stored.value("ancestors") or ()), id],
                    "label": label,
                    "extra": extra,
                }
            )
            call = backend.key() if named is None else named
            draft = _creating.draft_of(backend, child, source=_creating.continuation_source(id, call))
            return await _creating.continue_from(backend, id, draft, self._ids)

    async def delete(self, id: int, *, user: str | Unset = UNSET) -> Deleted:
        """Remove a conversation and all that belongs to it; a second call finishes what a crash left.

        Conversations that name it as child or ancestor keep the id. Round trips: 9, 2 when it is not there.
        """
        backend, owner = await self._owner(id, user, "delete")
        with backend.call("delete"):
            return await _removing.delete(backend, owner)

    async def delete_expired(
        self,
        before_ms: int,
        *,
        user: UserScope,
        by: Literal["created", "updated"] = "created",
        include: Sequence[ConversationStatus | str] = (),
    ) -> int:
        """Delete what was created (or last updated) in an hour before that of ``before_ms``; how many went.

        Whole hours count, as Anda counts them. Submitted and working ones stay unless ``include`` names them.
        Each goes whole, with its messages and history; resources stay until collected. The timeout is each
        one's.
        """
        owner = parameters.many_users(user)
        cutoff = parameters.milliseconds(before_ms, "before_ms")
        basis = parameters.expiry_basis(by)
        named = parameters.statuses(include) if include else ()
        return await _removing.delete_expired(await self._opened(), owner, cutoff, basis, named)

    # The transcript and its past

    async def transcript(self, id: int, *, user: str | Unset = UNSET) -> Transcript:
        """The conversation as a transcript that continues its log: entries, asides, turns, halt.

        Round trips: 1, +1 with older messages, +1 with large ones or many asides.
        """
        backend, owner = await self._owner(id, user, "transcript")
        with backend.call("transcript"):
            return await _transcripts.load(backend, owner, comment="transcript")

    async def save_transcript(
        self, transcript: Transcript, id: int | None = None, *, user: str | Unset = UNSET
    ) -> Saved:
        """Append a transcript's unsaved changes, if and only if it continues the stored log.

        A transcript that was loaded goes where it came from; one begun elsewhere needs the ``id`` of a
        conversation without messages so far.

        Of two that were loaded from the same log the second to be saved is refused. Afterwards it has nothing
        unsaved and continues the log. Entries that are removed stay in history.

        Raises:
            ConflictError: the log has other changes by now, or another lineage; nothing was written.

        """
        if not isinstance(transcript, Transcript):
            raise InvalidRecordError("transcript", f"must be a Transcript, not a {type(transcript).__name__}")
        if id is None and transcript.stored_as is None:
            raise InvalidRecordError("id", "the transcript was not loaded from a conversation: name one")
        if id is not None:
            parameters.conversation_id(id)
        if transcript.stored_as is not None and id in (None, transcript.stored_as[0]):
            id, stored_for = transcript.stored_as
            user = stored_for if user is UNSET else user
        backend, owner = await self._owner(id, user, "save_transcript")
        with backend.call("save_transcript"):
            return await _transcripts.save(backend, owner, transcript)

    async def history(self, id: int, *, user: str | Unset = UNSET) -> list[Revision]:
        """Every change of the messages, the oldest first: when, by whom, what kind, which entries."""
        backend, owner = await self._owner(id, user, "history")
        with backend.call("history"):
            return await _transcripts.revisions(backend, owner, comment="history")

    async def as_of(
        self,
        id: int,
        revision: int | None = None,
        *,
        at: int | None = None,
        user: str | Unset = UNSET,
    ) -> Transcript:
        """The conversation as it was at a revision, or at a time in ms; it continues nothing.

        Raises:
            QueryError: there is no such revision, or not exactly one of the two is given.

        """
        if (revision is None) == (at is None):
            raise QueryError("revision", "give a revision or a time, one of them")
        named = None if revision is None else parameters.offset(revision, "revision")
        time = None if at is None else parameters.milliseconds(at, "at")
        backend, owner = await self._owner(id, user, "as_of")
        with backend.call("as_of"):
            if time is not None:
                named = await _transcripts.revision_at(backend, owner, time, comment="as_of")
            assert named is not None
            return await _transcripts.as_of(backend, owner, named, comment="as_of")

    async def fork(
        self, id: int, at: int | None = None, *, user: str | Unset = UNSET, exact: bool = False
    ) -> Conversation:
        """A new conversation that begins as this one.

        It has its log up to the latest turn that ends at or before the entry ``at``, with ``exact`` up to
        that very entry, without ``at`` whole. Entries keep ids, times and asides; history works in the copy.
        It shares nothing with the source, has the source's ancestors, starts completed and with no usage, and
        knows what it was forked from.

        Raises:
            NotFoundError: there is no such conversation or entry.

        """
        if at is not None:
            parameters.entry_id(at, "at")
        parameters.flag(exact, "exact")
        backend, owner = await self._owner(id, user, "fork")
        with backend.call("fork"):
            return await _forking.fork(backend, owner, at, self._ids, exact=exact)

    async def rewrite(
        self, id: int, rewriter: Callable[[JSON], JSON], *, user: str | Unset = UNSET
    ) -> Rewritten:
        """Take something out of messages *and* history: ``rewriter`` is given each message, present or
        removed.

        And each aside's value. What it gives back is stored in its place. The log gets a new lineage:
        transcripts loaded before cannot be saved, and keys of earlier calls no longer tell other content
        apart. Forks have copies; they are listed.
        """
        if not callable(rewriter):
            raise InvalidRecordError("rewriter", "must be a function from a message to a message")
        backend, owner = await self._owner(id, user, "rewrite")
        with backend.call("rewrite"):
            return await _rewriting.rewrite(backend, owner, rewriter)

    async def undo(self, id: int, *, user: str | Unset = UNSET) -> Saved:
        """Take back the newest change of the messages that is in force; entries come back with their ids.

        Raises:
            QueryError: there is nothing to undo.

        """
        backend, owner = await self._owner(id, user, "undo")
        with backend.call("undo"):
            return await _transcripts.undo(backend, owner)

    async def redo(self, id: int, *, user: str | Unset = UNSET) -> Saved:
        """Bring back what was last taken back, when nothing was changed since.

        Raises:
            QueryError: there is nothing to redo.

        """
        backend, owner = await self._owner(id, user, "redo")
        with backend.call("redo"):
            return await _transcripts.redo(backend, owner)

    # Reading messages

    async def messages(
        self,
        id: int,
        *,
        user: str | Unset = UNSET,
        limit: int = 50,
        before: int | None = None,
        after: int | None = None,
        for_model: bool = False,
        dialect: str | None = None,
    ) -> Page[Entry]:
        """A page of entries, oldest first: the newest, or those just before or after an entry's id.

        ``for_model`` gives what a provider call may be given: calls and results paired and in order, results
        that are missing made up (their entry has the id -1), failed and unfinished turns left out, and no
        call cut from its results, for which the page may hold more than ``limit``. ``dialect`` (``anda``,
        ``rig`` or ``openai``) says all of them in one; one that becomes several messages is there as often.
        What is stored stays as it is. ``cursor`` names the entry that the next request's ``before`` (or
        ``after``) takes; None at the end. Round trips: 1 when the page lies in the newest 50, else 2.

        Raises:
            InvalidRecordError: nothing can be said in a dialect of that name.

        """
        checked = parameters.page_limit(limit, most=MOST_MESSAGES)
        if before is not None and after is not None:
            raise QueryError("before", "give before or after, not both")
        for value, name in ((before, "before"), (after, "after")):
            if value is not None:
                parameters.entry_id(value, name)
        if dialect is not None:
            translated((), parameters.plain_text(dialect, "dialect"))
        if parameters.flag(for_model, "for_model") and after is not None:
            raise QueryError("after", "a page for a model ends with the newest entries, or before one")
        backend, owner = await self._owner(id, user, "messages")
        with backend.call("messages"):
            if for_model:
                return await _reading.read_for_model(
                    backend, owner, checked, before, dialect, comment="messages"
                )
            asked = PageRequest(checked, before, after, forwards=after is not None)
            page = await _reading.read_page(backend, owner, asked, comment="messages")
            return page if dialect is None else Page(tuple(said_in(page.items, dialect)), page.cursor)

    async def entries(
        self, id: int, *, user: str | Unset = UNSET, after: int | None = None
    ) -> AsyncIterator[Entry]:
        """Every entry in order, some hundred at a time: memory does not grow with the conversation."""
        if after is not None:
            parameters.entry_id(after, "after")
        backend, owner = await self._owner(id, user, "entries")
        async for entry in _reading.read_entries(backend, owner, after=after, comment="entries"):
            yield entry

    async def delta(
        self, id: int, messages_offset: int = 0, artifacts_offset: int = 0, *, user: str | Unset = UNSET
    ) -> ConversationDelta:
        """The state with the messages and artifacts from these offsets on, none past the end.

        Offsets count from the present first message: after an edit that removed some, ask again from 0.
        """
        first = parameters.offset(messages_offset, "messages_offset")
        second = parameters.offset(artifacts_offset, "artifacts_offset")
        backend, owner = await self._owner(id, user, "delta")
        with backend.call("delta"):
            return await _reading.read_delta(backend, owner, first, second, comment="delta")

    # Many

    async def find(
        self,
        *,
        user: UserScope,
        thread: str | None = None,
        status: ConversationStatus | str | Sequence[ConversationStatus | str] | None = None,
        label: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page[ConversationHead]:
        """A page of heads, the highest id first; all conditions hold. One round trip, one index.

        ``since`` (included) and ``until`` (excluded) are of ``created_at``, ms. The page's ``cursor`` goes
        on.

        Raises:
            QueryError: a condition or the cursor makes no sense.

        """
        wanted = _wanted(user, thread, status, label, since, until)
        checked = parameters.page_limit(limit, most=MOST_HEADS)
        if cursor is not None and type(cursor) is not str:
            raise QueryError("cursor", "must be the cursor of an earlier page")
        backend = await self._opened()
        with backend.call("find"):
            return await _listing.find(backend, wanted, checked, cursor)

    async def count(
        self,
        *,
        user: UserScope,
        thread: str | None = None,
        status: ConversationStatus | str | Sequence[ConversationStatus | str] | None = None,
        label: str | None = None,
        since: int | None = None,
        until: int | None = None,
    ) -> int:
        """How many conversations :meth:`find` would give in all."""
        wanted = _wanted(user, thread, status, label, since, until)
        backend = await self._opened()
        with backend.call("count"):
            return await _listing.count(backend, wanted)

    async def scan(
        self,
        *,
        user: UserScope,
        thread: str | None = None,
        status: ConversationStatus | str | Sequence[ConversationStatus | str] | None = None,
        label: str | None = None,
        since: int | None = None,
        until: int | None = None,
    ) -> AsyncIterator[ConversationHead]:
        """The head of each, the lowest id first, some hundred at a time; no cursor stays open in between."""
        wanted = _wanted(user, thread, status, label, since, until)
        backend = await self._opened()
        fields = None if backend.engine == "mongomock" else HEAD_FIELDS
        async for head in _listing.scan_ids(backend, wanted, fields=fields):
            yield conversation_head(head)

    async def batch_get(self, ids: Sequence[int], *, user: UserScope) -> list[Conversation]:
        """The whole records of these ids that are the user's, without repeats, the lowest id first.

        Ids of others or of none are left out. At most 1,000. Round trips: 1, more for long ones.
        """
        owner = parameters.many_users(user)
        if isinstance(ids, (str, bytes)) or not isinstance(ids, Sequence):
            raise QueryError("ids", "must be a list of ids")
        if len(ids) > MOST_IDS:
            raise QueryError("ids", f"has {len(ids)} ids; at most {MOST_IDS} at once")
        checked = [parameters.conversation_id(id, f"ids[{place}]") for place, id in enumerate(ids)]
        if not checked:
            return []
        backend = await self._opened()
        with backend.call("batch_get"):
            return await _listing.batch_get(backend, owner, checked)

    def watch(
        self,
        id: int | None = None,
        *,
        user: str | Unset = UNSET,
        resume_after: Any = None,
        poll: float = 0.5,
    ) -> AsyncWatch:
        """What changes from now on in one conversation, or in all: a context manager to iterate over.

        ``resume_after`` is the ``token`` of a change seen earlier. A standalone is looked at every ``poll``
        seconds.
        """
        owner = parameters.one_user(user)
        if id is not None:
            parameters.conversation_id(id)
        return AsyncWatch(self._opened, id, owner, resume_after, poll)

    # What all of them need

    async def _owner(self, id: Any, user: Any, call: str) -> tuple[AsyncBackend, dict[str, Any]]:
        """The database and the filter that names one conversation."""
        checked = parameters.conversation_id(id)
        owner = parameters.one_user(user)
        backend = await self._opened()
        query: dict[str, Any] = {"_id": encode_u64(checked)}
        if owner is not None:
            query["user"] = owner
        elif backend.is_sharded():
            with backend.call(call):
                head = await _reading.read_head(backend, query, {"user": 1}, comment=call)
            query["user"] = head["user"]
        return backend, query


def _record(value: Any) -> Conversation:
    if not isinstance(value, Conversation):
        raise InvalidRecordError("conversation", f"must be a Conversation, not a {type(value).__name__}")
    return value


def _stored_id(record: Conversation) -> int:
    return int(baselines.baseline(record).snapshot.value("_id"))


def _same_user(record: Conversation, user: str | Unset) -> str | Unset:
    """The user a record in hand is written for: its stored owner, or, when given, the caller's."""
    return baselines.baseline(record).head["user"] if user is UNSET else user


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, Resource) else value


def _wanted(user: Any, thread: Any, status: Any, label: Any, since: Any, until: Any) -> Wanted:
    return Wanted(
        parameters.many_users(user),
        None if thread is None else check_thread(thread),
        () if status is None else parameters.statuses(status),
        None if label is None else check_label(label),
        None if since is None else parameters.milliseconds(since, "since"),
        None if until is None else parameters.milliseconds(until, "until"),
    )
