"""Actors of the random attack that work on a conversation's history."""

from __future__ import annotations

from convostore.schemas.errors import QueryError
from support.attackers import USER, Attackers, Work
from support.referee import Content, Operation, token_of


class Historians(Attackers):
    """What others do to a conversation, and undo, redo, transcripts and rewriting."""

    def works(self, *, with_deletes: bool) -> dict[Work, int]:
        works: dict[Work, int] = {
            self.undo: 3,
            self.redo: 2,
            self.save_transcript: 4,
            self.rewrite: 2,
        }
        return super().works(with_deletes=with_deletes) | works

    async def undo(self) -> None:
        operation = Operation("undo")
        async with self._doing(operation):
            try:
                await self.store.undo(self.id, user=USER)
            except QueryError:
                self.referee.count("nothing to undo")
            else:
                self._once(operation)

    async def redo(self) -> None:
        operation = Operation("redo")
        async with self._doing(operation):
            try:
                await self.store.redo(self.id, user=USER)
            except QueryError:
                self.referee.count("nothing to redo")
            else:
                self._once(operation)

    async def save_transcript(self) -> None:
        """Load, change, save twice: the second time as what continues the first."""
        operation = Operation("read")
        async with self._doing(operation):
            transcript = await self.store.transcript(self.id, user=USER)
        for _ in range(2):
            if operation.gave_up:
                return
            base = (transcript.lineage(), self._lines(transcript))
            passed = []
            for token in self._tokens(self.dice.randint(1, 2)):
                transcript.push(self._message(token))
                passed.append(self._lines(transcript))
            if self.dice.random() < 0.5:
                start = self.dice.randint(0, len(transcript))
                transcript.splice(slice(start, min(len(transcript), start + self.dice.randint(0, 3))))
            wanted = self._lines(transcript)
            operation = Operation("transcript", base=base, wanted=wanted, passed=tuple(passed))
            async with self._doing(operation):
                await self.store.save_transcript(transcript, user=USER)
                self._once(operation)

    async def rewrite(self) -> None:
        operation = Operation("rewrite")
        async with self._doing(operation):
            await self.store.rewrite(self.id, lambda message: message, user=USER)
            self._once(operation)

    def _lines(self, transcript: object) -> Content:
        return tuple((entry.id, token_of(entry.message)) for entry in transcript)  # type: ignore[attr-defined]
