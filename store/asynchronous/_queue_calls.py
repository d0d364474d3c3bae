"""The calls on a conversation's queues: steering and follow-up texts."""

from __future__ import annotations

from convostore.schemas.errors import InvalidRecordError
from convostore.store import parameters
from convostore.store.asynchronous import (
    _queues,
)
from convostore.store.asynchronous._face import StoreFace
from convostore.store.heads import conversation_head
from convostore.store.parameters import UNSET, Unset
from convostore.store.queues import QueueName
from convostore.store.results import (
    ConversationHead,
    Queued,
)

__all__ = ["QueueCalls"]


class QueueCalls(StoreFace):
    """The calls on a conversation's queues: steering and follow-up texts."""

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
        While somebody holds a lease, others get nothing. Round trips: 1; 2 for good, or
        when nothing is there.
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
