"""LangChain's histories: lists of messages in each of its forms, and its MongoDB collection. Pure.

Messages become Anda's parts: ``human`` a ``user``, ``ai`` an ``assistant``, ``tool`` and ``function`` outputs
of role ``tool``, ``chat`` the role that it names; what LangChain calls them stays in the ``source`` of each,
with its id and everything else it says. Calls are those of ``tool_calls``; what repeats them elsewhere is
left out, calls that LangChain could not parse stay in ``source.invalid_tool_calls``. Reasoning becomes
reasoning, files become resources or bytes in place, other parts of a content stay as they came.

Documents of ``message_store``, dumped, exported or live, are one conversation for each session, in the order
of their ``_id``, whose clock is the only time they have; that and other members are in ``source.document``.
The names of their members may differ. Also read: one document a session, with a list of messages; lists,
lists a line, messages a line, and objects around a list. A conversation is known again by its session, else
by the SHA-256 of its content.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.documents import Gatherer, Layout, Part, begins_loose, extended, gathered
from convostore.schemas.formats.foreign import Draft, Item, Sources, first_id
from convostore.schemas.formats.items import Found, ReadOptions, Refused
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.formats.langchain_messages import is_message, piece_of
from convostore.schemas.formats.message_runs import conversations_in, held_conversations, stated_in
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.parts import Piece, odd_piece, rest_of
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.formats.session_lines import LinesDigest
from convostore.schemas.json_values import JSON, dump_text, text_digest

__all__ = ["LAYOUT", "NAME", "fits", "read", "read_values"]

NAME = "langchain"

_LISTS = ("messages", "History", "history", "chat_history")
_SESSIONS = ("SessionId", "sessionId", "session_id", "thread_id", "conversation_id", "id", "_id")
_TIMES = ("created_at", "createdAt", "timestamp")


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds."""
    is_one = is_message(value) or _is_conversation(value)
    return is_one or held_conversations(value, _is_conversation) is not None


def _is_conversation(value: JSON) -> bool:
    if isinstance(value, list):
        return any(map(is_message, value[:3]))
    return _listed(value) is not None


