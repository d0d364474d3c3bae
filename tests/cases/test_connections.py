"""Cases O: loops, forks, connections, servers that are away, refuse, or are of another kind."""

from __future__ import annotations

import asyncio
import gc
import os
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas import Conversation
from convostore.schemas.errors import ConvostoreError, UnavailableError
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource
from convostore.store import AsyncConversationStore, ConversationStore
from support.command_log import CommandLog
from support.faces import AsyncFace, Face, SyncFace
from support.fail_point import FailPoint
from support.journeys import PLAIN, TINY, Journey
from support.servers import Server, free_port

Raw = MongoClient[dict[str, Any]]

one_face = pytest.mark.parametrize("face", ["sync"], indirect=True)


def writes(store: Any, id: int) -> dict[str, Callable[[], Any]]:
    """Every call that writes to one conversation, by its name."""

    def save() -> Any:
        record = store.get(id)
        record.label = f"label {time.monotonic_ns()}"
        return store.save(record)

    return {
        "append": lambda: store.append(id, PLAIN),
        "append many": lambda: store.append(id, [PLAIN] * 300),
        "append large": lambda: store.append(id, {"content": "x" * 100_000}),
        "edit": lambda: store.edit(id, 0, {"content": time.monotonic_ns()}),
        "save": save,
        "update": lambda: store.update(id, merge={"now": time.monotonic_ns()}),
        "steer": lambda: store.steer(id, "now"),
        "set_status": lambda: store.set_status(id, "working"),
        "create": lambda: store.create(Conversation(user="O", messages=[PLAIN])),
        "continue_from": lambda: store.continue_from(id),
        "resources.add": lambda: store.resources.add(Resource(name="r"), user="O"),
        "delete": lambda: store.delete(id),
    }


def test_O01_a_second_event_loop_is_told(databases: tuple[str, str], replica_set: Server) -> None:
    store = AsyncConversationStore.connect(replica_set.uri(databases[0]))
    first = asyncio.new_event_loop()
    id = first.run_until_complete(store.create(Conversation(user="O01", messages=[PLAIN]))).id

    async def collected(items: Any) -> list[Any]:
        return [item async for item in items]

    for call in (
        lambda: store.append(id, PLAIN),
        lambda: store.get(id),
        lambda: store.setup(),
        lambda: collected(store.entries(id)),
        lambda: collected(store.scan(user="O01")),
        lambda: store.resources.collect(user="O01"),
        lambda: store.close(),
    ):
        with pytest.raises(UnavailableError, match="event loop"):
            asyncio.run(call())
    assert first.run_until_complete(store.get(id)).messages == [PLAIN], "nothing was lost or stored twice"
    first.run_until_complete(store.delete(id))
    first.run_until_complete(store.close())
    first.close()


def test_O01_a_store_made_before_the_loop_works_in_it(
    databases: tuple[str, str], replica_set: Server
) -> None:
    store = AsyncConversationStore.connect(replica_set.uri(databases[0]))

    async def use() -> int:
        async with store:
            id = (await store.create(Conversation(user="O01b", messages=[PLAIN]))).id
            await asyncio.gather(*(store.append(id, PLAIN) for _ in range(10)))
            count = (await store.head(id)).message_count
            await store.delete(id)
            return count

    assert asyncio.run(use()) == 11


