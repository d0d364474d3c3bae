"""Messages and their parts as Anda reads them since core 0.14.2 (``spec/anda.md`` 3). Pure.

A view only: what is stored is the message's JSON as it came, never what these classes would write.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    StrictBool,
    ValidationError,
)
from pydantic.alias_generators import to_camel

from convostore.schemas.byte_text import write_bytes
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.field_types import U64, AnyText, Bytes, User
from convostore.schemas.identifiers import Principal
from convostore.schemas.json_values import JSON, same_json

__all__ = [
    "ActionPart",
    "AnyPart",
    "FileDataPart",
    "InlineDataPart",
    "Message",
    "Part",
    "ReasoningPart",
    "TextPart",
    "ToolCallPart",
    "ToolOutputPart",
    "parse_message",
    "read_part",
]


def _principal(value: str) -> str:
    try:
        return Principal.parse(value).text
    except InvalidRecordError as error:
        raise ValueError(error.reason) from None


PrincipalText: TypeAlias = Annotated[AnyText, AfterValidator(_principal)]


class _Part(BaseModel):
    """A part with a type that Anda knows; its members are camelCase in JSON."""

    model_config = ConfigDict(
        extra="forbid",
        validate_assignment=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )
    json_names: ClassVar[frozenset[str]]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls.json_names = frozenset(map(to_camel, cls.model_fields))

    def __eq__(self, other: object) -> bool:
        return same_json(self.to_json(), other.to_json()) if isinstance(other, type(self)) else NotImplemented

    def to_json(self) -> JSON:
        """The part's JSON, ``type`` first, without optional members that are unset."""
        written: dict[str, JSON] = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if value is not None or field.is_required():
                written[field.alias or name] = write_bytes(value) if isinstance(value, bytes) else value
        return written


class TextPart(_Part):
    """Text for people to read."""

    type: Literal["Text"] = "Text"
    text: AnyText


class ReasoningPart(_Part):
    """What the model thought before it answered."""

    type: Literal["Reasoning"] = "Reasoning"
    text: AnyText


class FileDataPart(_Part):
    """A file by its address."""

    type: Literal["FileData"] = "FileData"
    file_uri: AnyText
    mime_type: AnyText | None = None


class InlineDataPart(_Part):
    """A file's bytes, base64 in JSON."""

    type: Literal["InlineData"] = "InlineData"
    mime_type: AnyText
    data: Bytes


class ToolCallPart(_Part):
    """The model asks for a tool; ``args`` is any JSON."""

    type: Literal["ToolCall"] = "ToolCall"
    name: AnyText
    args: Any
    call_id: AnyText | None = None


class ToolOutputPart(_Part):
    """What a tool gave back; ``output`` is any JSON."""

    type: Literal["ToolOutput"] = "ToolOutput"
    name: AnyText
    output: Any
    is_error: StrictBool | None = None
    call_id: AnyText | None = None
    remote_id: PrincipalText | None = None

    def answers(self, call: ToolCallPart) -> bool:
        """Whether it is that call's: equal ids when both have one, equal names when neither has."""
        if self.call_id is not None and call.call_id is not None:
            return self.call_id == call.call_id
        return self.call_id is None and call.call_id is None and self.name == call.name


class ActionPart(_Part):
    """Something for the user or another agent to act on; ``payload`` is any JSON."""

    type: Literal["Action"] = "Action"
    name: AnyText
    payload: Any
    recipients: list[PrincipalText] | None = None
    signature: Bytes | None = None


class AnyPart(BaseModel):
    """A part that is none of the others: any JSON, kept as it is."""

    model_config = ConfigDict(extra="forbid")

    value: Any

    def __eq__(self, other: object) -> bool:
        return same_json(self.value, other.value) if isinstance(other, AnyPart) else NotImplemented

    def to_json(self) -> JSON:
        """The JSON it holds, the same object."""
        return self.value


KnownPart: TypeAlias = (
    TextPart | ReasoningPart | FileDataPart | InlineDataPart | ToolCallPart | ToolOutputPart | ActionPart
)
Part: TypeAlias = KnownPart | AnyPart

_KINDS: dict[str, type[KnownPart]] = {
    "Text": TextPart,
    "Reasoning": ReasoningPart,
    "FileData": FileDataPart,
    "InlineData": InlineDataPart,
    "ToolCall": ToolCallPart,
    "ToolOutput": ToolOutputPart,
    "Action": ActionPart,
}
_MODELS = (*_KINDS.values(), AnyPart)


