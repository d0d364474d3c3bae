"""Cases I: several writers, repeated calls, queues, answers that are streamed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from convostore.schemas import Conversation
from convostore.schemas.errors import ConflictError, LeaseLostError, NotFoundError
from convostore.schemas.json_values import JSON, same_json
from support import killed_clients
from support.faces import Face
from support.journeys import PLAIN, Clock, Journey
from support.proxy import Proxy
from support.servers import Server

one_face = pytest.mark.parametrize("face", ["sync"], indirect=True)


def numbered(count: int, *, start: int = 0) -> list[dict[str, JSON]]:
    return [{"role": "user", "content": str(number)} for number in range(start, start + count)]


def all_went_well(results: list[Any]) -> list[Any]:
    errors = [one for one in results if isinstance(one, BaseException)]
    assert not errors, errors
    return results


@one_face
@pytest.mark.fault
def test_I01_twenty_processes_append_and_one_renames(
    journey: Journey, replica_set: Server, databases: tuple[str, str]
) -> None:
    id = journey.new()
    held = journey.store.get(id)
    held.label = "renamed"
    killed_clients.in_processes(20, killed_clients.append_one, replica_set.uri(), databases[0], id)
    assert journey.store.save(held).rebased
    found = journey.store.get(id)
    assert sorted(int(message["content"]) for message in found.messages) == list(range(20))
    assert found.label == held.label == "renamed" and same_json(held.messages, found.messages)
    assert [entry.id for entry in journey.store.entries(id)] == list(range(20))


def test_I02_fifty_appends_and_ten_batches_are_gapless(journey: Journey, face: Face) -> None:
    id = journey.new()
    singles = numbered(50)
    batches = [numbered(5, start=100 * number) for number in range(1, 11)]
    writes: list[Callable[[Any], Any]] = [lambda one, m=message: one.append(id, m) for message in singles]
    writes += [lambda one, b=batch: one.append(id, b) for batch in batches]
    done = all_went_well(face.together(journey.store, writes))
    messages = journey.store.get(id).messages
    ids = [entry.id for entry in journey.store.entries(id)]
    assert ids == list(range(100)) and sorted(place for one in done for place in one.ids) == ids
    for batch, one in zip(batches, done[50:], strict=True):
        assert same_json(messages[one.ids[0] : one.ids[0] + 5], batch), "a batch is contiguous"
    assert not journey.store.check(user=journey.user).findings


def test_I03_an_expected_version_is_checked_and_a_plain_append_always_works(journey: Journey) -> None:
    store, id = journey.store, journey.new(PLAIN)
    run = store.get(id)
    version = store.head(id).version
    store.append(id, numbered(1)[0])
    with journey.nothing_written():
        for write in (
            lambda: store.append(id, PLAIN, expected=version),
            lambda: store.append(run, PLAIN, expected=version),
            lambda: store.edit(id, 0, {"other": 1}, expected=version),
            lambda: store.set_status(id, "working", expected=version),
            lambda: store.append(id, numbered(300), expected=version),
            lambda: store.append(id, {"content": "x" * 100_000}, expected=version),
        ):
            with pytest.raises(ConflictError) as refused:
                write()
            assert (refused.value.field, refused.value.expected) == ("version", version)
    store.append(run, PLAIN)
    assert same_json(run.messages, [PLAIN, numbered(1)[0], PLAIN]), "a stale record is brought up to date"


@pytest.mark.fault
@pytest.mark.parametrize("size", [1, 5, 300])
def test_I04_replies_lost_and_the_call_repeated_by_others(
    journey: Journey, face: Face, replica_set: Server, databases: tuple[str, str], size: int
) -> None:
    id, batch = journey.new(), numbered(size)
    with Proxy(replica_set.port) as proxy:
        behind = type(face)(replica_set.uri(port=proxy.port))  # type: ignore[call-arg]
        rule = proxy.lose_reply("findAndModify", comment="append", times=3)
        first = behind.open(databases[0]).append(id, batch, key="k1")
        assert 0 < rule.met <= 3
        behind.close()
    for _ in range(3):
        assert journey.store.append(id, batch, key="k1").ids == first.ids == tuple(range(size))
    writes = [lambda one: one.append(id, batch, key="k2")] * 8
    done = all_went_well(face.together(journey.store, writes))
    assert {one.ids for one in done} == {tuple(range(size, 2 * size))}
    assert sum(not one.replayed for one in done) == 1
    assert same_json(journey.store.get(id).messages, batch * 2)
    with journey.nothing_written():
        for other in (batch[:-1], [*batch, PLAIN], [{"role": "user", "content": "other"}]):
            with pytest.raises(ConflictError):
                journey.store.append(id, other, key="k1")
        with pytest.raises(ConflictError):
            journey.store.append(id, batch, key="k1", usage={"requests": 1})
    assert not journey.store.append(journey.new(), batch, key="k1").replayed, "keys are a conversation's own"


@one_face
@pytest.mark.fault
def test_I04_eight_processes_with_one_key(
    journey: Journey, replica_set: Server, databases: tuple[str, str]
) -> None:
    id = journey.new(PLAIN)
    work, uri = killed_clients.append_under_key, replica_set.uri()
    killed_clients.in_processes(8, work, uri, databases[0], id, "one key")
    assert journey.store.head(id).message_count == 2
    for number in range(12):
        journey.store.append(id, numbered(1, start=number))
    killed_clients.in_processes(3, work, uri, databases[0], id, "one key")
    assert journey.store.head(id).message_count == 14, "also when the key's record is sealed"


def test_I06_abort_and_completion_of_one_answer(journey: Journey, face: Face) -> None:
    store, id = journey.store, journey.new(PLAIN)
    full, part = {"role": "assistant", "content": "full"}, {"role": "assistant", "content": "part"}
    answer = store.append(id, part, unfinished=True, key="m1").ids[0]
    results = face.together(
        store,
        [
            lambda one: one.edit(id, answer, full, finished=True),
            lambda one: one.append(id, full, key="m1"),
            lambda one: one.append(id, part, unfinished=True, key="m1"),
        ],
    )
    assert isinstance(results[1], ConflictError) and results[2].ids == (answer,)
    (_, entry) = store.messages(id).items
    assert (entry.id, entry.message, entry.unfinished) == (answer, full, False)


def test_I08_one_holder_at_a_time_and_no_text_twice(journey: Journey, face: Face, clock: Clock) -> None:
    store, id = journey.store, journey.new()
    for number in range(12):
        store.steer(id, f"text {number}")
    takes = [lambda one, n=n: one.take(id, key=str(n)) for n in range(8)]
    held = [one for one in all_went_well(face.together(store, takes)) if one]
    assert len(held) == 1 and len(held[0].steering) == 12
    assert [one for one in (store.take(id, key=str(n)) for n in range(8)) if one] == held, "repeatable"
    store.steer(id, "late")
    clock.advance(60_001)
    second = store.take(id, key="second")
    assert second.steering == (*held[0].steering, "late"), "a lapsed lease is offered again, in front"
    with journey.nothing_written():
        for late in (
            lambda: store.append(id, PLAIN, took=held[0].receipt),
            lambda: store.give_back(id, held[0].receipt),
            lambda: store.append(id, PLAIN, took="0" * 32),
        ):
            with pytest.raises(LeaseLostError):
                late()
    store.give_back(id, second.receipt)
    third = store.take(id, lease_ms=0)
    assert third.steering == second.steering and third.lease_until is None
    assert store.head(id).steering_messages == () and not store.take(id)
    assert store.head(id).message_count == 0


def test_I10_saving_again_changes_no_time(journey: Journey, clock: Clock) -> None:
    store, id, batch = journey.store, journey.new(), numbered(10)
    store.append(id, batch[:7], keys=[str(number) for number in range(7)])
    made = clock.now
    clock.advance(1000)
    again = store.append(id, batch, keys=[str(number) for number in range(10)])
    assert again.ids == tuple(range(10)) and not again.replayed
    assert [entry.made for entry in store.entries(id)] == [made] * 7 + [clock.now] * 3
    clock.advance(1000)
    shuffled = [9, 0, 5]
    known = store.append(id, [batch[n] for n in shuffled], keys=[str(n) for n in shuffled])
    assert (known.ids, known.replayed) == ((9, 0, 5), True)
    assert store.head(id).updated_at == made + 1000


def test_I10_a_save_leaves_what_it_does_not_change(journey: Journey, clock: Clock) -> None:
    store, id, batch = journey.store, journey.new(), numbered(12)
    for number, message in enumerate(batch):
        store.append(id, message, author={"kind": "agent", "from": f"agent {number}"})
        clock.advance(1000)
    before = list(store.entries(id))
    record = store.get(id)
    record.messages[2], record.messages[9] = {"new": 2}, {"new": 9}
    store.save(record)
    changed = list(store.entries(id))
    assert [entry.id for entry in changed] == list(range(12))
    assert [one for one in changed if one not in before] == [changed[2], changed[9]]
    assert [(one.made, one.author) for one in changed] == [(one.made, one.author) for one in before]
    del record.messages[9], record.messages[2]
    record.messages.insert(5, {"new": 5})
    store.save(record)
    after = list(store.entries(id))
    assert [entry.id for entry in after] == [0, 1, 3, 4, 5, 12, 6, 7, 8, 10, 11]
    assert [one for one in after if one not in before] == [after[5]]


def test_I11_every_first_write_makes_a_listed_conversation(journey: Journey) -> None:
    store, user = journey.store, journey.user
    firsts = [
        store.create(Conversation(user=user)),
        store.create(Conversation(user=user, messages=numbered(300))),
        store.create(Conversation(user=user, messages=[{"content": "x" * 100_000}])),
        store.create(Conversation(user=user, steering_messages=["now"])),
        store.create(Conversation(user=user, extra={"a": 1}), unknown={"b": 2}),
    ]
    firsts.append(store.continue_from(firsts[0]))
    assert {head.id for head in store.find(user=user)} == {one.id for one in firsts}
    assert {head.id for head in store.scan(user=user, status="submitted")} == {one.id for one in firsts}
    assert store.count(user=user) == 6
    for never in (lambda id: store.append(id, PLAIN), lambda id: store.steer(id, "x"), store.take):
        with pytest.raises(NotFoundError):
            never(2**62)


@one_face
@pytest.mark.fault
def test_I13_a_stream_killed_at_any_delta_keeps_what_was_stored(
    journey: Journey, replica_set: Server, databases: tuple[str, str]
) -> None:
    for deltas in (9, 10, 57):
        id = journey.new(PLAIN)
        work, uri = killed_clients.stream, replica_set.uri()
        assert killed_clients.killed_at(10**6, work, uri, databases[0], id, 200, deltas)
        stored = journey.store.messages(id).items[1:]
        if deltas < 10:
            assert stored == ()
            continue
        assert stored[0].unfinished and len(stored[0].message["content"]) == deltas // 10 * 10
        journey.store.edit(id, stored[0].id, {"role": "assistant", "content": "whole"}, finished=True)
        (_, entry) = journey.store.messages(id).items
        assert (entry.id, entry.message["content"], entry.unfinished) == (stored[0].id, "whole", False)


def test_I14_known_and_new_messages_in_one_batch(journey: Journey) -> None:
    store, id = journey.store, journey.new()
    one, two, three, four = numbered(4)
    store.append(id, two, key=None, keys=["m2"])
    done = store.append(id, [one, two, three, four], keys=["m1", "m2", "m3", "m4"])
    assert done.ids == (1, 0, 2, 3)
    assert same_json(store.get(id).messages, [two, one, three, four])
    with journey.nothing_written(), pytest.raises(ConflictError, match="m2"):
        store.append(id, [PLAIN, PLAIN], keys=["m5", "m2"])
    many = numbered(300)
    with journey.nothing_written(), pytest.raises(ConflictError, match="m2"):
        store.append(id, [*many, PLAIN], keys=[*(f"new {number}" for number in range(300)), "m2"])


def test_I16_the_streaming_and_the_final_saver_make_one_message(journey: Journey, face: Face) -> None:
    store, id = journey.store, journey.new(PLAIN)
    answer = store.append(id, {"role": "assistant", "content": ""}, unfinished=True).ids[0]
    growing = [{"role": "assistant", "content": "x" * size, "part": size} for size in range(1, 9)]
    all_went_well(face.together(store, [lambda s, m=m: s.edit(id, answer, m) for m in growing]))
    store.edit(id, answer, {"role": "assistant", "content": "final", "usage": 1}, finished=True)
    assert [entry.id for entry in store.entries(id)] == [0, answer]
    assert store.get(id).messages[1] == {"role": "assistant", "content": "final", "usage": 1}
