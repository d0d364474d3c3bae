"""Hard inputs: ids, users and filters that a server could read as more than a value."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from convostore.schemas.errors import ConvostoreError, InvalidRecordError, NotFoundError, QueryError
from convostore.schemas.transcript import Transcript
from convostore.store import ConversationStore
from support.command_log import CommandLog
from support.faces import Face
from support.hard_inputs import Row
from support.journeys import PLAIN, Journey
from support.servers import Server

pytestmark = pytest.mark.shared

NAMES_OF_IDS = ("id", "target", "parent")
ARGUMENTS = {
    "entry_id": 0,
    "message": PLAIN,
    "text": "go on",
    "receipt": "0" * 32,
    "status": "idle",
    "transcript": Transcript(),
    "rewriter": lambda message: message,
    "revision": 0,
}
"""What the methods' other parameters get, where they must be given."""


@pytest.fixture
def watched(face: Face, replica_set: Server, databases: tuple[str, str]) -> Iterator[tuple[Any, CommandLog]]:
    """A store, and the log of what it sends."""
    log = CommandLog()
    own = type(face)(replica_set.uri(), event_listeners=[log])  # type: ignore[call-arg]
    yield own.open(databases[0]), log
    own.close()


def methods_that_take_an_id() -> list[tuple[str, list[Any]]]:
    """Every public method whose first parameter names a conversation, with arguments for the others."""
    found = []
    for name, method in inspect.getmembers(ConversationStore, inspect.isfunction):
        parameters = list(inspect.signature(method).parameters.values())[1:]
        if name.startswith("_") or not parameters or parameters[0].name not in NAMES_OF_IDS:
            continue
        required = [one for one in parameters[1:] if one.default is one.empty or one.name == "revision"]
        found.append((name, [ARGUMENTS[one.name] for one in required]))
    return found


def call(store: Any, name: str, id: Any, arguments: list[Any]) -> None:
    result = getattr(store, name)(id, *arguments)
    if inspect.isgenerator(result):
        list(result)
    elif hasattr(result, "__enter__"):
        with result:
            pass


def refuses_everywhere(row: Row, journey: Journey, watched: tuple[Any, CommandLog]) -> None:
    """Every method that takes an id refuses the row's before it sends anything."""
    store, log = watched
    journey.new(PLAIN)
    id = row.value[0]["session"]
    assert {step["do"] for step in row.value} == {"load", "delete_session", "append"}
    methods = methods_that_take_an_id()
    assert {"get", "append", "edit", "delete", "steer", "take", "messages", "entries"} <= dict(methods).keys()
    with journey.nothing_written():
        for name, arguments in methods:
            if name == "watch" and id is None:
                continue  # None is every conversation there
            with pytest.raises(InvalidRecordError):
                call(store, name, id, arguments)
    assert log.sent == []


def test_HI_145_id_is_operator(row: Row, journey: Journey, watched: tuple[Any, CommandLog]) -> None:
    refuses_everywhere(row, journey, watched)


def test_HI_146_id_is_operator(row: Row, journey: Journey, watched: tuple[Any, CommandLog]) -> None:
    refuses_everywhere(row, journey, watched)


def test_HI_147_id_is_operator(row: Row, journey: Journey, watched: tuple[Any, CommandLog]) -> None:
    refuses_everywhere(row, journey, watched)


def test_HI_148_id_is_operator(row: Row, journey: Journey, watched: tuple[Any, CommandLog]) -> None:
    refuses_everywhere(row, journey, watched)


def test_HI_149_id_is_operator(row: Row, journey: Journey, watched: tuple[Any, CommandLog]) -> None:
    refuses_everywhere(row, journey, watched)


def test_HI_150_id_is_operator(row: Row, journey: Journey, watched: tuple[Any, CommandLog]) -> None:
    refuses_everywhere(row, journey, watched)


def test_HI_151_id_is_operator(row: Row, journey: Journey, watched: tuple[Any, CommandLog]) -> None:
    refuses_everywhere(row, journey, watched)


def test_HI_152_id_is_operator(row: Row, journey: Journey) -> None:
    # Nothing is ever stored under 0, which means "not given yet"; as a u64 it is simply not found.
    with journey.nothing_written():
        for name, arguments in methods_that_take_an_id():
            if name == "delete":
                assert not journey.store.delete(row.value[0]["session"]).existed
            elif name != "watch":
                with pytest.raises(NotFoundError):
                    call(journey.store, name, row.value[0]["session"], arguments)


def test_HI_153_id_is_operator(row: Row, journey: Journey, watched: tuple[Any, CommandLog]) -> None:
    refuses_everywhere(row, journey, watched)


