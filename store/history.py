"""Change records: what every write to a conversation's messages leaves in its log. Pure.

A record is at once history, idempotence and hourly ledger (``storage.md`` S1, A12 to A14). Members, each
omitted when it says nothing:

=======  ==========================================================================================
``at``   when, ms
``k``    the key of the call: an ObjectId made by the library, or the caller's text; a list, one per message
``h``    64-bit digest of what the call asked for, beside a caller's key; a list beside a list
``n``    messages pushed (1 when omitted); absent in records of another kind
``u``    usage given, counter by counter (only those above zero)
``md``   the model, when known
``st``   the status that the append set
``qs``   of an import: ``[quarter of an hour, messages]`` by the messages' own times; the rest count at ``at``
``by``   author of the change
``e``    ids drawn from the conversation's counter, when not ``n``
``from`` ``to`` ``with`` ``rm``  of a splice: the range replaced, ids of what stands there now, entries taken
         out (whole), or ``body``: where they lie
=======  ==========================================================================================
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from bson.int64 import Int64
from bson.objectid import ObjectId

from convostore.schemas.json_values import JSON, dump_text
from convostore.schemas.periods import QUARTER_MS
from convostore.store.codec import INT64_MAX, decode_u64, encode_u64

__all__ = [
    "HOUR_MS",
    "Key",
    "Record",
    "digest",
    "drawn",
    "find_record",
    "ids_of",
    "push_record",
]

HOUR_MS: Final = 3_600_000

Record: TypeAlias = dict[str, Any]
Key: TypeAlias = ObjectId | str

_COUNTERS: Final = {"input_tokens": "i", "output_tokens": "o", "cached_tokens": "c", "requests": "r"}


def digest(*parts: JSON) -> int:
    """A signed 64-bit digest of JSON values, to tell a repeated call from another one under the same key."""
    hashed = hashlib.blake2b(digest_size=8)
    for part in parts:
        hashed.update(dump_text(part).encode())
        hashed.update(b"\0")
    return int.from_bytes(hashed.digest(), "big", signed=True)


def push_record(
    at: int,
    count: int,
    *,
    key: Key | Sequence[Key],
    digests: int | Sequence[int] | None = None,
    usage: Mapping[str, int] | None = None,
    model: str | None = None,
    author: Mapping[str, Any] | None = None,
) -> Record:
    """The record of an append of ``count`` messages; it holds none of them."""
    # A record may be created at any u64; beyond Int64 its first change counts at the end of time.
    time = Int64(min(at, INT64_MAX))
    record: Record = {"at": time, "k": key if isinstance(key, (ObjectId, str)) else list(key)}
    if count != 1:
        record["n"] = count
    if digests is not None:
        record["h"] = Int64(digests) if isinstance(digests, int) else [Int64(one) for one in digests]
    if model is not None:
        record["md"] = model
    return record | _facts(usage, author)


def own_times(made: Sequence[int | None], at: int) -> dict[str, Any]:
    """The member ``qs`` of a push record of messages made at these times; nothing when all are of ``at``'s
    quarter.
    """
    if not made:
        return {}
    times = [time // QUARTER_MS for time in made if time is not None]
    if not times:
        return {"qs": []}
    quarters = Counter(times)
    if len(quarters) == 1 and quarters[at // QUARTER_MS] == len(made):
        return {}
    return {"qs": [[quarter, quarters[quarter]] for quarter in sorted(quarters)]}


def splice_record(
    at: int,
    key: Key,
    start: int,
    stop: int,
    *,
    placed: Sequence[int],
    drawn: int,
    removed: Sequence[Mapping[str, Any]] | None,
    body: Sequence[ObjectId] = (),
    usage: Mapping[str, int] | None = None,
    author: Mapping[str, Any] | None = None,
) -> Record:
    """The record of a splice of positions ``start`` to ``stop``; it holds what was taken out, or where that
    lies.
    """
    record: Record = {"at": Int64(at), "k": key, "from": start, "to": stop, "with": list(placed)}
    if drawn:
        record["e"] = drawn
    if body:
        record["body"] = list(body)
    elif removed:
        record["rm"] = list(removed)
    return record | _facts(usage, author)


def usage_record(at: int, key: Key, usage: Mapping[str, int]) -> Record:
    """The record of usage that came without messages: it belongs to the ledger, so it is in the log."""
    return {"at": Int64(at), "k": key, "n": 0} | _facts(usage, None)


def _facts(usage: Mapping[str, int] | None, author: Mapping[str, Any] | None) -> Record:
    facts: Record = {}
    if usage:
        facts["u"] = {_COUNTERS[name]: encode_u64(count) for name, count in usage.items() if count}
    if author:
        facts["by"] = dict(author)
    return facts


def usage_of(record: Mapping[str, Any]) -> dict[str, int]:
    """The counters a record gave, by their names."""
    given = record.get("u", {})
    return {name: decode_u64(given[short]) for name, short in _COUNTERS.items() if short in given}


def pushed(record: Mapping[str, Any]) -> int:
    """How many messages the record pushed."""
    return 0 if "from" in record or "type" in record else int(record.get("n", 1))


def drawn(record: Mapping[str, Any]) -> int:
    """How many entry ids the record drew."""
    return int(record["e"]) if "e" in record else pushed(record)


def keys_of(record: Mapping[str, Any]) -> list[Key]:
    """The keys a record carries."""
    key = record.get("k")
    return [] if key is None else list(key) if isinstance(key, list) else [key]


def find_record(records: Iterable[Mapping[str, Any]], keys: Iterable[Key]) -> int | None:
    """The place of the first record that carries one of the keys."""
    wanted = set(keys)
    return next((at for at, record in enumerate(records) if not wanted.isdisjoint(keys_of(record))), None)


def ids_of(records: Sequence[Mapping[str, Any]], place: int, next_entry: int) -> tuple[int, ...]:
    """The ids that the record at ``place`` gave its messages, when ``next_entry`` is the counter after them
    all.
    """
    after = next_entry - sum(drawn(record) for record in records[place + 1 :])
    return tuple(range(after - pushed(records[place]), after))
