"""Sheets: the ledger's rows of one hour over all conversations, in a few small documents. Pure.

``_id`` is ``{h: hour, p: part}``; an hour of very many conversations has several parts, whose
counters add up and whose conversations are distinct. Members, counters by their letters, those of
:data:`~convostore.store.crediting.STATUSES` among them:

====== ============================================================================================
``f``  the fence of the runner that wrote it
``t``  totals, with the numbers of distinct conversations and users (``cn``, ``un``; of the whole hour, in
       the first part)
``cs`` ids of the active conversations; ``us`` their users
``q``  the same by quarter: ``{q, counters, cs, us, tk: [[model, input, output, cached], ...]}``
``s``  the same by quarter, label and model: ``{q, l?, m, counters, cs, us}``
====== ============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from bson.int64 import Int64

from convostore.store.codec import U64_MAX, decode_u64, encode_u64
from convostore.store.crediting import STATUSES, written_sums
from convostore.store.tallying import Tally

__all__ = ["ACTIVE", "MOST", "MOST_BYTES", "is_active", "sheets_of"]

ACTIVE: Final = ("n", "k", "b")
"""Counters of which one at least shows that the conversation was active, and its user."""

MOST: Final = 20_000
"""Conversations of one part."""

MOST_BYTES: Final = 8 << 20
"""About the bytes of one part, so that with whatever names of users it stays below 16 MiB."""

_TIMES = 3  # a row's conversation and user stand in the sheet, its quarter and its slot
_BESIDE = 40  # bytes of an id, and of an item beside a name


def is_active(row: Mapping[str, Any]) -> bool:
    """Whether the conversation was made, written to or used something then, and not only failed, say."""
    return "n" in row or "k" in row or "b" in row


def sheets_of(hour: int, rows: Sequence[Mapping[str, Any]], most: int = MOST) -> list[dict[str, Any]]:
    """The sheets of an hour, from its rows; one that says nothing when there are none."""
    ordered = sorted(((decode_u64(row["_id"]["c"]), row) for row in rows), key=itemgetter(0))
    parts = list(_parts(ordered, most)) or [[]]
    sheets = []
    whole = Tally()
    for place, part in enumerate(parts):
        slots = _slots(part)
        quarters = _merged(slots, lambda slot: slot.quarter)
        total = Tally()
        for quarter in quarters.values():
            total.join(quarter)
        whole.meet(total.conversations, total.users)
        sheets.append(
            {
                "_id": {"h": Int64(hour), "p": place},
                "h": Int64(hour),
                "t": written_sums(total.sums),
                **_active(total),
                "q": _quarter_documents(slots, quarters),
                "s": [_slot_document(*item) for item in sorted(slots.items(), key=_order)],
            }
        )
    if rows:
        # Numbers of distinct ones do not add up over parts: the first has those of the hour.
        sheets[0]["t"] |= dict(zip(("cn", "un"), whole.distinct, strict=True))
    return sheets


_Rows: TypeAlias = list[tuple[int, Mapping[str, Any]]]
"""Rows with their conversations."""


class _Slot(NamedTuple):
    quarter: int
    label: str | None
    model: str


def _parts(rows: _Rows, most: int) -> Iterator[_Rows]:
    part: _Rows = []
    held = size = 0
    # Kept rows of an earlier life stand with the id's own.
    for _, group in groupby(rows, key=itemgetter(0)):
        its = list(group)
        weight = sum(_TIMES * (len(row["user"].encode()) + _BESIDE) for _, row in its)
        if held == most or (part and size + weight > MOST_BYTES):
            yield part
            part, held, size = [], 0, 0
        part += its
        held += 1
        size += weight
    if part:
        yield part


def _slots(rows: _Rows) -> dict[_Slot, Tally]:
    slots: dict[_Slot, Tally] = {}
    for conversation, row in rows:
        place = _Slot(int(row["_id"]["q"]), row.get("label"), row["_id"]["m"])
        tally = slots.get(place)
        if tally is None:
            tally = slots[place] = Tally()
        tally.add(row)
        if status := STATUSES.get(row.get("status", "")):
            tally.add({status: 1})
        if is_active(row):
            tally.conversations.add(conversation)
            tally.users.add(row["user"])
    return slots


K = TypeVar("K")


def _merged(slots: Mapping[_Slot, Tally], key: Callable[[_Slot], K]) -> dict[K, Tally]:
    """The tallies of the slots that have the same key, joined."""
    merged: dict[K, Tally] = {}
    for slot, tally in slots.items():
        merged.setdefault(key(slot), Tally()).join(tally)
    return merged


def _active(tally: Tally) -> dict[str, Any]:
    return {"cs": list(map(encode_u64, sorted(tally.conversations))), "us": sorted(tally.users)}


def _quarter_documents(slots: Mapping[_Slot, Tally], quarters: Mapping[int, Tally]) -> list[dict[str, Any]]:
    tokens: dict[int, list[list[Any]]] = {quarter: [] for quarter in quarters}
    models = _merged(slots, lambda slot: (slot.quarter, slot.model))
    for (quarter, model), tally in sorted(models.items(), key=itemgetter(0)):
        used = [tally.sums.get(short, 0) for short in "ioc"]
        if any(used):
            tokens[quarter].append([model, *(encode_u64(min(count, U64_MAX)) for count in used)])
    return [
        {
            "q": Int64(quarter),
            **written_sums(tally.sums),
            **_active(tally),
            **({"tk": tokens[quarter]} if tokens[quarter] else {}),
        }
        for quarter, tally in sorted(quarters.items(), key=itemgetter(0))
    ]


def _order(item: tuple[_Slot, Tally]) -> tuple[int, bool, str, str]:
    slot, _ = item
    return slot.quarter, slot.label is not None, slot.label or "", slot.model


def _slot_document(slot: _Slot, tally: Tally) -> dict[str, Any]:
    label = {} if slot.label is None else {"l": slot.label}
    return {"q": Int64(slot.quarter), "m": slot.model, **label, **written_sums(tally.sums), **_active(tally)}
