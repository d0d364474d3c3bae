"""The record as a transcript and the transcript as a record, nothing lost either way (design 6). Pure.

==================================  ======================================================================
record (``spec/anda.md``)           transcript (``spec/rig.md``)
==================================  ======================================================================
parts of messages                   rig's parts, by the table of ``rig.anda_parts``
role ``user``, ``assistant``        the same
role ``tool``                       ``user``, of tool results only
role ``system``, ``developer``      ``system``, its texts joined by a blank line
other roles, what is no message     an entry that holds it as it is
``name`` that begins with ``$``     author: the plugin of that name, so it is not the user's own text
``timestamp``                       made
``status`` submitted, working       a turn that runs, no halt
``status`` completed, idle          a turn answered by the last reply; kept if the model owes one
``status`` failed                   a turn failed for ``failed_reason``; kept
``status`` cancelled                a turn stopped for ``failed_reason``; stopped
``usage``                           ``usage`` in the turn record; it is the sum over all of them
queues, every other member          the aside ``convostore.record``
ids, authors, asides, halt          ``convostore.transcript`` in ``extra``, where nothing above says them
==================================  ======================================================================

What does not come back equal rides along: the originals of such messages in the aside, facts of the
transcript in ``extra``. An original counts only while it still says what is there, so no edit is undone by
it. Status, ``failed_reason`` and usage follow the transcript once it says something else. A message in a
dialect other than rig's stays in it on the way to the record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from convostore.schemas.authors import Author
from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.dialects import DIALECTS
from convostore.schemas.entries import Entry
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON, same_json
from convostore.schemas.pairing import pending_calls
from convostore.schemas.transcript import Aside, Halt, State, Transcript, TurnEnd, TurnRecord
from convostore.schemas.transcript.codec import entry_from_json, state_from_json, state_to_json
from convostore.schemas.transcript.entries import copy_json
from convostore.schemas.transcript.outbox import now_ms
from convostore.schemas.transcript.roles import is_users
from convostore.schemas.transcript.spans import last_is_users, turns
from convostore.schemas.translation import anda_message, rig_message
from convostore.schemas.usage import Usage

__all__ = ["RECORD", "TRANSCRIPT", "to_conversation", "to_transcript"]

RECORD = "convostore.record"
"""The kind of the aside that carries the members of the record and the originals of its messages."""

TRANSCRIPT = "convostore.transcript"
"""The member of ``extra`` that carries what a transcript knows and a record cannot say."""

_OURS = Author.plugin("convostore")
_TERMINAL = ("completed", "failed", "cancelled", "idle")


def to_transcript(conversation: Conversation, *, clock: Callable[[], int] = now_ms) -> Transcript:
    """The record's second view, with messages as rig says them; it continues no log.

    :func:`to_conversation` gives the equal record back.
    """
    state = _with_facts(conversation)
    return Transcript.of_state(_plain_state(conversation) if state is None else state, clock=clock)


def to_conversation(transcript: Transcript, *, user: str | None = None) -> Conversation:
    """The transcript's record, with messages as they came or else as Anda says them.

    ``user`` is needed for a transcript that was not made from a record, and ignored for one that was.
    :func:`to_transcript` gives the equal transcript back, ids, authors, times, asides and halt included.

    Raises:
        InvalidRecordError: there is no user.

    """
    state = transcript.state()
    record = _record_of(state)
    plain, as_they_came = _plain_record(state, record, user)
    if _same_state(_plain_state(plain, as_they_came), state):
        return plain
    facts = {"transcript": _facts(state)}
    if plain.extra is not None:
        facts["extra"] = plain.extra
    return plain.model_copy(update={"extra": {TRANSCRIPT: facts}})


def _plain_state(conversation: Conversation, known: dict[int, Entry] | None = None) -> State:
    """What the record alone says; ``known`` are entries that are already made, by their ids."""
    state = State()
    originals: dict[str, JSON] = {}
    for id, message in enumerate(conversation.messages):
        entry = known.get(id) if known else None
        if entry is None:
            entry = _entry_of(id, message)
            entry = replace(entry, message=copy_json(entry.message))
        if not same_json(_message_of(entry), message):
            originals[str(id)] = message
        state.entries.append(entry)
    state.next_entry = len(state.entries)
    state.asides[0] = _record_aside(_members_of(conversation), originals)
    state.next_aside = 1
    status = conversation.status.value
    if conversation.messages or conversation.usage != Usage() or status in _TERMINAL:
        end, state.halt = _outcome(state, status, conversation.failed_reason)
        record = TurnRecord(0, 0, end, {"usage": conversation.usage.to_json()})
        state.asides[1] = record.aside(None)
        state.next_aside = 2
    return state


def _entry_of(id: int, message: JSON) -> Entry:
    """The message as an entry; parts of it may be shared."""
    members = message if isinstance(message, dict) else {}
    name, timestamp = members.get("name"), members.get("timestamp")
    author = Author.plugin(name) if isinstance(name, str) and name.startswith("$") else None
    made = timestamp if type(timestamp) is int and timestamp >= 0 else None
    return Entry(id, rig_message(message), made, author)


def _members_of(conversation: Conversation) -> dict[str, JSON]:
    """The record but for its messages, as JSON that :meth:`Conversation.checked` reads."""
    members = {
        name: value
        for name, value in conversation.members().items()
        if value is not None and name != "messages"
    }
    for name in ("resources", "artifacts"):
        members[name] = [resource.to_json() for resource in members[name]]
    members["status"], members["usage"] = conversation.status.value, conversation.usage.to_json()
    return members


def _record_aside(members: dict[str, JSON], originals: dict[str, JSON], *, saved: bool = True) -> Aside:
    value = copy_json({"record": members, **({"messages": originals} if originals else {})})
    return Aside(RECORD, _OURS, None, value, saved)


def _outcome(state: State, status: str, reason: str | None) -> tuple[TurnEnd | None, Halt | None]:
    """How the last turn ended, and the halt, for a status."""
    if status not in _TERMINAL:
        return None, None
    halt = Halt.STOPPED if status == "cancelled" else Halt.KEPT
    halt_now = halt if last_is_users(state) else None
    if status == "failed":
        return TurnEnd.failed(reason or ""), halt_now
    if status == "cancelled":
        return TurnEnd.stopped(reason), halt_now
    last = state.entries[-1] if state.entries else None
    return TurnEnd.answered(last.id if last is not None and not is_users(last) else None), halt_now


def _record_of(state: State) -> tuple[dict[str, JSON], dict[str, JSON]] | None:
    """The members and originals that the record aside carries; none without a readable one."""
    for aside in state.asides.values():
        value = aside.value
        if aside.kind == RECORD and isinstance(value, dict) and isinstance(value.get("record"), dict):
            originals = value.get("messages")
            return value["record"], originals if isinstance(originals, dict) else {}
    return None


def _plain_record(
    state: State, carried: tuple[dict[str, JSON], dict[str, JSON]] | None, user: str | None
) -> tuple[Conversation, dict[int, Entry]]:
    """The record without facts in ``extra``, and the entries, by position, that it gives back as they are."""
    members, originals = carried if carried is not None else ({}, {})
    members = copy_json(members)
    if "user" not in members:
        if user is None:
            raise InvalidRecordError("user", "this transcript was not made from a record; say whose it is")
        members["user"] = user
    made = [entry.made for entry in state.entries if entry.made is not None]
    if carried is None and made:
        members |= {"created_at": min(made), "updated_at": max(made)}
    as_they_came = {entry.id for entry in state.entries if _is_original(entry, originals)}
    members["messages"] = [
        copy_json(originals[str(entry.id)]) if entry.id in as_they_came else _message_of(entry)
        for entry in state.entries
    ]
    members |= _status_of(state, members)
    record = Conversation.checked({name: value for name, value in members.items() if value is not None})
    return record, {
        place: entry
        for place, entry in enumerate(state.entries)
        if entry.id == place in as_they_came and entry.dialect is None and not entry.unfinished
    }


def _is_original(entry: Entry, originals: dict[str, JSON]) -> bool:
    """Whether the original of the message still says what the entry does."""
    key = str(entry.id)
    if key not in originals:
        return False
    was = _entry_of(entry.id, originals[key])
    return (was.made, was.author) == (entry.made, entry.author) and same_json(was.message, entry.message)


def _original(entry: Entry, originals: dict[str, JSON]) -> JSON:
    """The message as it came, if it still says what the entry does; else as Anda says it."""
    return originals[str(entry.id)] if _is_original(entry, originals) else _message_of(entry)


def _message_of(entry: Entry) -> JSON:
    if not isinstance(entry.message, dict) or not DIALECTS["rig"].fits(entry.message):
        return copy_json(entry.message)
    said: dict[str, JSON] = copy_json(anda_message(entry.message, "rig"))
    name = entry.author.name if entry.author is not None and entry.author.kind == "plugin" else None
    if name is not None and name.startswith("$"):
        said["name"] = name
    if entry.made is not None:
        said["timestamp"] = entry.made
    return said


def _status_of(state: State, members: dict[str, JSON]) -> dict[str, JSON]:
    """Status, reason and usage: the record's as long as the transcript says nothing else."""
    records = [record for _, record in turns(state)]
    end = records[-1].end if records else None
    said: dict[str, JSON] = {}
    if "status" not in members or _outcome(state, members["status"], members.get("failed_reason")) != (
        end,
        state.halt,
    ):
        status = _derived_status(state, end)
        why = end.why if end is not None and status in ("failed", "cancelled") else None
        said = {"status": status.value, "failed_reason": why}
    counted = [record.more["usage"] for record in records if isinstance(record.more.get("usage"), dict)]
    if counted:
        total = Usage()
        for usage in counted:
            total.accumulate(Usage.checked(usage))
        said["usage"] = total.to_json()
    return said