def read_part(value: JSON) -> Part:
    """The part that the JSON is; whatever it is, something comes back.

    A text is a Text part; an object of a known type with well-formed members is that part, without members it
    does not have; everything else is an :class:`AnyPart` that keeps it whole.
    """
    if isinstance(value, str):
        return TextPart(text=value)
    kind = value.get("type") if isinstance(value, dict) else None
    known = _KINDS.get(kind) if isinstance(kind, str) else None
    if known is None:
        return AnyPart(value=value)
    members = {name: item for name, item in value.items() if name in known.json_names}
    try:
        return known.model_validate(members)
    except ValidationError:
        return AnyPart(value=value)


def _read_content(value: Any) -> list[Part]:
    if value is None:
        return []
    if isinstance(value, str):
        return [TextPart(text=value)]
    if not isinstance(value, list):
        raise ValueError(f"must be a list of parts or a text, not a {type(value).__name__}")
    return [item if isinstance(item, _MODELS) else read_part(item) for item in value]


def _write_content(parts: list[Part]) -> list[JSON]:
    return [part.to_json() for part in parts]


Content: TypeAlias = Annotated[
    list[Part],
    PlainValidator(_read_content, json_schema_input_type=str | list[Any] | None),
    PlainSerializer(_write_content, return_type=list[Any]),
]


class Message(BaseModel):
    """One message of a conversation.

    ``role`` is any text, by convention ``system``, ``user``, ``assistant`` or ``tool``. ``content`` also
    takes a text (one Text part) and parts as JSON. ``user`` is the sender, ``timestamp`` milliseconds since
    1970.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    role: AnyText
    content: Content = Field(default_factory=list)
    name: AnyText | None = None
    user: User | None = None
    timestamp: U64 | None = None

    def __eq__(self, other: object) -> bool:
        return same_json(self.to_json(), other.to_json()) if isinstance(other, Message) else NotImplemented

    @property
    def text(self) -> str | None:
        """Its Text parts, a blank line between them; None without any."""
        return self._joined(TextPart)

    @property
    def thoughts(self) -> str | None:
        """Its Reasoning parts, a blank line between them; None without any."""
        return self._joined(ReasoningPart)

    @property
    def tool_calls(self) -> list[ToolCallPart]:
        """Its ToolCall parts in their order."""
        return [part for part in self.content if isinstance(part, ToolCallPart)]

    @property
    def tool_outputs(self) -> list[ToolOutputPart]:
        """Its ToolOutput parts in their order."""
        return [part for part in self.content if isinstance(part, ToolOutputPart)]

    def pruned(self) -> tuple[Message, int]:
        """The message without files, tool calls, tool outputs and unknown parts, and how many those were.

        A new message; when something was dropped, one Text part at its end says how many (``spec/anda.md``
        3.3).
        """
        kept: list[Part] = [
            part for part in self.content if isinstance(part, (TextPart, ReasoningPart, ActionPart))
        ]
        dropped = len(self.content) - len(kept)
        if dropped:
            kept.append(TextPart(text=f"[{dropped} items (tool calls or files) pruned due to limits]"))
        return self.model_copy(update={"content": kept}), dropped

    def to_json(self) -> dict[str, JSON]:
        """The message's JSON in Anda's order; ``name``, ``user`` and ``timestamp`` only when set."""
        written: dict[str, JSON] = {"role": self.role, "content": _write_content(self.content)}
        for name in ("name", "user", "timestamp"):
            value = getattr(self, name)
            if value is not None:
                written[name] = value
        return written

    def _joined(self, kind: type[TextPart] | type[ReasoningPart]) -> str | None:
        found = [part.text for part in self.content if isinstance(part, kind)]
        return "\n\n".join(found) if found else None


_MEMBERS = frozenset(Message.model_fields)


def parse_message(value: JSON, *, strict: bool = False) -> Message | None:
    """The message that the JSON is; None when Anda would not read it as one.

    It needs a ``role`` that is text and a ``content`` that is a list, a text, null or absent; members that a
    message does not have are dropped. A sender need not be a principal here; with ``strict`` it must, as in
    Anda.
    """
    if not isinstance(value, dict):
        return None
    members = {name: item for name, item in value.items() if name in _MEMBERS}
    try:
        message = Message.model_validate(members)
    except ValidationError:
        return None
    if strict and message.user is not None and not Principal.is_valid(message.user):
        return None
    return message