def test_HI_154_id_is_operator(row: Row, journey: Journey, watched: tuple[Any, CommandLog]) -> None:
    refuses_everywhere(row, journey, watched)


def test_HI_155_tenant_missing(row: Row, journey: Journey, watched: tuple[Any, CommandLog]) -> None:
    store, log = watched
    id = journey.new(PLAIN)
    tenants = {step["tenant"] for step in row.value if "tenant" in step} | {None, ""}
    for tenant in tenants:
        for refused in (
            lambda tenant=tenant: store.find(user=tenant),
            lambda tenant=tenant: store.count(user=tenant),
            lambda tenant=tenant: list(store.scan(user=tenant)),
            lambda tenant=tenant: store.batch_get([id], user=tenant),
            lambda tenant=tenant: store.delete_expired(2**53, user=tenant),
            lambda tenant=tenant: store.export_conversations(lambda piece: None, user=tenant),
            lambda tenant=tenant: store.check(user=tenant),
            lambda tenant=tenant: store.for_user(tenant),
            lambda tenant=tenant: store.get(id, user=tenant),
            lambda tenant=tenant: store.append(id, PLAIN, user=tenant),
            lambda tenant=tenant: store.delete(id, user=tenant),
            lambda tenant=tenant: store.resources.get(1, user=tenant),
            lambda tenant=tenant: store.resources.collect(user=tenant),
        ):
            with pytest.raises(ConvostoreError):
                refused()
    for left_out in (store.find, store.count, store.scan, store.delete_expired):
        with pytest.raises(TypeError):
            left_out()
    assert log.sent == []


def finds_only_itself(row: Row, journey: Journey) -> None:
    """The text as label, thread and user finds what has that very text, whatever it is as a pattern."""
    text = row.value[0]["text"]
    others = [
        journey.new(PLAIN, label="admin", thread="admin"),
        journey.new(PLAIN, label="aXb", thread="aXb"),
    ]
    id = journey.new({"role": "user", "content": text}, label=text)
    assert [head.id for head in journey.store.find(user=journey.user, label=text)] == [id]
    assert [head.id for head in journey.store.find(user=journey.user, label="admin")] == others[:1]
    try:
        threaded = journey.new(PLAIN, thread=text)
    except ValueError:
        with pytest.raises(ConvostoreError):
            journey.store.find(user=journey.user, thread=text)
    else:
        assert [head.id for head in journey.store.find(user=journey.user, thread=text)] == [threaded]
        assert journey.store.count(user=f"not {text}") == 0
    journey.keeps({"role": "user", "content": text})


def test_HI_158_search_text(row: Row, journey: Journey) -> None:
    finds_only_itself(row, journey)


def test_HI_159_search_text(row: Row, journey: Journey) -> None:
    finds_only_itself(row, journey)


def test_HI_160_search_text(row: Row, journey: Journey) -> None:
    finds_only_itself(row, journey)


def test_HI_161_search_text(row: Row, journey: Journey) -> None:
    finds_only_itself(row, journey)


def test_HI_162_search_text(row: Row, journey: Journey) -> None:
    finds_only_itself(row, journey)


def test_HI_163_search_text(row: Row, journey: Journey) -> None:
    finds_only_itself(row, journey)


def test_HI_164_search_text(row: Row, journey: Journey) -> None:
    finds_only_itself(row, journey)


def test_HI_165_search_text(row: Row, journey: Journey) -> None:
    finds_only_itself(row, journey)


def test_HI_166_search_text(row: Row, journey: Journey) -> None:
    finds_only_itself(row, journey)


def test_HI_167_search_text(row: Row, journey: Journey) -> None:
    finds_only_itself(row, journey)


def test_HI_168_search_too_long(row: Row, journey: Journey) -> None:
    text = row.value[0]["text"]
    assert len(text) > 256
    finds_only_itself(row, journey)
    for refused in (
        lambda: journey.store.find(user=text),
        lambda: journey.store.find(user=journey.user, thread=text),
        lambda: journey.store.append(1, PLAIN, key=text),
    ):
        with pytest.raises(ConvostoreError):
            refused()
    with pytest.raises(QueryError):
        journey.store.find(user=journey.user, cursor=text)


def test_HI_142_language_field(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_144_search_scripts(row: Row, journey: Journey) -> None:
    messages = row.value[0]["messages"]
    journey.keeps(*messages)
    for message in messages:
        label = journey.new(message, label=message["content"])
        found = journey.store.find(user=journey.user, label=message["content"])
        assert [head.id for head in found] == [label]
    for step in row.value[1:]:
        assert journey.store.find(user=journey.user, label=step["text"]).items == ()
