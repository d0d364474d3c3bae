"""Reading foreign formats in tests: what a reader gives, by kind, and inputs changed at random."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

from convostore.schemas.formats import (
    FORMATS,
    Branch,
    ByteInput,
    Imported,
    Item,
    ReadOptions,
    Refused,
    detect,
)
from support.shared import shared

ODD_VALUES: list[Any] = [
    None, True, 0, -1, 7, 1.5, 10**30, float("nan"), "", "text", "\ud800", "0" * 300, "a\0b",
    [], [None], [[]], [1, "x"], {}, {"a": 1}, {"type": "text"}, {"$date": 5}, {"$oid": "x"},
]  # fmt: skip


def read(data: bytes | str, name: str, *, user: str | None = "alice", cut: int = 1000) -> list[Item]:
    """All that the format's reader gives for an input that comes in chunks."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    chunks = [raw[start : start + cut] for start in range(0, len(raw), cut)]
    reader = FORMATS[name].read
    assert reader is not None
    return list(reader(ByteInput(chunks), ReadOptions(user=user, file="f.json")))


def detected(data: bytes | str) -> str:
    return detect(ByteInput([data.encode() if isinstance(data, str) else data])).name


def read_value(value: Any, name: str, *, user: str | None = "alice") -> list[Item]:
    return read(json.dumps(value), name, user=user)


def only(items: Iterable[Item]) -> Imported:
    """The one conversation, when that is all there is."""
    (found,) = items
    assert isinstance(found, Imported), found
    return found


def imported(items: Iterable[Item]) -> list[Imported]:
    return [item for item in items if isinstance(item, Imported)]


def refused(items: Iterable[Item]) -> list[Refused]:
    return [item for item in items if isinstance(item, Refused)]


def whole(found: Imported, branch: Branch) -> list[Any]:
    """All messages of a branch, those of the line it leaves included."""
    lines = {found.source.id: list(found.conversation.messages)}
    for item in found.branches:
        before = lines[item.origin.id]
        assert 0 <= item.origin.after <= len(before) and item.messages
        assert len(item.entries) == len(item.messages)
        lines[item.source.id] = before[: item.origin.after] + list(item.messages)
    return lines[branch.source.id]


def all_messages(found: Imported) -> list[Any]:
    """The messages of the active branch and what every other has of its own."""
    return [*found.conversation.messages, *(message for one in found.branches for message in one.messages)]


def kinds(messages: Iterable[Any]) -> Counter[Any]:
    """How many parts of each kind the messages have."""
    return Counter(
        part.get("type") if isinstance(part, dict) else type(part).__name__
        for message in messages
        for part in message["content"]
    )


def times(found: Sequence[Imported]) -> list[int]:
    """The times of all messages that have one."""
    facts = [
        *(item.entries or () for item in found),
        *(one.entries for item in found for one in item.branches),
    ]
    return [fact.made for run in facts for fact in run if fact.made is not None]


def sample(path: str) -> tuple[bytes, dict[str, Any]]:
    """A file of the shared exports, and what a correct importer finds in it."""
    expected = json.loads(shared("data/exports/expected.json").read_text())
    return shared(f"data/exports/{path}").read_bytes(), expected[path]["expected"]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, item in members:
        yield from _places(item, (*path, key))


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """The value with up to three of its members, at any depth, dropped, added or of another type."""
    found = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(found))
        if not places:
            break
        *way, last = draw(st.sampled_from(places))
        holder = found
        for step in way:
            holder = holder[step]
        change = draw(st.sampled_from(["drop", "add", "retype"]))
        odd = copy.deepcopy(draw(st.sampled_from(ODD_VALUES)))
        if change == "drop":
            del holder[last]
        elif change == "retype":
            holder[last] = odd
        elif isinstance(holder, list):
            holder.insert(last, odd)
        else:
            holder[draw(st.sampled_from(["extra", "id", "type", "content", "role", "parent"]))] = odd
    return found
