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
    float("-inf"), 1e308, 1e18, 2**63, -(2**70), 5 * 10**10, 1767323045, 1767323045.5, 1767323045000,
    "2026-01-02T03:04:05Z", "2026-01-02T03:04:05", "2026-02-30T00:00:00Z", "\x00", "x" * 5000, "{",
    '{"a": 1}', "data:image/png;base64,!!", "data:,x", ["a", {"b": None}], {"": 1}, {"id": None}, {"url": 5},
    {"text": ["x"]}, {"$date": {"$numberLong": "9" * 5000}}, {"$ref": "a", "$id": 1}, {"a.b": {"$set": 1}},
    {"a\0": 1},
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


def places_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all members, at any depth."""
    if path:
        yield path
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, item in members:
        yield from places_of(item, (*path, key))


def at(value: Any, path: Sequence[Any]) -> Any:
    """What lies at the end of the path."""
    for step in path:
        value = value[step]
    return value


def _exchange(value: Any, one: Sequence[Any], other: Sequence[Any]) -> None:
    """Put each of two members in the other's place, copies where one lies in the other."""
    here, there = copy.deepcopy(at(value, one)), copy.deepcopy(at(value, other))
    first, second = sorted((one, other), key=len)
    at(value, second[:-1])[second[-1]] = here if second is other else there
    at(value, first[:-1])[first[-1]] = here if first is other else there


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """The value with up to three of its members, at any depth, dropped, added, exchanged or retyped."""
    found = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        places = list(places_of(found))
        if not places:
            break
        *way, last = draw(st.sampled_from(places))
        holder = at(found, way)
        change = draw(st.sampled_from(["drop", "add", "retype", "exchange"]))
        odd = copy.deepcopy(draw(st.sampled_from(ODD_VALUES)))
        if change == "drop":
            del holder[last]
        elif change == "retype":
            holder[last] = odd
        elif change == "exchange":
            _exchange(found, (*way, last), draw(st.sampled_from(places)))
        elif isinstance(holder, list):
            holder.insert(last, odd)
        else:
            holder[draw(st.sampled_from(["extra", "id", "type", "content", "role", "parent"]))] = odd
    return found
