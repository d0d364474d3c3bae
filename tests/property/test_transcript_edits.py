"""A transcript under random edits against a plain list, its fold, its JSON and its ids."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.schemas.json_values import same_json
from convostore.schemas.transcript import Aside, Halt, NewEntry, Transcript, TurnEnd
from convostore.schemas.transcript.codec import record_to_json
from support.transcripts import a, call, res, system, u

P = Author.plugin("fuzz")
TEXTS = st.sampled_from(["a", "b", "", "\ud800", "…"])
MESSAGES = st.one_of(
    TEXTS.map(u),
    TEXTS.map(a),
    TEXTS.map(lambda text: a(text, stop={"error": text})),
    st.lists(st.sampled_from("xyz"), min_size=1, max_size=2).map(lambda ids: call(*ids)),
    st.lists(st.sampled_from("xyz"), min_size=1, max_size=2).map(lambda ids: res(*ids)),
    st.just(system()),
    st.just({"role": "user", "content": []}),
    TEXTS.map(lambda text: {"role": "assistant", "content": text, "n": float("nan")}),
)
AUTHORS = st.sampled_from([None, P, Author.agent("1a2b")])
ENDS = st.one_of(st.none(), st.integers(-9, 9))
SLICES = st.builds(slice, ENDS, ENDS)


class Edits(RuleBasedStateMachine):
    """What every edit must keep; the model is the list of (id, message) pairs, and what each id ever said."""

    def __init__(self) -> None:
        super().__init__()
        self.t = Transcript(clock=lambda: 1000)
        self.saved = Transcript(clock=lambda: 2000)
        self.model: list[Any] = []
        self.old: list[Entry] = []
        self.made: dict[int, int | None] = {}

    def _range(self, at: slice) -> slice:
        start, stop, _ = at.indices(len(self.model))
        return slice(min(start, stop), stop)

    @rule(message=MESSAGES, author=AUTHORS)
    def push(self, message: Any, author: Author | None) -> None:
        stopped = self.t.halted() is Halt.STOPPED
        id = self.t.push(NewEntry(message, author))
        assert id not in self.made
        self.model += ([self.t[-2].message] if stopped else []) + [message]
        assert self.t.id(-1) == id and self.t.halted() is None

    @rule(messages=st.lists(MESSAGES, max_size=3))
    def extend(self, messages: list[Any]) -> None:
        stopped = bool(messages) and self.t.halted() is Halt.STOPPED
        ids = self.t.extend(messages)
        assert not self.made.keys() & set(ids) and len(ids) == len(messages)
        self.model += ([self.t[-len(messages) - 1].message] if stopped else []) + messages

    @rule(at=SLICES, messages=st.lists(MESSAGES, max_size=2), back=st.lists(st.integers(0, 30), max_size=3))
    def splice(self, at: slice, messages: list[Any], back: list[int]) -> None:
        self._replace(at, messages, back, restoring=False)

    @rule(at=SLICES, messages=st.lists(MESSAGES, max_size=2), back=st.lists(st.integers(0, 30), max_size=3))
    def restore(self, at: slice, messages: list[Any], back: list[int]) -> None:
        self._replace(at, messages, back, restoring=True)

    def _replace(self, at: slice, messages: list[Any], back: list[int], *, restoring: bool) -> None:
        entries: list[Any] = [*messages, *[self.old[n % len(self.old)] for n in back if self.old]]
        self.old += [ref.entry() for ref in self.t]
        before = [ref.id for ref in self.t]
        edit = self.t.restore if restoring else self.t.splice
        done = edit(at, entries, by=P)
        self.model[self._range(at)] = [e.message if isinstance(e, Entry) else e for e in entries]
        after = [ref.id for ref in self.t]
        assert not self.made.keys() & set(done.added)
        assert set(done.removed) == set(before) - set(after)
        assert set(done.restored) | set(done.added) == set(after) - set(before)
        assert restoring or not done.restored

    @rule(data=st.data())
    def set_entries(self, data: st.DataObject) -> None:
        held = [ref.entry() for ref in self.t]
        wanted = [entry for entry in held if data.draw(st.booleans())] if held else []
        self.old += held
        revision = self.t.revision()
        self.t.set_entries(wanted, by=P)
        self.model = [entry.message for entry in wanted]
        assert [ref.id for ref in self.t] == [entry.id for entry in wanted]
        assert self.t.revision() - revision == (len(wanted) != len(held))

    @rule(place=st.integers(0, 9), message=MESSAGES)
    def edit_each(self, place: int, message: Any) -> None:
        ids = [ref.id for ref in self.t]
        rewritten = self.t.edit_each(lambda ref: message if ref.index == place else None, by=P)
        assert rewritten == ids[place : place + 1]
        self.model[place : place + 1] = [message] * len(rewritten)

    @rule()
    def normalize(self) -> None:
        revision = self.t.revision()
        report = self.t.normalize(by=P)
        self.t.validate()
        assert bool(report) == (self.t.revision() > revision)
        self.model = self.t.messages()

    @rule(halt=st.sampled_from(Halt))
    def halt(self, halt: Halt) -> None:
        owed = self.t.awaits_model()
        assert self.t.halt(halt) is owed

    @rule()
    def resume(self) -> None:
        self.t.resume()
        assert self.t.halted() is None

    @rule(after=st.one_of(st.none(), st.integers(0, 20)), saved=st.booleans())
    def add_aside(self, after: int | None, saved: bool) -> None:
        id = self.t.add_aside(Aside("note", P, after, {"text": "x"}, saved))
        assert self.t.asides()[-1][0] == id

    @precondition(lambda self: self.t.asides())
    @rule(place=st.integers(0, 5), saved=st.booleans(), value=TEXTS)
    def replace_aside(self, place: int, saved: bool, value: str) -> None:
        ids = [id for id, _ in self.t.asides()]
        assert self.t.replace_aside(ids[place % len(ids)], Aside("note", P, None, value, saved))
        assert [id for id, _ in self.t.asides()] == ids

    @precondition(lambda self: self.t.asides())
    @rule(place=st.integers(0, 5))
    def remove_aside(self, place: int) -> None:
        ids = [id for id, _ in self.t.asides()]
        assert self.t.remove_aside(ids[place % len(ids)]) is not None

    @rule(end=st.sampled_from([TurnEnd.answered(1), TurnEnd.failed("x"), TurnEnd.stopped()]))
    def turn(self, end: TurnEnd) -> None:
        if not self.t.end_turn(end):
            self.t.open_turn()

    @rule(at=st.integers(0, 10**13), message=MESSAGES)
    def dated(self, at: int, message: Any) -> None:
        before = len(self.t)
        self.t.dated(at, lambda t: t.extend([message]))
        assert self.t.unsaved()[-1].at == at and self.t[-1].made == at
        self.model += self.t.messages()[before:]

    @rule()
    def save(self) -> None:
        assert self.t.continues(self.saved.lineage(), self.saved.revision())
        for record in self.t.take_unsaved():
            at = replace(record, at=record.made())
            self.saved.apply(json.loads(json.dumps(record_to_json(at))))
        self.saved.continue_log(77, self.saved.revision())
        self.t.continue_log(77, self.saved.revision())

    @invariant()
    def messages_are_the_models(self) -> None:
        assert same_json(self.t.messages(), self.model)

    @invariant()
    def folding_the_outbox_gives_the_value(self) -> None:
        folded = self.saved.view()
        for record in self.t.unsaved():
            folded.apply(record)
        assert folded == self.t
        assert folded.revision() == self.t.revision()
        assert [ref.key for ref in folded] == [ref.key for ref in self.t]

    @invariant()
    def an_id_is_given_once(self) -> None:
        ids = [ref.id for ref in self.t]
        assert len(set(ids)) == len(ids)
        for ref in self.t:
            assert self.made.setdefault(ref.id, ref.made) == ref.made

    @invariant()
    def json_brings_the_value_back(self) -> None:
        read = Transcript.from_json(json.loads(json.dumps(self.t.to_json())), clock=lambda: 3000)
        assert read == self.t
        assert read.push(u()) == self.t.view().push(u())


Edits.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestEdits = Edits.TestCase
