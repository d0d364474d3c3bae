"""The dialects of messages: one table, by which everything that looks into messages reads them. Pure.

Messages are stored as they came; a dialect only reads. Another dialect is a module with a ``DIALECT`` and a
line in ``DIALECTS``, where the first that fits a message by its shape counts: those with unmistakable signs
come first.

>>> dialect_of({"role": "user", "content": [{"type": "Text", "text": "hi"}]})
'anda'
>>> view({"role": "user", "content": "hi"}).texts
('hi',)
"""

from __future__ import annotations

from convostore.schemas.dialects import anda, anthropic, openai, openai_responses, rig
from convostore.schemas.dialects.dialect import Call, Dialect, MessageView, Result
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON
from convostore.schemas.messages import Message, parse_message

__all__ = [
    "DIALECTS",
    "Call",
    "Dialect",
    "MessageView",
    "Result",
    "dialect_named",
    "dialect_of",
    "message_of",
    "view",
]

DIALECTS: dict[str, Dialect] = {
    "anda": anda.DIALECT,
    "openai": openai.DIALECT,
    "rig": rig.DIALECT,
    "anthropic": anthropic.DIALECT,
    "openai-responses": openai_responses.DIALECT,
}


def dialect_of(message: JSON) -> str | None:
    """The name of the dialect that the message has by its shape; None when it has none that is known.

    Plain text with a role is the same in many dialects and counts as ``openai``.
    """
    if not isinstance(message, dict):
        return None
    return next((name for name, dialect in DIALECTS.items() if dialect.fits(message)), None)


def dialect_named(name: str) -> Dialect:
    """The dialect of that name.

    Raises:
        InvalidRecordError: there is none.

    """
    found = DIALECTS.get(name) if isinstance(name, str) else None
    if found is None:
        reason = f"{ascii(name)[:80]} is none of the dialects {', '.join(DIALECTS)}"
        raise InvalidRecordError("dialect", reason)
    return found


def view(message: JSON, dialect: str | None = None) -> MessageView:
    """What the message says, read in the dialect given, else in the one it has by its shape.

    Raises:
        InvalidRecordError: there is no such dialect.

    """
    name = dialect_of(message) if dialect is None else dialect_named(dialect).name
    if name is None or not isinstance(message, dict):
        return MessageView(name)
    return DIALECTS[name].view(message)


def message_of(message: JSON, dialect: str | None = None) -> Message | None:
    """The message as a model, read in the dialect given, else in the one it has by its shape, else as Anda's.

    None when it is no message. Raises as :func:`view`.
    """
    name = dialect_of(message) if dialect is None else dialect_named(dialect).name
    if name is None or not isinstance(message, dict):
        return parse_message(message)
    return DIALECTS[name].message(message)
