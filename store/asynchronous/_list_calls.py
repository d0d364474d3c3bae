"""The calls that read messages and lists of conversations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from convostore.schemas.conversations import Conversation, ConversationDelta, ConversationStatus
from convostore.schemas.entries import Entry, Page
from convostore.schemas.errors import QueryError
from convostore.schemas.identifiers import check_label, check_thread
from convostore.schemas.translation import translated
from convostore.store import parameters
from convostore.store.asynchronous import (
    _listing,
    _reading,
)
from convostore.store.asynchronous._face import StoreFace
from convostore.store.asynchronous._watching import AsyncWatch
from convostore.store.finding import Wanted
from convostore.store.heads import HEAD_FIELDS, conversation_head
from convostore.store.paging import PageRequest
from convostore.store.parameters import UNSET, Unset, UserScope
from convostore.store.results import (
    ConversationHead,
)
from convostore.store.saying import said_in

__all__ = ["ListCalls", "conversations_wanted"]

MOST_IDS = 1000
MOST_MESSAGES = 5000
MOST_HEADS = 1000


class ListCalls(StoreFace):
    """The calls that read messages and lists of conversations."""

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
        wanted = conversations_wanted(user, thread, status, label, since, until)
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
        wanted = conversations_wanted(user, thread, status, label, since, until)
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
        wanted = conversations_wanted(user, thread, status, label, since, until)
        backend = await self._opened()
        fields = None if backend.engine == "mongomock" else HEAD_FIELDS
        async for head in _listing.scan_heads(backend, wanted, fields, comment="scan"):
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


def conversations_wanted(user: Any, thread: Any, status: Any, label: Any, since: Any, until: Any) -> Wanted:
    """The conditions of a call over many, checked."""
    return Wanted(
        parameters.many_users(user),
        None if thread is None else check_thread(thread),
        () if status is None else parameters.statuses(status),
        None if label is None else check_label(label),
        None if since is None else parameters.milliseconds(since, "since"),
        None if until is None else parameters.milliseconds(until, "until"),
    )
