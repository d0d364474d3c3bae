"""Databases of other programs, as those write them: documents for tests, live, dumped and exported."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import bson
from bson import json_util
from bson.objectid import ObjectId
from pymongo.database import Database

Collections = dict[str, list[dict[str, Any]]]

ZERO = "00000000-0000-0000-0000-000000000000"
BEGUN = datetime(2026, 1, 2, 3, 4, 5, 6000, timezone.utc)
BEGUN_MS = 1_767_323_045_006


def at(seconds: float) -> datetime:
    return BEGUN + timedelta(seconds=seconds)


def object_id(number: int, seconds: float = 0) -> ObjectId:
    return ObjectId(f"{int(at(seconds).timestamp()):08x}{number:016x}")


def librechat(count: int = 3, turns: int = 2, *, user: str = "u1") -> Collections:
    """Conversations of ``turns`` questions, each answered twice: the second answer begins a branch."""
    found: Collections = {"conversations": [], "messages": [], "users": [{"_id": object_id(1), "name": "A"}]}
    for number in range(count):
        id, before = f"c{number}", ZERO
        messages: list[dict[str, Any]] = []
        for turn in range(turns):
            said = [
                (f"{id}-u{turn}", before, True, f"question {turn}"),
                (f"{id}-b{turn}", f"{id}-u{turn}", False, f"other answer {turn}"),
                (f"{id}-a{turn}", f"{id}-u{turn}", False, f"answer {turn}"),
            ]
            for message_id, parent, by_user, text in said:
                place = len(messages)
                messages.append({
                    "_id": object_id(number * 1000 + place, place), "messageId": message_id,
                    "conversationId": id, "user": user, "parentMessageId": parent, "text": text,
                    "sender": "User" if by_user else "GPT", "isCreatedByUser": by_user, "error": False,
                    "tokenCount": 3, "createdAt": at(place), "updatedAt": at(place), "__v": 0,
                })  # fmt: skip
            before = f"{id}-a{turn}"
        found["messages"] += messages
        found["conversations"].append({
            "_id": object_id(900_000 + number), "conversationId": id, "user": user,
            "title": f"Title {number}", "endpoint": "openAI", "model": "m",
            "messages": [one["_id"] for one in messages], "createdAt": at(0), "updatedAt": at(60), "__v": 0,
        })  # fmt: skip
    return found


def chat_ui(count: int = 2, *, files: Sequence[Mapping[str, Any]] = ()) -> Collections:
    """Conversations of a question and two answers, the last of them the active one."""
    return {
        "conversations": [
            {
                "_id": object_id(number), "userId": object_id(7), "title": f"Title {number}", "model": "m",
                "rootMessageId": "r", "preprompt": "be brief", "createdAt": at(0), "updatedAt": at(9),
                "messages": [
                    {"id": "r", "from": "system", "content": "be brief", "ancestors": [],
                     "children": ["u"], "createdAt": at(0), "updatedAt": at(0)},
                    {"id": "u", "from": "user", "content": "hi", "ancestors": ["r"], "files": list(files),
                     "children": ["a", "b"], "createdAt": at(1), "updatedAt": at(1)},
                    {"id": "a", "from": "assistant", "content": "no", "ancestors": ["r", "u"],
                     "children": [], "createdAt": at(2), "updatedAt": at(2)},
                    {"id": "b", "from": "assistant", "content": "hello", "ancestors": ["r", "u"],
                     "children": [], "createdAt": at(3), "updatedAt": at(3)},
                ],
            }
            for number in range(count)
        ],
        "sharedConversations": [
            {"_id": "Ab3dEf7", "hash": "0" * 64, "title": "shared", "model": "m", "rootMessageId": "r",
             "createdAt": at(0), "messages": [{"id": "r", "from": "user", "content": "hi", "ancestors": []}]}
        ],
        "settings": [{"_id": object_id(3), "userId": object_id(7), "activeModel": "m"}],
    }  # fmt: skip


def fill(database: Database[Any], collections: Collections) -> None:
    for name, documents in collections.items():
        if documents:
            database[name].insert_many(documents)


def dump(folder: Path, database: str, collections: Collections) -> Path:
    """The files that ``mongodump`` writes."""
    inside = folder / database
    inside.mkdir(parents=True)
    for name, documents in collections.items():
        (inside / f"{name}.bson").write_bytes(b"".join(map(bson.encode, documents)))
        described = {"options": {}, "indexes": [{"v": 2, "key": {"_id": 1}, "name": "_id_"}], "uuid": "0"}
        (inside / f"{name}.metadata.json").write_text(json.dumps(described))
    return folder


def archive(database: str, collections: Collections) -> bytes:
    """The bytes that ``mongodump --archive`` writes, the collections in blocks of two documents by turns."""
    end = b"\xff\xff\xff\xff"
    parts = [b"\x6d\xe2\x99\x81", bson.encode({"concurrent_collections": 4, "version": "0.1"})]
    parts += [bson.encode({"db": database, "collection": name, "metadata": "{}"}) for name in collections]
    parts.append(end)
    longest = max(map(len, collections.values()))
    for start in range(0, longest, 2):
        for name, documents in collections.items():
            if block := documents[start : start + 2]:
                head = {"db": database, "collection": name, "EOF": False, "CRC": 0}
                parts += [bson.encode(head), *map(bson.encode, block), end]
    for name in collections:
        parts += [bson.encode({"db": database, "collection": name, "EOF": True, "CRC": 5}), end]
    return b"".join(parts)


def exported(documents: Sequence[Mapping[str, Any]], *, canonical: bool = False, array: bool = False) -> str:
    """What ``mongoexport`` writes, with ``--jsonFormat=canonical`` and ``--jsonArray`` if so."""
    options = json_util.CANONICAL_JSON_OPTIONS if canonical else json_util.RELAXED_JSON_OPTIONS
    written = [json_util.dumps(document, json_options=options) for document in documents]
    return f"[{','.join(written)}]\n" if array else "".join(f"{line}\n" for line in written)


def langchain(
    sessions: int = 2, *, session_key: str = "SessionId", history_key: str = "History"
) -> Collections:
    """What MongoDBChatMessageHistory writes: the messages of the sessions by turns, three of each."""
    said = [("human", "hi"), ("ai", "hello"), ("human", "bye")]
    return {
        "message_store": [
            {
                "_id": object_id(number * 10 + session, number),
                session_key: f"session-{session}",
                history_key: json.dumps({"type": kind, "data": {"type": kind, "content": text, "id": None}}),
            }
            for number, (kind, text) in enumerate(said)
            for session in range(sessions)
        ]
    }


def openai_agents(sessions: int = 2) -> Collections:
    """What MongoDBSession writes: for each session two turns, of the last one the first was cleared."""
    found: Collections = {"agent_sessions": [], "agent_messages": []}
    asked = {"role": "user", "content": "2+2?"}
    call = {"type": "function_call", "call_id": "k", "name": "add", "arguments": "{}"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "4"}]}
    for number in range(sessions + 1):
        id, cleared = f"s{number}", int(number == sessions)
        found["agent_sessions"].append({
            "_id": object_id(number), "session_id": id, "_seq": 3, "_generation": cleared,
            "created_at": at(0), "updated_at": at(9),
        })  # fmt: skip
        for seq, items in ((1, [asked, call]), (2, [said])):
            found["agent_messages"].append({
                "_id": object_id(number * 10 + seq, seq), "session_id": id, "seq": seq,
                "generation": int(cleared and seq == 2), "message_data": list(map(json.dumps, items)),
            })  # fmt: skip
    return found


def langgraph(threads: int = 2) -> Collections:
    """What MongoDBSaver writes, with JSON in the place of msgpack: a question, and two answers by a fork."""
    found: Collections = {"checkpoints": [], "checkpoint_writes": []}
    asked = {"type": "human", "content": "hi", "id": "h"}
    first, second = ({"type": "ai", "content": text, "id": "a"} for text in ("no", "hello"))
    for thread in range(threads):
        for number, messages in enumerate(([asked], [asked, first], [asked, second])):
            key = {"thread_id": f"t{thread}", "checkpoint_ns": "", "checkpoint_id": f"c{number}"}
            held = {"ts": at(number).isoformat(), "channel_values": {"messages": messages}}
            found["checkpoints"].append({
                "_id": object_id(thread * 10 + number), **key, "type": "json",
                "parent_checkpoint_id": "c0" if number else None, "checkpoint": json.dumps(held).encode(),
                "metadata": {"step": ["json", str(number).encode()]},
            })  # fmt: skip
            found["checkpoint_writes"].append({
                "_id": object_id(thread * 10 + number), **key, "task_id": "k", "task_path": "", "idx": 0,
                "channel": "messages", "type": "json", "value": b"[]",
            })  # fmt: skip
    return found
