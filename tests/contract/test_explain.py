"""Every query is answered by an index, from the commands that are really sent, on a filled collection."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.schemas.resources import Resource
from convostore.store import ALL_USERS, ConversationStore
from support.explaining import ExplainingLog, Plan
from support.filling import END, HEAVY, HOUR_MS, NEW, START, USUAL, fill
from support.servers import Server

DAY = 24 * HOUR_MS


class Clock:
    """A clock that stands still until it is moved; the collection was filled before."""

    def __init__(self) -> None:
        self.now = END

    def __call__(self) -> int:
        return self.now

    def advance(self, ms: int) -> None:
        self.now += ms


clock = Clock()


@dataclass
class Filled:
    """A store on the filled collection whose commands are explained."""

    store: ConversationStore
    log: ExplainingLog

    def plans(self, call: Callable[[ConversationStore], Any]) -> list[Plan]:
        """How the server answers what the call sends."""
        self.log.clear()
        call(self.store)
        return list(self.log.plans)


@pytest.fixture(scope="module")
def filled(replica_set: Server) -> Iterator[Filled]:
    name = "explained"
    with MongoClient[dict[str, Any]](replica_set.uri()) as plain:
        fill(plain[name])
        log = ExplainingLog(plain[name])
        with MongoClient[dict[str, Any]](replica_set.uri(), event_listeners=[log]) as client:
            # Explaining takes a while, and a call's time goes on meanwhile.
            yield Filled(ConversationStore(client[name], clock=clock, timeout=None), log)
        plain.drop_database(name)


# Lists

TIMES: tuple[dict[str, int], ...] = (
    {},
    {"since": START + 20 * DAY},
    {"until": END - HOUR_MS},
    {"since": END - 30 * HOUR_MS, "until": END - 22 * HOUR_MS},
    {"since": START + 20 * DAY, "until": END - HOUR_MS},
)
STATUSES: tuple[Any, ...] = (None, "completed", "failed", ["submitted", "working"], ["completed", "idle"])
LABELS = (None, "work", "home")

Condition = dict[str, Any]


def conditions(thread: str) -> Iterator[Condition]:
    """Every combination of the conditions of a list."""
    for named, status, label, times in itertools.product((None, thread), STATUSES, LABELS, TIMES):
        wanted = {"thread": named, "status": status, "label": label, **times}
        yield {name: value for name, value in wanted.items() if value is not None}


def list_plans(filled: Filled, scope: Any, wanted: Condition, cursor: str | None) -> list[Plan]:
    """Of the calls that take conditions, ``find`` from the start and from a cursor."""
    plans = filled.plans(lambda store: store.find(user=scope, **wanted))
    plans += filled.plans(lambda store: store.find(user=scope, **wanted, cursor=cursor))
    plans += filled.plans(lambda store: store.count(user=scope, **wanted))
    return plans + filled.plans(lambda store: next(store.scan(user=scope, **wanted), None))


def told(found: dict[str, list[Plan]]) -> dict[str, list[str]]:
    return {wanted: [str(plan) for plan in plans] for wanted, plans in found.items() if plans}


@pytest.mark.parametrize("user", [HEAVY, USUAL])
def test_a_users_lists_read_an_index_and_little_more_than_they_give(filled: Filled, user: str) -> None:
    cursor = filled.store.find(user=user, limit=2).cursor
    scanning: dict[str, list[Plan]] = {}
    wasteful: dict[str, list[Plan]] = {}
    for wanted in conditions(f"{user}-0"):
        plans = list_plans(filled, user, wanted, cursor)
        scanning[str(wanted)] = [plan for plan in plans if plan.scans or plan.sorts]
        wasteful[str(wanted)] = [plan for plan in plans if not plan.is_frugal]
    assert len(wasteful) == 150
    assert told(scanning) == {}
    assert told(wasteful) == {}


WITHOUT_INDEX = ("thread", "status", "label")
"""No index begins with these: among all users' conversations they are looked for id by id."""


def test_lists_of_all_users_read_an_index_and_sort_at_most_a_page(filled: Filled) -> None:
    """The operator's. Only a range of times may sort, and keeps no more than the page while it does."""
    cursor = filled.store.find(user=ALL_USERS, limit=2).cursor
    scanning: dict[str, list[Plan]] = {}
    wasteful: dict[str, list[Plan]] = {}
    # Thread, status and label are tried one by one: each is looked for in the same way.
    for wanted in conditions(f"{HEAVY}-0"):
        searched = [name for name in WITHOUT_INDEX if name in wanted]
        if len(searched) > 1 or wanted.get("status") in STATUSES[3:]:
            continue
        plans = list_plans(filled, ALL_USERS, wanted, cursor)
        scanning[str(wanted)] = [
            plan
            for plan in plans
            if (plan.scans and not (searched and plan.sent.name == "aggregate"))
            or (plan.sorts and not ("since" in wanted or "until" in wanted))
            or any(kept > 200 for kept in plan.sorts)
        ]
        if not searched:
            # A scan begins with the lowest id, however far before the range of times that lies.
            lists = [plan for plan in plans if plan.sent.command["comment"] != "scan"]
            wasteful[str(wanted)] = [plan for plan in lists if not plan.is_frugal]
    assert told(scanning) == {}
    assert told(wasteful) == {}


