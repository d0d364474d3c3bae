"""One user never reaches another's data, whatever is called and whatever is passed."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from convostore.schemas.errors import ConvostoreError, InvalidRecordError, NotFoundError, TooLargeError
from convostore.schemas.resources import Resource
from convostore.store.asynchronous.analytics import AsyncAnalytics
from convostore.store.asynchronous.resources import AsyncResources
from convostore.store.asynchronous.store import AsyncConversationStore
from convostore.store.asynchronous.users import AsyncUserStore
from convostore.store.parameters import ALL_USERS
from convostore.store.synchronous.store import ConversationStore
from support.servers import Server
from support.tenants import (
    ANALYTICS,
    ATTEMPTS,
    OPERATORS,
    PARTS,
    RESOURCES,
    SECRET,
    STORE,
    VIEW,
    VIEWED_ANALYTICS,
    VIEWED_RESOURCES,
    WITHOUT_USER,
    Subject,
    Tenancy,
    filters,
    is_empty,
    public_names,
    said,
    subject,
    takes_user,
    tenancy,
    user_of,
)

numbers = itertools.count(1)

BAD_IDS: list[Any] = [{"$ne": None}, {"$gt": ""}, [], True, 1.5, "1", None, -1, 2**64, 10**40]
BAD_USERS: list[Any] = [None, "", {"$ne": None}, {"$gt": ""}, 5, True, ["alice"], "a\0", b"alice"]
ID_PARAMETERS = {
    "id",
    "entry_id",
    "target",
    "parent",
    "before",
    "after",
    "ids",
    "child",
    "conversation",
    "revision",
    "at",
    "into",
    "messages_offset",
    "artifacts_offset",
}
TAKING_A_USER = {
    name: attempt
    for name, attempt in ATTEMPTS.items()
    if takes_user(PARTS.get(attempt.path.split(".")[0], STORE), attempt.path.split(".")[-1])
}
IN_VIEW = {
    name: attempt
    for name, attempt in TAKING_A_USER.items()
    if attempt.path not in OPERATORS | {"resources.collect"}
}


NO_CALLS = {"for_user", "saved_sessions", "migrations"}
"""Of the store, what leads to other calls."""

ABOUT_THE_DATABASE = {"advance", "rebuild"}
"""Calls of the analytics that bring figures up to date, whoever they are about."""


@pytest.fixture(scope="module")
def prepared(replica_set: Server) -> Iterator[str]:
    """A database that is set up, for all tests here."""
    with replica_set.client() as client:
        name = "tenancy"
        ConversationStore(client[name]).setup()
        yield name
        client.drop_database(name)


def someone() -> str:
    return f"user-{next(numbers)}"


_untouched: dict[str, Subject] = {}


def untouched(t: Tenancy) -> Subject:
    """A subject that no test changes: each shows that its attempts did not."""
    if not _untouched:
        _untouched["held"] = subject(t.store, someone())
    return _untouched["held"]


# What there is


def test_every_public_call_of_the_store_is_tried() -> None:
    tried = {attempt.path for attempt in ATTEMPTS.values()}
    plain = {name for name in tried if "." not in name}
    assert plain | set(WITHOUT_USER) | set(PARTS) == public_names(STORE)
    for part, kind in PARTS.items():
        there = {name.removeprefix(f"{part}.") for name in tried if name.startswith(f"{part}.")}
        assert there | ABOUT_THE_DATABASE == public_names(kind) | ABOUT_THE_DATABASE


def test_only_named_calls_take_no_user() -> None:
    without = {name for name in public_names(STORE) - {*PARTS, *NO_CALLS} if not takes_user(STORE, name)}
    assert without == set(WITHOUT_USER) - NO_CALLS - {"import_database"}
    assert [name for name in public_names(RESOURCES) if not takes_user(RESOURCES, name)] == []


def test_calls_over_many_have_no_default_user() -> None:
    many = ("find", "count", "scan", "batch_get", "delete_expired", "export_conversations", "export_files")
    defaults = {name: inspect.signature(getattr(STORE, name)).parameters["user"].default for name in many}
    assert set(defaults.values()) == {inspect.Parameter.empty}


def test_a_users_view_has_every_call_of_one_user_and_no_user_parameter() -> None:
    calls = public_names(STORE) - OPERATORS - NO_CALLS - {"connect", "close"}
    assert public_names(VIEW) == calls | {"user"}
    assert public_names(VIEWED_RESOURCES) == public_names(RESOURCES) - {"collect"}
    assert public_names(VIEWED_ANALYTICS) == public_names(ANALYTICS) - ABOUT_THE_DATABASE
    for view in (VIEW, VIEWED_RESOURCES, VIEWED_ANALYTICS):
        methods = [getattr(view, name) for name in public_names(view) - {"user", *PARTS}]
        assert [method for method in methods if "user" in inspect.signature(method).parameters] == []


def test_both_faces_have_the_same_calls_with_the_same_parameters() -> None:
    """So what is tried here on one face is tried on both: the other is its source."""
    pairs = [(STORE, AsyncConversationStore), (RESOURCES, AsyncResources), (VIEW, AsyncUserStore)]
    for face, other in [*pairs, (ANALYTICS, AsyncAnalytics)]:
        assert public_names(face) == public_names(other)
        for name in public_names(face):
            call, twin = getattr(face, name), getattr(other, name)
            if not isinstance(call, property):
                assert list(inspect.signature(call).parameters) == list(inspect.signature(twin).parameters)


def test_a_users_view_has_the_parameters_of_the_store() -> None:
    for name in public_names(VIEW) - {"user", *PARTS, "create"}:
        own = set(inspect.signature(getattr(VIEW, name)).parameters)
        assert own == set(inspect.signature(getattr(STORE, name)).parameters) - {"user"}, name


# Another user


@pytest.mark.parametrize("name", TAKING_A_USER)
def test_the_wrong_user_gets_nothing_and_writes_nothing(
    replica_set_uri: str, prepared: str, name: str
) -> None:
    attempt, intruder = TAKING_A_USER[name], someone()
    with tenancy(replica_set_uri, prepared) as t:
        s = untouched(t)
        t.store.analytics.advance()  # figures are brought up to date by whoever asks
        before = t.held(s.user)
        result: Any = None
        try:
            result = attempt.on(t.store, s, user=intruder)
        except ConvostoreError as error:
            assert isinstance(error, NotFoundError), error
            assert SECRET not in f"{error} {vars(error)}"
        else:
            assert attempt.writes_own or is_empty(result), result
            assert SECRET not in repr(result).replace("mine now", "") or attempt.writes_own
        assert t.held(s.user) == before
        if not attempt.writes_own:
            assert all(documents == [] for documents in t.held(intruder).values())


@pytest.mark.parametrize("name", IN_VIEW)
def test_the_wrong_users_view_gets_nothing_and_writes_nothing(
    replica_set_uri: str, prepared: str, name: str
) -> None:
    attempt, intruder = IN_VIEW[name], someone()
    with tenancy(replica_set_uri, prepared) as t:
        s = untouched(t)
        t.store.analytics.advance()
        before = t.held(s.user)
        try:
            result = attempt.on(t.store.for_user(intruder), s)
        except ConvostoreError as error:
            assert isinstance(error, NotFoundError), error
        else:
            assert attempt.writes_own or is_empty(result), result
        assert t.held(s.user) == before


def test_an_export_holds_the_users_own_only(replica_set_uri: str, prepared: str) -> None:
    with tenancy(replica_set_uri, prepared) as t:
        subject(t.store, someone())
        written: list[bytes] = []
        t.store.export_conversations(written.append, user=someone())
        assert SECRET.encode() not in b"".join(written)


def test_a_child_of_another_user_is_refused_in_a_view(replica_set_uri: str, prepared: str) -> None:
    with tenancy(replica_set_uri, prepared) as t:
        theirs = subject(t.store, someone())
        mine = subject(t.store, someone())
        with pytest.raises(NotFoundError):
            t.store.for_user(mine.user).update(mine.id, child=theirs.id)


# What is sent


@pytest.mark.parametrize("name", TAKING_A_USER)
def test_every_filter_on_behalf_of_a_user_names_the_user(
    replica_set_uri: str, prepared: str, name: str
) -> None:
    owner = someone()
    with tenancy(replica_set_uri, prepared) as t:
        s = subject(t.store, owner)
        t.log.clear()
        try:
            TAKING_A_USER[name].on(t.store, s, user=owner)
        except ConvostoreError as error:
            # There is nothing to redo.
            assert name == "redo", error
        assert t.log.sent
        for one in t.log.sent:
            collection = one.collection or ""
            if (collection == "meta" and "_ids" in str(one.command)) or collection.startswith("files."):
                continue
            if one.command.get("comment") == "rollup":
                continue  # bringing figures up to date is about everybody's, and gives nothing back
            for filter in filters(one):
                assert user_of(filter) == owner, (one.name, collection, filter)


def test_filters_of_large_resources_name_no_content(replica_set_uri: str, prepared: str) -> None:
    """GridFS keeps bytes under random ids, which only a resource found with its user tells."""
    with tenancy(replica_set_uri, prepared) as t:
        blob = SECRET.encode() * 20_000
        mine = t.store.resources.add(Resource(name="r", blob=blob), user=someone())
        t.log.clear()
        with pytest.raises(NotFoundError):
            t.store.resources.get(mine.id, user=someone())
        assert [one.collection for one in t.log.sent] == ["resources"]


# What is passed


@pytest.mark.parametrize("name", TAKING_A_USER)
def test_no_user_is_refused_before_anything_is_sent(replica_set_uri: str, prepared: str, name: str) -> None:
    with tenancy(replica_set_uri, prepared) as t:
        s = untouched(t)
        t.log.clear()
        for user in BAD_USERS:
            with pytest.raises(InvalidRecordError) as refusal:
                TAKING_A_USER[name].on(t.store, s, user=user)
            assert refusal.value.path == "user"
        with pytest.raises(TooLargeError):
            TAKING_A_USER[name].on(t.store, s, user="x" * 257)
        assert t.log.sent == []


@pytest.mark.parametrize("name", TAKING_A_USER)
def test_what_is_no_id_is_a_typed_error(replica_set_uri: str, prepared: str, name: str) -> None:
    attempt = TAKING_A_USER[name]
    with tenancy(replica_set_uri, prepared) as t:
        s = untouched(t)
        before = t.held(s.user)
        kind = PARTS.get(attempt.path.split(".")[0], STORE)
        parameters = inspect.signature(getattr(kind, attempt.path.split(".")[-1])).parameters
        tried = ID_PARAMETERS & (set(attempt.arguments(s)) | ({"child"} & set(parameters)))
        for parameter, bad in itertools.product(sorted(tried), BAD_IDS):
            if bad is None and parameters[parameter].default is not inspect.Parameter.empty:
                continue
            given = {parameter: [bad] if parameter == "ids" else bad}
            with pytest.raises(ConvostoreError):
                attempt.on(t.store, s, user=s.user, **given)
        assert t.held(s.user) == before


def test_every_id_parameter_is_tried() -> None:
    """The names above are all that hold an id, a position or a revision."""
    known = ID_PARAMETERS | {
        "user",
        "messages",
        "message",
        "limit",
        "before_ms",
        "lease_ms",
        "since",
        "until",
        "version",
        "expected",
    }
    holding_numbers = {
        parameter.name
        for kind in (STORE, RESOURCES)
        for name in public_names(kind) - {*PARTS, "saved_sessions", "migrations"}
        for parameter in inspect.signature(getattr(kind, name)).parameters.values()
        if "int" in str(parameter.annotation).replace("Mapping[int", "").split("Callable")[0]
    }
    assert holding_numbers <= known, holding_numbers - known


def test_a_scope_of_all_users_must_be_said(replica_set_uri: str, prepared: str) -> None:
    with tenancy(replica_set_uri, prepared) as t:
        mine = subject(t.store, someone())
        found = t.store.batch_get([mine.id], user=ALL_USERS)
        assert [record.id for record in found] == [mine.id]
        find: Any = t.store.find
        with pytest.raises(TypeError):
            find()


def test_one_users_key_is_not_anothers(replica_set_uri: str, prepared: str) -> None:
    with tenancy(replica_set_uri, prepared) as t:
        mine, theirs = subject(t.store, someone()), subject(t.store, someone())
        done = t.store.append(mine.id, said("mine"), key="shared", user=mine.user)
        other = t.store.append(theirs.id, said("theirs"), key="shared", user=theirs.user)
        assert (done.replayed, other.replayed) == (False, False)
