"""Cases K: keys with a meaning of their own: operators, paths, references, the store's own names."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas import Conversation
from convostore.schemas.entries import Source
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON, same_json
from convostore.schemas.resources import Resource
from support.command_log import CommandLog
from support.faces import SyncFace
from support.journeys import PLAIN, Journey
from support.servers import Server

pytestmark = pytest.mark.parametrize("face", ["sync"], indirect=True)

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://example.com/s",
    "$defs": {"a.b": {"$ref": "#/$defs/x"}, "": {"$comment": "c"}},
    "$inc": {"n": 1},
    "$set": {"messages": []},
}
REFERENCES = [
    {"$ref": "c", "$id": 1},
    {"$id": 1, "$ref": "c"},
    {"$ref": "c", "$id": 1, "$db": "admin"},
    {"$db": "admin"},
    {"$id": None},
    {"$ref": 5, "$id": 5},
    {"$ref": "#/x"},
    {"type": "object", "$id": "i", "$ref": "r", "z": [{"$ref": "c", "$id": {"$oid": "0" * 24}}]},
]
OPERATORS = [
    {"$each": [1, 2]},
    {"$each": [{"role": "system"}], "$slice": -1, "$sort": 1, "$position": 0},
    {"$literal": {"$each": []}},
    {"$concatArrays": [["$messages"], "$$ROOT"]},
    {"content": "$messages", "more": "$$ROOT", "again": "$$NOW"},
    {"$set": {"status": "cancelled"}, "$unset": {"messages": ""}},
    {"$oid": "0" * 24},
    {"$numberLong": "1"},
    {"$date": 0},
    {"$binary": {"base64": "", "subType": "00"}},
    {"$int": "5"},
    {"$float": "NaN"},
    {"$$int": "5"},
    {"$bytes": "AAAA"},
]
PATHS = [
    "a.b",
    "a.0",
    "a..b",
    ".",
    "",
    " ",
    "$",
    "$[]",
    "$[x]",
    "messages",
    "messages.0",
    "extra",
    "extra.a",
    "_id",
    "user",
    "status",
    "version",
    "__proto__",
    "constructor",
    "\u00e9",
    "e\u0301",
    "\ufeff",
    "\0",
    "a\0b",
    "\ud800",
    "k" * 5000,
]


def everywhere(journey: Journey, value: JSON) -> None:
    """The value in a message, ``extra``, the metadata of a resource, and the unknown members of an import."""
    message = {"role": "tool", "content": value}
    resource = Resource(name="r", metadata={"value": value})
    record = Conversation(user=journey.user, messages=[message], extra={"value": value}, resources=[resource])
    source = Source("test", f"{journey.store.count(user=journey.user)}")
    store, id = journey.store, journey.store.create(record, source=source, unknown={"value": value}).id
    for number in range(2):
        store.append(id, message, artifacts=resource)
        store.edit(id, number, {"role": "tool", "content": [value]})
        store.edit(id, number, message)
    found = store.get(id)
    assert same_json(found.messages, [message] * 3)
    found.extra = [value]
    found.resources = [resource, resource]
    store.save(found)
    found.extra = {"value": value}
    store.save(found)
    found = store.get(id)
    assert same_json([item.metadata for item in found.resources + found.artifacts], [resource.metadata] * 4)
    assert same_json(found.extra, {"value": value})
    stored = store.resources.add(resource, user=journey.user)
    kept = store.resources.get(stored.id, user=journey.user).metadata
    assert same_json(kept["value"], value)


def test_K01_operators_and_schemas_as_data(journey: Journey) -> None:
    for value in (SCHEMA, [SCHEMA, SCHEMA], {"nested": {"deep": [SCHEMA]}}):
        everywhere(journey, value)
    journey.keeps(SCHEMA)
    journey.keeps_extra(SCHEMA)


def test_K02_what_drivers_take_for_a_reference(journey: Journey) -> None:
    for value in (REFERENCES, *REFERENCES[:4]):
        everywhere(journey, value)
    journey.keeps(*REFERENCES)


def test_K03_keys_are_never_paths(journey: Journey) -> None:
    store, id = journey.store, journey.new(PLAIN, label="kept")
    for number, key in enumerate(PATHS):
        store.update(id, merge={key: number})
    extra = store.get(id).extra
    assert same_json(extra, {key: number for number, key in enumerate(PATHS)})
    for key in reversed(PATHS):
        store.update(id, merge={key: {key: [key]}})
    assert same_json(store.head(id).extra, {key: {key: [key]} for key in PATHS})
    record = store.get(id)
    assert (record.messages, record.label, record.id) == ([PLAIN], "kept", id)
    journey.keeps({key: {key: key} for key in PATHS})


def test_K04_NUL_in_keys(journey: Journey) -> None:
    for value in ({"a\0b": 1, "ok": 2}, {"\0": {"\0\0": "\0"}}, [{"x": {"y\0": []}}]):
        everywhere(journey, value)


def test_K07_operator_arguments_as_data(journey: Journey) -> None:
    for value in (OPERATORS, *OPERATORS[:4]):
        everywhere(journey, value)
    journey.keeps(*OPERATORS)
    id = journey.new(PLAIN)
    journey.store.append(id, OPERATORS)
    assert journey.store.head(id).message_count == 1 + len(OPERATORS), "none became more than one message"


def test_K09_payload_never_sets_a_field_of_the_store(journey: Journey) -> None:
    store = journey.store
    plain = journey.head_document(journey.new(PLAIN, extra={}))
    names = {name: "evil" for name in plain}
    source = Source("test", "K09")
    record = Conversation(user=journey.user, messages=[names], extra=names)
    id = store.create(record, source=source, unknown=names).id
    store.append(id, names)
    store.update(id, merge=names)
    stored = journey.head_document(id)
    assert stored.keys() - plain.keys() <= {"source", "unknown", "recent"}
    assert (stored["_id"], stored["user"], stored["version"], stored["status"]) == (
        id,
        journey.user,
        2,
        "submitted",
    )
    assert same_json([stored["extra"], stored["unknown"]], [names, names])
    with pytest.raises(InvalidRecordError):
        store.create(Conversation(user=journey.user), source=Source({"$ne": 1}, "x"))  # type: ignore[arg-type]


def test_K10_filters_hold_no_payload(
    journey: Journey, replica_set: Server, databases: tuple[str, str]
) -> None:
    log = CommandLog()
    own = SyncFace(replica_set.uri(), event_listeners=[log])
    store, canary = own.open(databases[0]), "canary-4711"
    id = store.create(Conversation(user=journey.user, messages=[{"role": canary, canary: SCHEMA}])).id
    store.append(id, {"role": "user", "content": {canary: 1}}, usage={"requests": 1})
    store.edit(id, 0, {canary: {"$or": [canary]}})
    store.update(id, merge={canary: canary}, label=canary)
    store.steer(id, canary)
    record = store.get(id)
    del record.messages[0]
    record.extra[canary] = 2
    store.save(record)
    store.delete(id)
    own.close()
    filters = [part for sent in log.sent for part in _filters(sent.command)]
    assert len(filters) > 10
    assert canary not in repr(filters)


def _filters(command: Any) -> list[Any]:
    """Every condition that a command selects documents by."""
    found = [command[name] for name in ("filter", "query") if name in command]
    found += [one["q"] for name in ("updates", "deletes") for one in command.get(name, ())]
    return found


def test_K03_very_many_and_very_long_keys(journey: Journey) -> None:
    many = {f"key {number}": number for number in range(100_000)}
    id = journey.new({"content": many}, {"k" * 100_000: {"k" * 1_000_000: 1}})
    journey.store.append(id, {"content": many})
    messages = journey.store.get(id).messages
    assert same_json(messages, [{"content": many}, {"k" * 100_000: {"k" * 1_000_000: 1}}, {"content": many}])
    journey.store.update(id, extra=dict(list(many.items())[:50_000]))
    assert list(journey.store.head(id).extra) == list(many)[:50_000]


def test_K04_two_keys_that_JSON_cannot_tell_apart(journey: Journey) -> None:
    # A high and a low half side by side are one character in JSON: the second key would win.
    value = {"\ud83d\ude00": 1, "\U0001f600": 2}
    journey.refuses({"role": "tool", "content": value}, ".content")
    journey.refuses_extra({"value": value}, ".value")
