"""Databases that a migration finds: what the first release wrote, and Anda records as somebody put them.

``tests/first_release`` holds what release 0.1.0 wrote, dumped, and what it read of it itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from bson import json_util
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.objectid import ObjectId
from pymongo.database import Database

from convostore.store import ALL_USERS

Document = dict[str, Any]

FOLDER = Path(__file__).parents[1] / "first_release"
HOUR = 3_600_000
LATER = 1_764_600_000_000
"""After everything that the first release wrote, ms."""

LONG, EMPTY, IMPORTED = 2, 3, 502
"""Of what the first release wrote: one with sealed messages and records, one without any, a long import."""


def clock() -> int:
    """A store's clock that stands still."""
    return LATER


def written_by_the_first_release() -> list[Document]:
    """Its dump: a line a document, and one a collection with its options and indexes."""
    options = json_util.JSONOptions(json_mode=json_util.JSONMode.CANONICAL)
    lines = (FOLDER / "documents.jsonl").read_text("ascii").splitlines()
    return [json_util.loads(line, json_options=options) for line in lines]


def read_by_the_first_release() -> dict[str, Document]:
    """By id, what that release read of each conversation."""
    found: dict[str, Document] = json.loads((FOLDER / "expected.json").read_text("ascii"))
    return found


_LINES = written_by_the_first_release()


def load(
    database: Database[Document],
    only: Collection[int] = (),
    *,
    raw: Iterable[Document] = (),
    bare: bool = True,
) -> None:
    """Put the first release's documents there, of ``only`` these conversations, and foreign ones, ``raw``.

    With ``bare`` without its validators and indexes, which takes a fraction of the time.
    """
    documents: dict[str, list[Document]] = {}
    for line in _LINES:
        name = line["collection"]
        if "document" not in line:
            if not bare:
                database.create_collection(name, **line["options"])
                for index in line["indexes"]:
                    facts = {key: value for key, value in index.items() if key not in ("v", "key")}
                    database[name].create_index(list(index["key"].items()), **facts)
            continue
        document = line["document"]
        owner = document["_id"] if name == "conversations" else document.get("c")
        if not only or owner is None or owner in only:
            documents.setdefault(name, []).append(document)
    for name, found in documents.items():
        database[name].insert_many(found)
    put(database, raw)


def put(database: Database[Document], raw: Iterable[Document]) -> None:
    """Put foreign documents into the collection, past any validator."""
    listed = list(raw)
    if listed:
        database.conversations.insert_many(listed, bypass_document_validation=True)


# What people put there


def anda(id: Any, count: int = 3, **more: Any) -> Document:
    """An Anda record as mongoimport writes it; its messages are an hour apart."""
    start = 1_700_000_000_000
    messages = [
        {
            "role": "user" if number % 2 == 0 else "assistant",
            "content": [{"type": "Text", "text": f"said {number}"}],
            "timestamp": start + number * HOUR,
        }
        for number in range(count)
    ]
    return {
        "_id": id,
        "user": "2vxsx-fae",
        "messages": messages,
        "resources": [],
        "artifacts": [],
        "status": "completed",
        "usage": {"input_tokens": 10, "output_tokens": 4, "requests": 2},
        "period": start // HOUR,
        "created_at": start,
        "updated_at": start + 100 * HOUR,
        **more,
    }


def valid_records() -> list[Document]:
    """Records in the forms that importers and shells leave."""
    text = {"_id": 3, "tags": ["text"], "name": "a.txt", "blob": "b64:aGVsbG8="}
    return [
        anda(601, steering_messages=["faster"], follow_up_messages=["then this"], extra={"a": {"b": 1}}),
        anda(Int64(602), 130, child=601, ancestors=[1, 4], label="long", thread="cl9v200a1c609kg0000g"),
        anda(603, 0, status="submitted", failed_reason=None),
        anda(604, 1, created_at=1.7e12, updated_at=1.7e12, usage={"input_tokens": 1.0, "requests": 0.0}),
        anda(605, 1, resources=[text], vendor={"x": [1, None]}),
        anda(
            606, 0, messages=[{"role": "user", "content": "n" * 90_000}, {"$ref": "a", "$id": 1, "role": "x"}]
        ),
        anda(Decimal128("18446744073709551615"), 2),
    ]


def invalid_records() -> dict[str, Document]:
    """By the path that a refusal names, documents that are no conversations."""
    ownerless = anda(702)
    del ownerless["user"]
    return {
        "status": anda(701, status="paused"),
        "user": ownerless,
        "created_at": anda(703, created_at=0),
        "conversation": {"_id": 704, "hello": "world"},
        "_id: is the floating": anda(705.0),
        "_id: is no number": {**anda(706), "_id": ObjectId("6b0e3306f2687baff2dd4c54")},
        "messages[0].at": anda(707, messages=[{"role": "user", "content": "x", "at": _moment()}]),
    }


def _moment() -> Any:
    return json_util.loads('{"$date": "2024-01-01T00:00:00Z"}')


# What is there


def seen(store: Any, ids: Iterable[int] = ()) -> dict[str, Document]:
    """By id, what a store reads of each conversation: as ``make.py`` of the first release wrote it down."""
    found = {}
    for id in ids or [head.id for head in store.scan(user=ALL_USERS)]:
        history = store.history(id)
        found[str(id)] = {
            "record": json.loads(store.get(id).to_json()),
            "version": store.head(id).version,
            "entries": [
                [entry.id, entry.made, None if entry.author is None else entry.author.to_json()]
                for entry in store.entries(id)
            ],
            "history": [[one.number, one.at, one.kind] for one in history],
            "past": {
                str(one.number): [entry.id for entry in store.as_of(id, one.number).entries()]
                for one in history
            },
        }
    return found


def state(database: Database[Document]) -> dict[str, Any]:
    """All that a migration writes, comparable: random ids are left out, segments stand where they are named.

    Parts that nothing names are left out too: a crash may leave them, and ``check`` says so.
    """
    segments = {one["_id"]: one for one in database.segments.find()}
    heads = []
    for head in database.conversations.find().sort("_id"):
        named = [{**item, "i": segments[item["i"]]} for item in head.get("segments", [])]
        heads.append(_without_ids({**head, **({"segments": named} if "segments" in head else {})}))
    changes = [_without_ids(one) for one in database.changes.find().sort("_id")]
    counters = {
        one["_id"]: one for one in database.meta.find({"_id": {"$in": ["conversation_ids", "schema"]}})
    }
    return {
        "heads": heads,
        "changes": changes,
        "version": counters["schema"]["version"],
        "last": counters["conversation_ids"]["last"],
    }


def _without_ids(value: Any) -> Any:
    if isinstance(value, ObjectId):
        return "an id"
    if isinstance(value, Mapping):
        return {name: _without_ids(item) for name, item in value.items() if name != "g"}
    if isinstance(value, list):
        return list(map(_without_ids, value))
    return value


def documents(database: Database[Document], ids: Iterable[Any]) -> list[bytes]:
    """The very bytes of these documents."""
    from bson.codec_options import CodecOptions
    from bson.raw_bson import RawBSONDocument

    raw = database.conversations.with_options(codec_options=CodecOptions(document_class=RawBSONDocument))
    return [bytes(one.raw) for one in raw.find({"_id": {"$in": list(ids)}}).sort("_id")]


Call = Callable[[Any, int], Any]
