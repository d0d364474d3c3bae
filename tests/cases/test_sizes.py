"""Cases S: size limits, growth, depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from convostore.schemas import Conversation
from convostore.schemas.errors import InvalidRecordError, TooLargeError, UnavailableError
from convostore.schemas.json_values import JSON, MAX_DEPTH, same_json
from convostore.schemas.resources import Resource
from convostore.store.layout import Limits
from support.command_log import CommandLog
from support.faces import Face, SyncFace
from support.fail_point import FailPoint
from support.journeys import PLAIN, Journey
from support.servers import Server

one_face = pytest.mark.parametrize("face", ["sync"], indirect=True)
"""What both faces share, and the hard inputs try on both."""

KIB, MIB = 1024, 1024 * 1024


def text(size: int) -> dict[str, JSON]:
    return {"role": "user", "content": "x" * size}


def nested(levels: int, leaf: JSON = "leaf", *, lists: bool = False) -> JSON:
    """A value of so many levels around the leaf."""
    value = leaf
    for _ in range(levels):
        value = [value] if lists else {"k": value}
    return value


@one_face
def test_S01_no_ceiling_for_one_conversation(
    journey: Journey, face: Face, databases: tuple[str, str]
) -> None:
    store, id = face.open(databases[0]), journey.new()
    messages = [text(500 * KIB + number) for number in range(40)]
    for message in messages:
        store.append(id, message)
    assert store.head(id).message_count == 40
    assert store.get(id).messages == messages, "20 MB in one conversation"
    small = [text(40 * KIB + number) for number in range(450)]
    for start in range(0, len(small), 10):
        store.append(id, small[start : start + 10])
    assert store.get(id).messages == messages + small, "another 18 MB, none large enough to lie apart"
    assert [entry.message for entry in store.messages(id)] == small[-50:]


@one_face
def test_S02_a_large_message_that_cannot_be_stored_is_an_error(
    journey: Journey, replica_set: Server, databases: tuple[str, str]
) -> None:
    id = journey.new(PLAIN)
    own = SyncFace(replica_set.uri(appName="S02"))
    store = own.open(databases[0])
    with FailPoint(replica_set, ["insert"], app_name="S02", times=100, error_code=8):
        for write in (
            lambda: store.append(id, [PLAIN, text(5 * MIB)]),
            lambda: store.edit(id, 0, text(5 * MIB)),
        ):
            with journey.nothing_written(), pytest.raises(UnavailableError):
                write()
    assert store.get(id).messages == [PLAIN]
    store.append(id, text(5 * MIB))
    assert store.get(id).messages == [PLAIN, text(5 * MIB)]
    own.close()


@one_face
@pytest.mark.parametrize("piece", ["inline", "blob"])
def test_S02_bounds_of_what_lies_apart(journey: Journey, piece: str) -> None:
    bound = Limits.INLINE if piece == "inline" else Limits.BLOB_PIECE
    around = 42  # bytes of {"m": {"role": "user", "content": ""}} in BSON
    for size in (*range(bound - around - 2, bound - around + 3), bound, 2 * bound - around, 2 * bound):
        id = journey.new(text(size))
        journey.store.append(id, text(size))
        assert journey.store.get(id).messages == [text(size)] * 2
        assert journey.lies_apart(id) is (size + around > Limits.INLINE)


@one_face
def test_S03_the_limit_of_a_record_counts_all_its_members(journey: Journey) -> None:
    large = "x" * (Limits.RECORD // 2 + 1)
    store, id = journey.store, journey.new(PLAIN)

    def saved(**members: JSON) -> None:
        record = store.get(id)
        for name, value in members.items():
            setattr(record, name, value)
        store.save(record)

    store.update(id, extra=large)
    writes: list[Callable[[], Any]] = [
        lambda: store.update(id, label=large),
        lambda: store.update(id, failed_reason=large),
        lambda: store.set_status(id, "failed", reason=large),
        lambda: store.stop(id, reason=large),
        lambda: saved(label=large),
        lambda: saved(failed_reason=large, status="failed"),
        lambda: store.continue_from(id, label=large, extra=large),
        lambda: store.create(Conversation(user=journey.user, label=large, extra={"more": large})),
        lambda: store.create(Conversation(user=journey.user, extra=large), unknown={"more": large}),
        lambda: store.create(Conversation(user=journey.user, messages=[text(MIB)], extra=large * 2)),
        lambda: store.update(id, extra=large * 2),
        lambda: store.update(id, merge={"more": large * 2}, extra={}),
    ]
    for write in writes:
        with journey.nothing_written(), pytest.raises(TooLargeError) as refused:
            write()
        assert refused.value.size > refused.value.limit == Limits.RECORD
    store.update(id, label=large, extra=None)
    store.append(id, text(MIB))
    assert store.get(id).label == large
    record = store.get(id)
    record.label, record.extra = "short", large
    store.save(record)
    assert (store.head(id).label, store.head(id).extra) == ("short", large)


@one_face
def test_S03_extra_up_to_its_limit(journey: Journey) -> None:
    store = journey.store
    for value in (
        "x" * 4_000_000,
        {"k": "\u20ac" * 1_300_000},
        ["\0" + "x" * 3_900_000],
        {"$ref": "x" * 3_900_000},
    ):
        id = journey.new(extra=value)
        assert same_json(store.get(id).extra, value)
        store.update(id, extra=1)
        assert same_json(store.update(id, extra=value).extra, value)
        record = store.get(id)
        record.extra = [1]
        store.save(record)
        record.extra = value
        store.save(record)
        assert same_json(store.head(id).extra, value)
    id = journey.new(extra=1)
    for value in ("x" * 4_300_000, {"k": "\u20ac" * 1_400_000}, {"\0": "x" * 4_300_000}):
        with journey.nothing_written(), pytest.raises(TooLargeError):
            store.update(id, extra=value)


@one_face
def test_S03_what_members_add_up_to_never_stops_an_append(journey: Journey) -> None:
    store = journey.store
    half = "x" * (Limits.RECORD - 64 * KIB)
    files = [Resource(name="n" * 4000) for _ in range(900)]
    id = journey.new(extra=half, resources=files)
    for _ in range(4):
        store.steer(id, "s" * (Limits.QUEUED_TEXT - KIB))
    with pytest.raises(TooLargeError):
        store.follow_up(id, "f" * 100 * KIB)
    with journey.nothing_written(), pytest.raises(TooLargeError):
        store.append(id, PLAIN, resources=files)
    for _ in range(3):
        store.append(id, [text(60 * KIB)] * 7)
    record = store.get(id)
    assert (len(record.messages), len(record.resources)) == (21, 900)
    record.artifacts = files
    with journey.nothing_written(), pytest.raises(TooLargeError):
        store.save(record)
    with pytest.raises(TooLargeError):
        journey.new(resources=files, artifacts=files)


@one_face
def test_S03_what_is_queued_at_creation_counts(journey: Journey) -> None:
    with pytest.raises(TooLargeError):
        journey.new(steering_messages=["s" * (Limits.QUEUED_TEXT + KIB)])
    with pytest.raises(TooLargeError):
        journey.new(follow_up_messages=["s" * MIB] * 5)
    id = journey.new(follow_up_messages=["s" * (MIB - KIB)] * 4)
    with pytest.raises(TooLargeError):
        journey.store.steer(id, "s" * 100 * KIB)


@one_face
@pytest.mark.parametrize("count", [7, 300])
@pytest.mark.parametrize(
    "bad", [{1}, {"deep": nested(MAX_DEPTH + 1)}, {1: 2}, 10**5000], ids=["set", "deep", "key", "digits"]
)
def test_S04_the_bad_message_of_a_batch_is_named(journey: Journey, count: int, bad: JSON) -> None:
    id = journey.new(PLAIN)
    for place in (0, count // 2, count - 1):
        batch: list[JSON] = [text(70 * KIB), *[PLAIN] * (count - 1)]
        batch[place] = {"role": "user", "content": bad}
        with journey.nothing_written(), pytest.raises(InvalidRecordError) as refused:
            journey.store.append(id, batch)
        assert refused.value.index == place
        assert refused.value.path.startswith(f"messages[{place}].content")


@one_face
@pytest.mark.parametrize("count", [199, 200, 201, 255, 256, 257, 4095, 4096, 4097])
def test_S07_batches_at_every_bound_are_dense(
    journey: Journey, face: Face, databases: tuple[str, str], count: int
) -> None:
    store, id = face.open(databases[0]), journey.new(PLAIN)
    messages = [{"role": "user", "content": str(number)} for number in range(count)]
    assert store.append(id, messages, key="k").ids == tuple(range(1, count + 1))
    assert store.append(id, messages, key="k").replayed
    store.append(id, PLAIN)
    assert store.get(id).messages == [PLAIN, *messages, PLAIN]
    created = journey.new(*messages)
    assert store.get(created).messages == messages


@one_face
def test_S07_keys_of_a_large_batch(journey: Journey, face: Face, databases: tuple[str, str]) -> None:
    store, id = face.open(databases[0]), journey.new()
    messages = [{"role": "user", "content": str(number)} for number in range(3000)]
    keys = [f"{number:036}" for number in range(3000)]
    assert store.append(id, messages[:1000], keys=keys[:1000]).ids == tuple(range(1000))
    assert store.append(id, messages, keys=keys).ids == tuple(range(3000)), "known ones are recognised"
    assert store.append(id, messages, keys=keys).replayed
    assert store.head(id).message_count == 3000
    with journey.nothing_written(), pytest.raises(TooLargeError) as refused:
        store.append(id, messages, keys=[f"{number:0256}" for number in range(3000)])
    assert refused.value.what == "keys"
    for round in range(14):
        batch = [f"{round} {number}".ljust(200, "k") for number in range(1000)]
        store.append(id, messages[:1000], keys=batch)
    assert len(journey.head_document(id)["log"]) < 14, "records that large do not gather in the head"
    assert store.append(id, messages[:1000], keys=batch).replayed
    assert store.append(id, messages, keys=keys).replayed


@one_face
def test_S07_change_records_never_fill_the_document(
    journey: Journey, face: Face, databases: tuple[str, str]
) -> None:
    store, id = face.open(databases[0]), journey.new(PLAIN)
    for number in range(160):
        store.edit(id, 0, text(15 * KIB + number))
    document = journey.head_document(id)
    assert sum(len(str(record)) for record in document["log"]) < 3 * MIB
    assert document["log_start"] > 0
    assert len(store.history(id)) == 161
    assert store.as_of(id, 2).entries()[0].message == text(15 * KIB)


@one_face
def test_S09_no_command_builds_the_conversation_on_the_server(
    journey: Journey, face: Face, replica_set: Server, databases: tuple[str, str]
) -> None:
    messages = [text(60 * KIB) for _ in range(300)]
    id = journey.new(*messages)
    log = CommandLog()
    own = type(face)(replica_set.uri(), event_listeners=[log])  # type: ignore[call-arg]
    store = own.open(databases[0])
    assert store.get(id).messages == messages
    assert store.batch_get([id], user=journey.user)[0].messages == messages
    assert sum(1 for _ in store.entries(id)) == len(messages)
    assert len(store.delta(id, 10).messages) == len(messages) - 10
    store.export_conversations(lambda piece: None, user=journey.user)
    own.close()
    assert {"aggregate", "distinct", "mapReduce"}.isdisjoint(log.names)


@one_face
@pytest.mark.parametrize("lists", [True, False])
def test_S10_every_depth_is_kept_or_refused(journey: Journey, lists: bool) -> None:
    kept = [nested(levels, lists=lists) for levels in (99, 100, 101, 180, 181, MAX_DEPTH - 1)]
    journey.keeps(*({"role": "tool", "content": value} for value in kept))
    journey.keeps_extra(kept[:-1])
    for levels in (MAX_DEPTH, 990, 100_000):
        journey.refuses({"role": "tool", "content": nested(levels, lists=lists)}, ".content")
        journey.refuses_extra(nested(levels + 1, lists=lists))
    resource = Resource(name="deep", metadata={"deep": nested(MAX_DEPTH - 4)})
    id = journey.new(PLAIN, resources=[resource])
    assert same_json(journey.store.get(id).resources[0].metadata, resource.metadata)
    with pytest.raises(InvalidRecordError):
        journey.new(PLAIN, resources=[Resource(name="deep", metadata={"deep": nested(5000)})])


@one_face
def test_S10_a_value_that_holds_itself(journey: Journey) -> None:
    circle: list[JSON] = []
    circle.append(circle)
    journey.refuses({"role": "tool", "content": circle}, ".content")
    journey.refuses_extra(circle)


@one_face
def test_S10_deep_values_deep_in_the_callers_stack(journey: Journey) -> None:
    id, value = journey.new(PLAIN), nested(MAX_DEPTH - 1)

    def call(frames: int) -> None:
        if frames:
            return call(frames - 1)
        try:
            journey.store.append(id, value)
        except InvalidRecordError as refused:
            assert "stack" in refused.reason or "deep" in refused.reason
        return None

    for frames in (200, 400, 500):
        call(frames)
    assert all(message in (PLAIN, value) for message in journey.store.get(id).messages)
