"""A conversation under random changes of every kind, and what it was at each of its revisions."""

from __future__ import annotations

import random
from itertools import count
from typing import Any

from contract.asynchronous.bench import Bench

from convostore.schemas.authors import Author
from convostore.schemas.errors import QueryError
from convostore.schemas.transcript import Aside, NewEntry, Transcript, TurnEnd

COMPACT = Author.plugin("compact")
SIZES = {40: 12, 18_000: 2, 70_000: 1}
"""Bytes of a message, and how often one has so many: inline when removed, beside the record, in pieces."""


class Chronicle:
    """Changes one conversation at random, and keeps the transcript's JSON at each revision and each time."""

    def __init__(self, bench: Bench, id: int, dice: random.Random) -> None:
        self.store = bench.store
        self.clock = bench.clock
        self.id = id
        self.dice = dice
        self.values: dict[int, Any] = {}
        self.times: dict[int, int] = {}
        self.done: dict[str, int] = {}
        self._numbers = count(1)

    async def begin(self) -> None:
        """Note what it is before the first step."""
        await self._note()

    async def step(self) -> None:
        """Change it once."""
        works = {
            self.append: 8,
            self.append_with_usage: 2,
            self.append_many: 1,
            self.edit: 3,
            self.save: 3,
            self.save_transcript: 8,
            self.deliver: 2,
            self.undo: 4,
            self.redo: 3,
        }
        work = self.dice.choices(list(works), list(works.values()))[0]
        self.clock.now += self.dice.randint(1, 5)
        await work()
        self.done[work.__name__] = self.done.get(work.__name__, 0) + 1
        await self._note()

    async def _note(self) -> None:
        now = await self.store.transcript(self.id)
        self._keep(now.revision(), now)

    def _keep(self, revision: int, value: Transcript) -> None:
        self.values[revision] = value.to_json()
        self.times[self.clock.now] = revision

    def _message(self, role: str | None = None) -> dict[str, Any]:
        size = self.dice.choices(list(SIZES), list(SIZES.values()))[0]
        text = f"{next(self._numbers)} " + self.dice.choice("abcdef") * (size - 40)
        return {"role": role or self.dice.choice(("user", "assistant")), "content": text}

    async def append(self) -> None:
        messages = [self._message() for _ in range(self.dice.randint(1, 2))]
        author = COMPACT if self.dice.random() < 0.2 else None
        unfinished = self.dice.random() < 0.1
        key = f"key {next(self._numbers)}" if self.dice.random() < 0.3 else None
        await self.store.append(self.id, messages, author=author, unfinished=unfinished, key=key)

    async def append_with_usage(self) -> None:
        messages = [self._message()] if self.dice.random() < 0.5 else []
        await self.store.append(self.id, messages, usage={"input_tokens": 3, "requests": 1})

    async def append_many(self) -> None:
        await self.store.append(self.id, [self._message() for _ in range(12)])

    async def edit(self) -> None:
        value = await self.store.transcript(self.id)
        if len(value):
            entry = self.dice.choice(value.entries())
            await self.store.edit(self.id, entry.id, self._message(), author=COMPACT)

    async def save(self) -> None:
        record = await self.store.get(self.id)
        at = self.dice.randint(0, len(record.messages))
        stop = min(len(record.messages), at + self.dice.randint(0, 3))
        record.messages[at:stop] = [self._message() for _ in range(self.dice.randint(0, 2))]
        record.label = self.dice.choice(("a", "b"))
        await self.store.save(record)

    async def deliver(self) -> None:
        await self.store.steer(self.id, f"steer {next(self._numbers)}")
        taken = await self.store.take(self.id)
        texts = [{"role": "user", "content": text} for text in taken.steering]
        await self.store.append(self.id, texts, took=taken.receipt)

    async def undo(self) -> None:
        await self._tried("undo", self.store.undo)

    async def redo(self) -> None:
        await self._tried("redo", self.store.redo)

    async def _tried(self, name: str, call: Any) -> None:
        try:
            await call(self.id)
        except QueryError:
            self.done[f"nothing to {name}"] = self.done.get(f"nothing to {name}", 0) + 1

    async def save_transcript(self) -> None:
        value = await self.store.transcript(self.id)
        before = value.view()
        for _ in range(self.dice.randint(1, 4)):
            self._change(value)
        records = value.unsaved()
        await self.store.save_transcript(value)
        assert value.unsaved() == []
        for record in records:
            before.apply(record)
            self._keep(before.revision(), before)

    def _change(self, value: Transcript) -> None:
        dice = self.dice
        length = len(value)
        at = dice.randint(0, length)
        stop = min(length, at + dice.randint(0, 3))
        kind = dice.randint(0, 10)
        if kind <= 2:
            value.push(NewEntry(self._message("user"), COMPACT if dice.random() < 0.3 else None))
        elif kind == 3:
            value.halt(dice.choice(("stopped", "kept")))
        elif kind == 4:
            value.resume()
        elif kind == 5:
            after = value.id(at) if length else None
            value.add_aside(Aside("note", COMPACT, after, {"n": next(self._numbers), "x": "y" * 9000}))
        elif kind == 6:
            for id, aside in value.asides()[:1]:
                if dice.random() < 0.5:
                    value.remove_aside(id)
                else:
                    value.replace_aside(id, Aside("note", COMPACT, aside.after, next(self._numbers)))
        elif kind == 7:
            value.open_turn()
            value.end_turn(TurnEnd("answered"))
        elif kind == 8:
            gone = [entry.entry() for entry in value[at:stop]]
            value.splice(slice(at, stop), [self._message("user")], by=COMPACT)
            if dice.random() < 0.5:
                value.restore(slice(at, at + 1), gone, by=COMPACT)
        elif kind == 9:
            inside = value[at:stop]
            dice.shuffle(inside)
            value.splice(slice(at, stop), [*inside, self._message("assistant")])
        else:
            value.set_entries([entry.entry() for entry in value[1:]], by=COMPACT)
