"""Indexes and validators: what ``setup`` makes and ``check`` expects. Pure."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from convostore.store.layout import SCHEMA_VERSION

__all__ = ["INDEXES", "VALIDATORS", "setup_digest"]

_PRESENT: Final = {"$exists": True}

INDEXES: Final[dict[str, list[dict[str, Any]]]] = {
    "conversations": [
        # A user's list, newest first; batch_get.
        {"name": "user", "key": {"user": 1, "_id": 1}},
        {
            "name": "thread",
            "key": {"user": 1, "thread": 1, "_id": 1},
            "partialFilterExpression": {"thread": _PRESENT},
        },
        {"name": "status", "key": {"user": 1, "status": 1, "_id": 1}},
        {
            "name": "label",
            "key": {"user": 1, "label": 1, "_id": 1},
            "partialFilterExpression": {"label": _PRESENT},
        },
        # Expiry, figures of creation, ranges of time.
        {"name": "period", "key": {"period": 1, "user": 1, "_id": 1}},
        # Claims: the oldest that is due.
        {
            "name": "due",
            "key": {"due": 1, "label": 1, "user": 1},
            "partialFilterExpression": {"due": _PRESENT},
        },
        # What the roll-up of the ledger has to look at.
        {"name": "dirty", "key": {"dirty": 1}, "partialFilterExpression": {"dirty": _PRESENT}},
        # A repeated import, a repeated continuation.
        {
            "name": "source",
            "key": {"user": 1, "source.format": 1, "source.id": 1},
            "unique": True,
            "partialFilterExpression": {"source.id": _PRESENT},
        },
    ],
    "segments": [{"name": "conversation", "key": {"user": 1, "c": 1, "_id": 1}}],
    "blobs": [{"name": "conversation", "key": {"user": 1, "c": 1, "_id": 1}}],
    "bodies": [{"name": "conversation", "key": {"user": 1, "c": 1, "_id": 1}}],
    "changes": [
        {"name": "conversation", "key": {"user": 1, "c": 1, "_id": 1}},
        {"name": "keys", "key": {"user": 1, "c": 1, "keys": 1}},
    ],
    "resources": [
        {
            "name": "hash",
            "key": {"user": 1, "hash": 1},
            "unique": True,
            "partialFilterExpression": {"hash": _PRESENT},
        },
        {"name": "user", "key": {"user": 1, "_id": 1}},
        {"name": "marked", "key": {"marked": 1}, "partialFilterExpression": {"marked": _PRESENT}},
    ],
    "ledger": [
        {"name": "hour", "key": {"h": 1}},
        {"name": "user", "key": {"user": 1, "h": 1}},
        {"name": "conversation", "key": {"_id.c": 1}},
        # Creations, waits that ended, failures, texts that wait: in some rows only.
        {"name": "born", "key": {"h": 1}, "partialFilterExpression": {"status": _PRESENT}},
        {"name": "waits", "key": {"h": 1}, "partialFilterExpression": {"waits": _PRESENT}},
        {"name": "failures", "key": {"h": 1}, "partialFilterExpression": {"failures": _PRESENT}},
        {"name": "queued", "key": {"user": 1}, "partialFilterExpression": {"queued": _PRESENT}},
    ],
    "sheets": [{"name": "hour", "key": {"h": 1}}],
    "meta": [
        # Deletions that a crash left unfinished.
        {
            "name": "deletion",
            "key": {"_id.deletion.c": 1},
            "partialFilterExpression": {"_id.deletion.c": _PRESENT},
        }
    ],
}

_WHOLE: Final = {"bsonType": ["int", "long"], "minimum": 0}
_U64: Final = {"bsonType": ["int", "long", "decimal"], "minimum": 0}
_TEXT: Final = {"bsonType": ["string", "object"]}

VALIDATORS: Final[dict[str, dict[str, Any]]] = {
    "conversations": {
        "$jsonSchema": {
            "bsonType": "object",
            "required": [
                "_id",
                "user",
                "messages",
                "resources",
                "artifacts",
                "status",
                "usage",
                "period",
                "created_at",
                "updated_at",
                "schema_version",
                "version",
                "revision",
                "lineage",
                "structure",
                "next_entry",
                "embedded_count",
                "embedded_bytes",
                "segments",
                "log",
                "log_start",
            ],
            "properties": {
                "_id": _U64,
                "user": {"bsonType": "string", "minLength": 1},
                "thread": {"bsonType": "string"},
                "messages": {"bsonType": "array"},
                "resources": {"bsonType": "array"},
                "artifacts": {"bsonType": "array"},
                "status": {"enum": ["submitted", "working", "idle", "completed", "cancelled", "failed"]},
                "failed_reason": _TEXT,
                "usage": {"bsonType": "object"},
                "steering_messages": {"bsonType": "array"},
                "follow_up_messages": {"bsonType": "array"},
                "child": _U64,
                "ancestors": {"bsonType": "array"},
                "label": {"bsonType": "string"},
                "period": _U64,
                "created_at": _U64,
                "updated_at": _U64,
                "schema_version": _WHOLE,
                "version": _WHOLE,
                "revision": _WHOLE,
                "lineage": _WHOLE,
                "structure": _WHOLE,
                "next_entry": _WHOLE,
                "embedded_count": _WHOLE,
                "embedded_bytes": _WHOLE,
                "segments": {"bsonType": "array"},
                "log": {"bsonType": "array"},
                "log_start": _WHOLE,
                "states": {"bsonType": "array"},
                "log_before": _WHOLE,
                "source": {"bsonType": "object", "required": ["format", "id"]},
            },
        }
    },
    "segments": {
        "$jsonSchema": {
            "bsonType": "object",
            "required": ["user", "c", "lin", "g", "n", "e"],
            "properties": {"user": {"bsonType": "string"}, "n": _WHOLE, "e": {"bsonType": "array"}},
        }
    },
    "changes": {
        "$jsonSchema": {
            "bsonType": "object",
            "required": ["user", "c", "lin", "to", "next", "keys", "sums", "recs"],
            "properties": {"user": {"bsonType": "string"}, "to": _WHOLE, "recs": {"bsonType": "array"}},
        }
    },
}


def setup_digest() -> str:
    """What this release sets up, in a few letters: kept in ``meta``, so that nothing to do costs one look."""
    everything = json.dumps([SCHEMA_VERSION, INDEXES, VALIDATORS], sort_keys=True)
    return hashlib.sha256(everything.encode()).hexdigest()[:16]
