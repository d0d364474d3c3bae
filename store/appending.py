"""Planning an append: one command that commutes with every other append (``storage.md`` S2, S5). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

from bson.int64 import Int64

from convostore.schemas.conversations import ConversationStatus
from convostore.schemas.entries import Entry
from convostore.schemas.errors import ConflictError, LeaseLostError
from convostore.schemas.json_values import JSON
from convostore.schemas.transcript import Halt
from convostore.schemas.transcript.roles import stop_entry
from convostore.store import history
from convostore.store.codec import U64_MAX, decode_u64, encode_u64
from convostore.store.crediting import first_hour
from convostore.store.heads import Head, status_fields
from convostore.store.history import Key
from convostore.store.layout import Bounds, Limits
from convostore.store.limits import check_attachments
from convostore.store.queues import LEASE_FIELDS
from convostore.store.runs import NewEntry, encode_entries, renewed
from convostore.store.statuses import sources, sticks

__all__ = [
    "REPLY",
    "Append",
    "Block",
    "Known",
    "block",
    "command",
    "is_full",
    "known_keys",
    "needs_log_seal",
    "needs_seal",
]

REPLY: Final[dict[str, Any]] = {
    name: 1
    for name in (
        "user",
        "lineage",
        "version",
        "revision",
        "structure",
        "next_entry",
        "embedded_count",
        "embedded_bytes",
        "log_start",
        "status",
        "updated_at",
    )
}
"""The fields an append asks back: small and of fixed size."""

_ROOM: Final = 2**62
_LARGE_RECORD: Final = 4096
_ATTACHMENT_BYTES: Final = "attachment_bytes"


@dataclass(frozen=True, slots=True)
class Append:
    """One append as asked for, ready to be sent any number of times."""

    entries: tuple[NewEntry, ...]
    now: int
    keys: tuple[Key, ...]
    """One key for the call, or one per message (then ``keyed_each``)."""
    digests: tuple[int, ...] = ()
    keyed_each: bool = False
    author: Mapping[str, Any] | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    status: ConversationStatus | None = None
    force: bool = False
    attachments: Mapping[str, tuple[NewEntry, ...]] = field(default_factory=dict)
    attachment_bytes: int = 0
    took: str | None = None
    expected: int | None = None
    model: str | None = None
    messages: tuple[JSON, ...] = ()
    """The messages as the caller gave them."""
    own_keys: bool = True
    """Whether the library made the key, so that only an earlier try of this call can have used it."""

    @property
    def size(self) -> int:
        """Bytes of the entries as stored."""
        return sum(entry.size for entry in self.entries)

    @property
    def heavy(self) -> bool:
        """Whether a message lies apart, so that its pieces are stored first."""
        return any(entry.pieces for entry in self.parts)

    @property
    def keeps_much(self) -> bool:
        """Whether its change record is a large one, for its many keys."""
        return self.keyed_each and sum(len(str(key)) for key in self.keys) > _LARGE_RECORD

    @property
    def parts(self) -> tuple[NewEntry, ...]:
        """Messages and attachments: everything that may lie apart."""
        attached = [entry for entries in self.attachments.values() for entry in entries]
        return (*self.entries, *attached)

    def renewed(self) -> Append:
        """The same append with what lies apart under new ids."""
        attachments = {name: tuple(map(renewed, entries)) for name, entries in self.attachments.items()}
        return replace(self, entries=tuple(map(renewed, self.entries)), attachments=attachments)

    def record(self, halted: str | None = None) -> history.Record:
        """The change record this append leaves; ``halted`` is the halt it clears."""
        key: Any = list(self.keys) if self.keyed_each else self.keys[0]
        digests: Any = None
        if self.digests:
            digests = list(self.digests) if self.keyed_each else self.digests[0]
        record = history.push_record(
            self.now,
            len(self.entries),
            key=key,
            digests=digests,
            usage=self.usage,
            model=self.model,
            author=self.author,
        )
        if halted is not None:
            record["hw"] = halted
        if any(entry.stored.get("made") != self.now for entry in self.entries):
            record |= history.own_times([entry.stored.get("made") for entry in self.entries], self.now)
        return record

    def behind(self, halted: str | None) -> Append:
        """The same append; after a turn the user stopped, behind the entry that says so (rig.md 2.4)."""
        if halted != Halt.STOPPED.value or not self.entries:
            return self
        return replace(self, entries=(closing_entry(self.messages[0], self.now), *self.entries))

    def only(self, places: Sequence[int]) -> Append:
        """The same append with only those messages, of a call keyed by message."""
        return replace(
            self,
            entries=tuple(self.entries[place] for place in places),
            keys=tuple(self.keys[place] for place in places),
            digests=tuple(self.digests[place] for place in places),
            messages=tuple(self.messages[place] for place in places),
        )


def closing_entry(followed_by: JSON, now: int) -> NewEntry:
    """The STOPPED entry, in the dialect of the message behind it."""
    stop = stop_entry(Entry(0, followed_by))
    author = None if stop.author is None else stop.author.to_json()
    return encode_entries([stop.message], made=now, author=author, dialect=stop.dialect)[0]


Block = Literal["full", "status", "usage", "raced"]
"""Why an append did not fit the stored head, when it may be sent again in another way."""


def command(
    asked: Append, owner: Mapping[str, Any], bounds: Bounds, seen: Head | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The query and update of one try. ``seen`` is the head last read, None at the first try.

    The query proves that the call was not applied before: its key is in no record of the head, and the
    records before ``log_start`` were either looked through (``seen``) or, for a key that the library made,
    are all older than the call.
    """
    query = dict(owner)
    if seen is not None:
        query["log_start"] = seen["log_start"]
        if asked.heavy:
            # Pieces were stored under this structure; the collector raises it before it looks.
            query |= {"lineage": seen["lineage"], "structure": seen["structure"]}
    elif asked.own_keys:
        query["log_before"] = {"$not": {"$gt": Int64(asked.now)}}
    else:
        query["log_start"] = 0
    query["log.k"] = {"$ne": asked.keys[0]} if len(asked.keys) == 1 else {"$nin": list(asked.keys)}
    query["embedded_count"] = {"$lt": bounds.hard_count}
    query["embedded_bytes"] = {"$lt": bounds.hard_bytes}
    halted = None if seen is None or not asked.entries else seen.get("halt")
    if asked.entries:
        # A halt is cleared by what comes next, and the record must say so: it is seen first.
        query["halt"] = halted
        asked = asked.behind(halted)
    if asked.expected is not None:
        query["version"] = asked.expected
    settled: dict[str, Any] = {}
    gone: dict[str, Any] = {}
    increments = {
        "version": 1,
        "revision": 1,
        "next_entry": Int64(len(asked.entries)),
        "embedded_count": len(asked.entries),
        "embedded_bytes": Int64(asked.size),
    }
    if asked.status is not None and not (seen is not None and _keeps_status(asked, seen)):
        if not asked.force:
            query["status"] = {"$in": sources(asked.status)}
        settled, gone = status_fields(asked.status, asked.now)
    for counter, count in asked.usage.items():
        if not count:
            continue
        path = f"usage.{counter}"
        stored = decode_u64(seen["usage"].get(counter, 0)) if seen is not None else 0
        if max(count, stored) < _ROOM:
            increments[path] = Int64(count)
            query[path] = {"$lt": Int64(_ROOM)}
        else:  # near the end of the range: an absolute, saturated value, guarded by what was read
            query[path] = encode_u64(stored) if seen is not None else -1
            settled[path] = encode_u64(min(stored + count, U64_MAX))
    record = asked.record(halted)
    if "status" in settled:
        record["st"] = settled["status"]
    pushes: dict[str, Any] = {
        "messages": {"$each": [entry.stored for entry in asked.entries]},
        "log": {"$each": [record]},
    }
    for name, items in asked.attachments.items():
        if items:
            pushes[name] = {"$each": [item.stored for item in items]}
    if asked.attachment_bytes:
        increments[_ATTACHMENT_BYTES] = asked.attachment_bytes
        query[_ATTACHMENT_BYTES] = {"$not": {"$gt": Limits.ATTACHMENTS - asked.attachment_bytes}}
    if asked.took is not None:
        query |= {"taken.receipt": asked.took, "taken.until": {"$gt": Int64(asked.now)}}
        gone |= dict.fromkeys(LEASE_FIELDS, "")
    if halted is not None:
        gone["halt"] = ""
    update = {
        "$push": pushes,
        "$inc": increments,
        "$max": {"updated_at": encode_u64(asked.now)},
        "$min": {"dirty": Int64(first_hour([record]) or 0)},
    }
    if settled:
        update["$set"] = settled
    if gone:
        update["$unset"] = gone
    return query, update


