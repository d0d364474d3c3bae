"""The JSON of states, changes and records: the one place of every key name (``spec/rig.md`` 3.14, 4). Pure.

Written: members that say nothing are left out; a cleared halt and a removed aside have no member. Read: an
absent member and null mean the same, unknown members are ignored.
"""

from __future__ import annotations

from typing import Any

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON, check_json
from convostore.schemas.transcript.asides import Aside
from convostore.schemas.transcript.changes import (
    AsideChange,
    Change,
    ChangeRecord,
    Halt,
    HaltChange,
    PushChange,
    ResetChange,
    SpliceChange,
)
from convostore.schemas.transcript.entries import MessageKey, copy_json
from convostore.schemas.transcript.state import State

__all__ = [
    "change_from_json",
    "change_to_json",
    "entry_from_json",
    "entry_to_json",
    "key_from_json",
    "key_to_json",
    "read_halt",
    "record_from_json",
    "record_to_json",
    "state_from_json",
    "state_to_json",
]


def entry_to_json(entry: Entry) -> dict[str, Any]:
    """An entry with a copy of its message; ``dialect`` and ``unfinished`` are ours beside rig's members."""
    written: dict[str, Any] = {"message": copy_json(entry.message)}
    if entry.author is not None:
        written["author"] = entry.author.to_json()
    written["id"] = entry.id
    if entry.made is not None:
        written["made"] = entry.made
    if entry.dialect is not None:
        written["dialect"] = entry.dialect
    if entry.unfinished:
        written["unfinished"] = True
    return written


def entry_from_json(value: JSON, path: str = "entry") -> Entry:
    """Read an entry; it must carry its id, as every recorded one does.

    Raises:
        InvalidRecordError: it is none.

    """
    members = _object(value, path)
    if "message" not in members:
        raise InvalidRecordError(f"{path}.message", "is missing")
    check_json(members["message"], f"{path}.message")
    author, dialect = members.get("author"), members.get("dialect")
    if dialect is not None and not isinstance(dialect, str):
        raise InvalidRecordError(f"{path}.dialect", "must be text")
    return Entry(
        _count(members, "id", path),
        copy_json(members["message"]),
        _time(members, "made", path),
        None if author is None else Author.from_json(author, f"{path}.author"),
        dialect,
        members.get("unfinished") is True,
    )


def key_to_json(key: MessageKey) -> dict[str, Any]:
    """A message key: ``{"id": 4, "made": 1790848800000}``."""
    return {"id": key.id} if key.made is None else {"id": key.id, "made": key.made}


def key_from_json(value: JSON, path: str = "key") -> MessageKey:
    """Read a message key.

    Raises:
        InvalidRecordError: it is none.

    """
    members = _object(value, path)
    return MessageKey(_count(members, "id", path), _time(members, "made", path))


def state_to_json(state: State) -> dict[str, Any]:
    """A state without its unsaved asides."""
    written: dict[str, Any] = {}
    if state.entries:
        written["entries"] = [entry_to_json(entry) for entry in state.entries]
    asides = [{"id": id, "aside": aside.to_json()} for id, aside in state.asides.items() if aside.saved]
    if asides:
        written["asides"] = asides
    if state.halt is not None:
        written["halt"] = state.halt.value
    if state.next_entry:
        written["next_entry"] = state.next_entry
    if state.next_aside:
        written["next_aside"] = state.next_aside
    return written


def state_from_json(value: JSON, path: str = "state") -> State:
    """Read a state; the next ids are never below what it holds.

    Raises:
        InvalidRecordError: it is none, an id comes twice, or an aside in it says that it is not saved.

    """
    members = _object(value, path)
    entries = [
        entry_from_json(item, f"{path}.entries[{place}]")
        for place, item in enumerate(_list(members, "entries", path))
    ]
    asides: dict[int, Aside] = {}
    for place, item in enumerate(_list(members, "asides", path)):
        at = f"{path}.asides[{place}]"
        held = _object(item, at)
        id, aside = _count(held, "id", at), Aside.from_json(held.get("aside"), f"{at}.aside")
        if id in asides or not aside.saved:
            raise InvalidRecordError(at, "its id comes twice" if id in asides else "is not a saved one")
        asides[id] = aside
    if len({entry.id for entry in entries}) < len(entries):
        raise InvalidRecordError(f"{path}.entries", "an id comes twice")
    return State(
        entries,
        dict(sorted(asides.items())),
        _halt(members, path),
        max([_count(members, "next_entry", path, 0), *(entry.id + 1 for entry in entries)]),
        max([_count(members, "next_aside", path, 0), *(id + 1 for id in asides)]),
    )


