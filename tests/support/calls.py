"""Every writing call of the store, ready to be disturbed: what must be there before, and the call itself.

The bounds are small, so that some calls meet sealed messages, and some seal messages, merge segments and seal
change records on their way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from convostore.schemas.conversations import Conversation
from convostore.schemas.resources import Resource
from convostore.schemas.transcript import Transcript
from convostore.store import ConversationStore
from convostore.store.layout import KIB, Bounds

BOUNDS = Bounds(keep=3, soft_count=6, hard_count=10, step=1, merge_width=2, log_soft=8, log_keep=4)
LEASE_MS = 10**9


@dataclass
class Subject:
    """What a call is about: a user of its own and, mostly, a stored conversation."""

    user: str
    record: Conversation | None = None
    receipt: str | None = None
    transcript: Transcript | None = None

    @property
    def held(self) -> Conversation:
        assert self.record is not None
        return self.record

    @property
    def id(self) -> int:
        return self.held.id


@dataclass(frozen=True)
class Call:
    """``prepare`` makes the subject through an undisturbed store; ``act`` is one call of a store of either
    face.
    """

    prepare: Callable[[ConversationStore, Subject], None]
    act: Callable[[Any, Subject], Any]


def message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def messages(number: int) -> list[dict[str, Any]]:
    return [message(f"message {place}") for place in range(number)]


def heavy(text: str = "x") -> dict[str, Any]:
    """A message that lies apart."""
    return message(text * (70 * KIB))


def nothing(store: ConversationStore, subject: Subject) -> None:
    """The call makes what it needs."""


def holding(number: int, **members: Any) -> Callable[[ConversationStore, Subject], None]:
    """A conversation of so many messages; of more than six, the older ones are sealed."""

    def prepare(store: ConversationStore, subject: Subject) -> None:
        subject.record = _new(subject, number, **members)
        store.create(subject.record)

    return prepare


def appended(number: int) -> Callable[[ConversationStore, Subject], None]:
    """A conversation that got so many messages one after the other, each under a key."""

    def prepare(store: ConversationStore, subject: Subject) -> None:
        subject.record = store.create(_new(subject, 0))
        for place, one in enumerate(messages(number)):
            store.append(subject.record, one, keys=[f"key {place}"])

    return prepare


def queued(store: ConversationStore, subject: Subject) -> None:
    holding(3)(store, subject)
    store.steer(subject.id, "to the left")
    store.follow_up(subject.id, "and then?")


def taken(store: ConversationStore, subject: Subject) -> None:
    queued(store, subject)
    subject.receipt = store.take(subject.id, lease_ms=LEASE_MS).receipt
    store.steer(subject.id, "to the right")


def changed(store: ConversationStore, subject: Subject) -> None:
    """A long conversation whose last two changes may be undone."""
    holding(12)(store, subject)
    store.edit(subject.id, 2, heavy())
    store.append(subject.id, message("new"))


def undone(store: ConversationStore, subject: Subject) -> None:
    changed(store, subject)
    store.undo(subject.id)
    store.undo(subject.id)


def in_hand(store: ConversationStore, subject: Subject) -> None:
    """A transcript with unsaved changes."""
    changed(store, subject)
    subject.transcript = store.transcript(subject.id)
    subject.transcript.push(heavy("t"))
    subject.transcript.splice(slice(1, 4), [message("summary")])


def with_resource(size: int) -> Callable[[ConversationStore, Subject], None]:
    def prepare(store: ConversationStore, subject: Subject) -> None:
        store.resources.add(_file(size, "first"), user=subject.user)

    return prepare


def _new(subject: Subject, number: int, **members: Any) -> Conversation:
    return Conversation(user=subject.user, messages=messages(number), label="before", **members)


def _file(size: int, name: str) -> Resource:
    return Resource(name=name, mime_type="text/plain", blob=bytes(range(256)) * (size // 256))


def _changed(store: Any, subject: Subject, change: Callable[[Conversation], None]) -> Any:
    change(subject.held)
    return store.save(subject.held)


def _set_members(record: Conversation) -> None:
    record.label, record.status, record.extra = "after", "completed", {"score": 1}  # type: ignore[assignment]
    record.usage.input_tokens += 7


def _append_two(record: Conversation) -> None:
    record.append_messages([message("new"), message("newer")])
    record.usage.output_tokens += 3


def _replace_at(place: int) -> Callable[[Conversation], None]:
    def change(record: Conversation) -> None:
        record.messages[place : place + 1] = [message("instead"), heavy("i")]

    return change


def _append_everything(store: Any, subject: Subject) -> Any:
    return store.append(
        subject.id,
        [message("new"), message("newer")],
        artifacts=[Resource(name="plan", uri="https://example.com/plan")],
        resources=[Resource(name="source", uri="https://example.com/source")],
        usage={"input_tokens": 10, "output_tokens": 20, "requests": 1},
        status="completed",
    )


CALLS: dict[str, Call] = {
    "create": Call(nothing, lambda s, on: s.create(_new(on, 3))),
    "create, long": Call(nothing, lambda s, on: s.create(_new(on, 40))),
    "create, heavy": Call(
        nothing, lambda s, on: s.create(Conversation(user=on.user, messages=[heavy(), message("light")]))
    ),
    "append": Call(holding(3), lambda s, on: s.append(on.id, message("new"))),
    "append to a record": Call(
        appended(5), lambda s, on: s.append(on.held, messages(2), usage={"requests": 1})
    ),
    "append, sealing": Call(appended(5), lambda s, on: s.append(on.id, message("new"), key="its key")),
    "append, merging": Call(appended(11), lambda s, on: s.append(on.id, message("new"), key="its key")),
    "append, sealing its log": Call(
        appended(8), lambda s, on: s.append(on.id, message("new"), key="its key")
    ),
    "append, with keys": Call(
        appended(9), lambda s, on: s.append(on.id, messages(11)[7:], keys=["key 7", "key 8", "9", "10"])
    ),
    "append, heavy": Call(
        holding(3), lambda s, on: s.append(on.id, [heavy(), message("light")], key="its key")
    ),
    "append, 201": Call(
        holding(8), lambda s, on: s.append(on.id, messages(201), usage={"requests": 2}, key="its key")
    ),
    "append, everything": Call(holding(3), _append_everything),
    "append, heavy artifact": Call(
        holding(3), lambda s, on: s.append(on.id, message("new"), artifacts=_file(100 * KIB, "large"))
    ),
    "append, taken": Call(taken, lambda s, on: s.append(on.id, message("new"), took=on.receipt)),
    "edit, embedded": Call(holding(3), lambda s, on: s.edit(on.id, 1, message("edited"))),
    "edit, sealed": Call(holding(12), lambda s, on: s.edit(on.id, 2, heavy())),
    "save, members": Call(holding(3), lambda s, on: _changed(s, on, _set_members)),
    "save, append": Call(holding(3), lambda s, on: _changed(s, on, _append_two)),
    "save, embedded splice": Call(holding(4), lambda s, on: _changed(s, on, _replace_at(1))),
    "save, sealed splice": Call(holding(12), lambda s, on: _changed(s, on, _replace_at(2))),
    "steer": Call(holding(3), lambda s, on: s.steer(on.id, "to the left")),
    "follow_up": Call(queued, lambda s, on: s.follow_up(on.id, "and then?", key="its key")),
    "take": Call(queued, lambda s, on: s.take(on.id, lease_ms=LEASE_MS)),
    "take, for good": Call(queued, lambda s, on: s.take(on.id, lease_ms=0)),
    "give_back": Call(taken, lambda s, on: s.give_back(on.id, on.receipt)),
    "stop": Call(holding(3), lambda s, on: s.stop(on.id, reason="enough")),
    "set_status": Call(holding(3), lambda s, on: s.set_status(on.id, "failed", reason="why", expected=1)),
    "update": Call(holding(3), lambda s, on: s.update(on.id, label="after", extra=[1], child=2**40)),
    "update, merge": Call(holding(3, extra={"a": 1}), lambda s, on: s.update(on.id, merge={"b": 2})),
    "continue_from": Call(
        holding(3), lambda s, on: s.continue_from(on.id, messages=messages(12), key="its key")
    ),
    "continue_from, record": Call(holding(3), lambda s, on: s.continue_from(on.held, messages=messages(2))),
    "delete": Call(holding(3), lambda s, on: s.delete(on.id)),
    "delete, long": Call(holding(20), lambda s, on: s.delete(on.id)),
    "undo": Call(changed, lambda s, on: s.undo(on.id)),
    "redo": Call(undone, lambda s, on: s.redo(on.id)),
    "save_transcript": Call(in_hand, lambda s, on: s.save_transcript(on.transcript)),
    "fork": Call(changed, lambda s, on: s.fork(on.id)),
    "rewrite": Call(changed, lambda s, on: s.rewrite(on.id, lambda one: {**one, "read": True})),
    "resources.add": Call(nothing, lambda s, on: s.resources.add(_file(10 * KIB, "new"), user=on.user)),
    "resources.add, large": Call(
        nothing, lambda s, on: s.resources.add(_file(600 * KIB, "new"), user=on.user)
    ),
    "resources.add, again": Call(
        with_resource(10 * KIB), lambda s, on: s.resources.add(_file(10 * KIB, "again"), user=on.user)
    ),
    "resources.add, large again": Call(
        with_resource(300 * KIB), lambda s, on: s.resources.add(_file(300 * KIB, "again"), user=on.user)
    ),
}
