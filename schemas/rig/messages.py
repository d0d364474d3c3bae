"""rig's messages as models: read leniently, written exactly (``spec/rig.md`` 1). Pure data.

A stored message is never rewritten through these models; they are a typed view and a way to build messages.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON
from convostore.schemas.rig.parts import AssistantPart, UserPart
from convostore.schemas.rig.shapes import Shape, Str

__all__ = [
    "AssistantMessage",
    "Message",
    "Origin",
    "StopError",
    "StopReason",
    "SystemMessage",
    "Usage",
    "UserMessage",
    "read_message",
]


def _as_parts(content: Any) -> Any:
    """A text alone is one text part, one part alone a list of it."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [content] if isinstance(content, dict) else content


class Origin(Shape):
    """Which model a reply came from: ``model`` as requested, ``response_model`` as answered."""

    api: Str
    provider: Str
    model: Str
    response_model: Str | None = None
    response_id: Str | None = None
    context: Str | None = None


class StopError(Shape):
    """A turn that failed: exactly one of the two is given. It stays and is never sent again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    error: Str | None = None
    aborted: Str | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> StopError:
        if (self.error is None) == (self.aborted is None):
            raise ValueError("a failed turn has either an error or was aborted")
        return self


StopReason: TypeAlias = Literal["stop", "length", "tool_use"] | StopError


class Usage(Shape):
    """rig's seven counters; all zero means that nothing was reported."""

    input_tokens: StrictInt = 0
    output_tokens: StrictInt = 0
    total_tokens: StrictInt = 0
    cached_input_tokens: StrictInt = 0
    cache_creation_input_tokens: StrictInt = 0
    tool_use_prompt_tokens: StrictInt = 0
    reasoning_tokens: StrictInt = 0


class SystemMessage(Shape):
    """An instruction."""

    role: Literal["system"] = "system"
    content: Str


class UserMessage(Shape):
    """What the user, an agent or a plugin said, and tool results; an empty one is legal."""

    role: Literal["user"] = "user"
    content: Annotated[list[UserPart], BeforeValidator(_as_parts)]


class AssistantMessage(Shape):
    """A reply."""

    role: Literal["assistant"] = "assistant"
    content: Annotated[list[AssistantPart], BeforeValidator(_as_parts)]
    origin: Origin | None = None
    stop: StopReason | None = None

    def is_failure(self) -> bool:
        """Whether the turn failed, so that no model reads it again."""
        return isinstance(self.stop, StopError)


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage
_MESSAGE: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="role")])


def read_message(value: JSON, path: str = "message") -> Message:
    """The typed view of a message of rig.

    Raises:
        InvalidRecordError: it is none: no object, a role rig does not have, a known part without its members,
            an empty call id or tool name.

    """
    try:
        return _MESSAGE.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in first["loc"])
        raise InvalidRecordError(f"{path}{place}", first["msg"]) from error