# Everything else


def said(text: str = "x") -> dict[str, str]:
    return {"role": "user", "content": text}


def write_one(store: ConversationStore) -> None:
    record = store.create(Conversation(user=HEAVY, messages=[said()] * 3))
    store.append(record.id, said(), key="k", usage={"requests": 1})
    store.append(record, said("x" * 100_000))
    store.edit(record.id, 1, said("y"))
    store.update(record.id, merge={"a": 1})
    store.steer(record.id, "s")
    taken = store.take(record.id)
    store.give_back(record.id, taken.receipt or "")
    store.set_status(record.id, "working", expected="submitted")
    store.stop(record.id)
    record = store.get(record.id)
    record.label = "z"
    record.messages[0] = said("first")
    store.save(record)
    store.create(Conversation(id=10**7, user=HEAVY))


def read_long(store: ConversationStore) -> None:
    record = store.create(Conversation(user=HEAVY, messages=[said(str(n)) for n in range(400)]))
    store.append(record.id, said("x" * 5_000_000))
    store.get(record.id, user=HEAVY)
    store.get(record.id)
    store.messages(record.id, user=HEAVY, before=200)
    store.messages(record.id, user=HEAVY, after=20)
    list(store.entries(record.id, user=HEAVY))
    store.delta(record.id, 30, user=HEAVY)
    store.edit(record.id, 7, said("edited"))
    store.batch_get([head.id for head in store.find(user=HEAVY, limit=50)], user=HEAVY)
    store.batch_get([head.id for head in store.find(user=ALL_USERS, limit=50)], user=ALL_USERS)


def grow(store: ConversationStore) -> None:
    """Appends past the seals of messages and of history; then a key that is looked for among sealed ones."""
    record = store.create(Conversation(user=USUAL))
    for number in range(150):
        store.append(record.id, said(str(number)), key=f"key-{number}")
    store.append(record.id, said("0"), key="key-0")
    store.append(record.id, said("new"), key="new")


def remember(store: ConversationStore) -> None:
    record = store.create(Conversation(user=USUAL))
    for number in range(140):
        store.append(record.id, [said(str(number))])
    store.edit(record.id, 3, said("x" * 30_000))
    store.history(record.id)
    store.as_of(record.id, 20)
    store.as_of(record.id, at=2**41)
    store.undo(record.id)
    store.redo(record.id)
    store.transcript(record.id)
    store.fork(record.id, 30, exact=True)


def continue_and_import(store: ConversationStore) -> None:
    record = store.create(Conversation(user=USUAL, messages=[said()]))
    for _ in range(2):
        store.continue_from(record.id, key="once")
        store.import_conversations(b'[{"role": "user", "content": "x"}]\n' * 5, user=USUAL)
    written: list[bytes] = []
    store.export_conversations(written.append, user=USUAL)
    for format in ("markdown", "librechat"):
        store.export_files(lambda name: nullcontext(bytes), user=USUAL, format=format)
    store.import_conversations(b"".join(written), user="importer")


def keep_resources(store: ConversationStore) -> None:
    added = [store.resources.add(Resource(name="r", blob=bytes([n])), user=HEAVY) for n in range(30)]
    store.resources.add(Resource(name="again", blob=bytes([3])), user=HEAVY)
    record = store.create(Conversation(user=HEAVY, resources=added[:3]))
    store.resources.get(added[0].id, user=HEAVY, conversation=record.id)
    store.resources.get(added[0].id)
    store.resources.add(added[1], user=HEAVY)
    clock.advance(2 * HOUR_MS)
    store.resources.collect(user=HEAVY)
    store.resources.collect(user=ALL_USERS)


def expire(store: ConversationStore) -> None:
    store.delete_expired(START + DAY, user=ALL_USERS)
    store.delete_expired(START + 85 * DAY, user="usual-8")
    store.delete_expired(START + 85 * DAY, user="usual-9", by="updated", include=["submitted"])


def delete(store: ConversationStore) -> None:
    record = store.create(Conversation(user=HEAVY, messages=[said()] * 200))
    store.delete(record.id, user=HEAVY)
    store.delete(record.id)


def look_after(store: ConversationStore) -> None:
    store.setup()
    store.check(user=NEW, repair=True)


@pytest.mark.parametrize(
    "work",
    [write_one, read_long, grow, remember, continue_and_import, keep_resources, expire, delete, look_after],
)
def test_every_other_command_reads_an_index_and_little_more_than_it_gives(
    filled: Filled, work: Callable[[ConversationStore], None]
) -> None:
    plans = filled.plans(work)
    assert plans
    assert [str(plan) for plan in plans if plan.scans or plan.sorts] == []
    assert [str(plan) for plan in plans if not plan.is_frugal] == []


def test_a_rewrite_looks_for_forks_among_the_users_conversations_only(filled: Filled) -> None:
    """No index is kept for what is asked once a secret leaked."""
    record = filled.store.create(Conversation(user=USUAL, messages=[said()]))
    plans = filled.plans(lambda store: store.rewrite(record.id, lambda message: message))
    assert [str(plan) for plan in plans if plan.scans or plan.sorts] == []
    (search,) = [plan for plan in plans if not plan.is_frugal]
    assert search.keys <= filled.store.count(user=USUAL) + 1
