"""The calls on the transcript and its past: changes, revisions, undo, forks."""

from __future__ import annotations

from collections.abc import Callable

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import InvalidRecordError, QueryError
from convostore.schemas.json_values import JSON
from convostore.schemas.transcript import Transcript
from convostore.store import parameters
from convostore.store.asynchronous import (
    _forking,
    _rewriting,
    _transcripts,
)
from convostore.store.asynchronous._face import StoreFace
from convostore.store.parameters import UNSET, Unset
from convostore.store.results import (
    Rewritten,
    Saved,
)
from convostore.store.timeline import Revision

__all__ = ["PastCalls"]


class PastCalls(StoreFace):
    """The calls on the transcript and its past: changes, revisions, undo, forks."""

    async def transcript(self, id: int, *, user: str | Unset = UNSET) -> Transcript:
        """The conversation as a transcript that continues its log: entries, asides, turns, halt.

        Round trips: 1, +1 with older messages, +1 with large ones or many asides.
        """
        backend, owner = await self._owner(id, user, "transcript")
        with backend.call("transcript"):
            return await _transcripts.load(backend, owner, comment="transcript")

    async def save_transcript(
        self, transcript: Transcript, id: int | None = None, *, user: str | Unset = UNSET
    ) -> Saved:
        """Append a transcript's unsaved changes, if and only if it continues the stored log.

        A transcript that was loaded goes where it came from; one begun elsewhere needs the ``id`` of a
        conversation without messages so far.

        Of two that were loaded from the same log the second to be saved is refused. Afterwards it has nothing
        unsaved and continues the log. Entries that are removed stay in history.

        Raises:
            ConflictError: the log has other changes by now, or another lineage; nothing was written.

        """
        if not isinstance(transcript, Transcript):
            raise InvalidRecordError("transcript", f"must be a Transcript, not a {type(transcript).__name__}")
        if id is None and transcript.stored_as is None:
            raise InvalidRecordError("id", "the transcript was not loaded from a conversation: name one")
        if id is not None:
            parameters.conversation_id(id)
        if transcript.stored_as is not None and id in (None, transcript.stored_as[0]):
            id, stored_for = transcript.stored_as
            user = stored_for if user is UNSET else user
        backend, owner = await self._owner(id, user, "save_transcript")
        with backend.call("save_transcript"):
            return await _transcripts.save(backend, owner, transcript)

    async def history(self, id: int, *, user: str | Unset = UNSET) -> list[Revision]:
        """Every change of the messages, the oldest first: when, by whom, what kind, which entries."""
        backend, owner = await self._owner(id, user, "history")
        with backend.call("history"):
            return await _transcripts.revisions(backend, owner, comment="history")

    async def as_of(
        self,
        id: int,
        revision: int | None = None,
        *,
        at: int | None = None,
        user: str | Unset = UNSET,
    ) -> Transcript:
        """The conversation as it was at a revision, or at a time in ms; it continues nothing.

        Raises:
            QueryError: there is no such revision, or not exactly one of the two is given.

        """
        if (revision is None) == (at is None):
            raise QueryError("revision", "give a revision or a time, one of them")
        named = None if revision is None else parameters.offset(revision, "revision")
        time = None if at is None else parameters.milliseconds(at, "at")
        backend, owner = await self._owner(id, user, "as_of")
        with backend.call("as_of"):
            if time is not None:
                named = await _transcripts.revision_at(backend, owner, time, comment="as_of")
            assert named is not None
            return await _transcripts.as_of(backend, owner, named, comment="as_of")

    async def fork(
        self, id: int, at: int | None = None, *, user: str | Unset = UNSET, exact: bool = False
    ) -> Conversation:
        """A new conversation that begins as this one.

        It has its log up to the latest turn that ends at or before the entry ``at``, with ``exact`` up to
        that very entry, without ``at`` whole. Entries keep ids, times and asides; history works in the copy.
        It shares nothing with the source, has the source's ancestors, starts completed and with no usage, and
        knows what it was forked from.

        Raises:
            NotFoundError: there is no such conversation or entry.

        """
        if at is not None:
            parameters.entry_id(at, "at")
        parameters.flag(exact, "exact")
        backend, owner = await self._owner(id, user, "fork")
        with backend.call("fork"):
            return await _forking.fork(backend, owner, at, self._ids, exact=exact)

    async def rewrite(
        self, id: int, rewriter: Callable[[JSON], JSON], *, user: str | Unset = UNSET
    ) -> Rewritten:
        """Take something out of messages *and* history: ``rewriter`` is given each message, present or
        removed.

        And each aside's value. What it gives back is stored in its place. The log gets a new lineage:
        transcripts loaded before cannot be saved, and keys of earlier calls no longer tell other content
        apart. Forks have copies; they are listed.
        """
        if not callable(rewriter):
            raise InvalidRecordError("rewriter", "must be a function from a message to a message")
        backend, owner = await self._owner(id, user, "rewrite")
        with backend.call("rewrite"):
            return await _rewriting.rewrite(backend, owner, rewriter)

    async def undo(self, id: int, *, user: str | Unset = UNSET) -> Saved:
        """Take back the newest change of the messages that is in force; entries come back with their ids.

        Raises:
            QueryError: there is nothing to undo.

        """
        backend, owner = await self._owner(id, user, "undo")
        with backend.call("undo"):
            return await _transcripts.undo(backend, owner)

    async def redo(self, id: int, *, user: str | Unset = UNSET) -> Saved:
        """Bring back what was last taken back, when nothing was changed since.

        Raises:
            QueryError: there is nothing to redo.

        """
        backend, owner = await self._owner(id, user, "redo")
        with backend.call("redo"):
            return await _transcripts.redo(backend, owner)