def _listed(value: JSON) -> tuple[str, list[JSON]] | None:
    """The messages that an object holds, and the name that they have there."""
    for name in _LISTS if isinstance(value, dict) else ():
        items = value.get(name)
        if isinstance(items, list) and any(map(is_message, items[:3])):
            return name, items
    return None


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The conversations in the input.

    Raises:
        InvalidRecordError: ``options.user`` is missing or no valid id.

    """
    if begins_loose(source, LAYOUT):
        return gathered(extended(json_values(source)), LAYOUT, options)
    return read_values(extended(json_values(source)), options)


def read_values(values: Iterable[Found | Refused], options: ReadOptions) -> Iterator[Item]:
    """The conversations in the values, documents of messages not among them; raises as :func:`read`."""
    sources = Sources(NAME, options, names_user=False)
    runs = conversations_in(values, is_message, _is_conversation, lambda value: isinstance(value, dict))
    return sources.each(runs, lambda found: [_conversation(found, sources)])


def _conversation(found: Found, sources: Sources) -> Item:
    value = found.value
    name, given = _listed(value) or ("", value)
    id = first_id(value, *_SESSIONS)
    if not isinstance(given, list):
        return Refused(found.position, f"no messages of LangChain but a value of {type(value).__name__}", id)
    if not given:
        return Refused(found.position, "it has no messages", id, skipped=True)
    remarks = Remarks()
    moments = Moments(remarks)
    pieces = [piece_of(item, remarks) for item in given]
    digest, size = text_digest(value)
    about = value if isinstance(value, dict) else {}
    named = (one for one in _SESSIONS if id is not None and first_id(about, one) == id)
    stated = stated_in(rest_of(about, name, *named), moments)
    created = stated.created or [moments.read_or_clock(None, about.get("_id"))]
    return Draft(
        user=sources.owner(),
        source=sources.identified(id, digest),
        pieces=pieces,
        size=size,
        title=stated.title,
        created=created,
        updated=stated.updated,
        unknown=stated.unknown,
        notes=(*found.notes, *remarks.lines()),
    ).imported(found.position)


# The collection of one document a message


def _history(document: Mapping[str, JSON]) -> str | None:
    """The member that holds the message: an object, or text that holds one."""
    if isinstance(document.get("History"), str) and "SessionId" in document:
        return "History"
    for name, held in document.items():
        if isinstance(held, str) and held.lstrip().startswith("{") and '"data"' in held:
            try:
                held = json.loads(held)
            except (ValueError, RecursionError):
                continue
        if isinstance(held, dict) and "data" in held and is_message(held):
            return name
    return None


def _members_of_message(document: Mapping[str, JSON]) -> tuple[str, ...] | None:
    history = _history(document)
    if history is None:
        return None
    named = [name for name in _SESSIONS[:5] if name in document]
    if not named:
        named = [
            name for name, held in document.items() if isinstance(held, str) and name not in ("_id", history)
        ]
    return (named[0],) if named else None


class _Gatherer(Gatherer):
    """The documents of one session after the other."""

    def __init__(self, options: ReadOptions) -> None:
        super().__init__(Sources(NAME, options, names_user=False))
        self._taken: list[Found] = []

    def take(self, part: int, found: Found) -> None:
        self._taken.append(found)

    def end(self) -> Iterator[Item]:
        taken, self._taken = self._taken, []
        if not taken:
            return
        first = taken[0].position
        ids = [_object_id(found.value) for found in taken]
        if all(ids):
            taken = [
                found for _, found in sorted(zip(ids, taken, strict=True), key=lambda pair: pair[0] or "")
            ]
        yield from self.sources.each(
            [Found(first, taken[0].value)], lambda _: [self._conversation(first, taken)]
        )

    def _conversation(self, position: int | str, taken: list[Found]) -> Item:
        remarks = Remarks()
        moments = Moments(remarks)
        content = LinesDigest()
        pieces = []
        for found in taken:
            content.add(dump_text(found.value))
            pieces.append(_told_in(found.value, moments, remarks))
        (member,) = _members_of_message(taken[0].value) or ("SessionId",)
        session = taken[0].value.get(member)
        id = first_id(taken[0].value, member) or (dump_text(session) if session is not None else None)
        return Draft(
            user=self.sources.owner(),
            source=self.sources.identified(id, content.sha256()),
            pieces=pieces,
            size=content.size,
            notes=(*(note for found in taken for note in found.notes), *remarks.lines()),
        ).imported(position)


def _object_id(document: JSON) -> str | None:
    id = document.get("_id")
    held = id.get("$oid") if isinstance(id, dict) else None
    return held if isinstance(held, str) else None


def _told_in(document: Mapping[str, JSON], moments: Moments, remarks: Remarks) -> Piece:
    """The message in a document."""
    history = _history(document) or "History"
    given = document.get(history)
    stated = (moments.read(document.get(name)) for name in _TIMES)
    made = next((time for time in stated if time is not None), None)
    if made is None:
        made = moments.read_or_clock(None, document.get("_id"))
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            remarks.add("documents whose message is no JSON are kept as they are", given)
            return odd_piece(dict(document))
    piece = piece_of(given, remarks, made)
    members = _members_of_message(document) or ()
    beside = rest_of(document, history, *members)
    if isinstance(piece.message, dict) and beside:
        source = piece.message.get("source")
        piece.message["source"] = {**(source if isinstance(source, dict) else {}), "document": beside}
    return piece


LAYOUT = Layout((Part("message_store", _members_of_message),), _Gatherer)
"""How MongoDBChatMessageHistory keeps messages: each a document, that of a session by its ``_id``."""
