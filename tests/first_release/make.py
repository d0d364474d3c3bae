"""Write the documents of the first release: run with the code of tag ``v0.1.0``, never with a later one.

    git worktree add /tmp/v010 v0.1.0 && pip install -e /tmp/v010        (an environment of its own)
    python tests/first_release/make.py mongodb://... > tests/first_release/documents.jsonl

Each line is ``{"collection": name, "document": extended JSON}``, or, first of a collection,
``{"collection": name, "options": {...}, "indexes": [...]}`` as that release set it up. The clock is injected;
ids of segments and blobs are random, so two runs differ in those. Bounds are small, so that few messages fill
every kind of document. ``expected.json``, written beside, is what that release itself reads of each
conversation.
"""

from __future__ import annotations

import itertools
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bson import json_util
from pymongo import MongoClient

from convostore.schemas import Conversation, Usage
from convostore.schemas.authors import Author
from convostore.schemas.resources import Resource
from convostore.schemas.transcript import Aside
from convostore.store import ALL_USERS, ConversationStore
from convostore.store.layout import Bounds

BOUNDS = Bounds(
    keep=3, soft_count=6, hard_count=12, step=1, bulk_count=8, merge_width=3, log_soft=6, log_keep=3
)
DATABASE = "v0_1_0"
START = 1_764_000_000_000
DAY = 86_400_000

ticks = itertools.count()


def clock() -> int:
    """A second passes between any two looks, ten minutes between some, so that records seal by age, too."""
    tick = next(ticks)
    return START + tick * 1_000 + tick // 4 * 600_000


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "Text", "text": text}]}


def fill(store: ConversationStore) -> None:
    plain = store.create(Conversation(user="alice", thread="trip", messages=[user("hi")]))
    store.append(plain.id, assistant("hello"), usage=Usage(input_tokens=12, output_tokens=5, requests=1))
    store.append(plain.id, user("where to?"), key="call-1", author=Author.plugin("mail"))

    long = store.create(Conversation(user="alice", label="long", messages=[user("begin")], status="working"))
    for number in range(28):
        store.append(
            long.id,
            [user(f"question {number}"), assistant(f"answer {number} " + "x" * 40)],
            usage={"input_tokens": number, "output_tokens": 2, "requests": 1},
            key=f"long-{number}",
        )
    store.set_status(long.id, "completed")

    store.create(Conversation(user="alice", label="empty"))  # no message yet, so no change record either

    edited = store.create(Conversation(user="bob", messages=[user(f"line {n}") for n in range(14)]))
    first = next(iter(store.entries(edited.id)))
    store.edit(edited.id, first.id, user("line 0, corrected"))
    held = store.get(edited.id)
    del held.messages[4:7]
    held.messages[-1] = user("the last line, rewritten")
    store.save(held)
    store.append(edited.id, assistant("noted"))
    store.undo(edited.id)
    store.append(edited.id, assistant("noted after all"))

    odd = store.create(Conversation(user="bob", extra={"$ref": "a", "$id": 1, "a.b": [None, 1.5, 2**63]}))
    store.append(odd.id, {"role": "user", "content": "n" * 70_000})
    store.append(odd.id, {"role": "user", "content": "half \ud83d", "big": 2**70, "nan": float("nan")})

    queued = store.create(Conversation(user="carol", messages=[user("work")]))
    store.steer(queued.id, "faster", key="steer-1")
    store.follow_up(queued.id, "then the next")
    store.take(queued.id, key="take-1")
    store.follow_up(queued.id, "and the last")
    final = store.create(Conversation(user="carol", messages=[user("work")]))
    store.steer(final.id, "taken for good")
    store.take(final.id, key="take-2", lease_ms=0)

    spoken = store.create(Conversation(user="carol", messages=[user(f"part {n}") for n in range(9)]))
    value = store.transcript(spoken.id)
    value.push({"role": "assistant", "content": "said"})
    value.splice(slice(1, 3), [{"role": "user", "content": "summary"}], by=Author.plugin("compact"))
    value.add_aside(Aside("note", Author.plugin("compact"), None, {"seen": True}))
    value.halt("stopped")
    store.save_transcript(value)
    store.fork(spoken.id)
    child = store.continue_from(spoken.id, messages=[user("go on")], key="child-1")
    store.stop(child.id, reason="enough")

    picture = Resource(name="dot.txt", tags=["text"], blob=b"dot", mime_type="text/plain")
    kept = store.resources.add(picture, user="dave")
    described = store.create(Conversation(user="dave", messages=[user("see file")], resources=[kept]))
    store.append(described.id, assistant("seen"), artifacts=[kept])
    store.set_status(described.id, "failed", reason="it broke", force=True)

    lines = [record(501, 3), record(502, 16)]
    text = "\n".join(map(json.dumps, lines))
    report = store.import_conversations(text.encode(), format="anda", file="agents.jsonl")
    assert report.imported == 2, report
    for number in range(8):
        store.append(502, assistant(f"since the import {number}"))


def record(id: int, count: int) -> dict[str, Any]:
    """An Anda record whose messages were written over several days, long before the import."""
    messages = [
        {**user(f"said {n}"), "timestamp": START - 30 * DAY + n * (DAY // 5)}
        | ({} if n % 3 else {"name": "x"})
        for n in range(count)
    ]
    return {
        "_id": id,
        "user": "2vxsx-fae",
        "messages": messages,
        "resources": [],
        "artifacts": [],
        "status": "completed",
        "usage": {"input_tokens": 100, "output_tokens": 50, "requests": 7},
        "period": (START - 30 * DAY) // 3_600_000,
        "created_at": START - 30 * DAY,
        "updated_at": START - 25 * DAY,
    }


def expected(store: ConversationStore) -> dict[str, Any]:
    found = {}
    for head in store.scan(user=ALL_USERS):
        found[str(head.id)] = {
            "record": json.loads(store.get(head.id).to_json()),
            "version": head.version,
            "entries": [
                [entry.id, entry.made, None if entry.author is None else entry.author.to_json()]
                for entry in store.entries(head.id)
            ],
            "history": [[one.number, one.at, one.kind] for one in store.history(head.id)],
            "past": {
                str(one.number): [entry.id for entry in store.as_of(head.id, one.number).entries()]
                for one in store.history(head.id)
            },
        }
    return found


def print_line(value: dict[str, Any]) -> None:
    print(json_util.dumps(value, json_options=json_util.CANONICAL_JSON_OPTIONS))


def main(uri: str) -> None:
    assert version("convostore") == "0.1.0", "run it with the code of v0.1.0"
    with MongoClient(uri) as client:
        client.drop_database(DATABASE)
        database = client[DATABASE]
        store = ConversationStore(database, clock=clock, bounds=BOUNDS)
        store.setup()
        fill(store)
        assert store.check(user=ALL_USERS), store.check(user=ALL_USERS).broken
        lines = [f"{json.dumps(id)}: {json.dumps(found)}" for id, found in expected(store).items()]
        Path(__file__).with_name("expected.json").write_text("{" + ",\n".join(lines) + "}\n")
        for found in sorted(database.list_collections(), key=lambda one: str(one["name"])):
            name = found["name"]
            indexes = [dict(index) for index in database[name].list_indexes() if index["name"] != "_id_"]
            print_line({"collection": name, "options": found["options"], "indexes": indexes})
            for document in database[name].find().sort("_id"):
                print_line({"collection": name, "document": document})
        client.drop_database(DATABASE)


if __name__ == "__main__":
    main(sys.argv[1])
