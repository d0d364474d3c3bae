"""Maintenance of many conversations takes as long as it takes: the timeout is that of each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.resources import Resource
from convostore.store import ALL_USERS, ConversationStore
from support.servers import Server

TIMEOUT = 0.8
COUNT = 8
SLOWED_MS = 60
"""Two finds for each conversation are more than the timeout; those of one are a small part of it."""


@contextmanager
def slowed(server: Server, app_name: str) -> Iterator[None]:
    """Each find of that client takes a while."""
    data = {
        "failCommands": ["find"],
        "appName": app_name,
        "blockConnection": True,
        "blockTimeMS": SLOWED_MS,
    }
    with server.client() as client:
        client.admin.command({"configureFailPoint": "failCommand", "mode": "alwaysOn", "data": data})
        try:
            yield
        finally:
            client.admin.command({"configureFailPoint": "failCommand", "mode": "off"})


def check(store: ConversationStore) -> int:
    return store.check().conversations


def expire(store: ConversationStore) -> int:
    return store.delete_expired(2**41, user=ALL_USERS, include=list(ConversationStatus))


def collect(store: ConversationStore) -> int:
    return store.resources.collect(user=ALL_USERS).examined


@pytest.mark.parametrize("maintain", [check, expire, collect])
def test_maintenance_may_outlast_the_timeout(
    replica_set: Server, database_name: str, maintain: Callable[[ConversationStore], int]
) -> None:
    uri = replica_set.uri(appName=database_name)
    now = 1_780_000_000_000
    with MongoClient[dict[str, Any]](uri) as client:
        store = ConversationStore(client[database_name], clock=lambda: now)
        store.setup()
        for number in range(COUNT):
            # Each of a user's own: collecting looks at the conversations of each.
            store.create(Conversation(user=f"user-{number}"))
            if maintain is collect:
                store.resources.add(Resource(name="r", blob=b"x"), user=f"user-{number}")
        impatient = ConversationStore(client[database_name], clock=lambda: now + 10**7, timeout=TIMEOUT)
        with slowed(replica_set, database_name):
            assert maintain(impatient) == COUNT
