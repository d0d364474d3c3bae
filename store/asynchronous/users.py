"""One user's view of the store: what services hand to request handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from convostore.schemas.conversations import Conversation, ConversationDelta, ConversationStatus
from convostore.schemas.entries import Entry, Page
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource
from convostore.schemas.transcript import Transcript
from convostore.store.asynchronous._watching import AsyncWatch
from convostore.store.asynchronous.user_analytics import AsyncUserAnalytics
from convostore.store.parameters import UNSET, Unset
from convostore.store.results import Appended, ConversationHead, Deleted, Queued, Rewritten, Saved
from convostore.store.timeline import Revision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from convostore.store.asynchronous.store import AsyncConversationStore

__all__ = ["AsyncUserResources", "AsyncUserStore"]


class AsyncUserResources:
    """One user's resources."""

    def __init__(self, store: AsyncConversationStore, user: str) -> None:
        self.__store = store
        self.__user = user

    async def add(self, resource: Resource) -> Resource:
        """As :meth:`AsyncResources.add`."""
        return await self.__store.resources.add(resource, user=self.__user)

    async def add_all(self, resources: Sequence[Resource]) -> list[Resource]:
        """As :meth:`AsyncResources.add_all`."""
        return await self.__store.resources.add_all(resources, user=self.__user)

    async def get(self, id: int, *, conversation: int | None = None) -> Resource:
        """As :meth:`AsyncResources.get`."""
        return await self.__store.resources.get(id, user=self.__user, conversation=conversation)


