"""Turn records: asides that say where a turn began and how it ended (``spec/rig.md`` 5). Pure data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from convostore.schemas.authors import Author
from convostore.schemas.json_values import JSON, same_json
from convostore.schemas.transcript.asides import Aside
from convostore.schemas.transcript.entries import copy_json

__all__ = ["TURN", "TurnEnd", "TurnRecord"]

TURN = "rig.turn"
"""The kind of an aside that holds a turn record."""

_HOW = ("answered", "failed", "stopped")


@dataclass(frozen=True, slots=True, eq=False)
class TurnEnd:
    """How a turn ended: ``how`` and the members that go with it, as rig 0.45 writes them.

    ``answered`` has ``answer``, the id of the reply it ended on, none when its last entry was no reply;
    ``failed`` has ``why``; ``stopped`` has ``why``, none when the user stopped it. What newer releases add
    (``by``, ``at``, ``calls``) is kept in ``more`` and written back.
    """

    how: str
    answer: int | None = None
    why: str | None = None
    more: dict[str, Any] = field(default_factory=dict)

    KNOWN: ClassVar[frozenset[str]] = frozenset({"how", "answer", "why"})

    @classmethod
    def answered(cls, answer: int | None = None) -> TurnEnd:
        """The turn ended on the reply of that id."""
        return cls("answered", answer=answer)

    @classmethod
    def failed(cls, why: str) -> TurnEnd:
        """The turn failed."""
        return cls("failed", why=why)

    @classmethod
    def stopped(cls, why: str | None = None) -> TurnEnd:
        """The turn was stopped, by the user when no reason is given."""
        return cls("stopped", why=why)

    def to_json(self) -> dict[str, Any]:
        """The JSON form, without what is absent."""
        written: dict[str, Any] = {"how": self.how}
        if self.answer is not None:
            written["answer"] = self.answer
        if self.why is not None:
            written["why"] = self.why
        return {**written, **copy_json(self.more)}

    @classmethod
    def of(cls, value: JSON) -> TurnEnd | None:
        """Read the JSON form of any release; none when it is none."""
        if not isinstance(value, dict) or value.get("how") not in _HOW:
            return None
        answer, why = value.get("answer"), value.get("why")
        if not (answer is None or (type(answer) is int and answer >= 0)) or not isinstance(why, str | None):
            return None
        more = {key: item for key, item in value.items() if key not in cls.KNOWN}
        return cls(value["how"], answer, why, copy_json(more))

    def __eq__(self, other: object) -> bool:
        return same_json(self.to_json(), other.to_json()) if isinstance(other, TurnEnd) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.how, self.answer, self.why))


@dataclass(frozen=True, slots=True, eq=False)
class TurnRecord:
    """One turn: how many began before it, the message id where it begins, and its end, none while it runs.

    ``more`` keeps the members this release does not know.
    """

    index: int
    start: int
    end: TurnEnd | None = None
    more: dict[str, Any] = field(default_factory=dict)

    KNOWN: ClassVar[frozenset[str]] = frozenset({"index", "start", "end"})

    @classmethod
    def of(cls, aside: Aside) -> TurnRecord | None:
        """The record an aside holds; none when its kind or its value is another's."""
        value = aside.value
        if aside.kind != TURN or not isinstance(value, dict):
            return None
        index, start, end = value.get("index"), value.get("start"), value.get("end")
        if type(index) is not int or type(start) is not int or min(index, start) < 0:
            return None
        ended = TurnEnd.of(end)
        if end is not None and ended is None:
            return None
        more = {key: item for key, item in value.items() if key not in cls.KNOWN}
        return cls(index, start, ended, copy_json(more))

    def ended(self, end: TurnEnd) -> TurnRecord:
        """The same turn with its end."""
        return TurnRecord(self.index, self.start, end, self.more)

    def to_json(self) -> dict[str, Any]:
        """The value of its aside."""
        written: dict[str, Any] = {"index": self.index, "start": self.start}
        if self.end is not None:
            written["end"] = self.end.to_json()
        return {**written, **copy_json(self.more)}

    def aside(self, after: int | None) -> Aside:
        """The aside that holds it, after that entry."""
        return Aside(TURN, Author.rig(), after, self.to_json())

    def __eq__(self, other: object) -> bool:
        return same_json(self.to_json(), other.to_json()) if isinstance(other, TurnRecord) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.index, self.start))
