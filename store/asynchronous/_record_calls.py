"""The calls on one record: create, read, save, append, edit, change its members, continue, delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.entries import Source
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.identifiers import check_label, check_thread
from convostore.schemas.json_values import JSON
from convostore.schemas.resources import Resource
from convostore.store import baselines, parameters, requests
from convostore.store.asynchronous import (
    _appending,
    _creating,
    _editing,
    _reading,
    _removing,
    _saving,
    _states,
)
from convostore.store.asynchronous._face import StoreFace
from convostore.store.heads import HEAD_FIELDS, conversation_head
from convostore.store.parameters import UNSET, Unset, UserScope
from convostore.store.results import (
    Appended,
    ConversationHead,
    Deleted,
    Saved,
)

__all__ = ["RecordCalls"]


class RecordCalls(StoreFace):
    """The calls on one record: create, read, save, append, edit, change its members, continue, delete."""

    async def create(
        self,
        conversation: Conversation,
        *,
        source: Source | None = None,
        unknown: Mapping[str, JSON] | None = None,
    ) -> Conversation:
        """Store a new conversation; the same object, now with id, times and what the store notes on it.

        An id of 0 is replaced by the next free one; another is honoured when free, and later ids are above
        it. Times of 0 become the present. ``source`` (unique per user and format) and ``unknown`` lie beside
        the record. Round trips: 2, with ``ids=`` of the caller's 1; a long one takes more.

        Raises:
            ConflictError: the id or the source is held already; whose it is is not said.
            InvalidRecordError, TooLargeError: something in it cannot be stored.

        """
        record = _record(conversation)
        backend = await self._opened()
        draft = _creating.draft_of(backend, record, source=source, unknown=unknown)
        with backend.call("create"):
            return await _creating.create(backend, draft, self._ids)

    async def get(self, id: int, *, user: str | Unset = UNSET) -> Conversation:
        """The whole record, at one version. Round trips: 1, +1 with older messages, +1 with large ones.

        Raises:
            NotFoundError: there is none of that id for that user.

        """
        backend, owner = await self._owner(id, user, "get")
        with backend.call("get"):
            return await _reading.read_record(backend, owner, comment="get")

    async def head(self, id: int, *, user: str | Unset = UNSET) -> ConversationHead:
        """The record without its lists, with counts and version, in one round trip."""
        backend, owner = await self._owner(id, user, "head")
        fields = None if backend.engine == "mongomock" else HEAD_FIELDS
        with backend.call("head"):
            return conversation_head(await _reading.read_head(backend, owner, fields, comment="head"))

    async def save(
        self, conversation: Conversation, *, user: str | Unset = UNSET, force: bool = False
    ) -> Saved:
        """Store what changed in a record since it was read or saved, in one update; nothing when nothing did.

        What others changed meanwhile is taken in first when it is something else; the record then holds both.
        Queues are no part of it. ``cancelled`` stays under a save that brings submitted, working or idle;
        ``force`` lets any status follow. Round trips: 0 or 1, 3 when an older message than the
        newest run has was changed, more after another writer.

        Raises:
            ConflictError: the same member was changed by another writer; ``expected`` is what it was when
            read. InvalidRecordError: it was never stored, or a queue, the id, user, ancestors or times of
            creation
                were changed.
            StatusError: the status may not follow.

        """
        record = _record(conversation)
        baselines.baseline(record)
        parameters.flag(force, "force")
        backend, owner = await self._owner(_stored_id(record), _same_user(record, user), "save")
        with backend.call("save"):
            return await _saving.save(backend, record, owner, force=force)

    async def append(
        self,
        target: int | Conversation,
        messages: JSON | Sequence[JSON] = (),
        *,
        user: str | Unset = UNSET,
        artifacts: Resource | Sequence[Resource] | None = None,
        resources: Resource | Sequence[Resource] | None = None,
        usage: Any = None,
        usage_errors: Literal["raise", "report"] = "raise",
        model: str | None = None,
        status: ConversationStatus | str | None = None,
        author: Any = None,
        dialect: str | None = None,
        key: str | None = None,
        keys: Sequence[str] | None = None,
        took: str | None = None,
        expected: int | None = None,
        unfinished: bool = False,
        force: bool = False,
    ) -> Appended:
        """Append one message or a list, all or none, in one round trip whose cost does not grow with the
        history.

        ``usage`` is added to the counters; None is unknown; ``model`` is what it was used by. ``key`` makes a
        repeated call give the first result, ``keys``, one a message, make repeated messages recognised;
        ``took`` clears queued texts that became these messages; ``expected`` is the version to build on. On a
        record in hand, which then holds what is stored, the messages must be unchanged since it was read.
        Round trips: 1; with ``key`` or ``keys`` on a long history 3; more for messages above 64 KiB.

        Raises:
            NotFoundError: there is none of that id for that user.
            ConflictError: the version is another, or a key was used for other content.
            LeaseLostError: the receipt lapsed or was used.
            StatusError: the status may not follow, and ``force`` is not given.
            InvalidRecordError, TooLargeError: something cannot be stored; ``index`` is its message.

        """
        held = target if isinstance(target, Conversation) else None
        if held is not None:
            requests.check_unchanged_messages(held)
        id = target if held is None else _stored_id(held)
        backend, owner = await self._owner(id, user if held is None else _same_user(held, user), "append")
        counted, refused = requests.given_usage(usage, usage_errors)
        asked = requests.append_request(
            messages,
            now=backend.now(),
            make_key=backend.key,
            artifacts=_listed(artifacts),
            resources=_listed(resources),
            usage=counted,
            model=model,
            status=status,
            author=author,
            dialect=dialect,
            key=key,
            keys=keys,
            took=took,
            expected=expected,
            unfinished=unfinished,
            force=force,
        )
        with backend.call("append"):
            outcome = await _appending.append(backend, owner, asked)
            if held is not None:
                await _appending.bring_up_to_date(backend, owner, held, asked, outcome)
        return Appended(
            outcome.ids,
            outcome.version,
            ConversationStatus(outcome.head["status"]),
            outcome.replayed,
            refused,
        )

    async def edit(
        self,
        id: int,
        entry_id: int,
        message: JSON,
        *,
        user: str | Unset = UNSET,
        author: Any = None,
        expected: int | None = None,
        finished: bool | None = None,
    ) -> Saved:
        """Put another message in an entry's place; its id, author and time stay, the old one goes to history.

        ``finished`` ends (True) or sets (False) the entry's mark of being unfinished. An equal message
        changes nothing. Round trips: 2 for a recent entry, 5 for an older one.

        Raises:
            NotFoundError: there is no such conversation or entry.
            ConflictError: the version is not the expected one.

        """
        parameters.entry_id(entry_id, "entry_id")
        parameters.version(expected)
        who = parameters.author(author)
        if finished is not None:
            parameters.flag(finished, "finished")
        backend, owner = await self._owner(id, user, "edit")
        with backend.call("edit"):
            return await _editing.edit(
                backend,
                owner,
                entry_id,
                parameters.messages([message])[0],
                author=None if who is None else who.to_json(),
                expected=expected,
                finished=finished,
            )

    async def update(
        self,
        id: int,
        *,
        user: str | Unset = UNSET,
        label: str | Unset | None = UNSET,
        extra: JSON | Unset = UNSET,
        merge: Mapping[str, JSON] | None = None,
        failed_reason: str | Unset | None = UNSET,
        child: int | Unset | None = UNSET,
        thread: str | Unset | None = UNSET,
    ) -> ConversationHead:
        """Set single members; what is left out stays, None clears. ``merge`` puts keys into ``extra``.

        Round trips: 1, with ``merge`` 2.
        """
        given: dict[str, Any] = {}
        if label is not UNSET:
            given["label"] = None if label is None else check_label(label)
        if thread is not UNSET:
            given["thread"] = None if thread is None else check_thread(thread)
        if extra is not UNSET:
            given["extra"] = extra
        if failed_reason is not UNSET:
            given["failed_reason"] = parameters.reason_text(failed_reason, "failed_reason")
        if child is not UNSET:
            given["child"] = None if child is None else parameters.conversation_id(child, "child")
        if merge is not None and not isinstance(merge, Mapping):
            raise InvalidRecordError("merge", f"must be an object, not {type(merge).__name__}")
        backend, owner = await self._owner(id, user, "update")
        with backend.call("update"):
            if not given and merge is None:
                return conversation_head(await _reading.read_head(backend, owner, None, comment="update"))
            return conversation_head(await _states.update_members(backend, owner, given, merge))

    async def set_status(
        self,
        id: int,
        status: ConversationStatus | str,
        *,
        user: str | Unset = UNSET,
        reason: str | None = None,
        expected: int | ConversationStatus | str | None = None,
        force: bool = False,
    ) -> ConversationHead:
        """Bring a conversation to a status; ``expected`` is the version or the status to come from.

        ``reason`` becomes ``failed_reason``; leaving failed clears it. Only this call leads from cancelled
        back to submitted. Round trips: 1.

        Raises:
            StatusError: the status may not follow, and ``force`` is not given.
            ConflictError: the version or status is not the expected one.

        """
        wanted = parameters.status(status)
        base: int | ConversationStatus | None
        base = (
            parameters.status(expected, "expected")
            if isinstance(expected, str)
            else parameters.version(expected)
        )
        why = parameters.reason_text(reason, "reason")
        parameters.flag(force, "force")
        backend, owner = await self._owner(id, user, "set_status")
        with backend.call("set_status"):
            head = await _states.set_status(backend, owner, wanted, reason=why, expected=base, force=force)
            return conversation_head(head)

    async def stop(
        self, id: int, *, user: str | Unset = UNSET, reason: str | None = None
    ) -> ConversationHead:
        """Cancel a conversation that is submitted, working or idle; another stays as it is. Round trips:
        1.
        """
        why = parameters.reason_text(reason, "reason")
        backend, owner = await self._owner(id, user, "stop")
        with backend.call("stop"):
            return conversation_head(await _states.stop(backend, owner, why))

    async def continue_from(
        self,
        parent: int | Conversation,
        *,
        user: str | Unset = UNSET,
        messages: Sequence[JSON] = (),
        key: str | None = None,
        status: ConversationStatus | str = ConversationStatus.SUBMITTED,
        thread: str | Unset | None = UNSET,
        label: str | None = None,
        extra: JSON = None,
    ) -> Conversation:
        """Create the conversation that follows ``parent``: its ancestors are the parent's and the parent.

        The parent's ``child`` is set when it has none. User and thread are the parent's. The same ``key``
        gives the same child. Round trips: 2 with a record, +1 for an id from the counter, +1 with an id.
        """
        named = parameters.call_key(key)
        wanted = parameters.status(status)
        given = parameters.messages(messages)
        held = parent if isinstance(parent, Conversation) else None
        id = parameters.conversation_id(parent if held is None else _stored_id(held))
        backend, owner = await self._owner(
            id, user if held is None else _same_user(held, user), "continue_from"
        )
        with backend.call("continue_from"):
            if held is None:
                head = await _reading.read_head(backend, owner, {"messages": 0}, comment="continue_from")
                held = baselines.load({**head, "resources": [], "artifacts": []}, [], {})
            stored = baselines.baseline(held).snapshot
            if owner.get("user", stored.value("user")) != stored.value("user"):
                raise _reading.not_found(owner)
            child = Conversation.checked(
                {
                    "user": stored.value("user"),
                    "thread": stored.value("thread") if thread is UNSET else thread,
                    "messages": given,
                    "status": wanted,
                    "ancestors": [*(stored.value("ancestors") or ()), id],
                    "label": label,
                    "extra": extra,
                }
            )
            call = backend.key() if named is None else named
            draft = _creating.draft_of(backend, child, source=_creating.continuation_source(id, call))
            return await _creating.continue_from(backend, id, draft, self._ids)

    async def delete(
        self, id: int, *, user: str | Unset = UNSET, figures: Literal["keep", "drop"] = "keep"
    ) -> Deleted:
        """Remove a conversation and all that belongs to it; a second call finishes what a crash left.

        Conversations that name it as child or ancestor keep the id. Its ``figures`` (user, label, models and
        counters by the quarter of an hour, nothing that was said) are kept or dropped; dropped also by a
        second call. Round trips: 14, 2 when it is not there.
        """
        policy = parameters.figures(figures)
        backend, owner = await self._owner(id, user, "delete")
        with backend.call("delete"):
            return await _removing.delete(backend, owner, figures=policy)

    async def delete_expired(
        self,
        before_ms: int,
        *,
        user: UserScope,
        by: Literal["created", "updated"] = "created",
        include: Sequence[ConversationStatus | str] = (),
        figures: Literal["keep", "drop"] = "keep",
    ) -> int:
        """Delete what was created (or last updated) in an hour before that of ``before_ms``; how many went.

        Whole hours count, as Anda counts them. Submitted and working ones stay unless ``include`` names them.
        Each goes whole, with its messages and history; resources stay until collected; figures as in
        :meth:`delete`. The timeout is each one's.
        """
        policy = parameters.figures(figures)
        owner = parameters.many_users(user)
        cutoff = parameters.milliseconds(before_ms, "before_ms")
        basis = parameters.expiry_basis(by)
        named = parameters.statuses(include) if include else ()
        return await _removing.delete_expired(await self._opened(), owner, cutoff, basis, named, policy)


def _record(value: Any) -> Conversation:
    if not isinstance(value, Conversation):
        raise InvalidRecordError("conversation", f"must be a Conversation, not a {type(value).__name__}")
    return value


def _stored_id(record: Conversation) -> int:
    return int(baselines.baseline(record).snapshot.value("_id"))


def _same_user(record: Conversation, user: str | Unset) -> str | Unset:
    """The user a record in hand is written for: its stored owner, or, when given, the caller's."""
    return baselines.baseline(record).head["user"] if user is UNSET else user


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, Resource) else value
