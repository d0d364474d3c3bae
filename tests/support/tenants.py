"""Every public call that can be tried on another user's data, found by introspection, and what it sends."""

from __future__ import annotations

import atexit
import inspect
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bson
from pymongo import MongoClient

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.entries import Page
from convostore.schemas.resources import Resource
from convostore.schemas.transcript import Transcript
from convostore.store.figures import HeatRow, WaitingRow, members_of
from convostore.store.results import CheckReport, Collected, Deleted
from convostore.store.synchronous.analytics import Analytics
from convostore.store.synchronous.resources import Resources
from convostore.store.synchronous.store import ConversationStore
from convostore.store.synchronous.users import UserAnalytics, UserResources, UserStore
from support.command_log import CommandLog, Sent
from support.foreign_databases import dump, librechat

SECRET = "the secret word is rhubarb"
LONG_AGO = 1_600_000_000_000

OPERATORS = frozenset(
    {
        "setup",
        "check",
        "delete_expired",
        "import_conversations",
        "import_folder",
        "import_database",
        "export_conversations",
        "export_files",
    }
)
"""Calls of the store that a user's view does not have."""

WITHOUT_USER = {
    "connect": "opens a store",
    "close": "closes it",
    "for_user": "gives the user's view",
    "setup": "is about the database",
    "create": "the record says whose it is",
    "saved_sessions": "its calls take a user, and are tried in test_session_exchange",
    "migrations": "about the database itself",
    "import_database": "takes one, and is tried in test_import_databases, which has a source",
}
"""Public calls of the store that take no user, and why."""


def _dumped() -> Path:
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return dump(folder, "LibreChat", librechat(1))


def said(text: str = SECRET) -> dict[str, Any]:
    return {"role": "user", "content": text}


@dataclass
class Subject:
    """A conversation with everything that there can be: segments, a large message, queues, a resource."""

    user: str
    id: int
    record: Conversation
    transcript: Transcript
    receipt: str
    resource: int
    child: int


def subject(store: ConversationStore, user: str) -> Subject:
    """A subject of that user's."""
    reference = store.resources.add(Resource(name=SECRET, blob=SECRET.encode()), user=user)
    messages = [said() for _ in range(120)]
    record = store.create(
        Conversation(
            user=user,
            thread=SECRET,
            label=SECRET,
            extra={"note": SECRET},
            messages=messages,
            resources=[reference],
            created_at=LONG_AGO,
        )
    )
    store.append(record.id, said(SECRET * 4000), key="known")
    store.edit(record.id, 119, said(SECRET + " edited"))
    store.steer(record.id, SECRET)
    taken = store.take(record.id)
    store.follow_up(record.id, SECRET)
    child = store.continue_from(record.id, messages=[said()])
    record = store.get(record.id)
    transcript = store.transcript(record.id)
    assert taken.receipt is not None
    return Subject(user, record.id, record, transcript, taken.receipt, reference.id, child.id)


Arguments = Callable[[Subject], Mapping[str, Any]]


@dataclass(frozen=True)
class Attempt:
    """A call on the subject; ``path`` leads to it from the store."""

    path: str
    arguments: Arguments
    writes_own: bool = False
    """Whether it may write what is the caller's own."""

    def on(self, store: Any, s: Subject, **more: Any) -> Any:
        """Call it; iterators are read to their end, watches entered and left."""
        target = store
        for name in self.path.split("."):
            target = getattr(target, name)
        result = target(**{**self.arguments(s), **more})
        if hasattr(result, "__enter__"):
            with result:
                return None
        if inspect.isgenerator(result):
            return [item for item in result]
        return result


def _changed(s: Subject) -> Conversation:
    # A copy keeps what the store noted.
    return s.record.model_copy(update={"label": "mine now"})


def _added(s: Subject) -> Transcript:
    s.transcript.push(said("mine now"))
    return s.transcript


def _delta(s: Subject) -> bytes:
    delta = {"_id": s.id, "messages": [said("mine now")], "artifacts": [], "status": "completed"}
    return json.dumps({**delta, "usage": {}, "updated_at": 1}).encode()


