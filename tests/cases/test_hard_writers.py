"""Hard inputs: many writers at once, repeated calls, queues, clients that die."""

from __future__ import annotations

from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import ConflictError, LeaseLostError, NotFoundError
from convostore.schemas.json_values import JSON, same_json
from support import killed_clients
from support.faces import AsyncFace, Face, SyncFace
from support.hard_inputs import Row
from support.journeys import PLAIN, TINY, Clock, Journey
from support.proxy import Proxy
from support.servers import Server

pytestmark = pytest.mark.shared


def filled(message: dict[str, JSON], number: int) -> dict[str, JSON]:
    """The row's message with its number in place of ``{n}``."""
    return {**message, "content": str(message["content"]).replace("{n}", str(number))}


def check_ids(journey: Journey, id: int, count: int) -> None:
    """The entries are so many, their ids without a gap."""
    assert [entry.id for entry in journey.store.entries(id)] == list(range(count))


def test_HI_118_parallel_appends(row: Row, journey: Journey, face: Face) -> None:
    first, second = row.value
    id = journey.new()
    texts = [filled(first["op"]["message"], number) for number in range(first["workers"])]
    done = face.together(journey.store, [lambda store, text=text: store.append(id, text) for text in texts])
    title, last = second["ops"][0]["title"], second["ops"][1]["message"]
    face.together(
        journey.store, [lambda store: store.update(id, label=title), lambda store: store.append(id, last)]
    )
    messages = journey.store.get(id).messages
    assert sorted(message["content"] for message in messages[:-1]) == sorted(
        text["content"] for text in texts
    )
    assert messages[-1] == last and journey.store.head(id).label == title
    assert sorted(one.ids[0] for one in done) == list(range(len(texts)))
    check_ids(journey, id, 21)


def test_HI_119_parallel_batches(row: Row, journey: Journey, face: Face) -> None:
    workers, batch = row.value[0]["workers"], row.value[0]["op"]["messages"]
    id = journey.new()
    batches = [[filled(message, number) for message in batch] for number in range(workers)]
    done = face.together(
        journey.store, [lambda store, given=given: store.append(id, given) for given in batches]
    )
    messages = journey.store.get(id).messages
    for given, one in zip(batches, done, strict=True):
        assert list(one.ids) == list(range(one.ids[0], one.ids[0] + len(batch)))
        assert same_json([messages[place] for place in one.ids], given)
    check_ids(journey, id, workers * len(batch))


def test_HI_120_expected_version(row: Row, journey: Journey) -> None:
    step = row.value[0]
    id = journey.new(PLAIN)
    with journey.nothing_written(), pytest.raises(ConflictError) as refused:
        journey.store.append(id, step["message"], expected=step["expected_version"])
    assert (refused.value.field, refused.value.expected, refused.value.actual) == ("version", 7, 1)
    journey.store.append(id, step["message"], expected=1)
    journey.store.append(id, step["message"])


@pytest.mark.fault
def test_HI_121_retry_same_key(
    row: Row, journey: Journey, face: Face, replica_set: Server, databases: tuple[str, str]
) -> None:
    lost, again, other, elsewhere = row.value
    id, second = journey.new(), journey.new()
    with Proxy(replica_set.port) as proxy:
        behind = type(face)(replica_set.uri(port=proxy.port))  # type: ignore[call-arg]
        assert isinstance(behind, (SyncFace, AsyncFace))
        rule = proxy.lose_reply("findAndModify", comment="append")
        done = behind.open(databases[0], bounds=TINY).append(id, lost["message"], key=lost["client_id"])
        behind.close()
        assert rule.met == 1
    repeated = journey.store.append(id, again["message"], key=again["client_id"])
    assert repeated.replayed and repeated.ids == done.ids == (0,)
    with journey.nothing_written(), pytest.raises(ConflictError, match="other content"):
        journey.store.append(id, other["message"], key=other["client_id"])
    assert not journey.store.append(second, elsewhere["message"], key=elsewhere["client_id"]).replayed
    assert journey.store.get(id).messages == journey.store.get(second).messages == [lost["message"]]


def test_HI_123_same_id_race(row: Row, journey: Journey, face: Face) -> None:
    full, part = row.value[0]["ops"]
    id = journey.new()
    results = face.together(
        journey.store,
        [
            lambda store: store.append(id, full["message"], key=full["id"]),
            lambda store: store.append(id, part["message"], key=part["id"], unfinished=True),
        ],
    )
    refused = [one for one in results if isinstance(one, Exception)]
    assert len(refused) == 1 and isinstance(refused[0], ConflictError)
    (entry,) = journey.store.entries(id)
    journey.store.edit(id, entry.id, full["message"], finished=True)
    (entry,) = journey.store.entries(id)
    assert (entry.message, entry.unfinished) == (full["message"], False)