def _keeps_status(asked: Append, seen: Head) -> bool:
    return (
        asked.status is not None
        and not asked.force
        and sticks(ConversationStatus(seen["status"]), asked.status)
    )


def block(asked: Append, head: Head, bounds: Bounds) -> Block:
    """Why the head did not fit, now that it was read and does not hold the call's key.

    Raises:
        ConflictError: the caller's expected version is not the stored one.
        LeaseLostError: the receipt lapsed, was used or is somebody else's.
        StatusError: the status does not allow it.
        TooLargeError: the record's attachments would pass their limit.

    """
    if asked.expected is not None and head["version"] != asked.expected:
        raise ConflictError("version", expected=asked.expected, actual=head["version"])
    if asked.took is not None:
        lease = head.get("taken")
        if lease is None or lease["receipt"] != asked.took or lease["until"] <= asked.now:
            raise LeaseLostError(
                "took",
                expected=asked.took,
                reason="the receipt of the queued texts lapsed, was used, or belongs to another taker; "
                "nothing was written: take again",
            )
    if is_full(head, bounds):
        return "full"
    if asked.status is not None and not asked.force and _keeps_status(asked, head):
        return "status"
    if asked.attachment_bytes:
        check_attachments(int(head.get(_ATTACHMENT_BYTES, 0)) + asked.attachment_bytes)
    if any(decode_u64(head["usage"].get(name, 0)) >= _ROOM for name in asked.usage):
        return "usage"
    return "raced"


