"""The actors of the random attack: each calls the store as a program would, and checks what it is told."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, TypeAlias

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import ConflictError, NotFoundError, UnavailableError
from convostore.store.asynchronous import _checking, _sealing
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous.store import AsyncConversationStore
from convostore.store.baselines import baseline
from convostore.store.results import Appended
from support.referee import Content, Operation, Referee, Wrong, message_of, token_of
from support.stepping import actor

Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

USER = "alice"
LEASE_MS = 30_000


class Attackers:
    """Everything that may be done to one conversation, each a coroutine without arguments."""

    def __init__(
        self, store: AsyncConversationStore, referee: Referee, dice: random.Random, heavy: int
    ) -> None:
        assert store._backend is not None
        self.store = store
        self.backend: AsyncBackend = store._backend
        self.referee = referee
        self.id = referee.id
        self.dice = dice
        self.heavy = heavy
        self._numbers = count(1)
        self._keyed: dict[str, tuple[str, ...]] = {}
        self._receipts: list[str] = []

    def works(self, *, with_deletes: bool) -> dict[Work, int]:
        """What actors may do, with how often one does."""
        works: dict[Work, int] = {
            self.append: 7,
            self.append_many: 2,
            self.append_under_key: 4,
            self.append_under_keys: 3,
            self.edit: 7,
            self.save: 5,
            self.hold: 4,
            self.update: 1,
            self.keep_house: 2,
            self.merge: 1,
            self.read: 4,
            self.read_page: 2,
            self.collect: 2,
            self.steer: 4,
            self.take: 5,
            self.give_back: 1,
        }
        return works | ({self.delete: 2, self.create: 3} if with_deletes else {})

    # Writing messages

    async def append(self) -> None:
        await self._append(Operation("append", self._tokens(self.dice.randint(1, 3))))

    async def append_many(self) -> None:
        await self._append(Operation("append", self._tokens(self.dice.randint(9, 14))))

    async def append_under_key(self) -> None:
        """One of few keys, so that others use the same: with the same content, as a retry has."""
        key = f"key {self.dice.randint(1, 4)}"
        tokens = self._keyed.setdefault(key, self._tokens(self.dice.randint(1, 3)))
        await self._append(Operation("append", tokens), key=key)

    async def append_under_keys(self) -> None:
        """A window of a stream of messages, each under its own key: it overlaps what others send."""
        first = self.dice.randint(1, 6)
        keys = [f"message {number}" for number in range(first, first + self.dice.randint(1, 5))]
        tokens = tuple(self._keyed.setdefault(key, self._tokens(1))[0] for key in keys)
        await self._append(Operation("append", tokens), keys=keys)

    async def _append(self, operation: Operation, record: Conversation | None = None, **options: Any) -> None:
        messages = [self._message(token) for token in operation.tokens]
        target = self.id if record is None else record
        async with self._doing(operation):
            done = await self.store.append(
                target, messages, usage={"input_tokens": 1, "requests": 1}, user=USER, **options
            )
            self._acknowledged(operation, done)
            if record is not None:
                self._in_hand(record)

    def _acknowledged(self, operation: Operation, done: Appended) -> None:
        self.referee.expect_ids(operation.tokens, done.ids)
        if done.replayed:
            self.referee.count("replayed")
            if operation.applied:
                raise Wrong(f"{operation} was applied and called a replay")

    async def edit(self) -> None:
        state = self.referee.state
        if state is None or not state.content:
            return
        entry = self.dice.choice(state.content)[0]
        operation = Operation("edit", self._tokens(1), entry=entry)
        async with self._doing(operation):
            await self.store.edit(self.id, entry, self._message(operation.tokens[0]), user=USER)
            self._once(operation)

    async def save(self) -> None:
        """Read, change some messages in hand, save."""
        record = await self._get()
        if record is not None:
            await self._save(record)

    async def hold(self) -> None:
        """Keep one record in hand for several changes, as a worker does for a whole run."""
        record = await self._get()
        for _ in range(self.dice.randint(3, 9)):
            if record is not None and self.dice.random() < 0.7:
                await self._append(Operation("append", self._tokens(self.dice.randint(1, 3))), record)
            elif record is not None:
                await self._save(record)
            if actor().operation.gave_up:
                return

    async def _get(self) -> Conversation | None:
        async with self._doing(Operation("read")):
            record = await self.store.get(self.id, user=USER)
            self._in_hand(record)
            return record
        return None

    async def _save(self, record: Conversation) -> None:
        operation = Operation("save", base=(self._version(record)[0], self._content(record)))
        async with self._doing(operation):
            self._change(record)
            operation.tokens = tuple(map(token_of, record.messages))
            saved = await self.store.save(record)
            self._once(operation)
            self._in_hand(record)
            if saved.rebased:
                self.referee.count("rebased")

    def _in_hand(self, record: Conversation) -> None:
        """The record holds exactly the version it says it is."""
        self.referee.expect(*self._version(record), self._content(record))

    def _change(self, record: Conversation) -> None:
        length = len(record.messages)
        start = self.dice.randint(0, length)
        stop = min(length, start + self.dice.choice((0, 0, 1, 1, 2, 5)))
        placed = self._tokens(self.dice.choice((0, 1, 1, 2, 3)) if stop > start else self.dice.randint(1, 3))
        record.messages[start:stop] = [self._message(token) for token in placed]
        if self.dice.random() < 0.3:
            record.label = f"label {next(self._numbers)}"

    async def update(self) -> None:
        operation = Operation("update")
        async with self._doing(operation):
            await self.store.update(self.id, merge={"number": next(self._numbers)}, user=USER)
            self._once(operation)

    # Looking after

    async def keep_house(self) -> None:
        async with self._doing(Operation("keep house")):
            await _sealing.keep_house(self.backend, self._owner(), messages=True, log=True)

    async def merge(self) -> None:
        async with self._doing(Operation("keep house")):
            with self.backend.call("merge"):
                head = await self.backend.find_one("conversations", self._owner(), comment="merge")
                if head is not None:
                    await _sealing.merge(self.backend, self._owner(), head)

    async def collect(self) -> None:
        async with self._doing(Operation("collect")):
            with self.backend.call("collect"):
                removed = await _checking.collect(self.backend, self._owner())
            if removed:
                self.referee.count("collected")

    # Reading

    async def read(self) -> None:
        async with self._doing(Operation("read")):
            self._in_hand(await self.store.get(self.id, user=USER))
            self.referee.count("read")

    async def read_page(self) -> None:
        """A page does not say its version: it must be the end of one that was there meanwhile."""
        before = len(self.referee.versions)
        async with self._doing(Operation("read")):
            limit = self.dice.randint(1, 8)
            page = await self.store.messages(self.id, limit=limit, user=USER)
            seen = tuple((entry.id, token_of(entry.message)) for entry in page.items)
            versions = list(self.referee.versions.values())
            if seen not in [content[-limit:] for content in versions[max(0, before - 1) :]]:
                raise Wrong(f"a page of {limit} showed {seen}, the end of no version that was there")
            self.referee.count("read a page")

    # Queues

    async def steer(self) -> None:
        operation = Operation("steer", self._tokens(1))
        async with self._doing(operation):
            await self.store.steer(self.id, operation.tokens[0], user=USER)
            self._once(operation)

    async def take(self) -> None:
        """Take what is queued, then store it, give it back, or forget about it; or take it for good."""
        operation = Operation("take", for_good=self.dice.random() < 0.4)
        took = None
        async with self._doing(operation):
            took = await self.store.take(self.id, lease_ms=0 if operation.for_good else LEASE_MS, user=USER)
            if operation.for_good and took.steering != operation.texts:
                raise Wrong(f"{operation} told of {took.steering}")
        if took and not operation.for_good:
            assert took.receipt is not None
            self._receipts.append(took.receipt)
            if self.dice.random() < 0.6:
                await self._append(
                    Operation("append", self._tokens(1), receipt=took.receipt), took=took.receipt
                )

    async def give_back(self) -> None:
        if self._receipts:
            async with self._doing(Operation("give back")):
                await self.store.give_back(self.id, self._receipts.pop(), user=USER)
                self.referee.count("given back")

    # Beginning and end

    async def create(self) -> None:
        operation = Operation("create", self._tokens(self.dice.choice((0, 2, 5, 12))))
        async with self._doing(operation):
            messages = [self._message(token) for token in operation.tokens]
            await self.store.create(Conversation(id=self.id, user=USER, messages=messages))

    async def delete(self) -> None:
        async with self._doing(Operation("delete")):
            await self.store.delete(self.id, user=USER)

    # What all of them need

    @asynccontextmanager
    async def _doing(self, operation: Operation) -> AsyncIterator[None]:
        """The operation is what this actor is about; a refusal ends it, and says that nothing was done."""
        actor().operation = operation
        operation.gave_up = True
        try:
            yield
            operation.gave_up = False
        except ConflictError as error:
            self.referee.count(type(error).__name__)
            state = self.referee.state
            if state is not None and state.lineage in operation.applied and operation.kind != "create":
                raise Wrong(f"{operation} was applied and refused: {error}") from error
        except NotFoundError:
            self.referee.count("not found")
        except UnavailableError as error:
            # It may have been applied: later, too, if a command of it is still on its way.
            self.referee.count(f"gave up: {operation.kind}")
            if "was being rewritten" in str(error):
                raise Wrong(f"a reader starved: {error}") from error
            return
        operation.ended = True

    def _once(self, operation: Operation) -> None:
        state = self.referee.state
        if state is not None and not operation.applied:
            raise Wrong(f"{operation} was acknowledged and not applied")

    def _tokens(self, number: int) -> tuple[str, ...]:
        return tuple(f"token {next(self._numbers)}" for _ in range(number))

    def _message(self, token: str) -> dict[str, Any]:
        # By the token alone: a repeated call says the same.
        return message_of(token, self.heavy if int(token.split()[1]) % 4 == 0 else 0)

    def _owner(self) -> dict[str, Any]:
        return {"_id": self.id, "user": USER}

    def _version(self, record: Conversation) -> tuple[int, int]:
        head = baseline(record).head
        return int(head["lineage"]), int(head["version"])

    def _content(self, record: Conversation) -> Content:
        ids = [int(entry["id"]) for entry in baseline(record).entries]
        return tuple(zip(ids, map(token_of, record.messages), strict=True))
