"""Threads that append under load while the database comes and goes, and remember what was acknowledged."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import UnavailableError
from convostore.store import ConversationStore


class Load:
    """Each of some threads appends to a conversation of its own and to one they share, one after the other.

    A call that the database does not answer is repeated under its key. ``acknowledged`` are the texts by
    conversation, each in its writer's order.
    """

    def __init__(self, store: ConversationStore, writers: int) -> None:
        self.store = store
        self.shared = store.create(Conversation(user="alice")).id
        self.own = [store.create(Conversation(user="alice")).id for _ in range(writers)]
        self.acknowledged: list[list[str]] = [[] for _ in range(writers)]
        self.unanswered = 0
        self._ended = threading.Event()
        self._errors: list[BaseException] = []
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(writers)]

    @property
    def count(self) -> int:
        """How many appends were acknowledged so far; an error of a thread is raised here."""
        if self._errors:
            raise self._errors[0]
        return sum(map(len, self.acknowledged))

    @contextmanager
    def running(self) -> Iterator[Load]:
        """While entered the threads work; they are joined at the end."""
        for thread in self._threads:
            thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            for thread in self._threads:
                thread.join()
        assert self.count

    def check(self) -> None:
        """Everything acknowledged is stored, once, in its writer's order; nothing else than what was sent."""
        shared = self._texts(self.shared)
        for number, sent in enumerate(self.acknowledged):
            mine = [text for text in shared if text.startswith(f"{number}:")]
            own = self._texts(self.own[number])
            assert mine[: len(sent)] == sent, f"writer {number} in the shared conversation"
            assert own[: len(sent)] == sent, f"writer {number} in its own conversation"
            # The last append may have been stored without an answer before the end.
            assert len(mine) <= len(sent) + 1 and len(own) <= len(sent) + 1
        report = self.store.check()
        assert not report.broken, report.broken

    def _texts(self, id: int) -> list[str]:
        return [message["content"] for message in self.store.get(id).messages]

    def _write(self, number: int) -> None:
        try:
            while not self._ended.is_set():
                text = f"{number}:{len(self.acknowledged[number])}"
                self._append(self.shared, text)
                self._append(self.own[number], text)
                self.acknowledged[number].append(text)
        except BaseException as error:
            self._errors.append(error)

    def _append(self, id: int, text: str) -> None:
        while True:
            try:
                self.store.append(id, {"role": "user", "content": text}, key=text)
                return
            except UnavailableError:
                self.unanswered += 1
                if self._ended.is_set():
                    raise