def _derived_status(state: State, end: TurnEnd | None) -> ConversationStatus:
    if state.halt is Halt.STOPPED:
        return ConversationStatus.CANCELLED
    if state.halt is Halt.KEPT:
        return ConversationStatus.FAILED if end and end.how == "failed" else ConversationStatus.IDLE
    if last_is_users(state) or not state.entries:
        return ConversationStatus.SUBMITTED
    if pending_calls(state.entries):
        return ConversationStatus.WORKING
    if end is not None and end.how != "answered":
        return ConversationStatus.FAILED if end.how == "failed" else ConversationStatus.CANCELLED
    return ConversationStatus.COMPLETED


def _facts(state: State) -> dict[str, JSON]:
    """The state without the messages that follow from the record's."""
    written = state_to_json(state)
    for place, entry in enumerate(state.entries):
        facts = written["entries"][place]
        if same_json(_entry_of(entry.id, _message_of(entry)).message, entry.message):
            del facts["message"]
    return written


def _with_facts(conversation: Conversation) -> State | None:
    """The state that ``extra`` carries, brought up to the record's messages and members; none without one."""
    extra = conversation.extra
    carried = extra.get(TRANSCRIPT) if isinstance(extra, dict) and len(extra) == 1 else None
    if not isinstance(carried, dict) or not isinstance(carried.get("transcript"), dict):
        return None
    plain = conversation.model_copy(update={"extra": carried.get("extra")})
    for renewing in (False, True):
        try:
            state = _merged(plain, carried["transcript"], renewing=renewing)
            back = to_conversation(Transcript.of_state(state), user=conversation.user)
        except InvalidRecordError:
            return None
        if _same_but_for_extra(back, conversation):
            return state
    return None


