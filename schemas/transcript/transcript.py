"""The transcript: rig's Conversation under its own method names (``spec/rig.md`` 3). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, TypeVar, overload

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.schemas.errors import MismatchError
from convostore.schemas.json_values import JSON
from convostore.schemas.rig import Message
from convostore.schemas.transcript import lineage as lineages
from convostore.schemas.transcript import spans
from convostore.schemas.transcript.asides import Aside
from convostore.schemas.transcript.changes import (
    AsideChange,
    Change,
    ChangeRecord,
    Halt,
    HaltChange,
)
from convostore.schemas.transcript.codec import read_halt, record_from_json, state_from_json, state_to_json
from convostore.schemas.transcript.entries import (
    AnyEntry,
    EntryRef,
    all_taken_in,
    taken_in,
)
from convostore.schemas.transcript.normalizing import Normalized, normalized
from convostore.schemas.transcript.outbox import Outbox, now_ms
from convostore.schemas.transcript.reading import Reading
from convostore.schemas.transcript.roles import stop_entry
from convostore.schemas.transcript.splicing import Spliced, clamped, pushed, spliced, wanted_middle
from convostore.schemas.transcript.state import State, apply, put
from convostore.schemas.transcript.turns import TurnEnd, TurnRecord

__all__ = ["Transcript"]

R = TypeVar("R")


class Transcript(Reading):
    """A conversation as entries with identity, asides and a halt, that records every change to it.

    Where a method takes an entry it takes an ``Entry``, a ``NewEntry``, an ``EntryRef``, a message model or a
    message's JSON object of any dialect. A position is an int or a slice. What goes in and comes out is
    copied. Folding the unsaved records into a copy of the old value gives the new one. Two transcripts are
    equal when their entries (but for the times), saved asides and halt are; records, revision and lineage do
    not count.

    ``clock`` gives milliseconds since 1970.

    >>> t = Transcript([{"role": "user", "content": "hi"}], clock=lambda: 1000)
    >>> t.push({"role": "assistant", "content": "hello"})
    1
    >>> t.index_of(1), t.awaits_model(), t.revision()
    (1, False, 2)
    """

    def __init__(
        self, messages: Iterable[Message | dict[str, Any]] = (), *, clock: Callable[[], int] = now_ms
    ) -> None:
        super().__init__(State())
        self._log = Outbox(clock)
        self.stored_as: tuple[int, str] | None = None
        """The id and user of the conversation that a store loaded it from; no part of equality or JSON."""
        self.extend(messages)

    @classmethod
    def of_state(
        cls,
        state: State,
        *,
        lineage: int = lineages.DETACHED,
        revision: int = 0,
        clock: Callable[[], int] = now_ms,
    ) -> Transcript:
        """A value with that state and nothing unsaved, ``revision`` records into the log of ``lineage``."""
        made = cls(clock=clock)
        made._state = state.copy()
        made._log.lineage, made._log.revision = lineage, revision
        return made

    @classmethod
    def from_json(cls, value: JSON, *, clock: Callable[[], int] = now_ms) -> Transcript:
        """Read :meth:`to_json`'s form; the value is detached, it continues no log.

        Raises:
            InvalidRecordError: it is none, with the path.

        """
        return cls.of_state(state_from_json(value), clock=clock)

    def to_json(self) -> dict[str, Any]:
        """Entries, saved asides, halt and next ids; not the records, revision, lineage, unsaved asides."""
        return state_to_json(self._state)

    def state(self) -> State:
        """A copy of the state, for a store or a reset; its messages are not to be changed."""
        return self._state.copy()

    def __repr__(self) -> str:
        unsaved = len(self._log.records)
        return f"<Transcript of {len(self)} entries, revision {self.revision()}, {unsaved} unsaved>"

    def _commit(self, change: Change, by: Author | None = None) -> None:
        now = self._log.now()
        apply(self._state, change, now)
        self._log.add(ChangeRecord(change, by, self._log.date, now))

    def push(self, entry: AnyEntry) -> int:
        """Put an entry at the end under a new id, which is returned; an id it has is ignored.

        After a turn that was stopped the same change first holds a STOPPED entry. Clears the halt.

        Raises:
            InvalidRecordError: it is no entry, or holds what JSON cannot say.

        """
        taken = taken_in(entry)[1]
        self._push([taken], taken.author)
        return self._state.next_entry - 1

    def extend(self, messages: Iterable[Message | dict[str, Any]]) -> list[int]:
        """Put messages at the end, each its own entry without author, in one change; the new ids."""
        taken = [
            Entry(-1, taken_in(message, f"messages[{place}]")[1].message)
            for place, message in enumerate(messages)
        ]
        if taken:
            self._push(taken, None)
        return [entry.id for entry in self._state.entries[len(self) - len(taken) :]]

    def _push(self, taken: list[Entry], by: Author | None) -> None:
        marker = [stop_entry(taken[0])] if self._state.halt is Halt.STOPPED else []
        self._commit(pushed(self._state, [*marker, *taken]), by)

    def splice(
        self, at: int | slice, entries: Iterable[AnyEntry] = (), *, by: Author | None = None
    ) -> Spliced:
        """Replace the entries there; ``by`` is the author of the change, the entries keep their own.

        An entry whose id is in the range keeps it and its time, once; all others get new ids. Reaching the
        end clears the halt.

        Raises:
            InvalidRecordError: what is put in is no entry.
            QueryError: ``at`` is no position.

        """
        return self._splice(*clamped(at, len(self)), all_taken_in(entries), by, restoring=False)

    def restore(self, at: int | slice, entries: Iterable[AnyEntry], *, by: Author | None = None) -> Spliced:
        """As :meth:`splice`; an entry this conversation held and holds no more gets its id and time back.

        Only for entries of this conversation: an id from elsewhere would claim another message's identity.
        """
        return self._splice(*clamped(at, len(self)), all_taken_in(entries), by, restoring=True)

    def set_entries(self, entries: Iterable[AnyEntry], *, by: Author | None = None) -> Spliced:
        """Make the entries the given ones by one restore of the part that differs; nothing when none does."""
        return self._set(all_taken_in(entries), by)

    def _set(self, wanted: Sequence[tuple[int | None, Entry]], by: Author | None) -> Spliced:
        start, stop, middle = wanted_middle(self._state, wanted)
        return self._splice(start, stop, middle, by, restoring=True)

    def _splice(
        self,
        start: int,
        stop: int,
        given: Sequence[tuple[int | None, Entry]],
        by: Author | None,
        *,
        restoring: bool,
    ) -> Spliced:
        change, report = spliced(self._state, start, stop, given, restoring=restoring)
        if change is not None:
            self._commit(change, by)
        return report

    def edit_each(
        self, edit: Callable[[EntryRef], Message | dict[str, Any] | None], *, by: Author | None = None
    ) -> list[int]:
        """Call ``edit`` once an entry, oldest first; it gives a new message or none to leave the entry.

        Rewritten entries keep id and author; all of it is one splice from the first to the last of them. The
        rewritten ids, in order. An equal message counts as rewritten.
        """
        rewritten: dict[int, Entry] = {}
        for ref in self.entries():
            message = edit(ref)
            if message is not None:
                taken = taken_in(message, f"entries[{ref.index}]")[1]
                rewritten[ref.index] = replace(self._state.entries[ref.index], message=taken.message)
        if not rewritten:
            return []
        start, stop = min(rewritten), max(rewritten) + 1
        span = [rewritten.get(place, self._state.entries[place]) for place in range(start, stop)]
        self._splice(start, stop, [(entry.id, entry) for entry in span], by, restoring=False)
        return [entry.id for entry in rewritten.values()]

    def normalize(self, *, by: Author | None = None) -> Normalized:
        """Repair how calls and results pair, keeping identities (``spec/rig.md`` 6.4); what was repaired.

        Asides move from an entry that was merged to the one that took it in, from a dropped one to the one
        before it. A conversation that needs no repair stays as it is, without a record.
        """
        wanted, report = normalized(self._state.entries)
        if report:
            self._set([(entry.id if entry.id >= 0 else None, entry) for entry in wanted], by)
            for id, aside in list(self._state.asides.items()):
                if aside.after in report.moved:
                    self._put_aside(id, aside.moved_after(report.moved[aside.after]), by)
        return report

    def halt(self, halt: Halt | str = Halt.KEPT) -> bool:
        """Set the halt if the model owes an answer; whether it was set.

        Raises:
            InvalidRecordError: a text that is no halt.

        """
        halt = read_halt(halt, "halt")
        owes = self.awaits_model()
        if owes:
            self._commit(HaltChange(halt))
        return owes

    def resume(self) -> bool:
        """Clear a halt; whether the last message a model would read is the user's."""
        if self._state.halt is not None:
            self._commit(HaltChange())
        return spans.last_is_users(self._state)

    def add_aside(self, aside: Aside) -> int:
        """Put an aside behind those already put; its id. One that is not saved makes no record.

        Raises:
            InvalidRecordError: a member of the wrong type, a value that JSON cannot say.

        """
        id = max(self._state.next_aside, max(self._state.asides, default=-1) + 1)
        self._put_aside(id, aside.checked(), _owner(aside))
        return id

    def replace_aside(self, id: int, aside: Aside) -> bool:
        """Put another aside in the place of that one, under its id; false when there is none."""
        if id not in self._state.asides:
            return False
        self._put_aside(id, aside.checked(), _owner(aside))
        return True

    def _put_aside(self, id: int, aside: Aside, by: Author | None) -> None:
        held = self._state.asides.get(id)
        if held is not None and not held.saved:
            del self._state.asides[id]
        if aside.saved:
            self._commit(AsideChange(id, aside), by)
            return
        if held is not None and held.saved:
            self._commit(AsideChange(id), by)
        put(self._state.asides, id, aside)
        self._state.next_aside = max(self._state.next_aside, id + 1)

    def remove_aside(self, id: int) -> Aside | None:
        """Take an aside out and return it; none if there is none. A record only when it was saved."""
        held = self._state.asides.get(id)
        if held is not None and held.saved:
            self._commit(AsideChange(id), _owner(held))
        elif held is not None:
            del self._state.asides[id]
        return held

    def open_turn(self) -> TurnRecord:
        """Begin a turn: its record is put as an aside behind the last entry. An earlier one is not ended."""
        earlier = self.turns()
        record = TurnRecord(earlier[-1][1].index + 1 if earlier else 0, self.turn_start())
        self.add_aside(record.aside(self._state.entries[-1].id if self._state.entries else None))
        return record

    def end_turn(self, end: TurnEnd) -> bool:
        """End the last turn in its place; false when there is none or it has ended."""
        id, record = next(reversed(self.turns()), (0, None))
        if record is None or record.end is not None:
            return False
        return self.replace_aside(id, record.ended(end).aside(self._state.asides[id].after))

    @overload
    def dated(self, at: int) -> AbstractContextManager[Transcript]: ...
    @overload
    def dated(self, at: int, edit: Callable[[Transcript], R]) -> R: ...
    def dated(
        self, at: int, edit: Callable[[Transcript], R] | None = None
    ) -> AbstractContextManager[Transcript] | R:
        """Edit at a fixed time, in ms since 1970: that of the records and of every new entry.

        With a function: runs it on this value and gives its result. Without: a context manager. An inner date
        applies while it is in force, then the outer one again.

        >>> t = Transcript()
        >>> with t.dated(1000):
        ...     _ = t.push({"role": "user", "content": "hi"})
        >>> t.unsaved()[0].at, t.entry(0).made
        (1000, 1000)
        """
        if edit is None:
            return self._dated(at)
        with self._log.dated(at):
            return edit(self)

    @contextmanager
    def _dated(self, at: int) -> Iterator[Transcript]:
        with self._log.dated(at):
            yield self

    def apply(self, record: ChangeRecord | dict[str, Any]) -> None:
        """Apply a recorded change as it is: no record is made, the revision rises by one.

        Raises:
            MismatchError: it does not fit; nothing changed.
            InvalidRecordError: the JSON given is no record.

        """
        read = record_from_json(record) if isinstance(record, dict) else record
        made = read.made()
        apply(self._state, read.change, self._log.now() if made is None else made)
        self._log.revision += 1

    def reread(self, from_log: Transcript) -> None:
        """Take all that a log determines from a value read from it; only the unsaved asides of this one stay.

        Raises:
            MismatchError: either has unsaved records, or an unsaved aside's id is a saved one's there;
            nothing
                changed.

        """
        if self._log.records or from_log._log.records:
            raise MismatchError("unsaved", reason="a value with unsaved records cannot be read again")
        kept = {id: aside for id, aside in self._state.asides.items() if not aside.saved}
        state = from_log._state.copy(unsaved_asides=False)
        taken = kept.keys() & state.asides.keys()
        if taken:
            raise MismatchError("asides", actual=min(taken), reason=f"aside {min(taken)} is saved in the log")
        for id, aside in kept.items():
            put(state.asides, id, aside)
        self._state = state
        self._log.revision, self._log.lineage = from_log.revision(), from_log.lineage()

    def unsaved(self) -> list[ChangeRecord]:
        """The records no log holds yet, oldest first; read-only."""
        return list(self._log.records)

    def take_unsaved(self) -> list[ChangeRecord]:
        """The unsaved records, which this value then forgets; state, revision and lineage stay."""
        taken, self._log.records = self._log.records, []
        return taken

    def revision(self) -> int:
        """How many records are behind this value, saved or not."""
        return self._log.revision

    def lineage(self) -> int:
        """Which log it belongs to: 0 begun here and never saved, 2^64-1 read from its JSON form."""
        return self._log.lineage

    def continues(self, lineage: int, changes: int) -> bool:
        """Whether the unsaved records appended to the log of that lineage and length give this value."""
        log = self._log
        return lineages.continues(log.lineage, log.revision, len(log.records), lineage, changes)

    def continue_log(self, lineage: int, changes: int) -> None:
        """Say which log this value continues: after a load, or after a save."""
        self._log.lineage, self._log.revision = lineage, changes + len(self._log.records)

    def view(self) -> Transcript:
        """A duplicate with nothing unsaved, for previews; lineage and revision are kept."""
        return self._viewed(self._state.copy())

    def request_view(self) -> Transcript:
        """As :meth:`view`, without asides: what a model call is made from."""
        state = self._state.copy()
        state.asides.clear()
        return self._viewed(state)

    def _viewed(self, state: State) -> Transcript:
        viewed = Transcript.of_state(State(), clock=self._log.clock)
        viewed._state, viewed._log = state, self._log.viewed()
        return viewed


def _owner(aside: Aside) -> Author | None:
    """Who a record of an aside names; rig's own changes name nobody."""
    return None if aside.author.kind == "rig" else aside.author