class AsyncUserStore:
    """The store for one user: the calls of :class:`AsyncConversationStore` without their ``user`` parameter.

    Another user's conversation is not found, whatever is called. Setting up, checking and expiry are the
    operator's and not here.
    """

    def __init__(self, store: AsyncConversationStore, user: str) -> None:
        self.__store = store
        self.__user = user

    @property
    def user(self) -> str:
        """Whose view it is."""
        return self.__user

    @property
    def resources(self) -> AsyncUserResources:
        """The user's resources."""
        return AsyncUserResources(self.__store, self.__user)

    @property
    def analytics(self) -> AsyncUserAnalytics:
        """The user's figures."""
        return AsyncUserAnalytics(self.__store, self.__user)

    def _own(self, conversation: Conversation) -> Conversation:
        if not isinstance(conversation, Conversation):
            kind = type(conversation).__name__
            raise InvalidRecordError("conversation", f"must be a Conversation, not a {kind}")
        return conversation

    async def create(self, conversation: Conversation) -> Conversation:
        """As :meth:`AsyncConversationStore.create`; the record must be this user's.

        Raises:
            InvalidRecordError: it names another user.

        """
        if self._own(conversation).user != self.__user:
            raise InvalidRecordError("user", "the record is not this user's")
        return await self.__store.create(conversation)

    async def get(self, id: int) -> Conversation:
        """As :meth:`AsyncConversationStore.get`."""
        return await self.__store.get(id, user=self.__user)

    async def head(self, id: int) -> ConversationHead:
        """As :meth:`AsyncConversationStore.head`."""
        return await self.__store.head(id, user=self.__user)

    async def save(self, conversation: Conversation, *, force: bool = False) -> Saved:
        """As :meth:`AsyncConversationStore.save`."""
        return await self.__store.save(self._own(conversation), user=self.__user, force=force)

    async def append(
        self,
        target: int | Conversation,
        messages: JSON | Sequence[JSON] = (),
        *,
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
        """As :meth:`AsyncConversationStore.append`."""
        return await self.__store.append(
            target,
            messages,
            user=self.__user,
            artifacts=artifacts,
            resources=resources,
            usage=usage,
            usage_errors=usage_errors,
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

    async def edit(
        self,
        id: int,
        entry_id: int,
        message: JSON,
        *,
        author: Any = None,
        expected: int | None = None,
        finished: bool | None = None,
    ) -> Saved:
        """As :meth:`AsyncConversationStore.edit`."""
        return await self.__store.edit(
            id, entry_id, message, user=self.__user, author=author, expected=expected, finished=finished
        )

    async def update(
        self,
        id: int,
        *,
        label: str | Unset | None = UNSET,
        extra: JSON | Unset = UNSET,
        merge: Mapping[str, JSON] | None = None,
        failed_reason: str | Unset | None = UNSET,
        child: int | Unset | None = UNSET,
        thread: str | Unset | None = UNSET,
    ) -> ConversationHead:
        """As :meth:`AsyncConversationStore.update`; a child must be this user's too.

        Raises:
            NotFoundError: the child is none of this user's.

        """
        if child is not UNSET and child is not None:
            await self.head(child)
        return await self.__store.update(
            id,
            user=self.__user,
            label=label,
            extra=extra,
            merge=merge,
            failed_reason=failed_reason,
            child=child,
            thread=thread,
        )

    async def set_status(
        self,
        id: int,
        status: ConversationStatus | str,
        *,
        reason: str | None = None,
        expected: int | ConversationStatus | str | None = None,
        force: bool = False,
    ) -> ConversationHead:
        """As :meth:`AsyncConversationStore.set_status`."""
        return await self.__store.set_status(
            id, status, user=self.__user, reason=reason, expected=expected, force=force
        )

    async def stop(self, id: int, *, reason: str | None = None) -> ConversationHead:
        """As :meth:`AsyncConversationStore.stop`."""
        return await self.__store.stop(id, user=self.__user, reason=reason)

    async def steer(self, id: int, text: str, *, key: str | None = None) -> ConversationHead:
        """As :meth:`AsyncConversationStore.steer`."""
        return await self.__store.steer(id, text, user=self.__user, key=key)

    async def follow_up(self, id: int, text: str, *, key: str | None = None) -> ConversationHead:
        """As :meth:`AsyncConversationStore.follow_up`."""
        return await self.__store.follow_up(id, text, user=self.__user, key=key)

    async def take(self, id: int, *, key: str | None = None, lease_ms: int = 60_000) -> Queued:
        """As :meth:`AsyncConversationStore.take`."""
        return await self.__store.take(id, user=self.__user, key=key, lease_ms=lease_ms)

    async def give_back(self, id: int, receipt: str) -> ConversationHead:
        """As :meth:`AsyncConversationStore.give_back`."""
        return await self.__store.give_back(id, receipt, user=self.__user)

    async def continue_from(
        self,
        parent: int | Conversation,
        *,
        messages: Sequence[JSON] = (),
        key: str | None = None,
        status: ConversationStatus | str = ConversationStatus.SUBMITTED,
        thread: str | Unset | None = UNSET,
        label: str | None = None,
        extra: JSON = None,
    ) -> Conversation:
        """As :meth:`AsyncConversationStore.continue_from`."""
        return await self.__store.continue_from(
            parent,
            user=self.__user,
            messages=messages,
            key=key,
            status=status,
            thread=thread,
            label=label,
            extra=extra,
        )

    async def delete(self, id: int, *, figures: Literal["keep", "drop"] = "keep") -> Deleted:
        """As :meth:`AsyncConversationStore.delete`."""
        return await self.__store.delete(id, user=self.__user, figures=figures)

    async def messages(
        self,
        id: int,
        *,
        limit: int = 50,
        before: int | None = None,
        after: int | None = None,
        for_model: bool = False,
        dialect: str | None = None,
    ) -> Page[Entry]:
        """As :meth:`AsyncConversationStore.messages`."""
        return await self.__store.messages(
            id,
            user=self.__user,
            limit=limit,
            before=before,
            after=after,
            for_model=for_model,
            dialect=dialect,
        )

    async def transcript(self, id: int) -> Transcript:
        """As :meth:`AsyncConversationStore.transcript`."""
        return await self.__store.transcript(id, user=self.__user)

    async def save_transcript(self, transcript: Transcript, id: int | None = None) -> Saved:
        """As :meth:`AsyncConversationStore.save_transcript`."""
        return await self.__store.save_transcript(transcript, id, user=self.__user)

    async def history(self, id: int) -> list[Revision]:
        """As :meth:`AsyncConversationStore.history`."""
        return await self.__store.history(id, user=self.__user)

    async def as_of(self, id: int, revision: int | None = None, *, at: int | None = None) -> Transcript:
        """As :meth:`AsyncConversationStore.as_of`."""
        return await self.__store.as_of(id, revision, at=at, user=self.__user)

    async def fork(self, id: int, at: int | None = None, *, exact: bool = False) -> Conversation:
        """As :meth:`AsyncConversationStore.fork`."""
        return await self.__store.fork(id, at, user=self.__user, exact=exact)

    async def rewrite(self, id: int, rewriter: Callable[[JSON], JSON]) -> Rewritten:
        """As :meth:`AsyncConversationStore.rewrite`."""
        return await self.__store.rewrite(id, rewriter, user=self.__user)

    async def undo(self, id: int) -> Saved:
        """As :meth:`AsyncConversationStore.undo`."""
        return await self.__store.undo(id, user=self.__user)

    async def redo(self, id: int) -> Saved:
        """As :meth:`AsyncConversationStore.redo`."""
        return await self.__store.redo(id, user=self.__user)

    async def entries(self, id: int, *, after: int | None = None) -> AsyncIterator[Entry]:
        """As :meth:`AsyncConversationStore.entries`."""
        async for entry in self.__store.entries(id, user=self.__user, after=after):
            yield entry

    async def delta(self, id: int, messages_offset: int = 0, artifacts_offset: int = 0) -> ConversationDelta:
        """As :meth:`AsyncConversationStore.delta`."""
        return await self.__store.delta(id, messages_offset, artifacts_offset, user=self.__user)

    async def find(
        self,
        *,
        thread: str | None = None,
        status: ConversationStatus | str | Sequence[ConversationStatus | str] | None = None,
        label: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page[ConversationHead]:
        """As :meth:`AsyncConversationStore.find`."""
        return await self.__store.find(
            user=self.__user,
            thread=thread,
            status=status,
            label=label,
            since=since,
            until=until,
            limit=limit,
            cursor=cursor,
        )

    async def count(
        self,
        *,
        thread: str | None = None,
        status: ConversationStatus | str | Sequence[ConversationStatus | str] | None = None,
        label: str | None = None,
        since: int | None = None,
        until: int | None = None,
    ) -> int:
        """As :meth:`AsyncConversationStore.count`."""
        return await self.__store.count(
            user=self.__user, thread=thread, status=status, label=label, since=since, until=until
        )

    async def scan(
        self,
        *,
        thread: str | None = None,
        status: ConversationStatus | str | Sequence[ConversationStatus | str] | None = None,
        label: str | None = None,
        since: int | None = None,
        until: int | None = None,
    ) -> AsyncIterator[ConversationHead]:
        """As :meth:`AsyncConversationStore.scan`."""
        async for head in self.__store.scan(
            user=self.__user, thread=thread, status=status, label=label, since=since, until=until
        ):
            yield head

    async def batch_get(self, ids: Sequence[int]) -> list[Conversation]:
        """As :meth:`AsyncConversationStore.batch_get`."""
        return await self.__store.batch_get(ids, user=self.__user)

    def watch(self, id: int | None = None, *, resume_after: Any = None, poll: float = 0.5) -> AsyncWatch:
        """As :meth:`AsyncConversationStore.watch`."""
        return self.__store.watch(id, user=self.__user, resume_after=resume_after, poll=poll)