@one_face
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_O01_a_forked_child_is_told(journey: Journey) -> None:
    store, id = journey.store, journey.new(PLAIN)
    store.append(id, PLAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on: this process has threads
        child = os.fork()
    if not child:
        refused = 0
        for call in (lambda: store.append(id, PLAIN), lambda: store.get(id), lambda: list(store.entries(id))):
            try:
                call()
            except UnavailableError as error:
                refused += "process" in str(error)
            except BaseException:
                pass
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    store.append(id, PLAIN)
    assert store.get(id).messages == [PLAIN] * 3


@one_face
def test_O03_stores_open_no_connections_of_their_own(
    journey: Journey,
    face: Face,
    replica_set: Server,
    databases: tuple[str, str],
    raw: Raw,
) -> None:
    def connections() -> int:
        return int(raw.admin.command("serverStatus")["connections"]["current"])

    id = journey.new(PLAIN)
    before = connections()
    for number in range(500):
        store = face.open(databases[0])
        if number % 10 == 0:
            store.append(id, PLAIN)
            store.for_user(journey.user).get(id)
    assert connections() <= before + 2
    for _ in range(10):
        with ConversationStore.connect(replica_set.uri(databases[0])) as own:
            own.head(id)
        unused = ConversationStore.connect(replica_set.uri(databases[0]))
        unused.close()
    closed = time.monotonic() + 30
    while connections() > before + 2 and time.monotonic() < closed:
        pass
    assert connections() <= before + 2
    assert journey.store.head(id).message_count == 51, "a client that was handed in stays open"


# The driver's own: it leaves the sockets of refused asynchronous connections to the collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_O04_a_closed_port_is_an_error_within_the_timeout(kind: str) -> None:
    secret = "s3cr3t-pass"
    uri = f"mongodb://bob:{secret}@127.0.0.1:{free_port()}/db?retryReads=true"
    loop = asyncio.new_event_loop()
    own: Any = (ConversationStore if kind == "sync" else AsyncConversationStore).connect(uri, timeout=0.3)

    def run(call: Callable[[], Any]) -> Any:
        result = call()
        if hasattr(result, "__aiter__"):
            result = result.__anext__()
        return loop.run_until_complete(result) if hasattr(result, "__await__") else list(result or ())

    for call in (
        lambda: own.setup(),
        lambda: own.append(1, PLAIN),
        lambda: own.entries(1),
        lambda: own.scan(user="u"),
        lambda: own.delete(1),
        lambda: own.export_conversations(lambda piece: None, user="u"),
        lambda: own.resources.add(Resource(name="r", blob=b"x" * 300_000), user="u"),
    ):
        began = time.monotonic()
        with pytest.raises(UnavailableError) as refused:
            run(call)
        assert time.monotonic() - began < 4, "the driver's 30 seconds do not count"
        assert secret not in "".join(traceback.format_exception(refused.value))
        assert secret not in repr(refused.value) + repr(own)
    run(own.close)
    loop.close()
    refused = own = None
    gc.collect()  # here, where the warning is ignored, and not in a later test


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_O04_no_password_in_any_error_about_a_uri() -> None:
    secret = "s3cr3t-pass"
    for uri in (
        f"mongodb://bob:{secret}@/db",
        f"mongodb://bob:{secret}@host:99999/db",
        f"mongodb://bob:{secret}@host:27017/db?w=-5&authMechanism=NONE",
        f"mongodb://bob:{secret}@ho st:27017/d b",
        f"mongodb+srv://bob:{secret}@a.b/db",
        f"http://bob:{secret}@host/db",
        f"mongodb://bob:{secret}@@host/db",
        f"{secret}",
    ):
        store = ConversationStore.connect(uri, timeout=0.5)
        with pytest.raises(ConvostoreError) as refused:
            store.setup()
        assert secret not in str(refused.value) or uri == secret
        store.close()
    del refused
    gc.collect()  # clients that their own constructor gave up complain when they go


@one_face
@pytest.mark.fault
@pytest.mark.parametrize("code", [13, 189])
def test_O05_a_refused_write_is_an_error_and_stores_nothing(
    journey: Journey, replica_set: Server, databases: tuple[str, str], code: int
) -> None:
    id = journey.new(PLAIN)
    own = SyncFace(replica_set.uri(appName="O05"))
    own.client.admin.command("ping")  # Finding the server is no part of the time that a hurried call has.
    hurried, store = own.open(databases[0], timeout=0.2), own.open(databases[0])
    commands = ["findAndModify", "insert", "update", "delete"]
    for name, write in writes(hurried, id).items():
        before = journey.stored()
        fails = FailPoint(replica_set, commands, app_name="O05", times=10_000, error_code=code)
        with fails, pytest.raises(UnavailableError):
            write()
        assert journey.stored() == before, name
    for write in writes(store, id).values():
        write()
    own.close()


@one_face
def test_O05_a_user_who_may_only_read(
    journey: Journey, replica_set: Server, databases: tuple[str, str], raw: Raw
) -> None:
    id = journey.new(PLAIN)
    raw.admin.command("createUser", "reader", pwd="reader", roles=[{"role": "read", "db": databases[0]}])
    try:
        uri = f"mongodb://reader:reader@{replica_set.address}/?directConnection=true"
        own = SyncFace(uri)
        store = own.open(databases[0])
        assert store.get(id).messages == [PLAIN]
        for name, write in writes(store, id).items():
            with journey.nothing_written(), pytest.raises(UnavailableError, match="may not do this"):
                write()
            assert name
        own.close()
        wrong = SyncFace(uri.replace("reader:reader", "reader:wrong"))
        with pytest.raises(UnavailableError) as refused:
            wrong.open(databases[0]).get(id)
        assert type(refused.value).__name__ == "AuthenticationFailedError"
        wrong.close()
    finally:
        raw.admin.command("dropUser", "reader")


@pytest.mark.parametrize("kind", [SyncFace, AsyncFace])
def test_O07_the_uri_weakens_neither_reads_nor_writes(
    journey: Journey, replica_set: Server, databases: tuple[str, str], kind: Any
) -> None:
    log = CommandLog()
    options = {
        "readPreference": "secondaryPreferred",
        "w": "0",
        "journal": "false",
        "readConcernLevel": "local",
    }
    own = kind(replica_set.uri(**options), event_listeners=[log])
    store = own.open(databases[0], bounds=TINY)
    assert not store.setup()
    id = store.create(Conversation(user=journey.user, messages=[PLAIN] * 9)).id
    for write in writes(store, id).values():
        write()
    id = journey.new(*[PLAIN] * 9)
    store.append(id, {"content": "x" * 400_000})
    for read in (
        lambda: store.get(id),
        lambda: store.messages(id),
        lambda: store.delta(id),
        lambda: store.find(user=journey.user),
        lambda: store.count(user=journey.user),
        lambda: store.batch_get([id], user=journey.user),
        lambda: list(store.entries(id)),
        lambda: store.transcript(id),
    ):
        read()
    big = store.resources.add(Resource(name="r", blob=b"x" * 300_000), user=journey.user)
    assert len(store.resources.get(big.id, user=journey.user).blob) == 300_000
    own.close()
    for sent in log.sent:
        if sent.name in ("find", "aggregate", "findAndModify"):
            preference = sent.command.get("$readPreference", {"mode": "primary"})
            assert preference["mode"] == "primary", sent
        if sent.name in ("insert", "update", "delete", "findAndModify") and ".chunks" not in str(
            sent.collection
        ):
            assert sent.command["writeConcern"] == {"w": "majority", "j": True}, sent
    assert {"find", "findAndModify", "insert", "update", "delete"} <= set(log.names)


@pytest.mark.parametrize("kind", [SyncFace, AsyncFace])
def test_O08_a_standalone_server_does_it_all(standalone: Server, database_name: str, kind: Any) -> None:
    own = kind(standalone.uri())
    store = own.open(database_name, bounds=TINY)
    assert store.setup() and not store.setup()
    messages: list[JSON] = [{"role": "user", "content": str(number)} for number in range(20)]
    id = store.create(Conversation(user="u", messages=messages[:3])).id
    for message in messages[3:]:
        store.append(id, message, key=str(message))
    appends = [lambda one, n=n: one.append(id, messages[n], key=f"k{n}") for n in range(8)]
    results = own.together(store, appends)
    assert sorted(one.ids[0] for one in results) == list(range(20, 28))
    store.edit(id, 0, {"edited": True})
    record = store.get(id)
    record.messages.pop()
    record.label = "saved"
    store.save(record)
    store.steer(id, "now")
    taken = store.take(id)
    store.append(id, PLAIN, took=taken.receipt)
    assert store.get(id).messages[0] == {"edited": True}
    assert store.head(id).message_count == 28
    assert not store.check().findings
    for write in writes(store, id).values():
        write()
    assert not store.check().findings
    own.close()


@one_face
@pytest.mark.fault
def test_O12_write_conflicts_are_tried_again(
    journey: Journey, replica_set: Server, databases: tuple[str, str]
) -> None:
    id = journey.new(*[{"role": "user", "content": str(number)} for number in range(9)])
    own = SyncFace(replica_set.uri(appName="O12"))
    store = own.open(databases[0], bounds=TINY)
    for name, write in writes(store, id).items():
        commands = ["findAndModify", "update", "insert"] if name != "resources.add" else ["findAndModify"]
        if name in ("delete", "create"):
            commands = ["findAndModify"]
        with FailPoint(replica_set, commands, app_name="O12", times=2, error_code=112):
            write()
    own.close()
    assert not journey.store.check(user=journey.user).findings
