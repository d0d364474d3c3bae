"""Cases F: values of types that JSON does not have, and JSON that must not be taken for anything else."""

from __future__ import annotations

import re
from collections import OrderedDict, UserDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from datetime import date, datetime, timezone
from datetime import time as time_of_day
from decimal import Decimal
from enum import Enum, IntEnum, IntFlag
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from bson import SON, Binary, Code, DBRef, Decimal128, Int64, MaxKey, ObjectId, Regex, Timestamp
from pydantic import BaseModel

from convostore.schemas import Conversation
from convostore.schemas.authors import Author
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON, same_json
from convostore.schemas.messages import Message
from convostore.schemas.resources import Resource
from support.journeys import PLAIN, Journey

pytestmark = pytest.mark.parametrize("face", ["sync"], indirect=True)


class Text(str):
    pass


class Whole(int):
    pass


class Real(float):
    pass


class Object(dict):  # type: ignore[type-arg]
    pass


class Array(list):  # type: ignore[type-arg]
    pass


class Colour(Enum):
    RED = "red"


class Named(str, Enum):
    RED = "red"


class Level(IntEnum):
    ONE = 1


class Flag(IntFlag):
    ONE = 1


@dataclass
class Point:
    x: int = 1


class Model(BaseModel):
    x: int = 1


Pair = namedtuple("Pair", "a b")

FOREIGN: list[Any] = [
    *(Text("x"), Whole(1), Real(1.5), Object(a=1), Array([1]), Colour.RED, Named.RED, Level.ONE, Flag.ONE),
    *(Point(), Model(), Pair(1, 2), (1,), {1}, frozenset({1}), range(3), deque([1]), iter([1]), object()),
    *(b"x", bytearray(b"x"), memoryview(b"x"), 1j, Decimal("0.10"), Decimal("NaN"), UUID(int=1), Path("x")),
    *(datetime(2024, 5, 1), datetime(2024, 5, 1, tzinfo=timezone.utc), date(2024, 5, 1), time_of_day(12)),
    *(OrderedDict(a=1), defaultdict(int), UserDict(a=1), MappingProxyType({"a": 1}), SimpleNamespace(a=1)),
    *(re.compile("x"), len, Colour, NotImplemented, Ellipsis, ValueError("x"), {}.keys()),
    *(ObjectId(), Int64(1), Decimal128("1"), Binary(b"x"), Regex("x"), SON(a=1), DBRef("c", 1), Code("x")),
    *(Timestamp(1, 1), MaxKey()),
]
KEYS: list[Any] = [1, 1.5, True, None, (1, 2), b"x", Text("x"), Named.RED, Level.ONE, date(2024, 5, 1)]


def test_F01_no_type_is_changed_in_silence(journey: Journey) -> None:
    id = journey.new(PLAIN)
    with journey.nothing_written():
        for value in FOREIGN:
            for message, at in (
                (value, ""),
                ({"role": "tool", "content": value}, ".content"),
                ({"a": [{"b": [1, value]}]}, ".a[0].b[1]"),
            ):
                if not at and type(value) in (tuple, Array, Pair):
                    continue  # a list of messages, where one message may stand
                with pytest.raises(InvalidRecordError) as refused:
                    journey.store.append(id, [PLAIN, message])
                assert (refused.value.path, refused.value.index) == (f"messages[1]{at}", 1)
                with pytest.raises(InvalidRecordError) as refused:
                    journey.store.update(id, extra={"x": message})
                assert refused.value.path == f"extra.x{at}"
    assert journey.store.get(id).messages == [PLAIN]


def test_F01_keys_that_are_no_text(journey: Journey) -> None:
    id = journey.new(PLAIN)
    with journey.nothing_written():
        for key in KEYS:
            with pytest.raises(InvalidRecordError, match="key"):
                journey.store.append(id, {"role": "tool", "content": {"fine": 1, key: 2}})
            with pytest.raises(InvalidRecordError, match="key"):
                journey.store.update(id, merge={key: 2})
            with pytest.raises(InvalidRecordError, match="key"):
                journey.store.update(id, extra=[{key: 2}])


def test_F02_ids_and_texts_are_of_their_own_type(journey: Journey) -> None:
    store, id = journey.store, journey.new(PLAIN)
    with journey.nothing_written():
        for value in FOREIGN:
            if isinstance(value, str):
                continue  # text by inheritance is taken as text, see below
            for call in (
                lambda v=value: store.get(id, user=v),
                lambda v=value: store.find(user=v),
                lambda v=value: store.find(user=journey.user, thread=v),
                lambda v=value: store.find(user=journey.user, label=v),
                lambda v=value: store.append(id, PLAIN, key=v),
                lambda v=value: store.append(id, PLAIN, took=v),
                lambda v=value: store.update(id, label=v),
                lambda v=value: store.update(id, failed_reason=v),
                lambda v=value: store.stop(id, reason=v),
                lambda v=value: store.give_back(id, v),
                lambda v=value: store.for_user(v),
            ):
                with pytest.raises(InvalidRecordError):
                    call()
    record = store.create(Conversation(user=Text("u" + journey.user), thread=Text("t"), label=Named.RED))
    found = store.get(record.id)
    assert same_json([found.user, found.thread, found.label], ["u" + journey.user, "t", "red"])
    store.delete(record.id)