def change_to_json(change: Change) -> dict[str, Any]:
    """A change as a log line holds it, ``type`` first."""
    if isinstance(change, PushChange):
        return {"type": "push", "entries": [entry_to_json(entry) for entry in change.entries]}
    if isinstance(change, SpliceChange):
        return {
            "type": "splice",
            "from": change.start,
            "to": change.stop,
            "removed": list(change.removed),
            "with": [entry_to_json(entry) for entry in change.entries],
        }
    if isinstance(change, HaltChange):
        return {"type": "halt"} if change.halt is None else {"type": "halt", "halt": change.halt.value}
    if isinstance(change, AsideChange):
        written = {"type": "aside", "id": change.id}
        return written if change.aside is None else {**written, "aside": change.aside.to_json()}
    return {"type": "reset", "state": state_to_json(change.state)}


def change_from_json(value: JSON, path: str = "change") -> Change:
    """Read a change.

    Raises:
        InvalidRecordError: it is none of the five.

    """
    members = _object(value, path)
    kind = members.get("type")
    if kind == "push":
        return PushChange(_entries(members, "entries", path))
    if kind == "splice":
        removed = _list(members, "removed", path)
        if not all(type(id) is int and id >= 0 for id in removed):
            raise InvalidRecordError(f"{path}.removed", "must be message ids")
        span = _count(members, "from", path), _count(members, "to", path)
        return SpliceChange(*span, tuple(removed), _entries(members, "with", path))
    if kind == "halt":
        return HaltChange(_halt(members, path))
    if kind == "aside":
        aside = members.get("aside")
        read = None if aside is None else Aside.from_json(aside, f"{path}.aside")
        return AsideChange(_count(members, "id", path), read)
    if kind == "reset":
        return ResetChange(state_from_json(members.get("state"), f"{path}.state"))
    raise InvalidRecordError(f"{path}.type", f"{ascii(kind)[:80]} is no change")


def record_to_json(record: ChangeRecord) -> dict[str, Any]:
    """A record: ``at`` and ``by`` where known, then the members of its change."""
    written: dict[str, Any] = {}
    if record.at is not None:
        written["at"] = record.at
    if record.by is not None:
        written["by"] = record.by.to_json()
    return {**written, **change_to_json(record.change)}


def record_from_json(value: JSON, path: str = "record") -> ChangeRecord:
    """Read a record.

    Raises:
        InvalidRecordError: it is none.

    """
    members = _object(value, path)
    by = members.get("by")
    author = None if by is None else Author.from_json(by, f"{path}.by")
    return ChangeRecord(change_from_json(members, path), author, _time(members, "at", path))


def _object(value: JSON, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidRecordError(path, "must be an object")
    return value


def _list(members: dict[str, Any], name: str, path: str) -> list[Any]:
    value = members.get(name)
    if not isinstance(value, list | None):
        raise InvalidRecordError(f"{path}.{name}", "must be a list")
    return value or []


def _entries(members: dict[str, Any], name: str, path: str) -> tuple[Entry, ...]:
    listed = _list(members, name, path)
    return tuple(entry_from_json(item, f"{path}.{name}[{place}]") for place, item in enumerate(listed))


def _count(members: dict[str, Any], name: str, path: str, absent: int | None = None) -> int:
    value = members.get(name)
    if value is None and absent is not None:
        return absent
    if type(value) is not int or value < 0:
        raise InvalidRecordError(f"{path}.{name}", "must be a whole number from 0")
    return value


def _time(members: dict[str, Any], name: str, path: str) -> int | None:
    value = members.get(name)
    return None if value is None else _count(members, name, path)


def _halt(members: dict[str, Any], path: str) -> Halt | None:
    value = members.get("halt")
    return None if value is None else read_halt(value, f"{path}.halt")


def read_halt(value: JSON, path: str) -> Halt:
    """Read a halt.

    Raises:
        InvalidRecordError: it is none.

    """
    try:
        return Halt(value)
    except ValueError:
        raise InvalidRecordError(path, f"{ascii(value)[:80]} is no halt") from None
