"""Cases Z: what one user can see and do with ids and texts of another."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas import Conversation
from convostore.schemas.errors import ConflictError, ConvostoreError, InvalidRecordError, NotFoundError
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource
from support.command_log import CommandLog
from support.faces import SyncFace
from support.journeys import PLAIN, Journey, export
from support.servers import Server

one_face = pytest.mark.parametrize("face", ["sync"], indirect=True)

FILTERS: list[Any] = [
    {"$ne": None},
    {"$gt": ""},
    {"$regex": "^a"},
    {"$exists": True},
    {"$where": "1"},
    {"$in": [1, 2]},
    {"$eq": 1},
    {},
    [],
    [1],
    None,
    b"1",
    True,
    1.0,
    "1",
    object(),
]


def calls_on(store: Any, id: Any, **user: Any) -> list[Any]:
    """Every call that names a conversation, each as a function."""
    return [
        lambda: store.get(id, **user),
        lambda: store.head(id, **user),
        lambda: store.append(id, PLAIN, **user),
        lambda: store.append(id, PLAIN, key="k", **user),
        lambda: store.append(id, [PLAIN] * 300, **user),
        lambda: store.append(id, {"content": "x" * 100_000}, **user),
        lambda: store.edit(id, 0, {"other": 1}, **user),
        lambda: store.update(id, label="mine", **user),
        lambda: store.update(id, merge={"mine": 1}, **user),
        lambda: store.messages(id, **user),
        lambda: store.messages(id, before=1, **user),
        lambda: store.messages(id, for_model=True, **user),
        lambda: list(store.entries(id, **user)),
        lambda: store.delta(id, **user),
        lambda: store.steer(id, "x", **user),
        lambda: store.follow_up(id, "x", **user),
        lambda: store.take(id, **user),
        lambda: store.give_back(id, "0" * 32, **user),
        lambda: store.stop(id, **user),
        lambda: store.set_status(id, "failed", **user),
        lambda: store.continue_from(id, **user),
        lambda: store.transcript(id, **user),
        lambda: store.history(id, **user),
        lambda: store.as_of(id, 1, **user),
        lambda: store.undo(id, **user),
        lambda: store.redo(id, **user),
        lambda: store.fork(id, 0, **user),
    ]


@one_face
def test_Z01_no_filter_where_a_value_belongs(
    journey: Journey, replica_set: Server, databases: tuple[str, str]
) -> None:
    id = journey.new(PLAIN)
    log = CommandLog()
    own = SyncFace(replica_set.uri(), event_listeners=[log])
    store = own.open(databases[0])
    with journey.nothing_written():
        for value in FILTERS:
            for call in (*calls_on(store, value), *(calls_on(store, id, user=value) if value != "1" else ())):
                with pytest.raises(InvalidRecordError):
                    call()
            others: list[Any] = [
                lambda v=value: store.delete(v),
                lambda v=value: store.batch_get([v], user=journey.user),
                lambda v=value: store.resources.get(v, user=journey.user),
                lambda v=value: store.messages(id, before=v) if v is not None else store.get(v),
                lambda v=value: store.edit(id, v, PLAIN),
                lambda v=value: store.find(user=v if v != "1" else None),
                lambda v=value: store.find(user=journey.user, cursor=v if v is not None else 5),
                lambda v=value: store.find(user=journey.user, status=v if v is not None else 5),
                lambda v=value: store.find(user=journey.user, since=v if v is not None else "x"),
                lambda v=value: store.append(id, PLAIN, key=v if v not in ("1", None) else {}),
                lambda v=value: store.append(id, PLAIN, expected=v if v is not None else {}),
                lambda v=value: store.append(id, PLAIN, took=v if v not in ("1", None) else {}),
                lambda v=value: store.take(id, key=v if v not in ("1", None) else {}),
                lambda v=value: store.delete_expired(v, user=journey.user),
                lambda v=value: store.set_status(id, v),
            ]
            for call in others:
                with pytest.raises(ConvostoreError):
                    call()
    assert log.sent == [], "all of it is refused before any query"
    own.close()


@one_face
def test_Z02_no_user_is_never_every_user(journey: Journey) -> None:
    store, id = journey.store, journey.new(PLAIN)
    for nobody in (None, "", "\0", " \n", {}, 0, False):
        for call in (
            *calls_on(store, id, user=nobody),
            lambda u=nobody: store.find(user=u),
            lambda u=nobody: store.count(user=u),
            lambda u=nobody: list(store.scan(user=u)),
            lambda u=nobody: store.batch_get([id], user=u),
            lambda u=nobody: store.delete_expired(2**52, user=u),
            lambda u=nobody: store.export_conversations(lambda piece: None, user=u),
            lambda u=nobody: store.check(user=u),
            lambda u=nobody: store.for_user(u),
            lambda u=nobody: store.resources.add(Resource(name="r"), user=u),
        ):
            with pytest.raises(ConvostoreError):
                call()
    assert store.get(id).messages == [PLAIN]


def test_Z04_canaries_never_cross(journey: Journey) -> None:
    store = journey.store
    owners = [f"{journey.user} {number}" for number in range(10)]
    canary: list[dict[str, JSON]] = [{"role": "user", "content": f"canary of {owner}"} for owner in owners]
    ids = []
    for owner, message in zip(owners, canary, strict=True):
        resource = store.resources.add(Resource(name="r", blob=owner.encode()), user=owner)
        record = Conversation(user=owner, thread="t", label="l", messages=[message] * 6, extra={"c": owner})
        record.resources = [resource]
        ids.append(store.create(record).id)
        store.steer(ids[-1], f"canary of {owner}")
    mine, theirs = ids[0], ids[1:]
    scoped = store.for_user(owners[0])
    before = [store.get(id) for id in theirs]
    for id in theirs:
        for call in calls_on(store, id, user=owners[0]):
            with pytest.raises(NotFoundError) as refused:
                call()
            assert "canary" not in str(refused.value)
        assert not store.delete(id, user=owners[0]).existed
        for name in ("get", "head", "messages", "transcript", "history", "stop", "take", "delta", "undo"):
            with pytest.raises(NotFoundError):
                getattr(scoped, name)(id)
        resource_id = store.get(id).resources[0].id
        for call in (
            lambda r=resource_id: store.resources.get(r, user=owners[0]),
            lambda r=resource_id, c=id: store.resources.get(r, user=owners[0], conversation=c),
            lambda r=resource_id: scoped.resources.get(r),
        ):
            with pytest.raises(NotFoundError):
                call()
        with pytest.raises(ConflictError) as taken:
            store.create(Conversation(user=owners[0], id=id))
        assert "canary" not in str(taken.value) and owners[1] not in str(taken.value)
    assert [head.id for head in store.find(user=owners[0], thread="t", label="l")] == [mine]
    assert [record.id for record in store.batch_get(ids, user=owners[0])] == [mine]
    assert [head.id for head in scoped.find()] == [mine] and scoped.count() == 1
    assert [store.get(id) for id in theirs] == before
    exported = export(store, owners[0]).decode()
    assert f"canary of {owners[0]}" in exported and f"canary of {owners[1]}" not in exported
    for id in ids:
        store.delete(id)


@one_face
def test_Z06_text_is_never_a_pattern(journey: Journey) -> None:
    store, texts = (
        journey.store,
        [".*", "(a+)+$", "[(", "C++ (v1.0)", "^admin|.", "\\", "\\Q", "(?i)x", "/a.*"],
    )
    texts += ["/a.b", "/aXb", "$where", "a%", "_", "?", "\u0130"]
    ids = {text: journey.new(PLAIN, label=text, thread=text) for text in texts}
    for text, id in ids.items():
        assert [head.id for head in store.find(user=journey.user, label=text)] == [id]
        assert [head.id for head in store.find(user=journey.user, thread=text)] == [id]
        assert store.count(user=journey.user, label=text, thread=text) == 1
    assert store.find(user=journey.user, label="").items == ()
    owners = ["/a.b", "/aXb", "/a.*"]
    for owner in owners:
        store.create(Conversation(user=f"Z06{owner}", messages=[PLAIN], status="completed"))
    assert store.delete_expired(2**52, user="Z06/a.b") == 1
    assert [store.count(user=f"Z06{owner}") for owner in owners] == [0, 1, 1]
    for owner in owners:
        store.delete_expired(2**52, user=f"Z06{owner}")
