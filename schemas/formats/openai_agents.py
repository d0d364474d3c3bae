"""Sessions of OpenAI's Agents SDK in MongoDB, in ``agent_sessions`` and ``agent_messages``. Pure.

Dumped, exported or live. A session's items are kept as they came, in the dialect ``openai-responses``, in the
order of ``seq``; what text holds no JSON stands for itself. Documents hold the items of one turn, older ones
one item. Their only time is the clock in ``_id``; a session has times of its own. Cleared history, which is
of an older ``generation`` than the session's, is left out and remarked. The other members of the documents
lie beside the record. A conversation is known again by its ``session_id``. The messages are read without the
sessions, too: then the newest generation counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.documents import Gatherer, Layout, Part, extended, gathered
from convostore.schemas.formats.foreign import Draft, Item, Sources, first_id
from convostore.schemas.formats.items import Found, ReadOptions, Refused
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.openai_responses import NAME as DIALECT
from convostore.schemas.formats.parts import Piece, odd_piece, rest_of
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.formats.session_lines import LinesDigest
from convostore.schemas.json_values import JSON, dump_text

__all__ = ["LAYOUT", "NAME", "fits", "read"]

NAME = "openai-agents"

_OF_SESSIONS = frozenset({"_seq", "_generation"})


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds by itself, which no value does."""
    return False


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The conversations in the input.

    Raises:
        InvalidRecordError: ``options.user`` is missing or no valid id.

    """
    return gathered(extended(json_values(source)), LAYOUT, options)


def _members_of_session(document: Mapping[str, JSON]) -> tuple[str, ...] | None:
    return ("session_id",) if "session_id" in document and _OF_SESSIONS & document.keys() else None


def _members_of_messages(document: Mapping[str, JSON]) -> tuple[str, ...] | None:
    return ("session_id",) if {"session_id", "message_data"} <= document.keys() else None


class _Gatherer(Gatherer):
    """A session and its documents of messages after the other."""

    def __init__(self, options: ReadOptions) -> None:
        super().__init__(Sources(NAME, options, names_user=False))
        self._sessions: list[Found] = []
        self._messages: list[Found] = []

    def take(self, part: int, found: Found) -> None:
        (self._messages if part else self._sessions).append(found)

    def end(self) -> Iterator[Item]:
        sessions, messages = self._sessions, self._messages
        self._sessions, self._messages = [], []
        for other in sessions[1:]:
            yield Refused(other.position, "another document of the same session_id; the first was taken")
        if sessions or messages:
            yield from self.sources.each(
                (sessions or messages)[:1], lambda first: [self._conversation(first, sessions[:1], messages)]
            )

    def _conversation(self, first: Found, sessions: Sequence[Found], messages: Sequence[Found]) -> Item:
        remarks = Remarks()
        moments = Moments(remarks)
        session: Mapping[str, JSON] = sessions[0].value if sessions else {}
        current = _current(session, messages, remarks)
        pieces: list[Piece] = []
        beside: list[JSON] = []
        content = LinesDigest()
        content.add(dump_text(dict(session)))
        for document in current:
            content.add(dump_text(document))
            pieces += _pieces(document, moments, remarks)
            left = rest_of(document, "_id", "session_id", "seq", "generation", "message_data")
            beside += [left] if left else []
        id = first_id(first.value, "session_id") or dump_text(first.value["session_id"])
        unknown = rest_of(session, "session_id")
        return Draft(
            user=self.sources.owner(),
            source=self.sources.identified(id, content.sha256()),
            pieces=pieces,
            size=content.size,
            created=[moments.read_or_clock(session.get("created_at"), session.get("_id"))],
            updated=[moments.read(session.get("updated_at"))],
            unknown={**unknown, "documents": beside} if beside else unknown,
            notes=(*(note for found in (*sessions, *messages) for note in found.notes), *remarks.lines()),
        ).imported(first.position)


def _current(
    session: Mapping[str, JSON], messages: Sequence[Found], remarks: Remarks
) -> list[Mapping[str, JSON]]:
    """The documents of the generation that counts, in their order."""
    documents: list[Mapping[str, JSON]] = [found.value for found in messages]
    newest = max(map(_generation, documents), default=0)
    given = session.get("_generation")
    generation = given if type(given) is int else newest
    current = [one for one in documents if _generation(one) == generation]
    if len(current) < len(documents):
        remarks.add(
            f"documents of cleared history are left out, {len(documents) - len(current)} of {len(documents)}"
        )
    if all(type(one.get("seq")) is int for one in current):
        return sorted(current, key=_number)
    remarks.add("documents without a seq are in the order of the input")
    return current


def _number(document: Mapping[str, JSON]) -> int:
    return int(document["seq"])


def _generation(document: Mapping[str, JSON]) -> int:
    given = document.get("generation")
    return given if type(given) is int else 0


def _pieces(document: Mapping[str, JSON], moments: Moments, remarks: Remarks) -> Iterator[Piece]:
    held = document["message_data"]
    made = moments.read_or_clock(None, document.get("_id"))
    for given in held if isinstance(held, list) else [held]:
        item = _item(given)
        if isinstance(item, dict):
            yield Piece(item, made, DIALECT)
        else:
            remarks.add("items that are no objects are kept as they are", given)
            piece = odd_piece(given)
            piece.made = made
            yield piece


def _item(given: JSON) -> JSON:
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


LAYOUT = Layout(
    (Part("agent_sessions", _members_of_session), Part("agent_messages", _members_of_messages)), _Gatherer
)
"""How MongoDBSession keeps sessions: one document for each, and one for each turn's items."""