def test_HI_124_queue_crash(row: Row, journey: Journey, clock: Clock) -> None:
    queued, claimed, *_ = row.value
    text, lease = queued["message"]["content"], claimed["lease_s"] * 1000
    store, id = journey.store, journey.new()
    store.steer(id, text, key=queued["id"])
    first = store.take(id, key="w1", lease_ms=lease)
    assert first.steering == (text,)
    assert not store.take(id, key="w2", lease_ms=lease), "somebody holds it"
    clock.advance(row.value[4]["s"] * 1000)
    second = store.take(id, key="w2", lease_ms=lease)
    assert second.steering == (text,)
    with journey.nothing_written(), pytest.raises(LeaseLostError):
        store.append(id, queued["message"], took=first.receipt)
    store.append(id, queued["message"], took=second.receipt)
    with pytest.raises(LeaseLostError):
        store.append(id, queued["message"], took=second.receipt)
    assert store.get(id).messages == [queued["message"]]
    assert not store.take(id, key="w3")


@pytest.mark.fault
def test_HI_124_queue_crash_of_a_process(
    row: Row, journey: Journey, clock: Clock, replica_set: Server, databases: tuple[str, str]
) -> None:
    text = row.value[0]["message"]["content"]
    store, id = journey.store, journey.new()
    store.steer(id, text)
    assert killed_clients.killed_at(
        99, killed_clients.take_and_die, replica_set.uri(), databases[0], id, "w1", 1
    )
    assert store.head(id).steering_messages == (text,), "what is leased is not lost"
    clock.now = 10**13
    taken = store.take(id, key="w2")
    assert taken.steering == (text,)
    store.append(id, {"role": "user", "content": text}, took=taken.receipt)
    assert not store.take(id, key="w3")


def test_HI_125_queue_enqueue_twice(row: Row, journey: Journey, face: Face) -> None:
    first, again, parallel = row.value
    store, id = journey.store, journey.new()
    store.steer(id, first["message"]["content"], key=first["id"])
    store.steer(id, again["message"]["content"], key=again["id"])
    assert store.head(id).steering_messages == ("hi",)
    taken = face.together(
        store, [lambda one, n=n: one.take(id, key=f"w{n}") for n in range(parallel["workers"])]
    )
    assert [one.steering for one in taken if one] == [("hi",)]


def test_HI_126_save_again(row: Row, journey: Journey, clock: Clock) -> None:
    first, pause, second = row.value
    store, id = journey.store, journey.new()
    store.append(id, first["messages"], keys=first["ids"])
    before = store.messages(id).items
    clock.advance(pause["s"] * 1000)
    done = store.append(id, second["messages"], keys=second["ids"])
    after = store.messages(id).items
    assert [entry.message for entry in after] == second["messages"]
    assert after[:2] == before and after[2].made == before[0].made + 1000
    assert done.ids == (0, 1, 2)


def test_HI_127_first_write_paths(row: Row, journey: Journey) -> None:
    many, queued, state, _ = row.value
    store, user = journey.store, journey.user
    for never in (many, queued, state):
        with pytest.raises(NotFoundError):
            store.append(10**15 + int(never["session"][1:]), PLAIN)
    ids = [
        journey.new(*many["messages"]),
        journey.new(),
        store.create(Conversation(user=user, extra=state["state"])).id,
    ]
    store.steer(ids[1], queued["message"]["content"])
    assert [head.id for head in store.find(user=user)] == sorted(ids, reverse=True)
    assert store.count(user=user) == 3


@pytest.mark.fault
def test_HI_128_kill_mid_stream(
    row: Row, journey: Journey, replica_set: Server, databases: tuple[str, str]
) -> None:
    deltas = row.value[1]["count"]
    store, id = journey.store, journey.new(PLAIN)
    assert killed_clients.killed_at(
        10**6, killed_clients.stream, replica_set.uri(), databases[0], id, 200, deltas
    )
    first, streamed = store.messages(id).items
    assert first.message == PLAIN
    assert streamed.unfinished and streamed.message["content"] == "x" * deltas
    store.edit(id, streamed.id, {**streamed.message, "content": "x" * 200}, finished=True)
    (_, finished) = store.messages(id).items
    assert (finished.id, finished.unfinished, len(finished.message["content"])) == (streamed.id, False, 200)


def test_HI_141_two_without_optional_id(
    row: Row, journey: Journey, raw: MongoClient[dict[str, Any]], databases: tuple[str, str]
) -> None:
    id, second = journey.new(), journey.new()
    for step in row.value:
        journey.store.append(id, step["message"])
        journey.store.append(second, step["message"])
    assert journey.store.head(id).message_count == journey.store.head(second).message_count == 2
    unique = [
        index
        for name in ("conversations", "segments", "changes", "resources")
        for index in raw[databases[0]][name].list_indexes()
        if index.get("unique")
    ]
    assert unique and all("partialFilterExpression" in index for index in unique)
