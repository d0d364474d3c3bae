"""The read side of a transcript: positions, spans, who owes what (``spec/rig.md`` 3.1 to 3.3). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from convostore.schemas import pairing
from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.schemas.json_values import JSON
from convostore.schemas.transcript import spans
from convostore.schemas.transcript.asides import Aside
from convostore.schemas.transcript.changes import Halt
from convostore.schemas.transcript.entries import EntryRef, MessageKey, copy_json, taken_out
from convostore.schemas.transcript.state import State
from convostore.schemas.transcript.turns import TurnRecord

__all__ = ["Reading"]


class Reading:
    """What can be asked of a transcript; every value given out is a copy."""

    def __init__(self, state: State) -> None:
        self._state = state

    def __len__(self) -> int:
        return len(self._state.entries)

    def __iter__(self) -> Iterator[EntryRef]:
        return iter(self.entries())

    @overload
    def __getitem__(self, at: int) -> EntryRef: ...
    @overload
    def __getitem__(self, at: slice) -> list[EntryRef]: ...
    def __getitem__(self, at: int | slice) -> EntryRef | list[EntryRef]:
        places = range(len(self))[at]
        if isinstance(places, int):
            return self._ref(places)
        return [self._ref(place) for place in places]

    def __eq__(self, other: object) -> bool:
        return self._state == other._state if isinstance(other, Reading) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def _ref(self, place: int) -> EntryRef:
        return EntryRef(place, self._state.entries[place])

    def _at(self, place: int) -> Entry | None:
        length = len(self._state.entries)
        return self._state.entries[place] if -length <= place < length else None

    def messages(self) -> list[JSON]:
        """The messages, oldest first: exactly what a request sends."""
        return [copy_json(entry.message) for entry in self._state.entries]

    def entries(self) -> Sequence[EntryRef]:
        """The entries, oldest first."""
        return [EntryRef(place, entry) for place, entry in enumerate(self._state.entries)]

    def entry(self, index: int) -> Entry | None:
        """The entry there, taken out with its author, id and time; none out of range."""
        held = self._at(index)
        return None if held is None else taken_out(held)

    def id(self, index: int) -> int | None:
        """The message id there; none out of range."""
        held = self._at(index)
        return None if held is None else held.id

    def key(self, index: int) -> MessageKey | None:
        """The identity outside this conversation; none out of range."""
        held = self._at(index)
        return None if held is None else MessageKey(held.id, held.made)

    def author(self, index: int) -> Author | None:
        """Who wrote it; none for the user's own text, a reply, a result, and out of range."""
        held = self._at(index)
        return None if held is None else held.author

    def index_of(self, id: int) -> int | None:
        """Where the entry of that id stands; none once it is gone."""
        return spans.index_of(self._state, id)

    def index_of_key(self, key: MessageKey) -> int | None:
        """As :meth:`index_of`, and none when the entry of that id was made at another time."""
        index = self.index_of(key.id)
        return index if index is not None and self.key(index) == key else None

    def start_of(self, id: int) -> int:
        """The index while present; the length for an id not made yet; 0 for one taken out."""
        return spans.start_of(self._state, id)

    def turn_start(self) -> int:
        """The id of the first of the user messages that end the conversation, else the next id."""
        return spans.turn_start(self._state)

    def asked(self, start: int) -> list[EntryRef]:
        """From ``start_of(start)`` the entries as long as they are user messages."""
        return [self._ref(index) for index in spans.asked(self._state, start)]

    def request(self, start: int) -> EntryRef | None:
        """The first of :meth:`asked` that is a request; none if there is none."""
        index = spans.request(self._state, start)
        return None if index is None else self._ref(index)

    def halted(self) -> Halt | None:
        """The halt, if any."""
        return self._state.halt

    def awaits_model(self) -> bool:
        """Whether there is no halt and the last message a model would read is the user's."""
        return self._state.halt is None and spans.last_is_users(self._state)

    def pending_calls(self) -> list[pairing.Call]:
        """The calls of the last assistant message that no later result names, in call order."""
        return pairing.pending_calls(self._state.entries)

    def validate(self) -> None:
        """Refuse a conversation whose calls and results do not pair.

        Raises:
            PairingError: the first fault, with its index and call id.

        """
        pairing.validate(self._state.entries)

    def asides(self) -> list[tuple[int, Aside]]:
        """The asides with their ids, in the order put."""
        return [(id, aside.copied()) for id, aside in self._state.asides.items()]

    def aside(self, id: int) -> Aside | None:
        """The aside of that id; none if there is none."""
        held = self._state.asides.get(id)
        return None if held is None else held.copied()

    def aside_position(self, aside: Aside) -> int:
        """Before which entry an aside is drawn: 0 without ``after``, else behind its entry or stand-in."""
        return spans.aside_position(self._state, aside)

    def turns(self) -> list[tuple[int, TurnRecord]]:
        """The asides that hold turn records, oldest first."""
        return spans.turns(self._state)
