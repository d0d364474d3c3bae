"""The embedded run's size as the document states it, after any number of seals."""

from __future__ import annotations

from typing import Any

from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.store import ConversationStore
from convostore.store.layout import Bounds
from convostore.store.runs import entries_size
from support.servers import Server

MOST_WRONG = 32
"""Bytes an entry's size may be wrong by: it is counted before its id is known."""


def test_the_stated_size_does_not_drift(standalone: Server, database_name: str) -> None:
    bounds = Bounds(keep=3, soft_count=6, step=1)
    with MongoClient[dict[str, Any]](standalone.uri()) as client:
        store = ConversationStore(client[database_name], bounds=bounds)
        store.setup()
        id = store.create(Conversation(user="alice")).id
        for number in range(150):
            store.append(id, {"role": "user", "content": f"message {number}"})
            head = client[database_name]["conversations"].find_one({"_id": id})
            assert head is not None
            stated, run = head["embedded_bytes"], head["messages"]
            assert abs(stated - entries_size(run)) <= MOST_WRONG * len(run)
        assert head["structure"] >= 40
