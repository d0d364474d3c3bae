"""Sheets: the ledger's rows of one hour over all conversations, in a few small documents. Pure.

``_id`` is ``{h: hour, p: part}``; an hour of more conversations than :data:`MOST` has several parts, whose
counters add up and whose conversations are distinct. Members, counters by their letters:

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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from bson.int64 import Int64

from convostore.store.codec import decode_u64, encode_u64
from convostore.store.crediting import Counts, written_counts

__all__ = ["ACTIVE", "MOST", "is_active", "sheets_of"]

ACTIVE: Final = ("n", "k", "b")
"""Counters of which one at least shows that the conversation was active, and its user."""

MOST: Final = 20_000
"""Conversations of one part: far below the 16 MiB of a document."""


class _Sum:
    """Counters with the conversations and users they are of."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.conversations: dict[int, None] = {}
        self.users: dict[str, None] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        self.counts.add(row)
        if is_active(row):
            self.conversations[decode_u64(row["_id"]["c"])] = None
            self.users[row["user"]] = None

    def document(self) -> dict[str, Any]:
        return {
            **written_counts(self.counts),
            "cs": list(map(encode_u64, self.conversations)),
            "us": list(self.users),
        }


def is_active(row: Mapping[str, Any]) -> bool:
    """Whether the conversation was made, written to or used something then, and not only failed, say."""
    return any(short in row for short in ACTIVE)


def sheets_of(hour: int, rows: Sequence[Mapping[str, Any]], most: int = MOST) -> list[dict[str, Any]]:
    """The sheets of an hour, from its rows; one that says nothing when there are none."""
    ordered = sorted(rows, key=_conversation)
    parts = list(_parts(ordered, most)) or [[]]
    users = {row["user"] for row in ordered if is_active(row)}
    active = {decode_u64(row["_id"]["c"]) for row in ordered if is_active(row)}
    sheets = []
    for place, part in enumerate(parts):
        total = _Sum()
        for row in part:
            total.add(row)
        found = total.document()
        conversations, named = found.pop("cs"), found.pop("us")
        # Numbers of distinct ones do not add up over parts: the first has those of the hour.
        distinct = {"cn": len(active), "un": len(users)} if rows and not place else {}
        sheets.append(
            {
                "_id": {"h": Int64(hour), "p": place},
                "h": Int64(hour),
                "t": found | distinct,
                "cs": conversations,
                "us": named,
                "q": _quarters(part),
                "s": _slots(part),
            }
        )
    return sheets


def _conversation(row: Mapping[str, Any]) -> int:
    # Kept rows of an earlier life stand with the id's own.
    return decode_u64(row["_id"]["c"])


def _parts(rows: Sequence[Mapping[str, Any]], most: int) -> Iterator[list[Mapping[str, Any]]]:
    part: list[Mapping[str, Any]] = []
    held = 0
    for _, group in groupby(rows, key=_conversation):
        if held == most:
            yield part
            part, held = [], 0
        part += group
        held += 1
    if part:
        yield part


def _quarters(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    sums: dict[int, _Sum] = {}
    models: dict[tuple[int, str], Counts] = {}
    for row in rows:
        quarter, model = int(row["_id"]["q"]), row["_id"]["m"]
        sums.setdefault(quarter, _Sum()).add(row)
        models.setdefault((quarter, model), Counts()).add(row)
    found = []
    for quarter in sorted(sums):
        tokens = [
            [
                model,
                encode_u64(one.input_tokens),
                encode_u64(one.output_tokens),
                encode_u64(one.cached_tokens),
            ]
            for (place, model), one in sorted(models.items())
            if place == quarter and (one.input_tokens or one.output_tokens or one.cached_tokens)
        ]
        found.append({"q": Int64(quarter), **sums[quarter].document(), **({"tk": tokens} if tokens else {})})
    return found


def _slots(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    sums: dict[tuple[int, str, str], tuple[str | None, _Sum]] = {}
    for row in rows:
        label = row.get("label")
        place = (int(row["_id"]["q"]), "" if label is None else f"={label}", row["_id"]["m"])
        sums.setdefault(place, (label, _Sum()))[1].add(row)
    return [
        {
            "q": Int64(place[0]),
            "m": place[2],
            **({} if label is None else {"l": label}),
            **one.document(),
        }
        for place, (label, one) in sorted(sums.items(), key=lambda item: item[0])
    ]