def _same_but_for_extra(a: Conversation, b: Conversation) -> bool:
    members = (_members_of(a) | {"extra": None}, _members_of(b) | {"extra": None})
    return same_json(*members) and same_json(a.messages, b.messages)


def _merged(plain: Conversation, facts: dict[str, JSON], *, renewing: bool) -> State:
    """The state that was carried, with the record's messages; ``renewing``, also with its other members."""
    state = state_from_json({**facts, "entries": []}, "extra")
    listed = facts.get("entries", [])
    if not isinstance(listed, list) or not all(isinstance(fact, dict) for fact in listed):
        raise InvalidRecordError("extra.entries", "is no list of objects")
    carried = _record_of(state)
    originals = carried[1] if carried is not None else {}
    for place, message in enumerate(plain.messages):
        fact = listed[place] if place < len(listed) else {"id": state.next_entry}
        entry = entry_from_json({"message": None, **fact}, "extra.entries")
        if "message" not in fact or not same_json(_original(entry, originals), message):
            entry = replace(entry, message=_entry_of(entry.id, message).message)
            if not same_json(_original(entry, originals), message):
                originals = {**originals, str(entry.id): message}
        state.entries.append(entry)
        state.next_entry = max(state.next_entry, entry.id + 1)
    if len({entry.id for entry in state.entries}) < len(state.entries):
        raise InvalidRecordError("extra.entries", "an id comes twice")
    if renewing or carried is None:
        _put_record(state, _members_of(plain), originals)
    return state


def _put_record(state: State, members: dict[str, JSON], originals: dict[str, JSON]) -> None:
    """Bring the record aside up to date; a transcript that had none gets one that is not saved."""
    renewed = _record_aside(members, originals, saved=False)
    for id, aside in state.asides.items():
        if aside.kind == RECORD:
            state.asides[id] = replace(renewed, saved=True, after=aside.after, author=aside.author)
            return
    state.asides[max(state.next_aside, max(state.asides, default=-1) + 1)] = renewed


def _same_state(a: State, b: State) -> bool:
    """Whether two states are equal in all their JSON says, times and next ids included."""
    return same_json(state_to_json(a), state_to_json(b))
