"""A value's way through a store and back: every call that writes it, every call that reads it.

Each step is done on a store with tiny bounds, so that a handful of messages is a long conversation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient

from convostore.schemas import Conversation
from convostore.schemas.errors import InvalidRecordError, TooLargeError
from convostore.schemas.json_values import JSON, same_json
from convostore.store.layout import Bounds

PLAIN = {"role": "user", "content": "plain"}
OTHER = {"role": "user", "content": "other"}

TINY = Bounds(keep=2, soft_count=4, step=1)
"""Every append over the fourth message seals."""

PARTS = ("conversations", "segments", "blobs", "changes", "bodies", "resources")


class Clock:
    """Milliseconds that stand still until they are moved."""

    def __init__(self, now: int = 1_796_000_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, ms: int) -> None:
        self.now += ms


class Journey:
    """``store`` and ``target`` are two databases, ``raw`` reads what lies in the first; all is ``user``'s."""

    def __init__(
        self, store: Any, target: Any, raw: MongoClient[dict[str, Any]], database: str, user: str
    ) -> None:
        self.store = store
        self.target = target
        self.user = user
        self.database = database
        self._raw = raw[database]

    def new(self, *messages: JSON, **members: Any) -> int:
        """The id of a new conversation of the test's user."""
        return int(self.store.create(Conversation(user=self.user, messages=list(messages), **members)).id)

    # What is kept

    def keeps(self, *messages: JSON) -> None:
        """Each message comes back equal: appended, edited, sealed, read, exported, imported."""
        for message in messages:
            self._stays_equal(message)
        self._exported()

    def keeps_every_way(self, *messages: JSON) -> None:
        """The messages come back equal by every call that takes or gives messages."""
        given, count = list(messages), len(messages)
        id = self.new(*given)
        first = self.store.append(id, given, key="again")
        repeated = self.store.append(id, given, key="again")
        assert repeated.replayed and repeated.ids == first.ids == tuple(range(count, 2 * count))
        keys = [f"key {number}" for number in range(count)]
        assert self.store.append(id, given, keys=keys).ids == self.store.append(id, given, keys=keys).ids
        self._reads(id, given * 3)
        record = self.store.get(id)
        self.store.append(record, given)
        record.messages[1:1] = given
        record.messages += given
        assert self.store.save(record).changed == ("messages",)
        assert same_json(record.messages, [*given[:1], *given, *given[1:], *given * 4])
        assert not self.store.save(record).changed
        self._reads(id, record.messages)
        for entry in list(self.store.entries(id))[:10]:
            assert self.store.edit(id, entry.id, entry.message).changed == (), "it was equal"
        child = self.store.continue_from(id, messages=given)
        self._reads(child.id, given)
        self._exported()

    def keeps_extra(self, value: JSON) -> None:
        """The value comes back equal as ``extra``, and as a member of it."""
        id = self.new(PLAIN)
        assert same_json(self.store.update(id, extra=value).extra, value)
        assert same_json(self.store.head(id).extra, value)
        assert same_json(self.store.get(id).extra, value)
        self.store.update(id, extra={"other": 1})
        self.store.update(id, merge={"here": value})
        assert same_json(self.store.head(id).extra, {"other": 1, "here": value})
        record = self.store.get(id)
        record.extra = {"saved": value}
        self.store.save(record)
        assert same_json(self.store.get(id).extra, {"saved": value})
        created = self.new(extra=value)
        assert same_json(self.store.get(created).extra, value)
        self._exported()

    def _stays_equal(self, message: JSON) -> None:
        store, id = self.store, self.new(PLAIN)
        assert store.append(id, [message]).ids == (1,)
        assert same_json(store.get(id).messages, [PLAIN, message])
        assert same_json([entry.message for entry in store.messages(id)], [PLAIN, message])
        for place, edited in ((0, message), (1, OTHER), (1, message)):
            store.edit(id, place, edited)
        assert same_json(store.get(id).messages, [message, message])
        fillers = [{"role": "user", "content": str(number)} for number in range(4)]
        store.append(id, fillers)
        assert self.head_document(id)["segments"], "nothing was sealed: the test shows nothing"
        store.edit(id, 1, OTHER)
        store.edit(id, 1, message)
        assert same_json(store.get(id).messages, [message, message, *fillers])
        page = store.messages(id, limit=2, before=2)
        assert same_json([entry.message for entry in page], [message, message])

    def _reads(self, id: int, wanted: list[JSON]) -> None:
        store, newest = self.store, self.store.messages(id, limit=1)
        assert same_json(store.get(id).messages, wanted)
        assert same_json([entry.message for entry in store.entries(id)], wanted)
        assert same_json(store.delta(id).messages, wanted)
        assert same_json([one.messages for one in store.batch_get([id], user=self.user)], [wanted])
        assert same_json([entry.message for entry in newest], wanted[-1:])
        assert same_json(self._paged_back(id, limit=max(2, len(wanted) // 5)), wanted)
        head = store.head(id)
        assert head.message_count == len(wanted)
        if head.last is not None:
            assert same_json(head.last.message, wanted[-1])

    def _paged_back(self, id: int, *, limit: int) -> list[JSON]:
        found: list[JSON] = []
        cursor: int | None = None
        while True:
            page = self.store.messages(id, limit=limit, before=cursor)
            found = [entry.message for entry in page] + found
            cursor = page.cursor
            if cursor is None:
                return found

    def _exported(self) -> None:
        """Everything of the user, to another database and out of it again."""
        written = export(self.store, self.user)
        check_lines(written)
        report = self.target.import_conversations(written)
        assert not report.failed and not report.error, report
        for head in self.store.scan(user=self.user):
            assert self.target.get(head.id, user=self.user) == self.store.get(head.id)
        assert export(self.target, self.user) == written

    # What is refused

    def refuses(
        self,
        value: JSON,
        at: str = "",
        error: type[Exception] | tuple[type[Exception], ...] = (InvalidRecordError, TooLargeError),
    ) -> None:
        """Every call that would write the message refuses it, says where, and writes nothing.

        ``at`` is the path inside the message.
        """
        id = self.new(PLAIN, PLAIN)
        ways: list[tuple[str, Callable[[], Any]]] = [
            (f"messages[1]{at}", lambda: self.store.append(id, [PLAIN, value, PLAIN])),
            (f"messages[0]{at}", lambda: self.store.append(id, [value], key="k")),
            (f"messages[1]{at}", lambda: self.store.append(self.store.get(id), [PLAIN, value])),
            (f"messages[0]{at}", lambda: self.store.edit(id, 1, value)),
            (f"messages[1]{at}", lambda: self.new(PLAIN, value)),
            (f"messages[0]{at}", lambda: self.store.continue_from(id, messages=[value])),
            (f"messages[2]{at}", lambda: self._save_with(id, value)),
        ]
        for path, write in ways:
            with self.nothing_written():
                _refused(write, path, error)
        self.store.append(id, PLAIN)
        self._reads(id, [PLAIN, PLAIN, PLAIN])

    def refuses_extra(self, value: JSON, at: str = "") -> None:
        """Every call that would write the value as ``extra`` refuses it, says where, and writes nothing."""
        id = self.new(PLAIN, extra={"kept": 1})
        ways: list[tuple[str, Callable[[], Any]]] = [
            (f"extra{at}", lambda: self.store.update(id, extra=value)),
            (f"merge.here{at}", lambda: self.store.update(id, merge={"here": value})),
            (f"extra{at}", lambda: self.new(extra=value)),
            (f"extra.here{at}", lambda: self._save_extra(id, value)),
        ]
        for path, write in ways:
            with self.nothing_written():
                _refused(write, path, (InvalidRecordError, TooLargeError))
        assert self.store.get(id).extra == {"kept": 1}

    def _save_with(self, id: int, value: JSON) -> None:
        record = self.store.get(id)
        record.messages.append(value)
        self.store.save(record)

    def _save_extra(self, id: int, value: JSON) -> None:
        record = self.store.get(id)
        record.extra["here"] = value
        self.store.save(record)

    @contextmanager
    def nothing_written(self) -> Iterator[None]:
        """Fails when anything of the user is different afterwards."""
        before = self.stored()
        yield
        assert self.stored() == before, "something was written"

    def stored(self) -> dict[str, list[bytes]]:
        """The documents of the user, byte for byte."""
        raw = self._raw.with_options(self._raw.codec_options.with_options(document_class=RawBSONDocument))
        return {
            name: sorted(bytes(document.raw) for document in raw[name].find({"user": self.user}))
            for name in PARTS
        }

    def head_document(self, id: int) -> dict[str, Any]:
        """The conversation's own document as a plain driver reads it."""
        found = self._raw.conversations.find_one({"_id": id, "user": self.user})
        assert found is not None
        return found

    def lies_apart(self, id: int) -> bool:
        """Whether a message of the conversation is so large that it lies in ``blobs``."""
        return self._raw.blobs.find_one({"user": self.user, "c": id}) is not None


def export(store: Any, user: str) -> bytes:
    """Everything of the user in the canonical format."""
    pieces: list[bytes] = []
    store.export_conversations(pieces.append, user=user)
    return b"".join(pieces)


def check_lines(written: bytes) -> None:
    """Every line is ASCII and JSON for the strictest reader: no NaN, no infinity."""
    lines = written.splitlines()
    assert len(lines) > 2
    for line in lines:
        assert line.isascii()
        json.loads(line, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def _refused(
    write: Callable[[], Any], path: str, error: type[Exception] | tuple[type[Exception], ...]
) -> None:
    try:
        write()
    except error as refused:
        where = getattr(refused, "path", getattr(refused, "what", ""))
        assert where.startswith(path), f"the error names {where}, not {path}"
        if path.startswith("messages["):
            assert f"messages[{getattr(refused, 'index', None)}]" == path.partition("]")[0] + "]"
        return
    raise AssertionError(f"{path} was not refused")
