"""A collection of conversations as an application leaves it after some months, made without its calls."""

from __future__ import annotations

import random
from typing import Any

from bson.int64 import Int64

from convostore.schemas.conversations import Conversation
from convostore.store.synchronous.store import ConversationStore

HOUR_MS = 3_600_000
DAYS = 90
START = 1_780_000_000_000 // HOUR_MS * HOUR_MS
END = START + DAYS * 24 * HOUR_MS
HEAVY, USUAL, NEW = "heavy", "usual-3", "new"
"""A user of 300 conversations, one of some 40, one of 4."""

RARE = {"submitted": 2, "working": 2, "idle": 3, "failed": 4, "cancelled": 3}
"""How many of a user's conversations are not completed: the newest ones, mostly."""


def fill(database: Any) -> ConversationStore:
    """Conversations of 33 users over three months, ids in the order of creation; the store on them.

    Each user works on one thread after the other and mostly under one label; what is not completed is a
    handful of recent ones.
    """
    store = ConversationStore(database)
    store.setup()
    dice = random.Random(7)
    owners = [HEAVY] * 300 + [f"usual-{n}" for n in range(30) for _ in range(dice.randrange(30, 50))]
    owners += [NEW] * 4 + ["other"] * 20
    dice.shuffle(owners)
    template = _template(store, database)
    database.conversations.insert_many(_heads(template, owners, dice))
    database.meta.update_one({"_id": "conversation_ids"}, {"$set": {"last": len(owners)}})
    return store


def _template(store: ConversationStore, database: Any) -> dict[str, Any]:
    record = store.create(Conversation(user=HEAVY, messages=[{"role": "user", "content": "hi"}] * 3))
    head: dict[str, Any] = database.conversations.find_one({"_id": record.id})
    store.delete(record.id)
    return {name: value for name, value in head.items() if name not in ("due", "dirty")}


def _heads(template: dict[str, Any], owners: list[str], dice: random.Random) -> list[dict[str, Any]]:
    heads = []
    seen: dict[str, int] = {}
    totals = {user: owners.count(user) for user in set(owners)}
    for id, user in enumerate(owners, 1):
        place = seen[user] = seen.get(user, -1) + 1
        created = START + (id * (END - START)) // len(owners)
        head = {
            **template,
            "_id": Int64(id),
            "user": user,
            "status": _status(totals[user] - place, dice),
            "created_at": Int64(created),
            "updated_at": Int64(created),
            "period": Int64(created // HOUR_MS),
        }
        if place % 10 < 7:
            head["thread"] = f"{user}-{place // 10}"
        if place % 5:
            head["label"] = "work"
        elif place % 25 == 0:
            head["label"] = "home"
        heads.append(head)
    return heads


def _status(from_the_end: int, dice: random.Random) -> str:
    recent = [status for status, count in RARE.items() for _ in range(count)]
    if from_the_end <= 2 * len(recent) and from_the_end % 2:
        return recent[from_the_end // 2]
    return "completed"