ATTEMPTS: dict[str, Attempt] = {
    "get": Attempt("get", lambda s: {"id": s.id}),
    "head": Attempt("head", lambda s: {"id": s.id}),
    "save": Attempt("save", lambda s: {"conversation": _changed(s)}),
    "append": Attempt("append", lambda s: {"target": s.id, "messages": said("mine now")}),
    "append under a key": Attempt(
        "append", lambda s: {"target": s.id, "messages": said(SECRET * 4000), "key": "known"}
    ),
    "append of many": Attempt(
        "append", lambda s: {"target": s.id, "messages": [said(str(n)) for n in range(300)]}
    ),
    "append of a large one": Attempt("append", lambda s: {"target": s.id, "messages": said("x" * 90_000)}),
    "append with a receipt": Attempt(
        "append", lambda s: {"target": s.id, "messages": said("x"), "took": s.receipt}
    ),
    "append on a record": Attempt("append", lambda s: {"target": s.record, "messages": said("mine now")}),
    "edit": Attempt("edit", lambda s: {"id": s.id, "entry_id": 119, "message": said("mine now")}),
    "edit of an old one": Attempt("edit", lambda s: {"id": s.id, "entry_id": 3, "message": said("mine now")}),
    "update": Attempt("update", lambda s: {"id": s.id, "label": "mine now"}),
    "update by merging": Attempt("update", lambda s: {"id": s.id, "merge": {"a": 1}}),
    "update of nothing": Attempt("update", lambda s: {"id": s.id}),
    "set_status": Attempt("set_status", lambda s: {"id": s.id, "status": "failed", "force": True}),
    "stop": Attempt("stop", lambda s: {"id": s.id}),
    "steer": Attempt("steer", lambda s: {"id": s.id, "text": "mine now"}),
    "follow_up": Attempt("follow_up", lambda s: {"id": s.id, "text": "mine now"}),
    "take": Attempt("take", lambda s: {"id": s.id}),
    "give_back": Attempt("give_back", lambda s: {"id": s.id, "receipt": s.receipt}),
    "continue_from": Attempt("continue_from", lambda s: {"parent": s.id}),
    "continue_from a record": Attempt("continue_from", lambda s: {"parent": s.record}),
    "delete": Attempt("delete", lambda s: {"id": s.id}),
    "delete_expired": Attempt(
        "delete_expired", lambda s: {"before_ms": 2**41, "include": list(ConversationStatus)}
    ),
    "messages": Attempt("messages", lambda s: {"id": s.id}),
    "messages before one": Attempt("messages", lambda s: {"id": s.id, "before": 40}),
    "messages after one": Attempt("messages", lambda s: {"id": s.id, "after": 40}),
    "messages for a model": Attempt("messages", lambda s: {"id": s.id, "for_model": True}),
    "entries": Attempt("entries", lambda s: {"id": s.id}),
    "entries after one": Attempt("entries", lambda s: {"id": s.id, "after": 7}),
    "delta": Attempt("delta", lambda s: {"id": s.id}),
    "find": Attempt("find", lambda s: {}),
    "find with conditions": Attempt(
        "find", lambda s: {"thread": SECRET, "label": SECRET, "status": "submitted", "since": 0}
    ),
    "count": Attempt("count", lambda s: {}),
    "scan": Attempt("scan", lambda s: {}),
    "batch_get": Attempt("batch_get", lambda s: {"ids": [s.id]}),
    "watch": Attempt("watch", lambda s: {"id": s.id}),
    "watch on all": Attempt("watch", lambda s: {}),
    "check": Attempt("check", lambda s: {"repair": True}),
    "import_conversations": Attempt(
        "import_conversations", lambda s: {"source": b'[{"role": "user", "content": "x"}]\n'}, True
    ),
    "import_conversations of a delta": Attempt(
        "import_conversations",
        lambda s: {
            "source": _delta(s),
            "format": "anda",
            "into": s.id,
            "messages_offset": 121,
            "artifacts_offset": 0,
        },
        True,
    ),
    "import_folder": Attempt("import_folder", lambda s: {"folder": _dumped()}, True),
    "export_conversations": Attempt("export_conversations", lambda s: {"write": bytes}, True),
    "export_files": Attempt(
        "export_files", lambda s: {"create": lambda name: nullcontext(bytes), "format": "markdown"}, True
    ),
    "transcript": Attempt("transcript", lambda s: {"id": s.id}),
    "save_transcript": Attempt("save_transcript", lambda s: {"transcript": _added(s), "id": s.id}),
    "history": Attempt("history", lambda s: {"id": s.id}),
    "as_of": Attempt("as_of", lambda s: {"id": s.id, "revision": 1}),
    "as_of a time": Attempt("as_of", lambda s: {"id": s.id, "at": 2**41}),
    "fork": Attempt("fork", lambda s: {"id": s.id}),
    "fork at one": Attempt("fork", lambda s: {"id": s.id, "at": 5, "exact": True}),
    "rewrite": Attempt("rewrite", lambda s: {"id": s.id, "rewriter": lambda message: message}),
    "undo": Attempt("undo", lambda s: {"id": s.id}),
    "redo": Attempt("redo", lambda s: {"id": s.id}),
    "resources.get": Attempt("resources.get", lambda s: {"id": s.resource}),
    "resources.get by a conversation": Attempt(
        "resources.get", lambda s: {"id": s.resource, "conversation": s.id}
    ),
    "resources.add": Attempt("resources.add", lambda s: {"resource": Resource(id=s.resource, name="mine")}),
    "resources.add of the same content": Attempt(
        "resources.add", lambda s: {"resource": Resource(name="mine", blob=SECRET.encode())}, True
    ),
    "resources.add_all": Attempt(
        "resources.add_all", lambda s: {"resources": [Resource(id=s.resource, name="mine")]}
    ),
    "resources.collect": Attempt("resources.collect", lambda s: {}),
    "analytics.usage": Attempt("analytics.usage", lambda s: {"by": "month"}),
    "analytics.usage of a label": Attempt("analytics.usage", lambda s: {"by": "month", "label": SECRET}),
    "analytics.usage of a model": Attempt("analytics.usage", lambda s: {"by": "month", "model": ""}),
    "analytics.conversations": Attempt("analytics.conversations", lambda s: {"by": "month"}),
    "analytics.users": Attempt("analytics.users", lambda s: {"by": "month"}),
    "analytics.messages": Attempt("analytics.messages", lambda s: {"by": "month"}),
    "analytics.statuses": Attempt("analytics.statuses", lambda s: {"by": "month"}),
    "analytics.failures": Attempt("analytics.failures", lambda s: {"by": "month"}),
    "analytics.queues": Attempt("analytics.queues", lambda s: {"by": "month"}),
    "analytics.durations": Attempt("analytics.durations", lambda s: {"by": "month"}),
    "analytics.waiting": Attempt("analytics.waiting", lambda s: {}),
    "analytics.heat": Attempt("analytics.heat", lambda s: {}),
    "analytics.top users": Attempt("analytics.top", lambda s: {"of": "users"}),
    "analytics.top labels": Attempt("analytics.top", lambda s: {"of": "labels"}),
    "analytics.top models": Attempt("analytics.top", lambda s: {"of": "models"}),
}
"""At least one attempt for each public call that takes a user."""


