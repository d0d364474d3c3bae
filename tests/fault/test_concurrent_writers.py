"""Many writers on one conversation at once: nothing lost, nothing twice, each one's order kept."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import ConflictError
from convostore.store import AsyncConversationStore, ConversationStore
from support.servers import Server

pytestmark = pytest.mark.fault

WRITERS, EACH = 16, 100


@contextmanager
def opened(uri: str, database: str) -> Iterator[ConversationStore]:
    with MongoClient[dict[str, Any]](uri) as client:
        store = ConversationStore(client[database])
        store.setup()
        yield store


@pytest.fixture
def store(server: Server, database_name: str) -> Iterator[ConversationStore]:
    with opened(server.uri(), database_name) as store:
        yield store


@pytest.fixture
def on_a_set(replica_set: Server, database_name: str) -> Iterator[ConversationStore]:
    with opened(replica_set.uri(), database_name) as store:
        yield store


def message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def at_once(works: list[Callable[[], Any]]) -> list[Any]:
    """Run all of them in threads that begin together; what each gave."""
    barrier = Barrier(len(works))

    def begin(work: Callable[[], Any]) -> Any:
        barrier.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [found.result() for found in [pool.submit(begin, work) for work in works]]


def check_writers(store: ConversationStore, id: int, told: list[list[int]], each: int = EACH) -> None:
    """Of each writer every message is there once, under the id it was told, in its own order."""
    entries = list(store.entries(id))
    assert [entry.id for entry in entries] == list(range(WRITERS * each))
    texts = [entry.message["content"] for entry in entries]
    for number, ids in enumerate(told):
        assert [texts[id] for id in ids] == [f"{number}:{place}" for place in range(each)]
        assert ids == sorted(ids)
    assert [one["content"] for one in store.get(id).messages] == texts
    assert store.head(id).message_count == WRITERS * each
    assert not store.check().findings


def test_sixteen_threads_append_in_a_dense_order(on_a_set: ConversationStore) -> None:
    store = on_a_set
    id = store.create(Conversation(user="alice")).id

    def write(number: int) -> list[int]:
        return [store.append(id, message(f"{number}:{place}")).ids[0] for place in range(EACH)]

    told = at_once([lambda number=number: write(number) for number in range(WRITERS)])  # type: ignore[misc]
    check_writers(store, id, told)


def test_sixteen_threads_with_records_in_hand_append_in_a_dense_order(store: ConversationStore) -> None:
    each = 20  # each append reads what the others appended
    id = store.create(Conversation(user="alice")).id

    def write(number: int) -> list[int]:
        record = store.get(id)
        told: list[int] = []
        for place in range(each):
            told += store.append(record, message(f"{number}:{place}")).ids
            assert record.messages[told[-1]] == message(f"{number}:{place}")
        return told

    told = at_once([lambda number=number: write(number) for number in range(WRITERS)])  # type: ignore[misc]
    check_writers(store, id, told, each)


async def test_sixteen_tasks_append_in_a_dense_order(
    replica_set: Server, on_a_set: ConversationStore, database_name: str
) -> None:
    store = on_a_set
    id = store.create(Conversation(user="alice")).id
    async with AsyncMongoClient[dict[str, Any]](replica_set.uri()) as client:
        waiting = AsyncConversationStore(client[database_name])

        async def write(number: int) -> list[int]:
            return [(await waiting.append(id, message(f"{number}:{n}"))).ids[0] for n in range(EACH)]

        told = await asyncio.gather(*map(write, range(WRITERS)))
    check_writers(store, id, list(told))


def test_no_steering_text_is_lost_beside_appends_and_saves(store: ConversationStore) -> None:
    id = store.create(Conversation(user="alice", label="0")).id
    ended = Event()

    def work() -> int:
        record = store.get(id)
        done = 0
        while not ended.is_set():
            store.append(record, message(f"append {done}"))
            record.append_messages([message(f"save {done}")])
            record.label = str(done)
            store.save(record)
            done += 1
        return done

    def steer(number: int) -> None:
        for place in range(25):
            store.steer(id, f"{number}:{place}")

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        at_once([lambda number=number: steer(number) for number in range(4)])  # type: ignore[misc]
        ended.set()
        done = working.result()
    head = store.head(id)
    for number in range(4):
        mine = [text for text in head.steering_messages if text.startswith(f"{number}:")]
        assert mine == [f"{number}:{place}" for place in range(25)]
    assert len(head.steering_messages) == 100
    assert done and head.message_count == 2 * done and not store.check().findings


def test_every_steering_text_becomes_one_message(store: ConversationStore) -> None:
    id = store.create(Conversation(user="alice")).id
    sent = [f"{number}:{place}" for number in range(4) for place in range(25)]
    ended = Event()

    def become_messages() -> None:
        while True:
            last = ended.is_set()
            took = store.take(id)
            if took:
                store.append(id, [message(text) for text in took.steering], took=took.receipt)
            elif last:
                return

    def steer(number: int) -> None:
        for place in range(25):
            store.steer(id, f"{number}:{place}")

    with ThreadPoolExecutor(2) as pool:
        takers = [pool.submit(become_messages) for _ in range(2)]
        at_once([lambda number=number: steer(number) for number in range(4)])  # type: ignore[misc]
        ended.set()
        for taker in takers:
            taker.result()
    became = [one["content"] for one in store.get(id).messages]
    assert Counter(became) == Counter(sent)
    assert not store.head(id).steering_messages


def test_saves_of_different_members_both_hold(store: ConversationStore) -> None:
    id = store.create(Conversation(user="alice", label="before", messages=[message("0")])).id
    first, second = store.get(id), store.get(id)
    first.label, second.status = "after", "working"  # type: ignore[assignment]
    second.append_messages([message("1")])
    saved = at_once([lambda: store.save(first), lambda: store.save(second)])
    stored = store.get(id)
    assert (stored.label, stored.status, len(stored.messages)) == ("after", "working", 2)
    assert sorted(one.version for one in saved) == [2, 3]
    assert [one.rebased for one in saved].count(True) == 1


def test_of_two_saves_of_one_member_one_is_told_both_values(store: ConversationStore) -> None:
    id = store.create(Conversation(user="alice", label="before")).id
    records = {label: store.get(id) for label in ("one", "other")}

    def save(label: str) -> ConflictError | None:
        records[label].label = label
        try:
            store.save(records[label])
        except ConflictError as error:
            return error
        return None

    refused = dict(zip(records, at_once([lambda: save("one"), lambda: save("other")]), strict=True))
    ((loser, error),) = [(label, error) for label, error in refused.items() if error is not None]
    winner = "other" if loser == "one" else "one"
    assert (error.field, error.expected, error.actual) == ("label", "before", winner)
    assert store.get(id).label == winner
    assert store.head(id).version == 2