def test_F04_everything_is_checked_before_anything_is_written(journey: Journey) -> None:
    store, user = journey.store, journey.user
    late: JSON = [{"role": "tool", "content": "x" * 100_000}] * 3 + [PLAIN] * 300 + [{"at": {1}}]
    id = journey.new(PLAIN, extra={"kept": True})
    record = Conversation(user=user, messages=late, extra={"big": "x" * 100_000})
    bad = Resource(name="r", metadata={"when": date(2024, 5, 1)})
    with journey.nothing_written():
        for call in (
            lambda: store.append(id, late),
            lambda: store.append(id, late[:3], artifacts=[bad]),
            lambda: store.append(id, late[:3], usage={"input_tokens": -1}),
            lambda: store.create(record),
            lambda: store.create(Conversation(user=user, messages=late[:3], extra={"at": {1}})),
            lambda: store.create(Conversation(user=user, messages=late[:3], artifacts=[bad])),
            lambda: store.create(Conversation(user=user, messages=late[:3]), unknown={"at": {1}}),
            lambda: store.create(Conversation(user=user, messages=late[:3]), unknown=[1]),
            lambda: store.create(Conversation(user=user, messages=late[:3]), source="file"),
            lambda: store.continue_from(id, messages=late),
            lambda: store.continue_from(id, messages=late[:3], extra={"at": {1}}),
            lambda: store.resources.add(bad, user=user),
        ):
            with pytest.raises(InvalidRecordError):
                call()
    assert store.get(id).extra == {"kept": True}


def test_F04_lists_changed_in_place_are_checked_again(journey: Journey) -> None:
    store = journey.store
    changes: list[tuple[str, Any]] = [
        ("ancestors", "x"),
        ("ancestors", -1),
        ("ancestors", 2**64),
        ("ancestors", True),
        ("steering_messages", 5),
        ("follow_up_messages", None),
        ("resources", "x"),
        ("resources", {"name": "r"}),
        ("artifacts", None),
    ]
    for name, value in changes:
        record = Conversation(
            user=journey.user, ancestors=[], steering_messages=[], follow_up_messages=[], messages=[PLAIN]
        )
        getattr(record, name).append(value)
        with journey.nothing_written(), pytest.raises(InvalidRecordError) as refused:
            store.create(record)
        assert refused.value.path.startswith(name)
        if name in ("resources", "artifacts"):
            stored = store.get(journey.new(PLAIN))
            getattr(stored, name).append(value)
            with journey.nothing_written(), pytest.raises(InvalidRecordError) as refused:
                store.save(stored)
            assert refused.value.path.startswith(name)
    stored = store.get(journey.new(PLAIN, resources=[Resource(name="r", metadata={})]))
    stored.resources[0].tags.append(5)  # type: ignore[arg-type]
    with journey.nothing_written(), pytest.raises(InvalidRecordError, match="tags"):
        store.save(stored)


def test_F04_an_author_that_cannot_be_read_again_cannot_be_made(journey: Journey) -> None:
    kinds: list[Any] = ["nonsense", "", None, 5, {"$x": 1}, ["user"]]
    made: list[Any] = [lambda kind=kind: Author(kind) for kind in kinds]
    made += [
        lambda: Author("plugin"),
        lambda: Author.plugin("\ud800"),
        lambda: Author(title="\ud800"),
    ]
    made += [lambda: Author.agent(5), lambda: Author("plugin", name=5)]  # type: ignore[arg-type]
    for make in made:
        with pytest.raises(InvalidRecordError, match="author"):
            make()
    store, id = journey.store, journey.new(PLAIN)
    with journey.nothing_written():
        for author in ("bob", 5, {"kind": "nonsense"}, {"kind": {"plugin": "\ud800"}}, {"from": {"$ne": 1}}):
            with pytest.raises(InvalidRecordError, match="author"):
                store.append(id, PLAIN, author=author)
            with pytest.raises(InvalidRecordError, match="author"):
                store.edit(id, 0, {"new": 1}, author=author)
    for author in (Author.user(), Author.plugin("a.b$"), Author.agent("a/b", "$ne").titled("\U0001f600")):
        store.append(id, PLAIN, author=author)
        assert store.messages(id, limit=1).items[0].author in (author, None)


def test_F06_text_stays_text_and_lists_stay_lists(journey: Journey) -> None:
    texts = ['[{"role":"system"}]', '{"$oid":"0"}', "null", "1", '"x"', "", "[]", '{"a":', "\\u0041"]
    journey.keeps({"role": "user", "content": texts}, *texts[:4])
    shapes: list[JSON] = [
        {},
        [],
        [[]],
        [{}],
        {"a": {}},
        {"a": []},
        None,
        True,
        0,
        0.0,
        "",
        [None],
        [[], [[]]],
    ]
    journey.keeps({"role": "user", "content": shapes}, *shapes[:4])
    journey.keeps_extra(shapes)
    id = journey.new()
    for shape in shapes:
        journey.store.append(id, [shape])
    assert same_json(journey.store.get(id).messages, shapes), "a message may be any JSON"


def test_F06_what_counts_as_one_message_and_what_as_many(journey: Journey) -> None:
    store, id = journey.store, journey.new()
    assert store.append(id, {"role": "user"}).ids == (0,)
    assert store.append(id, [{"role": "user"}]).ids == (1,)
    assert store.append(id, ({"role": "user"}, {"role": "user"})).ids == (2, 3)
    assert store.append(id, []).ids == store.append(id, ()).ids == ()
    assert store.append(id, "text").ids == (4,)
    assert store.append(id, None).ids == (5,)
    assert store.append(id, Message(role="user", content=[])).ids == (6,)
    for refused in ((message for message in [PLAIN]), {PLAIN["role"]}, b"x", range(2), map(str, [1])):
        with pytest.raises(InvalidRecordError):
            store.append(id, refused)
    assert store.head(id).message_count == 7
    assert store.continue_from(id, messages={"role": "user"}).messages == [{"role": "user"}]