def public_names(kind: type) -> set[str]:
    """The public methods and properties of a class."""
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def takes_user(kind: type, name: str) -> bool:
    """Whether a method has a ``user`` parameter."""
    return "user" in inspect.signature(getattr(kind, name)).parameters


STORE, RESOURCES, ANALYTICS = ConversationStore, Resources, Analytics
PARTS: dict[str, type] = {"resources": RESOURCES, "analytics": ANALYTICS}
"""Properties of the store that lead to more calls."""

VIEW, VIEWED_RESOURCES, VIEWED_ANALYTICS = UserStore, UserResources, UserAnalytics


def is_empty(result: Any) -> bool:
    """Whether a call's result says that there is nothing."""
    if result is None:
        return True
    if isinstance(result, Deleted):
        return result == Deleted(False)
    if isinstance(result, CheckReport):
        return (result.conversations, result.findings) == (0, [])
    if isinstance(result, Collected):
        return result == Collected(0, 0, 0)
    if isinstance(result, Page):
        return len(result) == 0 and result.cursor is None
    if isinstance(result, list) and result and isinstance(result[0], (WaitingRow, HeatRow)):
        # Their rows are there whatever there is; all but the names in them is then zero or None.
        keys = ("queue", "weekday", "hour")
        return not any(value for row in result for name, value in members_of(row).items() if name not in keys)
    return result == [] or (type(result) is int and result == 0)


@dataclass
class Tenancy:
    """A store with its log, and a plain client that sees what is stored."""

    store: ConversationStore
    log: CommandLog
    plain: Any
    names: list[str] = field(default_factory=list)

    def held(self, user: str) -> dict[str, list[bytes]]:
        """Every document of that user's as bytes, by collection."""
        found: dict[str, list[bytes]] = {}
        for name in sorted(self.plain.list_collection_names()):
            documents = self.plain[name].find({"user": user}).sort("_id")
            found[name] = [bson.encode(document) for document in documents]
        return found


@contextmanager
def tenancy(uri: str, database: str) -> Iterator[Tenancy]:
    log = CommandLog()
    with (
        MongoClient[dict[str, Any]](uri, event_listeners=[log]) as client,
        MongoClient[dict[str, Any]](uri) as plain,
    ):
        yield Tenancy(ConversationStore(client[database]), log, plain[database])


def filters(sent: Sent) -> Iterator[Mapping[str, Any]]:
    """Every filter of a command, and every document that it inserts."""
    command = sent.command
    if sent.name == "find":
        yield command.get("filter", {})
    elif sent.name == "findAndModify":
        yield command["query"]
    elif sent.name == "update":
        yield from (one["q"] for one in command["updates"])
    elif sent.name == "delete":
        yield from (one["q"] for one in command["deletes"])
    elif sent.name == "insert":
        yield from command["documents"]
    elif sent.name == "aggregate":
        first = command["pipeline"][0]
        # A change stream gives ids only; what they stand for is then read with the user.
        if "$changeStream" not in first:
            yield first.get("$match", {})


def user_of(filter: Mapping[str, Any]) -> Any:
    """The user that a filter names: at the top, or in the identity of a tombstone."""
    if "user" in filter:
        return filter["user"]
    identity = filter.get("_id")
    if isinstance(identity, Mapping) and "deletion" in identity:
        return identity["deletion"].get("user")
    return filter.get("_id.deletion.user")
