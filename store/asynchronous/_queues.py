"""Steering and follow-up texts: queued, taken under a lease, given back."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from convostore.store import queues
from convostore.store.asynchronous import _pace
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._once import Planned, apply_once, find_recent, readable, with_key
from convostore.store.asynchronous._reading import read_head
from convostore.store.asynchronous._splicing import gave_up
from convostore.store.faults import Unclear
from convostore.store.heads import HEAD_FIELDS, QUEUES, WITHOUT_LISTS, Head
from convostore.store.history import Key
from convostore.store.results import Queued

__all__ = ["enqueue", "give_back", "take"]


async def enqueue(
    backend: AsyncBackend,
    owner: Mapping[str, Any],
    name: queues.QueueName,
    text: str,
    key: Key | None,
    *,
    comment: str,
) -> Head:
    """Put a text at the end of a queue, once."""
    now = backend.now()
    call: Key = backend.key() if key is None else key
    digest = queues.text_digest(name, text)

    def plan(seen: Head | None) -> Planned:
        query, update = queues.enqueue(owner, name, text, now, seen)
        return with_key(query, update, call, digest)

    def repeated(head: Head) -> Head:
        queues.same_text(find_recent(head, call), digest, call)
        return head

    return await apply_once(backend, owner, call, plan, comment=comment, repeated=repeated)


async def take(backend: AsyncBackend, owner: Mapping[str, Any], key: Key | None, lease_ms: int) -> Queued:
    """Lease what is queued; the same key gives the same answer until it was used up.

    What is taken for good is leased first: if the reply is lost, a repeat must still find it.
    """
    call: Key = backend.key() if key is None else key
    receipt = uuid.uuid4().hex
    for attempt in backend.attempts():
        now = backend.now()
        # Noted, so that a late original of this very call meets its receipt.
        query, update = with_key(*queues.take(owner, call, receipt, now, lease_ms), receipt)
        try:
            head = await backend.modify("conversations", query, update, WITHOUT_LISTS, comment="take")
            if head is None:
                head = await read_head(backend, owner, WITHOUT_LISTS, comment="take")
            lease = head.get("taken")
            if lease is None:
                if not any(head.get(name) for name in QUEUES):
                    return Queued()
            elif lease["key"] == call and (lease.get("final") or lease["until"] > now):
                if lease_ms or lease.get("final"):
                    return queues.queued(head)
                taken = await _take_for_good(backend, owner, head, now)
                if taken is not None:
                    return taken
            elif queues.is_held(head, now):
                return Queued()
            else:
                query, update = queues.put_back(owner, head)
                await backend.modify("conversations", query, update, {"_id": 1}, comment="take")
            if find_recent(head, receipt) is not None:
                receipt = uuid.uuid4().hex  # what it was given for has lapsed meanwhile
        except Unclear:
            if backend.is_last(attempt):
                raise
        await _pace.pause(attempt)
    raise gave_up("take")


async def _take_for_good(
    backend: AsyncBackend, owner: Mapping[str, Any], head: Head, now: int
) -> Queued | None:
    """Let go of the lease in the head; what lay under it, None when it had lapsed and others have it now."""
    key, receipt = backend.key(), head["taken"]["receipt"]
    query, update = with_key(*queues.take_for_good(owner, receipt, now), key)
    for attempt in backend.attempts():
        try:
            if await backend.modify("conversations", query, update, {"_id": 1}, comment="take") is not None:
                return replace(queues.queued(head), lease_until=None)
        except Unclear:
            if backend.is_last(attempt):
                raise
            await _pace.pause(attempt)
        seen = await read_head(backend, owner, WITHOUT_LISTS, comment="take")
        if find_recent(seen, key) is not None:
            return replace(queues.queued(head), lease_until=None)
        if seen.get("taken", {}).get("receipt") != receipt:
            return None
    raise gave_up("take")


async def give_back(backend: AsyncBackend, owner: Mapping[str, Any], receipt: str) -> Head:
    """Put leased texts back at the front of their queues, once."""
    for attempt in backend.attempts():
        head = await read_head(backend, owner, WITHOUT_LISTS, comment="give_back")
        if not queues.give_back(head, receipt, backend.now()):
            return await read_head(backend, owner, readable(backend, HEAD_FIELDS), comment="give_back")
        query, update = queues.put_back(owner, head, returned=receipt)
        try:
            fields = readable(backend, HEAD_FIELDS)
            done = await backend.modify("conversations", query, update, fields, comment="give_back")
            if done is not None:
                return done
        except Unclear:
            if backend.is_last(attempt):
                raise
        await _pace.pause(attempt)
    raise gave_up("give_back")