def is_full(head: Head, bounds: Bounds) -> bool:
    """Whether appends wait for a seal."""
    return bool(head["embedded_count"] >= bounds.hard_count or head["embedded_bytes"] >= bounds.hard_bytes)


class Known(NamedTuple):
    """What earlier calls with these keys stored: the entry ids of each key, and the newest of their
    revisions.
    """

    ids: dict[Key, tuple[int, ...]]
    revision: int


def known_keys(asked: Append, head: Head, sealed: Sequence[Mapping[str, Any]]) -> Known:
    """What the head's records and the sealed ones (documents of ``changes``) know of the call's keys.

    Raises:
        ConflictError: a key was used for other content.

    """
    runs = [(one["recs"], int(one["_id"]["from"]), int(one["next"])) for one in sealed]
    runs.append((head["log"], int(head["log_start"]) + 1, int(head["next_entry"])))
    wanted = dict(zip(asked.keys, asked.digests or (None,) * len(asked.keys), strict=True))
    ids: dict[Key, tuple[int, ...]] = {}
    revision = 0
    for records, first, next_entry in runs:
        for place, record in enumerate(records):
            named = history.keys_of(record)
            known = [(number, key) for number, key in enumerate(named) if key in wanted]
            if not known:
                continue
            _check_digests(record, known, wanted)
            given = history.ids_of(records, place, next_entry)
            if isinstance(record["k"], list):
                given = given[len(given) - len(named) :]  # a closing entry has no key
                ids |= {key: (given[number],) for number, key in known}
            else:
                ids[known[0][1]] = given[len(given) - len(asked.entries) :]
            revision = max(revision, first + place)
    return Known(ids, revision)


def _check_digests(
    record: history.Record, known: Sequence[tuple[int, Key]], wanted: Mapping[Key, int | None]
) -> None:
    digests = record.get("h")
    for number, key in known:
        held = digests[number] if isinstance(digests, list) else digests
        # A rewrite takes the digest of what it took out along: then the key alone counts.
        if held is not None and held != wanted[key]:
            raise ConflictError(
                "key",
                expected=wanted[key],
                actual=held,
                reason=f"the key {key!a} was used for other content; nothing was written",
            )


def needs_seal(head: Head, added: int, bounds: Bounds) -> bool:
    """Whether the append that made the head like this should seal: over the soft bound, and its turn."""
    count, size = int(head["embedded_count"]), int(head["embedded_bytes"])
    if count < bounds.soft_count and size <= bounds.soft_bytes:
        return False
    twice = count >= 2 * bounds.soft_count or size > 2 * bounds.soft_bytes
    return twice or count // bounds.step != (count - added) // bounds.step


def needs_log_seal(head: Head, bounds: Bounds, *, heavy: bool = False) -> bool:
    """Whether the write that made the head like this should seal old change records.

    ``heavy`` says that its own record is a large one, so that not only their number counts.
    """
    held = int(head["revision"]) - int(head["log_start"])
    return heavy or (held > bounds.log_soft and held % bounds.step == 0)
